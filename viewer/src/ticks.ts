// The newest ticks of the haptic loop at full rate, and what of them fits a plot.

/** Columns of one tick on the wire, in order. */
export const COLUMNS = ["force", "wanted", "penetration", "reserve", "late", "compute", "gain", "speed"] as const;
export type Column = (typeof COLUMNS)[number];

/** Ticks kept: more than ten seconds at 4 kHz. */
const CAPACITY = 1 << 16;

/** A ring of ticks, found by their index. What was lost is a gap, never bridged. */
export class Ticks {
  private readonly rows = new Float32Array(CAPACITY * COLUMNS.length);
  private readonly index = new Float64Array(CAPACITY).fill(-1);
  /** Index after the newest tick; zero before the first. */
  end = 0;

  clear(): void {
    this.index.fill(-1);
    this.end = 0;
  }

  add(first: number, count: number, values: Float32Array): void {
    const whole = Math.min(count, Math.floor(values.length / COLUMNS.length));
    if (!Number.isInteger(first) || first < 0 || !(whole > 0)) {
      return;
    }
    // Packets come in order: one that ends before the newest tick is of a loop begun anew.
    if (first + whole <= this.end) {
      this.clear();
    }
    for (let k = 0; k < whole; k++) {
      const slot = (first + k) % CAPACITY;
      this.index[slot] = first + k;
      this.rows.set(values.subarray(k * COLUMNS.length, (k + 1) * COLUMNS.length), slot * COLUMNS.length);
    }
    this.end = Math.max(this.end, first + whole);
  }

  /** The newest value of a column; not a number before the first tick. */
  newest(column: Column): number {
    return this.end === 0 ? NaN : this.at(this.end - 1, COLUMNS.indexOf(column));
  }

  private at(index: number, column: number): number {
    const slot = index % CAPACITY;
    return this.index[slot] === index ? (this.rows[slot * COLUMNS.length + column] ?? NaN) : NaN;
  }

  /** Largest of a column over the newest `count` ticks; not a number without any. */
  peak(column: Column, count: number): number {
    const which = COLUMNS.indexOf(column);
    let most = NaN;
    for (let index = Math.max(0, this.end - count); index < this.end; index++) {
      const value = this.at(index, which);
      most = value > most || Number.isNaN(most) ? value : most;
    }
    return most;
  }

  /**
   * The newest `span` ticks as at most `buckets` pairs of points, least and most of each bucket, so that no spike is
   * lost. Times are in ticks before the newest. Buckets begin at multiples of their size: they do not shimmer.
   */
  decimate(columns: Column[], span: number, buckets: number): { times: number[]; series: (number | null)[][] } {
    const size = Math.max(1, Math.ceil(span / buckets));
    const from = Math.max(0, Math.floor((this.end - span) / size) * size);
    const times: number[] = [];
    for (let start = from; start < this.end; start += size) {
      times.push(start - this.end, start + size / 2 - this.end);
    }
    const series = columns.map((column) => this.bounds(COLUMNS.indexOf(column), from, size));
    return { times, series };
  }

  private bounds(column: number, from: number, size: number): (number | null)[] {
    const points: (number | null)[] = [];
    for (let start = from; start < this.end; start += size) {
      let least = Infinity;
      let most = -Infinity;
      for (let index = start; index < Math.min(start + size, this.end); index++) {
        const value = this.at(index, column);
        least = value < least ? value : least;
        most = value > most ? value : most;
      }
      const found = least <= most;
      points.push(found ? least : null, found ? most : null);
    }
    return points;
  }
}
