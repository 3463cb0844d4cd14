// What the page knows of the daemon, from the messages it was sent. Everything shown is read from here.

import { floats, type Message } from "./osc";
import { Ticks } from "./ticks";
import type { Pose } from "./scene";
import { SkinPackets, type SkinSample } from "./skins";

export const STATES = ["DISABLED", "ENABLED", "PAUSED", "FAULT"] as const;
export type State = (typeof STATES)[number];

export interface Fault {
  id: number;
  code: string;
  name: string;
  priority: string;
  latched: boolean;
  acknowledged: boolean;
  time: number;
  cause: string;
  remedy: string;
  data: string;
}

export interface Status {
  rate: number;
  nominal: number;
  late: number;
  overruns: number;
  realtime: boolean;
  simulation: number;
  uptime: number;
  recording: string;
}

export interface Task {
  phase: string;
  met: number;
  goals: number;
  success: boolean;
  time: number;
}

/** One sample of the scene in motion. */
export interface Frame {
  /** Seconds on the daemon's clock. */
  time: number;
  tool: Pose;
  handle: Pose;
  force: number[];
  contacts: Contact[];
  bodies: Pose[];
  /** The second hand of a scene for two; its tool is one of the bodies. */
  second?: { force: number[]; contacts: Contact[] };
}

export interface Contact {
  point: number[];
  force: number[];
}

/** What listeners are told about. */
export interface Changes {
  state: State | undefined;
  scene: string;
  device: string;
  faults: Fault[];
  task: Task;
  status: Status;
  frame: Frame;
  skin: SkinSample;
  /** Points of the needle's path, x y z each; none when there is no needle. */
  path: number[];
  /** A parameter has this value now. */
  value: { address: string; value: number | string | boolean };
  done: { address: string; more: Message["args"] };
  fail: { address: string; code: number; text: string };
  scenes: string[];
  devices: string[];
  version: string;
}

type Listeners = { [K in keyof Changes]?: ((change: Changes[K]) => void)[] };

export class Model {
  state: State | undefined;
  scene = "";
  device = "";
  faults = new Map<number, Fault>();
  status: Status | undefined;
  task: Task | undefined;
  frame: Frame | undefined;
  values = new Map<string, number | string | boolean>();
  readonly ticks = new Ticks();
  private readonly packets = new SkinPackets();
  private lists = { scene: [] as string[], device: [] as string[] };
  /** Least difference seen between this clock and the daemon's, s: arrival without delay. */
  private offset = Infinity;
  /** A recording is shown: while it stands still there are no new ticks. */
  isFilm = false;
  /** When ticks came last, on this clock, ms. */
  private ticksAt = -Infinity;
  private readonly listeners: Listeners = {};

  on<K extends keyof Changes>(topic: K, listener: (change: Changes[K]) => void): void {
    const list = (this.listeners[topic] ??= []) as ((change: Changes[K]) => void)[];
    list.push(listener);
  }

  private tell<K extends keyof Changes>(topic: K, change: Changes[K]): void {
    (this.listeners[topic] as ((change: Changes[K]) => void)[] | undefined)?.forEach((listener) => listener(change));
  }

  /** A new connection: what was known may be of another daemon. */
  forget(): void {
    this.state = undefined;
    this.scene = this.device = "";
    this.faults.clear();
    this.values.clear();
    this.lists = { scene: [], device: [] };
    this.status = this.task = this.frame = undefined;
    this.offset = Infinity;
    this.ticksAt = -Infinity;
    this.ticks.clear();
    this.tell("state", undefined);
    this.tell("faults", []);
  }

  /**
   * Age of the data, s: of the newest sample of the scene, beyond the shortest way seen, or of the newest ticks where
   * those are older. Infinite without either.
   */
  age(now = performance.now()): number {
    const scene = this.frame === undefined ? Infinity : now / 1000 - this.frame.time - this.offset;
    return this.isFilm ? scene : Math.max(scene, (now - this.ticksAt) / 1000);
  }

  /** The time on the daemon's clock that this moment shows, s. */
  daemonTime(now = performance.now()): number {
    return now / 1000 - this.offset;
  }

  take({ address, args }: Message): void {
    const name = address.replace(/^\/hapticd\//, "");
    const handler = HANDLERS[name];
    if (handler !== undefined) {
      handler(this, args);
    } else if (args.length === 1 && !(args[0] instanceof Uint8Array) && args[0] !== undefined) {
      this.values.set(address, args[0]);
      this.tell("value", { address, value: args[0] });
    }
  }

  setState(state: unknown): void {
    const known = STATES.find((one) => one === state);
    if (known !== this.state) {
      this.state = known;
      this.tell("state", known);
    }
  }

  setName(kind: "scene" | "device", name: unknown): void {
    if (typeof name === "string" && name !== this[kind]) {
      this[kind] = name;
      this.tell(kind, name);
    }
  }

  setFault(args: Message["args"]): void {
    const [id, code, name, priority, latched, acknowledged, time, cause, remedy, data] = args;
    this.faults.set(Number(id), {
      id: Number(id),
      code: String(code),
      name: String(name),
      priority: String(priority),
      latched: Boolean(latched),
      acknowledged: Boolean(acknowledged),
      time: Number(time),
      cause: String(cause),
      remedy: String(remedy),
      data: String(data ?? ""),
    });
    this.tell("faults", [...this.faults.values()]);
  }

  setStatus(args: Message["args"]): void {
    this.setState(args[0]);
    this.setName("scene", args[1]);
    this.setName("device", args[2]);
    this.status = {
      nominal: Number(args[3]),
      rate: Number(args[4]),
      late: Number(args[5]),
      overruns: Number(args[6]),
      realtime: Boolean(args[10]),
      simulation: Number(args[11]),
      uptime: Number(args[12]),
      recording: String(args[13] ?? ""),
    };
    this.tell("status", this.status);
  }

  setTask(args: Message["args"]): void {
    const [phase, met, goals, success, time] = args;
    this.task = {
      phase: String(phase),
      met: Number(met),
      goals: Number(goals),
      success: Boolean(success),
      time: Number(time),
    };
    this.tell("task", this.task);
  }

  setFrame(args: Message["args"]): void {
    const [, seconds, nanoseconds, blob] = args;
    const frame = blob instanceof Uint8Array ? parseFrame(floats(blob)) : undefined;
    if (frame === undefined) {
      return;
    }
    frame.time = Number(seconds) + Number(nanoseconds) * 1e-9;
    this.frame = frame;
    this.offset = Math.min(this.offset, performance.now() / 1000 - frame.time);
    this.tell("frame", frame);
  }

  setSkin(args: Message["args"]): void {
    const [, seconds, nanoseconds, skin, first, whole, blob] = args;
    if (blob instanceof Uint8Array) {
      const time = Number(seconds) + Number(nanoseconds) * 1e-9;
      const sample = this.packets.add(time, Number(skin), Number(first), Number(whole), floats(blob));
      if (sample !== undefined) {
        this.tell("skin", sample);
      }
    }
  }

  setPath(args: Message["args"]): void {
    const blob = args[3];
    const points = blob instanceof Uint8Array ? [...floats(blob)] : [];
    if (points.length % 3 === 0 && points.every(Number.isFinite)) {
      this.tell("path", points);
    }
  }

  setTicks(args: Message["args"]): void {
    const [first, count, blob] = args;
    if (blob instanceof Uint8Array) {
      this.ticksAt = performance.now();
      this.ticks.add(Number(first), Number(count), floats(blob));
    }
  }

  list(kind: "scene" | "device", name: unknown): void {
    this.lists[kind].push(String(name));
  }

  listEnd(kind: "scene" | "device"): void {
    this.tell(kind === "scene" ? "scenes" : "devices", this.lists[kind]);
    this.lists[kind] = [];
  }

  answered(args: Message["args"], failed: boolean): void {
    const address = String(args[0]);
    if (failed) {
      this.tell("fail", { address, code: Number(args[1]), text: String(args[2]) });
    } else {
      this.tell("done", { address, more: args.slice(1) });
    }
  }

  setVersion(args: Message["args"]): void {
    this.tell("version", `${args[0]} ${args[1]}`);
  }
}

/** Addresses the model understands, without their prefix; any other with one argument is a parameter. */
const HANDLERS: Record<string, (model: Model, args: Message["args"]) => void> = {
  "state": (model, args) => model.setState(args[0]),
  "event/state": (model, args) => model.setState(args[0]),
  "scene/name": (model, args) => model.setName("scene", args[0]),
  "device/name": (model, args) => model.setName("device", args[0]),
  "event/fault": (model, args) => model.setFault(args),
  "fault/list.reply": (model, args) => model.setFault(args),
  "fault/list.end": () => undefined,
  "event/task": (model, args) => model.setTask(args),
  "stream/task": (model, args) => model.setTask(args.slice(3)),
  "stream/scene": (model, args) => model.setFrame(args),
  "stream/skin": (model, args) => model.setSkin(args),
  "stream/path": (model, args) => model.setPath(args),
  "stream/ticks": (model, args) => model.setTicks(args),
  "status.reply": (model, args) => model.setStatus(args),
  "version.reply": (model, args) => model.setVersion(args),
  "scene/list.reply": (model, args) => model.list("scene", args[0]),
  "scene/list.end": (model) => model.listEnd("scene"),
  "device/list.reply": (model, args) => model.list("device", args[0]),
  "device/list.end": (model) => model.listEnd("device"),
  "done": (model, args) => model.answered(args, false),
  "fail": (model, args) => model.answered(args, true),
};

/** A sample of the scene; nothing when the numbers are too few or not finite. */
export function parseFrame(numbers: Float32Array): Frame | undefined {
  let at = 0;
  const next = (count: number): number[] => Array.from(numbers.subarray(at, (at += count)));
  const nextContacts = (): Contact[] | undefined => {
    const [count = NaN] = next(1);
    return count >= 0 && count <= numbers.length
      ? Array.from({ length: count }, () => ({ point: next(3), force: next(3) }))
      : undefined;
  };
  const tool = next(7);
  const handle = next(7);
  const force = next(3);
  const contacts = nextContacts();
  if (contacts === undefined) {
    return undefined;
  }
  const [bodyCount = NaN] = next(1);
  if (!(bodyCount >= 0 && bodyCount <= numbers.length)) {
    return undefined;
  }
  const bodies = Array.from({ length: bodyCount }, () => next(7));
  const frame: Frame = { time: 0, tool, handle, force, contacts, bodies };
  if (at < numbers.length) {
    const [second, touched] = [next(3), nextContacts()];
    if (touched === undefined) {
      return undefined;
    }
    frame.second = { force: second, contacts: touched };
  }
  const whole = at <= numbers.length && numbers.every((number) => Number.isFinite(number));
  return whole ? frame : undefined;
}
