// A stand-in for the daemon: speaks its wire well enough to build and test the page without it.
//
// `node mock.mjs [port]` serves dist/ and a peg that a hand of sines presses into a block. Not a simulation: forces are
// made up. Its OSC is written apart from the page's, so that a mistake in one is not hidden by the same in the other.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { WebSocketServer } from "ws";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'";
const KINDS = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css" };
/** What a client that may only read may send, beside questions. */
const ANYONE = /^(notify|subscribe|status|version|halt|(scene|device|fault)\/list)$/;
const IDENTITY = [0, 0, 0, 0, 0, 0, 1];

// OSC.

const text = (value) => Buffer.from(value + "\0".repeat(4 - (Buffer.byteLength(value) % 4)));

/** Arguments are pairs of a tag and a value: ["i", 1, "s", "a"]. */
export function packet(address, ...pairs) {
  let tags = ",";
  const parts = [];
  for (let k = 0; k < pairs.length; k += 2) {
    const [tag, value] = [pairs[k], pairs[k + 1]];
    tags += tag;
    const word = Buffer.alloc(4);
    if (tag === "i") word.writeInt32BE(value);
    if (tag === "f") word.writeFloatBE(value);
    if (tag === "b") word.writeInt32BE(value.length);
    parts.push(tag === "s" ? text(value) : word);
    if (tag === "b") parts.push(value, Buffer.alloc((4 - (value.length % 4)) % 4));
  }
  return Buffer.concat([text(address), text(tags), ...parts]);
}

export function parse(bytes) {
  let at = 0;
  const string = () => {
    const end = bytes.indexOf(0, at);
    const value = bytes.toString("utf8", at, end);
    at = end + 4 - (end % 4);
    return value;
  };
  const read = { i: () => bytes.readInt32BE((at += 4) - 4), f: () => bytes.readFloatBE((at += 4) - 4), s: string };
  // Blobs are for the page; nothing here reads them.
  read.b = () => void (at += 4 + ((bytes.readInt32BE(at) + 3) & ~3));
  const address = string();
  return { address, args: [...string().slice(1)].map((tag) => read[tag]?.()) };
}

// What can be set.

const number = (value, min, max, unit, about) => ({ type: "f", value, range: { MIN: min, MAX: max }, unit, about });
const dials = () => ({
  "coupling/stiffness": number(1500, 0, 4000, "N/m", "Spring between handle and proxy."),
  "coupling/damping": number(5, 0, 20, "N·s/m", "Damper between handle and proxy."),
  "scale/force": number(1, 0.01, 10, null, "Hand newtons per scene newton."),
  "scale/motion": number(1, 0.1, 10, null, "Scene metres per handle metre."),
  "safety/max_force": number(9, 0, 9, "N", "Largest force on the hand."),
  "material/steel/friction": number(0.15, 0, 2, null, "Friction of a material of the scene."),
  "operator/works": {
    type: "T",
    value: true,
    range: { VALS: [false, true] },
    unit: null,
    about: "The operator works.",
  },
  "operator/skill": {
    type: "s",
    value: "trained",
    range: { VALS: ["novice", "trained", "expert"] },
    unit: null,
    about: "Skill.",
  },
  "operator/seed": { type: "i", value: 3, range: { MIN: 0 }, unit: null, about: "Seed." },
});

function tree(table) {
  const root = { FULL_PATH: "/hapticd", ACCESS: 0, CONTENTS: {} };
  for (const [name, dial] of Object.entries(table)) {
    let node = root;
    const parts = name.split("/");
    parts.forEach((part, k) => {
      node = node.CONTENTS[part] ??= {
        FULL_PATH: `/hapticd/${parts.slice(0, k + 1).join("/")}`,
        ACCESS: 0,
        CONTENTS: {},
      };
    });
    delete node.CONTENTS;
    const facts = { ACCESS: 3, TYPE: dial.type, VALUE: [dial.value], RANGE: [dial.range], UNIT: [dial.unit] };
    Object.assign(node, facts, { DESCRIPTION: dial.about, TAGS: ["parameter"] });
  }
  return root;
}

function scene(name, device) {
  const bore = { kind: "bore", size: [0.09, 0.09, 0.04], radius: 0.01025, depth: 0.03, chamfer: 0.001, pose: IDENTITY };
  return {
    scene: name,
    title: "Peg in hole",
    device,
    rate_hz: 1000,
    limits: { force_n: 9, torque_nm: 0.5, speed_m_per_s: 0.5 },
    stable_stiffness: 3000,
    tool: { shape: { kind: "cylinder", radius: 0.01, length: 0.06, pose: IDENTITY } },
    bodies: [
      { name: "block", fixed: true, material: "steel", shape: bore },
      { name: "ball", fixed: false, material: "steel", shape: { kind: "sphere", radius: 0.008, pose: IDENTITY } },
      { name: "bench", fixed: true, material: "steel", shape: { kind: "half_space", pose: [0, 0, -0.04, 0, 0, 0, 1] } },
    ],
    goals: ["inserted", "felt the walls", "did not sink in"],
  };
}

/** Points along one side of the mock's soft slab, and how large it is. */
const SLAB = { points: 24, side: 0.08, top: 0.0, bottom: -0.02 };
const STRESS_FULL = 20_000;

/** A slab that gives way to a needle at its middle by `depth`: points of its top, then of its bottom. */
function slab(depth) {
  const points = [];
  const step = SLAB.side / (SLAB.points - 1);
  for (const z of [SLAB.top, SLAB.bottom]) {
    for (let k = 0; k < SLAB.points ** 2; k++) {
      const x = (k % SLAB.points) * step - SLAB.side / 2;
      const y = Math.floor(k / SLAB.points) * step - SLAB.side / 2;
      const near = z === SLAB.top ? Math.exp(-(x * x + y * y) / 2e-4) : 0;
      points.push([x, y, z - depth * near, STRESS_FULL * near * Math.min(1, depth / 0.012)]);
    }
  }
  return points;
}

function slabTriangles() {
  const triangles = [];
  const n = SLAB.points;
  const quad = (a, b, c, d) => triangles.push([a, b, c], [a, c, d]);
  for (let y = 0; y < n - 1; y++) {
    for (let x = 0; x < n - 1; x++) {
      const k = y * n + x;
      quad(k, k + 1, k + n + 1, k + n);
      quad(n * n + k, n * n + k + n, n * n + k + n + 1, n * n + k + 1);
    }
  }
  const edge = [];
  for (let k = 0; k < n - 1; k++) edge.push([k, k + 1], [(k + 1) * n - 1, (k + 2) * n - 1]);
  for (let k = 0; k < n - 1; k++) edge.push([n * n - 1 - k, n * n - 2 - k], [(n - 1 - k) * n, (n - 2 - k) * n]);
  for (const [a, b] of edge) quad(a, n * n + a, n * n + b, b);
  return triangles;
}

/** A needle and a slab, which no shipped scene has: for what the page shows of bodies that deform. */
function soft(device) {
  const vertices = slab(0).map((point) => point.slice(0, 3));
  return {
    ...scene("soft_slab", device),
    title: "Needle into a slab",
    tool: { shape: { kind: "cylinder", radius: 0.001, length: 0.06, pose: IDENTITY } },
    bodies: [
      { name: "bench", fixed: true, material: "steel", shape: { kind: "half_space", pose: [0, 0, -0.02, 0, 0, 0, 1] } },
    ],
    skins: [
      { name: "slab", material: "tissue", vertices, triangles: slabTriangles(), stress_full_pa: STRESS_FULL },
    ],
  };
}

/** One daemon: its state, and what it does with messages. */
class Mock {
  constructor() {
    this.state = "DISABLED";
    this.scene = "peg_primitive";
    this.device = "simulated-6dof";
    this.dials = dials();
    this.faults = [];
    this.recording = "";
    this.begun = performance.now();
    this.readOnly = false;
    this.work = 0;
    this.tick = 0;
    this.clients = new Map();
    this.timer = setInterval(() => this.turn(), 33);
  }

  seconds() {
    return (performance.now() - this.begun) / 1000;
  }

  stamp() {
    const now = 1000 + this.seconds();
    return ["i", Math.floor(now), "i", Math.floor((now % 1) * 1e9)];
  }

  tell(bytes) {
    for (const [socket, client] of this.clients) if (client.notify) socket.send(bytes);
  }

  setState(state) {
    this.state = state;
    this.tell(packet("/hapticd/event/state", "s", state));
  }

  fault(f) {
    const flags = ["i", 1, "i", f.acknowledged ? 1 : 0, "f", f.time];
    return ["i", f.id, "s", f.code, "s", f.name, "s", "high", ...flags, "s", f.cause, "s", f.remedy, "s", ""];
  }

  value(name) {
    const { type, value } = this.dials[name];
    return packet(`/hapticd/${name}`, type === "T" ? "i" : type, type === "T" ? Number(value) : value);
  }

  halt(who) {
    const known = this.faults.find((fault) => !fault.acknowledged);
    if (known === undefined) {
      const fault = {
        id: this.faults.length + 1,
        code: "F06",
        name: "halt",
        acknowledged: false,
        time: 1000 + this.seconds(),
      };
      this.faults.push({ ...fault, cause: `Stopped by ${who}.`, remedy: "See to the reason for the stop first." });
      this.setState("FAULT");
      this.tell(packet("/hapticd/event/fault", ...this.fault(this.faults.at(-1))));
    }
  }

  /** Carries one message out; gives back its answer. */
  take(socket, who, { address, args }) {
    const client = this.clients.get(socket);
    const name = address.replace("/hapticd/", "");
    const done = (...more) => packet("/hapticd/done", "s", address, ...more);
    const fail = (code, why) => packet("/hapticd/fail", "s", address, "i", code, "s", why);
    const from = (states, to) => {
      if (!states.includes(this.state)) return fail(409, `not in ${this.state}`);
      this.setState(to);
      return done();
    };
    if (this.readOnly && !ANYONE.test(name)) return fail(403, "clients of this network may only look on, and halt");
    if (this.dials[name] !== undefined) return this.set(socket, name, args, done, fail);
    switch (name) {
      case "notify":
        client.notify = true;
        socket.send(packet("/hapticd/event/state", "s", this.state));
        socket.send(packet("/hapticd/scene/name", "s", this.scene));
        socket.send(packet("/hapticd/device/name", "s", this.device));
        Object.keys(this.dials).forEach((dial) => socket.send(this.value(dial)));
        return done("f", 30);
      case "subscribe":
        client[args[0]] = true;
        return done("s", args[0], "f", args[1], "f", 30);
      case "status":
        return this.status();
      case "version":
        return packet("/hapticd/version.reply", "s", "hapticd (mock)", "s", "0", "i", 1);
      case "scene/list":
      case "device/list": {
        const names =
          name === "scene/list"
            ? ["box_on_table", "peg_primitive", "soft_slab", "virtual_wall"]
            : ["simulated-3dof", "simulated-6dof"];
        names.forEach((one) => socket.send(packet(`${address}.reply`, "s", one)));
        return packet(`${address}.end`, "i", names.length);
      }
      case "fault/list":
        this.faults.forEach((fault) => socket.send(packet("/hapticd/fault/list.reply", ...this.fault(fault))));
        return packet("/hapticd/fault/list.end", "i", this.faults.length);
      case "fault/ack": {
        const fault = this.faults.find((one) => !one.acknowledged && (args.length === 0 || one.id === args[0]));
        if (fault === undefined) return fail(404, "no such fault waits");
        fault.acknowledged = true;
        this.tell(packet("/hapticd/event/fault", ...this.fault(fault)));
        this.setState("DISABLED");
        return done();
      }
      case "start":
        return from(["DISABLED"], "ENABLED");
      case "pause":
        return from(["ENABLED"], "PAUSED");
      case "resume":
        return from(["PAUSED"], "ENABLED");
      case "disable":
        return from(["ENABLED", "PAUSED"], "DISABLED");
      case "halt":
        this.halt(who);
        return done();
      case "scene/load":
        if (this.state !== "DISABLED") return fail(409, `not in ${this.state}: stop first`);
        this.scene = args[0];
        this.work = 0;
        this.tick = 0;
        this.tell(packet("/hapticd/scene/name", "s", this.scene));
        return done();
      case "record/start":
        this.recording = `/tmp/${args[0] ?? "recording"}.mcap`;
        return done("s", this.recording);
      case "record/stop": {
        const path = this.recording;
        this.recording = "";
        return done("s", path);
      }
      case "record/mark":
        return this.recording === "" ? fail(409, "nothing is being recorded: start a recording first") : done();
      default:
        return fail(404, "no such address");
    }
  }

  set(socket, name, args, done, fail) {
    const dial = this.dials[name];
    if (args.length === 0) return this.value(name);
    const { MIN, MAX } = dial.range;
    if (args[0] < MIN || args[0] > MAX)
      return fail(422, `${args[0]} is out of range: ${MIN} to ${MAX} ${dial.unit ?? ""}`.trim());
    dial.value = dial.type === "T" ? Boolean(args[0]) : args[0];
    this.tell(this.value(name));
    return done();
  }

  status() {
    const names = ["s", this.state, "s", this.scene, "s", this.device];
    const loop = ["f", 1000, "f", 999.8, "f", 38, "i", 0, "i", this.faults.filter((f) => !f.acknowledged).length];
    return packet(
      "/hapticd/status.reply",
      ...names,
      ...loop,
      "i",
      1,
      "i",
      0,
      "i",
      1,
      "f",
      500,
      "f",
      this.seconds(),
      "s",
      this.recording,
    );
  }

  /** Depth of the peg below the face of the block at a time of work, and the force that goes with it. */
  moment(work) {
    const depth = 0.012 * (1 - Math.cos(work * 1.2));
    const wall = Math.max(0, Math.sin(work * 2.9));
    return { depth, force: this.state === "ENABLED" ? 5.5 * wall + 0.3 * Math.sin(work * 40) ** 2 : 0 };
  }

  turn() {
    const count = Math.min(200, Math.floor(this.seconds() * 1000) - this.tick);
    if (count <= 0) {
      this.tick = Math.min(this.tick, Math.floor(this.seconds() * 1000));
      return;
    }
    const values = [];
    for (let k = 0; k < count; k++) {
      if (this.state === "ENABLED") this.work += 0.001;
      const { force } = this.moment(this.work);
      const late = 8 + 30 * Math.abs(Math.sin((this.tick + k) * 12.9898)) ** 8;
      values.push(
        force,
        force * 1.08,
        force * 2e-5,
        0.02 + 0.01 * Math.sin(this.work),
        late,
        22,
        this.state === "ENABLED" ? 1 : 0,
        0.03,
      );
    }
    const ticks = packet("/hapticd/stream/ticks", "i", this.tick, "i", count, "b", blob(values));
    this.tick += count;
    const frame = packet("/hapticd/stream/scene", "i", this.tick, ...this.stamp(), "b", this.frame());
    const progress = [
      "s",
      this.work > 2 ? "insert" : "approach",
      "i",
      this.work > 3 ? 2 : 1,
      "i",
      3,
      "i",
      0,
      "f",
      this.work,
    ];
    const task = packet("/hapticd/stream/task", "i", this.tick, ...this.stamp(), ...progress);
    const softly = this.scene === "soft_slab" ? this.soften() : [];
    for (const [socket, client] of this.clients) {
      if (client.skin) softly.forEach((packet) => socket.send(packet));
      if (client.ticks) socket.send(ticks);
      if (client.scene) socket.send(frame);
      if (client.task && this.tick % 500 < count) socket.send(task);
    }
  }

  /** The slab in two packets, and the needle in it. */
  soften() {
    const { depth } = this.moment(this.work);
    const points = slab(0.6 * depth);
    const half = points.length / 2;
    const stamp = ["i", this.tick, ...this.stamp()];
    const part = (first, some) => {
      const which = ["i", 0, "i", first, "i", points.length];
      return packet("/hapticd/stream/skin", ...stamp, ...which, "b", blob(some.flat()));
    };
    const tip = [0.002 * Math.sin(this.work), 0, -depth];
    const path = depth > 0.002 ? [0, 0, 0.03, 0, 0, -0.3 * depth, ...tip] : [];
    const line = packet("/hapticd/stream/path", ...stamp, "b", blob(path));
    return [part(0, points.slice(0, half)), part(half, points.slice(half)), line];
  }

  frame() {
    const { depth, force } = this.moment(this.work);
    const tilt = 0.03 * Math.sin(this.work * 2.9);
    const rotation = [0, Math.sin(tilt / 2), 0, Math.cos(tilt / 2)];
    const z = 0.034 - depth;
    const tool = [0, 0, z, ...rotation];
    const handle = [-force * 6e-4, 0, z - force * 3e-4, ...rotation];
    const contacts =
      force > 0.5
        ? [
            [0.0102, 0, -0.002, -force, 0, 0.2 * force],
            [-0.0102, 0, z - 0.03, 0.6 * force, 0, 0.1 * force],
          ]
        : [];
    const angle = this.work * 0.8;
    const ball = [0.03 * Math.cos(angle), 0.03 * Math.sin(angle), 0.008, 0, 0, 0, 1];
    const bodies = this.scene === "soft_slab" ? [IDENTITY] : [IDENTITY, ball, IDENTITY];
    const numbers = [tool, handle, [force * 0.4, 0, force * 0.9], contacts.length, contacts, bodies.length, bodies];
    return blob(numbers.flat(3));
  }
}

function blob(values) {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, k) => bytes.writeFloatLE(value, 4 * k));
  return bytes;
}

/** Starts a mock on a port (0 for any); gives back its port and how to end it. */
export async function serve(port = 0) {
  const mock = new Mock();
  const dist = new URL("dist/", import.meta.url);
  const http = createServer(async (request, response) => {
    const path = new URL(request.url, "http://mock").pathname;
    const headers = { "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff" };
    const json =
      path === "/scene.json"
        ? mock.scene === "soft_slab"
          ? soft(mock.device)
          : scene(mock.scene, mock.device)
        : path.startsWith("/oscquery")
          ? tree(mock.dials)
          : undefined;
    if (json !== undefined) {
      response.writeHead(200, { ...headers, "Content-Type": "application/json" }).end(JSON.stringify(json));
      return;
    }
    const file = path === "/" ? "index.html" : path.slice(1);
    try {
      if (!/^(index\.html|assets\/[\w.-]+)$/.test(file)) throw new Error("not a file of the page");
      const bytes = await readFile(new URL(file, dist));
      response.writeHead(200, { ...headers, "Content-Type": KINDS[file.split(".").pop()] }).end(bytes);
    } catch {
      response.writeHead(404, headers).end("no such page\n");
    }
  });
  const sockets = new WebSocketServer({ server: http, path: "/ws", maxPayload: 65536 });
  sockets.on("connection", (socket, request) => {
    mock.clients.set(socket, {});
    socket.on("close", () => mock.clients.delete(socket));
    socket.on("error", () => socket.terminate());
    socket.on("message", (data, isBinary) => {
      if (isBinary)
        socket.send(mock.take(socket, `${request.socket.remoteAddress}:${request.socket.remotePort}`, parse(data)));
    });
  });
  await new Promise((resolve) => http.listen(port, "127.0.0.1", resolve));
  const close = async () => {
    clearInterval(mock.timer);
    sockets.clients.forEach((socket) => socket.terminate());
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  };
  return { port: http.address().port, mock, close };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { port } = await serve(Number(process.argv[2] ?? 9742));
  console.log(`mock daemon: http://127.0.0.1:${port}`);
}
