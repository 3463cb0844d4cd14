// OSC packets: bytes worked out by hand, and what must be refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { decode, encode, float, floats } = await load("osc");
const ascii = (text) => Uint8Array.from(Buffer.from(text, "latin1"));

test("a message has the bytes of the standard", () => {
  const bytes = encode("/a", [1, float(2), "xyz", true, false]);
  assert.equal(Buffer.from(bytes).toString("latin1"), "/a\0\0,ifsTF\0\0\0\0\0\x01\x40\0\0\0xyz\0");
});

test("what is encoded is decoded again", () => {
  const blob = Uint8Array.of(1, 2, 3, 4, 5);
  const [message] = decode(encode("/hapticd/x", [-7, 0.5, "ü", blob, true, false, "abcd"]));
  assert.equal(message.address, "/hapticd/x");
  assert.deepEqual(message.args, [-7, 0.5, "ü", blob, true, false, "abcd"]);
});

test("a bundle gives its messages in order, those of inner bundles too", () => {
  const sized = (bytes) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const bundle = (...parts) => Buffer.concat([ascii("#bundle\0"), new Uint8Array(8), ...parts.map(sized)]);
  const packet = bundle(encode("/a"), bundle(encode("/b", [2])), encode("/c"));
  assert.deepEqual(
    decode(new Uint8Array(packet)).map((message) => message.address),
    ["/a", "/b", "/c"],
  );
});

test("bytes that are no packet are refused, wherever they end", () => {
  const whole = encode("/hapticd/x", [1, "text", Uint8Array.of(1, 2, 3)]);
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => decode(whole.slice(0, length)), Error, `of ${length} bytes`);
  }
  assert.throws(() => decode(ascii("/a\0\0,[\0\0")), /unknown type/);
  assert.throws(() => decode(ascii("#bundle\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff")), /too early/);
});

test("blobs hold little-endian numbers, at any offset", () => {
  const bytes = Uint8Array.of(9, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0).subarray(1);
  assert.deepEqual([...floats(bytes)], [1, -2]);
});
