// Keys that turn the tool: Q against the clock, E with it, for as long as they are held.

import { float, type Argument } from "./osc";

const ADDRESS = "/hapticd/turn";
/** The daemon turns for 250 ms after each message. */
const AGAIN_MS = 100;
const WAYS: Record<string, number> = { q: 1, e: -1 };

/** What of the window is listened to. */
export interface Keys {
  addEventListener(name: string, listener: (event: KeyboardEvent) => void): void;
}

export class Turn {
  private rate = 0;
  private way = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    keys: Keys,
    private readonly send: (address: string, value: Argument) => void,
    private readonly enabled: () => boolean,
  ) {
    keys.addEventListener("keydown", (event) => this.down(event));
    keys.addEventListener("keyup", (event) => WAYS[event.key.toLowerCase()] === this.way && this.end());
    keys.addEventListener("blur", () => this.end());
  }

  /** The scene's fastest turn, rad/s; nothing when its tool is turned by the handle alone. */
  load(rate: number | undefined): void {
    this.end();
    this.rate = rate ?? 0;
  }

  /** Stops, and says so. */
  end(): void {
    if (this.way !== 0) {
      clearInterval(this.timer);
      this.way = 0;
      this.send(ADDRESS, float(0));
    }
  }

  private down(event: KeyboardEvent): void {
    const way = WAYS[event.key.toLowerCase()];
    const types = typeof Element !== "undefined" && event.target instanceof Element;
    if (way === undefined || event.repeat || event.ctrlKey || event.altKey || event.metaKey || this.rate === 0) {
      return;
    }
    if ((types && (event.target as Element).matches("input, select, textarea")) || !this.enabled()) {
      return;
    }
    clearInterval(this.timer);
    this.way = way;
    const again = (): void => (this.enabled() ? this.send(ADDRESS, float(way * this.rate)) : this.end());
    this.timer = setInterval(again, AGAIN_MS);
    again();
  }
}
