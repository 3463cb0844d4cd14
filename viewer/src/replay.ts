// A recording being played: play and pause, speed, a bar to seek in, and keys for all of it.

import { byId, say } from "./dom";
import { float, type Argument } from "./osc";

const ADDRESS = "/hapticd/replay/";
/** A press of an arrow key, s, and of one with Shift. */
const STEP_S = { small: 0.1, large: 1 };

/** The one that is nearest to a number: it comes in single precision, in which a tenth is not 0.1. */
const nearest = (choices: string[], value: number): string =>
  choices.reduce((best, one) => (Math.abs(Number(one) - value) < Math.abs(Number(best) - value) ? one : best));

export class Replay {
  private readonly bar = byId("replay", HTMLElement);
  private readonly play = byId("replay-play", HTMLButtonElement);
  private readonly place = byId("replay-place", HTMLInputElement);
  private readonly speed = byId("replay-speed", HTMLSelectElement);
  private plays = false;
  private seconds = 0;
  private duration = 0;
  /** The bar is in somebody's hand: it is not moved by the film. */
  private held = false;

  constructor(private readonly send: (address: string, value: Argument) => void) {
    this.play.addEventListener("click", () => this.toggle());
    this.place.addEventListener("input", () => this.seek(Number(this.place.value)));
    for (const [event, held] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]] as const) {
      this.place.addEventListener(event, () => (this.held = held));
    }
    this.speed.addEventListener("change", () => send(`${ADDRESS}speed`, float(Number(this.speed.value))));
    window.addEventListener("keydown", (event) => this.key(event));
  }

  /** A recording of that length is shown; nothing, when it is a daemon. */
  load(duration: number | undefined): void {
    this.duration = duration ?? 0;
    this.bar.hidden = duration === undefined;
    this.place.max = String(this.duration);
    if (duration !== undefined) {
      document.body.dataset["role"] = "replay";
    }
  }

  get shown(): boolean {
    return !this.bar.hidden;
  }

  /** Takes what the player says of itself; false when it is of something else. */
  accept(address: string, value: unknown): boolean {
    switch (address) {
      case `${ADDRESS}plays`:
        this.plays = Boolean(value);
        say(this.play, this.plays ? "Pause" : "Play");
        return true;
      case `${ADDRESS}place`:
        this.seconds = Number(value);
        if (!this.held) {
          this.place.value = String(this.seconds);
        }
        say(byId("replay-time", HTMLElement), `${this.seconds.toFixed(1)} of ${this.duration.toFixed(1)} s`);
        this.place.setAttribute("aria-valuetext", `${this.seconds.toFixed(1)} seconds`);
        return true;
      case `${ADDRESS}speed`:
        this.speed.value = nearest([...this.speed.options].map((option) => option.value), Number(value));
        return true;
      default:
        return false;
    }
  }

  private toggle(): void {
    this.send(`${ADDRESS}plays`, this.plays ? 0 : 1);
  }

  private seek(seconds: number): void {
    this.seconds = Math.min(this.duration, Math.max(0, seconds));
    this.send(`${ADDRESS}place`, float(this.seconds));
  }

  /** Space plays and pauses; arrows, Home and End seek, except where they turn the scene or choose. */
  private key(event: KeyboardEvent): void {
    const used = "input, select, textarea, summary, canvas, button";
    const busy = event.target instanceof Element && event.target.matches(used);
    if (!this.shown || (busy && !(event.key === " " && event.target instanceof HTMLCanvasElement))) {
      return;
    }
    const step = event.shiftKey ? STEP_S.large : STEP_S.small;
    const keys: Record<string, () => void> = {
      " ": () => this.toggle(),
      "ArrowLeft": () => this.seek(this.seconds - step),
      "ArrowRight": () => this.seek(this.seconds + step),
      "Home": () => this.seek(0),
      "End": () => this.seek(this.duration),
    };
    const act = keys[event.key];
    if (act !== undefined) {
      event.preventDefault();
      act();
    }
  }
}
