// Shapes of scene.json as triangles. z is up; a bore's origin is the middle of its mouth.

import {
  BoxGeometry,
  BufferGeometry,
  CapsuleGeometry,
  CylinderGeometry,
  ExtrudeGeometry,
  Float32BufferAttribute,
  LatheGeometry,
  Path,
  Shape as Outline,
  SphereGeometry,
  Vector2,
} from "three";
import { mergeGeometries } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { Shape } from "./scene";

/** Sides of a round thing. */
const SIDES = 64;

/** The triangles of a bounded shape; nothing for a half space, which has no end, a skin, or an unknown kind. */
export function geometry(shape: Shape): BufferGeometry | undefined {
  switch (shape.kind) {
    case "box":
      return new BoxGeometry(shape.size[0], shape.size[1], shape.size[2]);
    case "sphere":
      return new SphereGeometry(shape.radius, 48, 24);
    case "cylinder":
      return new CylinderGeometry(shape.radius, shape.radius, shape.length, SIDES).rotateX(Math.PI / 2);
    case "capsule":
      return new CapsuleGeometry(shape.radius, shape.length, 12, 48).rotateX(Math.PI / 2);
    case "bore":
      return bore(shape);
    case "mesh":
      return mesh(shape);
    default:
      return undefined;
  }
}

/** Block with a blind hole: a floor, walls as wide as the hole, and above them a layer as wide as the chamfer. */
function bore(shape: Shape & { kind: "bore" }): BufferGeometry {
  const [x = 0, y = 0, height = 0] = shape.size;
  const { radius, depth } = shape;
  const chamfer = shape.chamfer ?? 0;
  const floor = new BoxGeometry(x, y, height - depth).translate(0, 0, -(height + depth) / 2);
  const parts: BufferGeometry[] = [floor, slab(x, y, radius, depth - chamfer).translate(0, 0, -depth)];
  if (chamfer > 0) {
    parts.push(slab(x, y, radius + chamfer, chamfer).translate(0, 0, -chamfer));
    const slope = [new Vector2(radius, -chamfer), new Vector2(radius + chamfer, 0)];
    parts.push(new LatheGeometry(slope, SIDES).rotateX(Math.PI / 2));
  }
  return mergeGeometries(parts.map((part) => (part.index === null ? part : part.toNonIndexed())));
}

function slab(x: number, y: number, radius: number, thickness: number): BufferGeometry {
  const outline = new Outline();
  outline
    .moveTo(-x / 2, -y / 2)
    .lineTo(x / 2, -y / 2)
    .lineTo(x / 2, y / 2)
    .lineTo(-x / 2, y / 2)
    .closePath();
  outline.holes.push(new Path().absarc(0, 0, radius, 0, 2 * Math.PI, true));
  return new ExtrudeGeometry(outline, { depth: thickness, bevelEnabled: false, curveSegments: SIDES / 4 });
}

function mesh(shape: Shape & { kind: "mesh" }): BufferGeometry {
  const made = new BufferGeometry();
  made.setAttribute("position", new Float32BufferAttribute(shape.vertices.flat(), 3));
  made.setIndex(shape.triangles.flat());
  // Sharp edges stay sharp: each triangle has its own normal.
  const flat = made.toNonIndexed();
  flat.computeVertexNormals();
  return flat;
}
