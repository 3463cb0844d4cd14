// The viewer's page: wires the link to the model and the model to what is on screen.

import { Bar } from "./bar";
import { VIEWS } from "./camera";
import { byId, digits, say } from "./dom";
import { Faults } from "./faults";
import { Link } from "./link";
import { Model } from "./model";
import type { Argument } from "./osc";
import { Panel } from "./panel";
import { Plots } from "./plots";
import { Replay } from "./replay";
import { fetchScene, type Scene } from "./scene";
import { Scene3d } from "./scene3d";
import { showTask, wireRecording, wireSetup } from "./side";
import { Turn } from "./turn";

/** Figures and plots are renewed this often, ms; a plot moves by a pixel or two in that time. */
const FIGURES_MS = 100;
/** Answers of the daemon stay on screen this long, ms. */
const ANSWER_MS = 10_000;
/** Scene and parameters are read this long after a change, and again when they could not be read, ms. */
const READ_MS = { change: 30, again: 2000 };

const model = new Model();
const link = new Link(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`, {
  opened: () => {
    model.forget();
    panel.forget();
  },
  message: (message) => model.take(message),
});
const bar = new Bar(model, link, command);
const panel = new Panel(byId("panel", HTMLElement), (address, value) => link.send(address, value));
const plots = new Plots(byId("plots", HTMLElement), model.ticks);
const faults = new Faults(byId("faults", HTMLElement), byId("earlier", HTMLDetailsElement), (id) =>
  command("/hapticd/fault/ack", id),
);
const replay = new Replay((address, value) => link.send(address, value));
const turn = new Turn(window, (address, value) => link.send(address, value), () => model.state === "ENABLED");
const view = Scene3d.create(byId("canvas-place", HTMLElement));
let scene: Scene | undefined;
let answerTimer: ReturnType<typeof setTimeout> | undefined;
let reloadTimer: ReturnType<typeof setTimeout> | undefined;

if (new URLSearchParams(location.search).has("view")) {
  document.body.dataset["role"] = "viewer";
}

function command(address: string, ...args: Argument[]): void {
  if (!link.send(address, ...args)) {
    answer("Not sent: no connection to the daemon.");
  }
}

/** A sentence below the bar, for a while. */
function answer(text: string): void {
  const place = byId("answer", HTMLElement);
  place.hidden = text === "";
  say(place, text);
  clearTimeout(answerTimer);
  answerTimer = setTimeout(() => (place.hidden = true), ANSWER_MS);
}

/** Reads scene and parameters anew: after a connection, another scene or another device. */
async function reload(): Promise<void> {
  try {
    scene = await fetchScene();
    show(scene);
    await panel.load();
    panel.setStable(scene.stable_stiffness);
  } catch (problem) {
    if (link.connected) {
      answer(`Scene or parameters could not be read: ${problem instanceof Error ? problem.message : String(problem)}.`);
      reloadSoon(READ_MS.again);
    }
  }
}

function reloadSoon(wait: number): void {
  clearTimeout(reloadTimer);
  reloadTimer = setTimeout(() => void reload(), wait);
}

function show(now: Scene): void {
  say(byId("view-title", HTMLElement), now.title || now.scene);
  say(byId("setup-now", HTMLElement), `${now.scene} on ${now.device}, ${now.rate_hz} Hz`);
  bar.forceLimit = plots.facts.forceLimit = now.limits.force_n;
  plots.facts.rate = now.rate_hz;
  view?.load(now);
  replay.load(now.replay?.duration_s);
  turn.load(now.turning?.rate_rad_per_s);
  model.isFilm = replay.shown;
  const full = Math.max(0, ...(now.skins ?? []).map((skin) => skin.stress_full_pa));
  byId("stress", HTMLElement).hidden = full === 0;
  say(byId("stress-full", HTMLElement), `${digits(full / 1e3)} kPa`);
  showTask(model.task, now.goals);
}

function showFaults(): void {
  faults.show([...model.faults.values()], model.daemonTime(), link.connected);
}

model.on("scene", () => reloadSoon(READ_MS.change));
model.on("device", () => reloadSoon(READ_MS.change));
model.on("frame", (frame) => {
  view?.add(frame);
  const [x = NaN, y = NaN, z = NaN] = frame.tool.map((value) => 1e3 * value);
  const count = frame.contacts.length;
  say(
    byId("tool-place", HTMLElement),
    `tool ${x.toFixed(1)}, ${y.toFixed(1)}, ${z.toFixed(1)} mm; ${count} contact${count === 1 ? "" : "s"}`,
  );
});
model.on("skin", (sample) => view?.addSkin(sample));
model.on("path", (points) => view?.setPath(points));
model.on("faults", showFaults);
model.on("task", (task) => showTask(task, scene?.goals ?? []));
model.on("version", (version) => say(byId("version", HTMLElement), version));
model.on("value", ({ address, value }) => {
  if (replay.accept(address, value)) {
    return;
  }
  panel.accept(address, value);
  if (address === "/hapticd/safety/max_force" && typeof value === "number") {
    bar.forceLimit = plots.facts.forceLimit = value;
  }
});
model.on("fail", ({ address, code, text }) => {
  if (code === 403 && document.body.dataset["role"] === undefined) {
    document.body.dataset["role"] = "reader";
  }
  if (!panel.refuse(address, text)) {
    answer(`${address.replace("/hapticd/", "")} was not done: ${text}`);
  }
});
model.on("done", ({ address, more }) => {
  if (address.startsWith("/hapticd/record/") && more[0] !== undefined) {
    answer(`${address.endsWith("start") ? "Recording to" : "Recorded:"} ${String(more[0])}`);
  }
});
wireRecording(model, command);
wireSetup(model, command);

for (const name of VIEWS) {
  document.querySelector(`[data-camera="${name}"]`)?.addEventListener("click", () => view?.look(name));
}
if (view === undefined) {
  byId("no-3d", HTMLElement).hidden = false;
  document.body.dataset["flat"] = "true";
}

let turnedAt = performance.now();
let skipped = false;
setInterval(() => {
  // After a pause of the page itself, what has come in the meantime is taken first; once, lest it never be told.
  skipped = performance.now() - turnedAt > 4 * FIGURES_MS && !skipped;
  turnedAt = performance.now();
  if (skipped) {
    return;
  }
  bar.showFreshness();
  showFaults();
  if (bar.freshness() === "live" && !document.hidden) {
    bar.showFigures();
    plots.draw();
  }
}, FIGURES_MS);

function frame(): void {
  view?.draw(model.daemonTime());
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
