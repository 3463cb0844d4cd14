// Bodies that deform: points as they come over the wire, between two samples, with stress as colour.

import { BufferAttribute, BufferGeometry, Color, Mesh, Vector3, type Material } from "three";
import type { SkinShape } from "./scene";

/** Numbers of one point on the wire: x y z, stress. */
export const POINT = 4;
/** No skin has more points; a packet that says so is not believed. */
const MOST_POINTS = 1 << 20;
/** Samples kept of a skin. */
const KEPT = 4;

/** All points of one skin at one moment. */
export interface SkinSample {
  skin: number;
  /** Seconds on the daemon's clock. */
  time: number;
  /** x y z and stress of each point. */
  values: Float32Array;
}

/** Puts the packets of a sample together; what does not fit is dropped. */
export class SkinPackets {
  private open = new Map<number, { time: number; seen: number; values: Float32Array }>();

  add(time: number, skin: number, first: number, whole: number, values: Float32Array): SkinSample | undefined {
    const count = values.length / POINT;
    const fits = [skin, first, whole, count].every((number) => Number.isInteger(number) && number >= 0);
    if (!fits || whole > MOST_POINTS || first + count > whole || !values.every(Number.isFinite)) {
      return undefined;
    }
    let sample = this.open.get(skin);
    if (sample === undefined || sample.time !== time || sample.values.length !== whole * POINT) {
      sample = { time, seen: 0, values: new Float32Array(whole * POINT) };
      this.open.set(skin, sample);
    }
    sample.values.set(values, first * POINT);
    sample.seen += count;
    if (sample.seen < whole) {
      return undefined;
    }
    this.open.delete(skin);
    return { skin, time, values: sample.values };
  }
}

/** Colours of the scale of stress, from none to full. */
export type Scale = Color[];

/** The colour of a share of full stress. */
export function shade(scale: Scale, share: number, into: Color): Color {
  const place = Math.min(1, Math.max(0, share)) * (scale.length - 1);
  const below = Math.min(Math.floor(place), scale.length - 2);
  const [from, to] = [scale[below], scale[below + 1]];
  return from === undefined || to === undefined ? into : into.lerpColors(from, to, place - below);
}

/** Triangles that meet at a sharper angle than this have an edge between them. */
const SMOOTH = Math.cos(Math.PI / 6);

/** Points once for each side of the edges they lie on, so that edges stay sharp; `source` says which point each is. */
export function creased(shape: Pick<SkinShape, "vertices" | "triangles">): { source: number[]; index: number[] } {
  const at = (point: number) => new Vector3(...(shape.vertices[point] ?? []));
  const source: number[] = [];
  const index: number[] = [];
  const sides = shape.vertices.map((): { normal: Vector3; place: number }[] => []);
  for (const [a = 0, b = 0, c = 0] of shape.triangles) {
    const normal = at(b).sub(at(a)).cross(at(c).sub(at(a))).normalize();
    for (const point of [a, b, c]) {
      let side = sides[point]?.find((one) => one.normal.dot(normal) > SMOOTH);
      if (side === undefined) {
        side = { normal, place: source.length };
        source.push(point);
        sides[point]?.push(side);
      }
      index.push(side.place);
    }
  }
  return { source, index };
}

/** The surface of what lies inside a body and is made of another material: seen where the body is cut open. */
class InnerMesh extends Mesh<BufferGeometry, Material> {
  private readonly source: number[];

  constructor(vertices: number[][], triangles: number[][], material: Material) {
    super(new BufferGeometry(), material);
    const { source, index } = creased({ vertices, triangles });
    this.source = source;
    const points = source.flatMap((point) => vertices[point] ?? []);
    this.geometry.setAttribute("position", new BufferAttribute(new Float32Array(points), 3));
    this.geometry.setIndex(index);
    this.geometry.computeVertexNormals();
    this.frustumCulled = false;
  }

  move(values: Float32Array): void {
    follow(this.geometry, this.source, values);
  }
}

/** Puts the points of a geometry where those of the skin behind them are. */
function follow(geometry: BufferGeometry, source: number[], values: Float32Array): void {
  const position = geometry.getAttribute("position");
  source.forEach((point, k) => {
    const at = POINT * point;
    position.setXYZ(k, values[at] ?? 0, values[at + 1] ?? 0, values[at + 2] ?? 0);
  });
  position.needsUpdate = true;
  geometry.computeVertexNormals();
  geometry.computeBoundingSphere();
}

/** One skin on screen. */
export class SkinMesh extends Mesh<BufferGeometry, Material> {
  private samples: SkinSample[] = [];
  /** The two samples that are drawn, and how far from the first to the second. */
  private shown: { earlier: SkinSample; later: SkinSample; share: number } | undefined;
  /** The skin's point behind each of the geometry. */
  private readonly source: number[];
  private readonly inner: InnerMesh | undefined;

  constructor(
    private readonly shape: SkinShape,
    material: Material,
    inside: Material,
  ) {
    super(new BufferGeometry(), material);
    const { source, index } = creased(shape);
    this.source = source;
    const points = source.flatMap((point) => shape.vertices[point] ?? []);
    this.geometry.setAttribute("position", new BufferAttribute(new Float32Array(points), 3));
    this.geometry.setAttribute("color", new BufferAttribute(new Float32Array(points.length), 3));
    this.geometry.setIndex(index);
    this.geometry.computeVertexNormals();
    this.frustumCulled = false;
    if (shape.inner !== undefined && shape.inner.length > 0) {
      this.inner = new InnerMesh(shape.vertices, shape.inner, inside);
      this.add(this.inner);
    }
  }

  take(sample: SkinSample): void {
    if (sample.values.length !== POINT * this.shape.vertices.length) {
      return;
    }
    const newest = this.samples.at(-1);
    if (newest !== undefined && sample.time < newest.time) {
      this.samples = [];
    }
    this.samples.push(sample);
    this.samples.splice(0, this.samples.length - KEPT);
  }

  /** Moves the points to where they were at a time on the daemon's clock; never guessed beyond the newest sample. */
  show(time: number, scale: Scale): void {
    const after = this.samples.findIndex((sample) => sample.time > time);
    const later = this.samples[after] ?? this.samples.at(-1);
    const earlier = this.samples[after - 1] ?? later;
    if (later === undefined || earlier === undefined) {
      this.paint(undefined, scale);
      return;
    }
    const span = later.time - earlier.time;
    const share = span > 0 ? (time - earlier.time) / span : 0;
    const [a, b] = [earlier.values, later.values];
    const { shown } = this;
    if (shown?.earlier === earlier && shown.later === later && shown.share === share) {
      return;
    }
    this.shown = { earlier, later, share };
    const values = share === 0 ? a : a.map((value, k) => value + share * ((b[k] ?? value) - value));
    follow(this.geometry, this.source, values);
    this.inner?.move(values);
    this.paint(values, scale);
  }

  /** Colours the points by their stress; without a sample there is none. */
  private paint(values: Float32Array | undefined, scale: Scale): void {
    const colour = new Color();
    const paint = this.geometry.getAttribute("color");
    this.source.forEach((point, k) => {
      shade(scale, (values?.[POINT * point + 3] ?? 0) / this.shape.stress_full_pa, colour);
      paint.setXYZ(k, colour.r, colour.g, colour.b);
    });
    paint.needsUpdate = true;
  }

  /** Paints anew with the next frame: the colours of the page have changed. */
  repaint(): void {
    this.shown = undefined;
  }
}
