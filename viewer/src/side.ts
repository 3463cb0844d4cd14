// The cards at the side that are not parameters or faults: task, recording, scene and device.

import { byId, make, say } from "./dom";
import type { Model, Task } from "./model";
import type { Argument } from "./osc";

export type Command = (address: string, ...args: Argument[]) => void;

/** Task: phase, time, goals met. The daemon counts goals; it does not say which. */
export function showTask(task: Task | undefined, goals: string[]): void {
  const meter = byId("task-meter", HTMLElement);
  const share = task === undefined || task.goals === 0 ? 0 : task.met / task.goals;
  meter.style.setProperty("--share", String(share));
  meter.setAttribute("aria-valuemax", String(task?.goals ?? 0));
  meter.setAttribute("aria-valuenow", String(task?.met ?? 0));
  say(
    byId("task-phase", HTMLElement),
    task === undefined ? "–" : `${task.success ? "✓ achieved: " : ""}${task.phase || "not begun"}`,
  );
  say(byId("task-time", HTMLElement), task === undefined ? "" : `${task.time.toFixed(1)} s`);
  const names = goals.length === 0 ? "" : `: ${goals.join(", ")}`;
  // A recording knows the phases, and not which goals were met when.
  const met = task === undefined ? "–" : task.goals === 0 ? "" : `${task.met} of ${task.goals} goals met${names}`;
  say(byId("task-goals", HTMLElement), met);
}

export function wireRecording(model: Model, command: Command): void {
  const toggle = byId("record-toggle", HTMLButtonElement);
  const name = byId("record-name", HTMLInputElement);
  const mark = byId("mark-text", HTMLInputElement);
  const active = (): boolean => (model.status?.recording ?? "") !== "";
  model.on("status", ({ recording }) => {
    say(toggle, active() ? "End recording" : "Record");
    name.disabled = active();
    say(byId("record-path", HTMLElement), active() ? `Recording to ${recording}` : "Not recording.");
  });
  byId("record-form", HTMLFormElement).onsubmit = (event) => {
    event.preventDefault();
    if (active()) {
      command("/hapticd/record/stop");
    } else {
      command("/hapticd/record/start", ...(name.value.trim() === "" ? [] : [name.value.trim()]));
    }
  };
  byId("mark-form", HTMLFormElement).onsubmit = (event) => {
    event.preventDefault();
    if (mark.value.trim() !== "") {
      command("/hapticd/record/mark", mark.value.trim());
      mark.value = "";
    }
  };
}

export function wireSetup(model: Model, command: Command): void {
  const choose = (kind: "scene" | "device", verb: string): void => {
    const list = byId(`${kind}-choice`, HTMLSelectElement);
    let chosen = "";
    const current = (name: string): void => {
      if (name !== "" && ![...list.options].some((option) => option.value === name)) {
        list.append(make("option", { value: name }, name));
      }
      list.value = name;
      chosen = name;
    };
    model.on(kind, current);
    model.on(kind === "scene" ? "scenes" : "devices", (names) => {
      const kept = list.value || chosen;
      list.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
      current(kept || model[kind]);
    });
    byId(`${kind}-form`, HTMLFormElement).onsubmit = (event) => {
      event.preventDefault();
      if (model.state === "DISABLED") {
        command(verb, list.value);
      } else {
        say(
          byId("setup-hint", HTMLElement),
          `Not in ${model.state ?? "this state"}: scene and device can be changed in DISABLED only.`,
        );
      }
    };
  };
  choose("scene", "/hapticd/scene/load");
  choose("device", "/hapticd/device/open");
  byId("home", HTMLButtonElement).onclick = () => command("/hapticd/device/home");
  model.on("state", (state) => {
    const off = String(state !== "DISABLED");
    for (const button of document.querySelectorAll("#scene-form button, #device-form button")) {
      button.setAttribute("aria-disabled", off);
    }
    say(byId("setup-hint", HTMLElement), "Scene and device can be changed in DISABLED.");
  });
}
