// Skins: packets put together, nonsense refused, colours in order.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { SkinPackets, SkinMesh, creased } = await load("skins");

const points = (count, value) => new Float32Array(4 * count).fill(value);

test("a sample is whole when its last packet is there, in any order", () => {
  const packets = new SkinPackets();
  assert.equal(packets.add(1, 0, 2, 3, points(1, 9)), undefined);
  const sample = packets.add(1, 0, 0, 3, points(2, 5));
  assert.deepEqual([...sample.values], [5, 5, 5, 5, 5, 5, 5, 5, 9, 9, 9, 9]);
  assert.deepEqual([sample.skin, sample.time], [0, 1]);
});

test("a packet of a newer sample ends one that lost a packet", () => {
  const packets = new SkinPackets();
  assert.equal(packets.add(1, 0, 0, 2, points(1, 1)), undefined);
  assert.equal(packets.add(2, 0, 0, 2, points(1, 2)), undefined);
  assert.deepEqual([...packets.add(2, 0, 1, 2, points(1, 2)).values], Array(8).fill(2));
});

test("what does not fit is dropped", () => {
  const packets = new SkinPackets();
  assert.equal(packets.add(1, 0, 2, 3, points(2, 0)), undefined, "beyond the end");
  assert.equal(packets.add(1, -1, 0, 1, points(1, 0)), undefined);
  assert.equal(packets.add(1, 0, 0, 1, points(1, NaN)), undefined);
  assert.equal(packets.add(1, 0, 0, 2 ** 30, points(1, 0)), undefined, "no skin is that large");
  assert.equal(packets.add(1, 0, 0, 1, new Float32Array(3)), undefined, "no whole point");
});

test("points move between two samples and are coloured by stress", () => {
  const shape = {
    name: "a",
    material: "b",
    vertices: [
      [0, 0, 0],
      [1, 0, 0],
      [0, 1, 0],
    ],
    triangles: [[0, 1, 2]],
    stress_full_pa: 100,
  };
  const mesh = new SkinMesh(shape);
  // Three grey levels stand for the scale.
  const grey = (level) => ({ r: level, g: level, b: level });
  const scale = [grey(0), grey(0.5), grey(1)];
  mesh.take({ skin: 0, time: 1, values: Float32Array.from([0, 0, 0, 0, 1, 0, 0, 50, 0, 1, 0, 1000]) });
  mesh.take({ skin: 0, time: 2, values: Float32Array.from([0, 0, 4, 0, 1, 0, 0, 50, 0, 1, 0, 1000]) });
  mesh.take({ skin: 0, time: 3, values: Float32Array.from([1, 2, 3, 4]) });
  mesh.show(1.25, scale);
  assert.equal(mesh.geometry.getAttribute("position").getZ(0), 1);
  const colours = mesh.geometry.getAttribute("color");
  assert.deepEqual([0, 1, 2].map((k) => colours.getX(k)), [0, 0.5, 1]);
  mesh.show(9, scale);
  assert.equal(mesh.geometry.getAttribute("position").getZ(0), 4, "not beyond the newest sample");
});

test("an edge stays sharp: its points are there once for each side", () => {
  const vertices = [
    [0, 0, 0],
    [1, 0, 0],
    [1, 1, 0],
    [0, 1, 0],
    [0, 0, 1],
  ];
  // Two triangles of a floor, and a wall that stands on its edge from 0 to 1.
  const triangles = [
    [0, 1, 2],
    [0, 2, 3],
    [0, 4, 1],
  ];
  const { source, index } = creased({ vertices, triangles });
  assert.deepEqual([...source].sort(), [0, 0, 1, 1, 2, 3, 4]);
  assert.deepEqual(index.map((place) => source[place]), triangles.flat(), "the same triangles");
  assert.equal(index[0], index[3], "the floor is one");
  assert.notEqual(index[0], index[6], "the wall has its own");
});
