// A recording as Foxglove and its kin read it: their MCAP reader, their schemas, a validator that is neither's.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { McapIndexedReader } from "@mcap/core";
import * as foxglove from "@foxglove/schemas/jsonschema.js";
import Ajv from "ajv";
import { isBuilt, program } from "./daemon.mjs";

/** A file as their reader wants it. */
const readable = (file, size) => ({
  size: async () => BigInt(size),
  read: async (offset, length) => {
    const bytes = new Uint8Array(Number(length));
    await file.read(bytes, 0, Number(length), Number(offset));
    return bytes;
  },
});

const NAME = "every message is what its schema says, and theirs are as they define them";

test(NAME, { skip: !isBuilt }, async (context) => {
  const place = mkdtempSync(join(tmpdir(), "hapticd-mcap-"));
  const path = join(place, "needle.mcap");
  try {
    try {
      execFileSync(program, ["demo", "needle_phantom", "--lockstep", "--json", "--seconds", "3", "--record", path]);
    } catch (problem) {
      assert.equal(problem.status, 1, "three seconds are too short for the task, and nothing worse happens");
    }
    const file = await open(path);
    const reader = await McapIndexedReader.Initialize({ readable: readable(file, (await file.stat()).size) });
    const ajv = new Ajv({ strict: false });
    const own = new Map();
    const theirs = new Map();
    for (const schema of reader.schemasById.values()) {
      assert.equal(schema.encoding, "jsonschema");
      own.set(schema.id, ajv.compile(JSON.parse(new TextDecoder().decode(schema.data))));
      const known = foxglove[schema.name.replace("foxglove.", "")];
      assert.equal(known !== undefined, schema.name.startsWith("foxglove."), schema.name);
      if (known !== undefined) theirs.set(schema.id, ajv.compile(known));
    }
    const counts = {};
    for await (const message of reader.readMessages()) {
      const channel = reader.channelsById.get(message.channelId);
      const value = JSON.parse(new TextDecoder().decode(message.data));
      for (const [whose, judges] of [["our", own], ["their", theirs]]) {
        const judge = judges.get(channel.schemaId);
        const fits = judge === undefined || judge(value);
        assert.ok(fits, `${channel.topic} by ${whose} schema: ${ajv.errorsText(judge?.errors)}`);
      }
      counts[channel.topic] = (counts[channel.topic] ?? 0) + 1;
    }
    await file.close();
    context.diagnostic(JSON.stringify(counts));
    assert.ok(counts["/tick"] >= 3000, `${counts["/tick"]} ticks`);
    for (const topic of ["/tf", "/scene", "/forces", "/handle", "/log", "/contacts", "/skin", "/path"]) {
      assert.ok(counts[topic] > 0, topic);
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});
