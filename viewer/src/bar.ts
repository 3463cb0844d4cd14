// The bar at the top: state, Stop and its fellows, force against the limit, figures of the loop, age of the data.

import { byId, digits, say } from "./dom";
import type { Link } from "./link";
import type { Model, State } from "./model";

/** Values older than this are shown as old, s. */
const STALE_S = 0.5;
/** Stop is sent again this often until it is confirmed, ms, and given up after so many times. */
const AGAIN_MS = 100;
const MOST_TIMES = 50;
/** An unconfirmed Stop is told after this many times. */
const TELL_TIMES = 4;
/** The force bar is marked from this share of the limit on. */
const HIGH = 0.9;

const COMMANDS: Record<
  "start" | "pause" | "disable",
  { states: State[]; address: (state: State | undefined) => string }
> = {
  start: { states: ["DISABLED"], address: () => "/hapticd/start" },
  pause: {
    states: ["ENABLED", "PAUSED"],
    address: (state) => (state === "PAUSED" ? "/hapticd/resume" : "/hapticd/pause"),
  },
  disable: { states: ["ENABLED", "PAUSED"], address: () => "/hapticd/disable" },
};

/** How fresh what is shown is. */
export type Freshness = "live" | "stale" | "lost";

export class Bar {
  private readonly state = byId("state", HTMLElement);
  private readonly word = byId("state-word", HTMLElement);
  private readonly notice = byId("notice", HTMLElement);
  private readonly meter = byId("force-meter", HTMLElement);
  private stopping: { times: number; timer: ReturnType<typeof setInterval> } | undefined;
  private stopText = "";
  forceLimit = NaN;

  constructor(
    private readonly model: Model,
    private readonly link: Link,
    private readonly command: (address: string) => void,
  ) {
    byId("halt", HTMLButtonElement).addEventListener("click", () => this.stop());
    for (const [id, { states, address }] of Object.entries(COMMANDS)) {
      const button = byId(id, HTMLButtonElement);
      button.addEventListener("click", () => {
        if (model.state !== undefined && states.includes(model.state)) {
          this.command(address(model.state));
        }
      });
    }
    model.on("state", () => this.showState());
    model.on("done", ({ address }) => address === "/hapticd/halt" && this.stopped());
    this.keys();
  }

  /** Escape stops from anywhere; Space too, except where it types or chooses. */
  private keys(): void {
    const isStop = (event: KeyboardEvent): boolean => {
      // A recording cannot be stopped; there Space plays and pauses.
      if (["viewer", "replay"].includes(document.body.dataset["role"] ?? "")) {
        return false;
      }
      const types = event.target instanceof Element && event.target.matches("input, select, textarea, summary");
      return event.key === "Escape" || (event.key === " " && !types);
    };
    const options = { capture: true };
    window.addEventListener(
      "keydown",
      (event) => {
        if (isStop(event)) {
          event.preventDefault();
          if (!event.repeat) {
            this.stop();
          }
        }
      },
      options,
    );
    // Some browsers press a button when Space is let go.
    window.addEventListener("keyup", (event) => isStop(event) && event.preventDefault(), options);
  }

  /** Sends halt now, and again until the daemon has confirmed it, also over a connection that comes back. */
  stop(): void {
    clearInterval(this.stopping?.timer);
    const again = (): void => {
      const stopping = this.stopping;
      if (stopping === undefined) {
        return;
      }
      stopping.times += 1;
      const sent = this.link.send("/hapticd/halt");
      if (!sent || stopping.times >= TELL_TIMES) {
        this.stopText = `Stop ${sent ? "is not confirmed" : "cannot be sent"}: use the hardware switch.`;
        this.showFreshness();
      }
      if (stopping.times >= MOST_TIMES) {
        clearInterval(stopping.timer);
        this.stopping = undefined;
      }
    };
    this.stopping = { times: 0, timer: setInterval(again, AGAIN_MS) };
    again();
  }

  private stopped(): void {
    clearInterval(this.stopping?.timer);
    this.stopping = undefined;
    this.stopText = "";
    this.showFreshness();
  }

  freshness(): Freshness {
    if (!this.link.connected || this.model.state === undefined) {
      return "lost";
    }
    return this.model.age() < STALE_S ? "live" : "stale";
  }

  /** Shows how fresh the data is, and says so when it is not. */
  showFreshness(): void {
    const freshness = this.freshness();
    document.body.dataset["link"] = freshness;
    const age = this.model.age();
    say(byId("age", HTMLElement), Number.isFinite(age) ? `${Math.max(0, age).toFixed(age < 10 ? 2 : 0)} s` : "no data");
    const link = {
      live: "",
      stale: "The daemon answers, but the scene stands still on this page: its data is old.",
      lost: "No connection to the daemon. What is shown is old. Trying again.",
    }[freshness];
    const text = [this.stopText, link].filter((part) => part !== "").join(" ");
    this.notice.hidden = text === "";
    say(this.notice, text);
    this.showState();
  }

  private showState(): void {
    const state = this.link.connected ? this.model.state : undefined;
    this.state.dataset["state"] = state ?? "none";
    say(this.word, state ?? "NO CONNECTION");
    document.title = `${state ?? "No connection"} – hapticd`;
    for (const [id, { states }] of Object.entries(COMMANDS)) {
      byId(id, HTMLButtonElement).setAttribute("aria-disabled", String(state === undefined || !states.includes(state)));
    }
    say(byId("pause", HTMLButtonElement), state === "PAUSED" ? "Resume" : "Pause");
    if (state === "FAULT" && this.stopping !== undefined) {
      this.stopped();
    }
  }

  /** Shows the figures of the moment. */
  showFigures(): void {
    const { ticks, status } = this.model;
    const force = ticks.newest("force");
    const share = force / this.forceLimit;
    this.meter.style.setProperty("--share", String(Math.min(1, Number.isFinite(share) ? share : 0)));
    this.meter.dataset["high"] = String(share >= HIGH);
    this.meter.setAttribute("aria-valuemax", digits(this.forceLimit));
    this.meter.setAttribute("aria-valuenow", Number.isFinite(force) ? force.toFixed(2) : "0");
    const limit = Number.isFinite(this.forceLimit) ? ` of ${digits(this.forceLimit, 2)} N` : " N";
    const high = share >= HIGH ? " – near the limit" : "";
    say(byId("force-value", HTMLElement), Number.isFinite(force) ? `${force.toFixed(2)}${limit}${high}` : "–");
    say(byId("reserve", HTMLElement), `${digits(1e3 * ticks.newest("reserve"))} mJ`);
    if (status !== undefined) {
      say(byId("late", HTMLElement), `${digits(status.late)} µs${status.realtime ? "" : " (no real-time)"}`);
      say(byId("overruns", HTMLElement), String(status.overruns));
      say(byId("recording-fact", HTMLElement), status.recording === "" ? "no" : "● yes");
    }
  }
}
