// Keys that turn the tool: while held, in one way, and only where there is something to turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { Turn } = await load("turn");

/** A turner with keys to press and what it has sent. */
function turner(t, rate) {
  const listeners = {};
  const sent = [];
  const desk = { enabled: true };
  const keys = { addEventListener: (name, listener) => (listeners[name] = listener) };
  const turn = new Turn(keys, (address, value) => sent.push([address, value.float]), () => desk.enabled);
  turn.load(rate);
  t.after(() => turn.end());
  const press = (name, key, more) => listeners[name]({ key, ...more });
  return { sent, desk, press, turn };
}

test("a key turns one way until it is let go", async (t) => {
  const { sent, press } = turner(t, 1.5);
  press("keydown", "q");
  press("keydown", "q", { repeat: true });
  await new Promise((done) => setTimeout(done, 150));
  press("keyup", "Q");
  assert.ok(sent.length >= 3, "it is said again while the key is held");
  assert.deepEqual(sent[0], ["/hapticd/turn", 1.5]);
  assert.deepEqual(sent.at(-1), ["/hapticd/turn", 0]);
  const count = sent.length;
  press("keyup", "q");
  await new Promise((done) => setTimeout(done, 150));
  assert.equal(sent.length, count, "and not afterwards");
});

test("the other key turns the other way, and leaving the page ends it", (t) => {
  const { sent, press } = turner(t, 2);
  press("keydown", "q");
  press("keydown", "e");
  press("keyup", "q");
  assert.deepEqual(sent.map(([, rate]) => rate), [2, -2]);
  press("blur");
  assert.deepEqual(sent.at(-1), ["/hapticd/turn", 0]);
});

test("nothing is sent where nothing turns, in no other state, and for no other key", (t) => {
  const { sent, desk, press, turn } = turner(t, undefined);
  press("keydown", "q");
  turn.load(1);
  press("keydown", "w");
  press("keydown", "q", { ctrlKey: true });
  desk.enabled = false;
  press("keydown", "q");
  assert.deepEqual(sent, []);
});
