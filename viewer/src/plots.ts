// Plots of the last ten seconds: force with its limit, penetration, energy reserve, lateness.
//
// Every tick counts: each column of pixels shows the least and the most of its ticks.

import uPlot from "uplot";
import { digits, make, say } from "./dom";
import type { Column, Ticks } from "./ticks";

const SPAN_S = 10;
const HEIGHT = 118;
/** Pairs of points in a plot: about one for each two pixels of a usual width. */
const BUCKETS = 300;

/** What is wanted can be far above the limit: it is cut off at this many limits, so that what is felt stays legible. */
const BEYOND = 1.5;

interface Spec {
  title: string;
  unit: string;
  /** Shown unit per unit on the wire. */
  factor: number;
  columns: Column[];
  colours: string[];
  /** The axis reaches at least this far, in the unit shown. */
  least: number;
  /** A line across, in the unit shown. */
  limit?: () => number;
}

/** What the plots need to know of the scene. */
export interface Facts {
  rate: number;
  forceLimit: number;
}

export class Plots {
  private readonly plots: { spec: Spec; value: HTMLElement; place: HTMLElement; plot: uPlot }[] = [];
  facts: Facts = { rate: 1000, forceLimit: NaN };

  constructor(
    place: HTMLElement,
    private readonly ticks: Ticks,
  ) {
    const specs: Spec[] = [
      {
        title: "Force (faint: wanted)",
        unit: "N",
        factor: 1,
        columns: ["wanted", "force"],
        colours: ["fixed", "push"],
        least: 1,
        limit: () => this.facts.forceLimit,
      },
      { title: "Penetration", unit: "mm", factor: 1e3, columns: ["penetration"], colours: ["touch"], least: 0.1 },
      { title: "Energy reserve", unit: "mJ", factor: 1e3, columns: ["reserve"], colours: ["good"], least: 1 },
      { title: "Lateness of the tick", unit: "µs", factor: 1, columns: ["late"], colours: ["accent"], least: 50 },
    ];
    for (const spec of specs) {
      const value = make("b");
      const holder = make(
        "div",
        { className: "plot" },
        make("h3", {}, make("span", {}, `${spec.title}, ${spec.unit}`), value),
      );
      place.append(holder);
      this.plots.push({ spec, value, place: holder, plot: this.make(spec, holder) });
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rebuild());
    new ResizeObserver(() => this.resize()).observe(place);
  }

  private rebuild(): void {
    for (const entry of this.plots) {
      entry.plot.destroy();
      entry.plot = this.make(entry.spec, entry.place);
    }
  }

  private resize(): void {
    for (const { place, plot } of this.plots) {
      const width = place.clientWidth;
      if (width > 0 && width !== plot.width) {
        plot.setSize({ width, height: HEIGHT });
      }
    }
  }

  private make(spec: Spec, place: HTMLElement): uPlot {
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
    const axis: uPlot.Axis = {
      stroke: colour("quiet"),
      grid: { stroke: colour("line"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    const options: uPlot.Options = {
      width: Math.max(place.clientWidth, 200),
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: [-SPAN_S, 0] },
        y: { range: (_, low, high) => span(low, high, spec) },
      },
      axes: [
        { ...axis, size: 22, values: (_, splits) => splits.map((split) => `${split} s`) },
        { ...axis, size: 46, space: 24 },
      ],
      series: [{}, ...spec.colours.map((name) => ({ stroke: colour(name), width: 1.25, points: { show: false } }))],
      hooks: { draw: [(plot) => drawLimit(plot, spec.limit?.() ?? NaN, colour("bad"))] },
    };
    return onProcessor(() => new uPlot(options, [[], ...spec.columns.map(() => [])], place));
  }

  /** Draws what has come since. */
  draw(): void {
    const { rate } = this.facts;
    for (const { spec, value, plot } of this.plots) {
      const { times, series } = this.ticks.decimate(spec.columns, SPAN_S * rate, BUCKETS);
      const seconds = times.map((ticks) => ticks / rate);
      const scaled = series.map((points) => points.map((point) => (point === null ? null : point * spec.factor)));
      plot.setData([seconds, ...scaled]);
      const column = spec.columns.at(-1) ?? "force";
      // Lateness jumps from tick to tick; its worst of the last second says more than the newest.
      const shown = column === "late" ? this.ticks.peak(column, rate) : this.ticks.newest(column);
      say(value, `${digits(shown * spec.factor)}${column === "late" ? " worst of 1 s" : ""}`);
    }
  }
}

/**
 * Makes canvases that the processor draws. Those of the graphics processor wait for the scene in three dimensions, and
 * the whole page with them: up to a second where that is drawn in software, and Stop would wait as long.
 */
function onProcessor<T>(make: () => T): T {
  const prototype = HTMLCanvasElement.prototype as { getContext: (kind: string, options?: object) => unknown };
  const original = prototype.getContext;
  prototype.getContext = function (kind, options) {
    return original.call(this, kind, { ...options, willReadFrequently: true });
  };
  try {
    return make();
  } finally {
    prototype.getContext = original;
  }
}

/** From zero, or the least if below, to the most with some air. Where there is a limit, it is always in sight. */
function span(low: number | null, high: number | null, spec: Spec): [number, number] {
  const limit = spec.limit?.() ?? NaN;
  const most = Math.max(high ?? 0, spec.least);
  const bounded = limit > 0 ? Math.max(limit, Math.min(most, BEYOND * limit)) : most;
  return [Math.min(0, 1.1 * (low ?? 0)), 1.1 * bounded];
}

function drawLimit(plot: uPlot, limit: number, colour: string): void {
  if (!Number.isFinite(limit)) {
    return;
  }
  const { ctx, bbox } = plot;
  const y = plot.valToPos(limit, "y", true);
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.fillText(`limit ${limit} N`, bbox.left + 4 * devicePixelRatio, y + 12 * devicePixelRatio);
  ctx.restore();
}
