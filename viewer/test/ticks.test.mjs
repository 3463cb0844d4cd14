// Ticks and frames: nothing lost by thinning out, gaps stay gaps, nonsense is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { Ticks } = await load("ticks");
const { parseFrame, Model } = await load("model");
const { Motion } = await load("motion");

/** Ticks whose force is given and whose other columns are zero. */
const rows = (forces) => Float32Array.from(forces.flatMap((force) => [force, 0, 0, 0, 0, 0, 0, 0]));

test("a spike of one tick in ten thousand is in the plot", () => {
  const ticks = new Ticks();
  const forces = Array.from({ length: 10_000 }, (_, k) => (k === 4321 ? 7 : 1));
  for (let at = 0; at < forces.length; at += 40) {
    ticks.add(at, 40, rows(forces.slice(at, at + 40)));
  }
  const { times, series } = ticks.decimate(["force"], 10_000, 300);
  assert.ok(times.length <= 604, `${times.length} points`);
  assert.equal(series[0].length, times.length);
  assert.equal(Math.max(...series[0]), 7);
  assert.equal(series[0].filter((value) => value === 7).length, 1);
  assert.ok(times.every((time, k) => k === 0 || time > times[k - 1]));
});

test("ticks that were lost are a gap", () => {
  const ticks = new Ticks();
  ticks.add(0, 100, rows(Array(100).fill(1)));
  ticks.add(200, 100, rows(Array(100).fill(1)));
  const { series } = ticks.decimate(["force"], 300, 30);
  assert.deepEqual(
    series[0].map((value) => value === null),
    [...Array(20).fill(false), ...Array(20).fill(true), ...Array(20).fill(false)],
  );
});

test("a loop begun anew clears the plot", () => {
  const ticks = new Ticks();
  ticks.add(500, 2, rows([3, 3]));
  ticks.add(0, 2, rows([1, 2]));
  assert.equal(ticks.end, 2);
  assert.equal(ticks.newest("force"), 2);
  assert.equal(ticks.peak("force", 1000), 2);
});

test("a packet with fewer numbers than it claims adds what it has", () => {
  const ticks = new Ticks();
  ticks.add(0, 5, rows([1, 2]));
  assert.equal(ticks.end, 2);
  ticks.add(NaN, 5, rows([1]));
  ticks.add(-3, 1, rows([1]));
  assert.equal(ticks.end, 2);
});

const pose = [0, 0, 0, 0, 0, 0, 1];

test("a frame is read whole or not at all", () => {
  const numbers = [...pose, ...pose, 1, 2, 3, 1, 4, 5, 6, 7, 8, 9, 1, ...pose];
  const frame = parseFrame(Float32Array.from(numbers));
  assert.deepEqual(frame.contacts, [{ point: [4, 5, 6], force: [7, 8, 9] }]);
  assert.deepEqual(frame.bodies, [pose]);
  assert.equal(parseFrame(Float32Array.from(numbers.slice(0, -1))), undefined);
  assert.equal(parseFrame(Float32Array.from(numbers.with?.(0, NaN) ?? [NaN, ...numbers.slice(1)])), undefined);
  assert.equal(parseFrame(new Float32Array()), undefined);
});

test("poses between samples are between, and nothing is guessed beyond the newest", () => {
  const frame = (time, x) => ({
    time,
    tool: [x, 0, 0, 0, 0, 0, 1],
    handle: pose,
    force: [0, 0, 0],
    contacts: [],
    bodies: [],
  });
  const motion = new Motion();
  motion.add(frame(1, 0));
  motion.add(frame(2, 8));
  assert.equal(motion.at(1.25).tool[0], 2);
  assert.equal(motion.at(5).tool[0], 8);
  assert.equal(motion.at(0.5).tool[0], 0);
});

test("an unknown word for a state is no state", () => {
  const model = new Model();
  model.take({ address: "/hapticd/event/state", args: ["ENABLED"] });
  assert.equal(model.state, "ENABLED");
  model.take({ address: "/hapticd/event/state", args: ["WELL"] });
  assert.equal(model.state, undefined);
});

test("data is as old as the older of scene and ticks", () => {
  const model = new Model();
  const bytes = (numbers) => new Uint8Array(Float32Array.from(numbers).buffer);
  const scene = { address: "/hapticd/stream/scene", args: [1, 5, 0, bytes([...pose, ...pose, 0, 0, 0, 0, 0])] };
  const ticks = { address: "/hapticd/stream/ticks", args: [0, 1, bytes([1, 0, 0, 0, 0, 0, 0, 0])] };
  model.take(scene);
  assert.equal(model.age(), Infinity);
  model.take(ticks);
  assert.ok(model.age() < 60);
  const [age, later] = [model.age(1000), model.age(3000)];
  assert.ok(Math.abs(later - age - 2) < 1e-6);
  model.forget();
  model.take(ticks);
  assert.equal(model.age(), Infinity);
});
