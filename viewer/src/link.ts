// The WebSocket to the daemon: opens, greets, asks for status twice a second, and opens again when it is lost.
//
// Silence counts as loss: a socket can look open for minutes after the other end has gone.

import { decode, encode, float, type Argument, type Message } from "./osc";

/** Without a word for this long the connection counts as lost. Streams come every 33 ms. */
export const LOST_MS = 750;
/** A silent socket is given up after this long, and a new one tried. */
const GIVE_UP_MS = 3000;
/** Waits before trying again: the first, and the longest. */
const RETRY_MS = { first: 200, longest: 2000 };
/** Status is asked for this often; it also renews the leases. */
const STATUS_MS = 500;

/** What the link tells its owner. */
export interface Listener {
  /** A new connection: everything known before may be out of date. */
  opened(): void;
  message(message: Message): void;
}

export class Link {
  private socket: WebSocket | undefined;
  private heardAt = -Infinity;
  private triedAt = -Infinity;
  private askedAt = -Infinity;
  private wait = RETRY_MS.first;
  private retryAt = 0;
  private turnedAt = -Infinity;

  constructor(
    private readonly url: string,
    private readonly listener: Listener,
  ) {
    setInterval(() => this.turn(performance.now()), 100);
    this.turn(performance.now());
  }

  /** True while the daemon is heard. */
  get connected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN && performance.now() - this.heardAt < LOST_MS;
  }

  /** Milliseconds since the daemon was heard; infinite before the first time. */
  get silence(): number {
    return performance.now() - this.heardAt;
  }

  /** Sends one message; false when there is no connection to send it by. */
  send(address: string, ...args: Argument[]): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) {
      return false;
    }
    this.socket.send(encode(address, args));
    return true;
  }

  private turn(now: number): void {
    const state = this.socket?.readyState;
    // After a pause of the page itself what has come in the meantime is taken first.
    const paused = now - this.turnedAt > 500 && this.turnedAt > 0;
    this.turnedAt = now;
    if (paused) {
      return;
    }
    if (this.socket === undefined) {
      if (now >= this.retryAt) {
        this.open(now);
      }
    } else if (state === WebSocket.OPEN) {
      if (now - Math.max(this.heardAt, this.triedAt) > GIVE_UP_MS) {
        this.drop(this.socket);
      } else if (now - this.askedAt >= STATUS_MS) {
        this.askedAt = now;
        this.send("/hapticd/status");
      }
    } else if (now - this.triedAt > GIVE_UP_MS) {
      this.drop(this.socket);
    }
  }

  private open(now: number): void {
    this.triedAt = now;
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => this.greet();
    socket.onclose = () => this.drop(socket);
    socket.onmessage = (event) => {
      if (socket === this.socket && event.data instanceof ArrayBuffer) {
        this.receive(new Uint8Array(event.data));
      }
    };
  }

  private greet(): void {
    this.triedAt = performance.now();
    this.listener.opened();
    this.send("/hapticd/notify", 1);
    this.send("/hapticd/subscribe", "scene", float(30));
    this.send("/hapticd/subscribe", "ticks", float(30));
    this.send("/hapticd/subscribe", "task", float(2));
    this.send("/hapticd/subscribe", "skin", float(30));
    this.send("/hapticd/subscribe", "path", float(30));
    for (const question of ["version", "fault/list", "scene/list", "device/list", "status"]) {
      this.send(`/hapticd/${question}`);
    }
  }

  private receive(bytes: Uint8Array): void {
    let messages: Message[];
    try {
      messages = decode(bytes);
    } catch {
      // A packet that cannot be read is no sign of life.
      return;
    }
    this.heardAt = performance.now();
    this.wait = RETRY_MS.first;
    messages.forEach((message) => this.listener.message(message));
  }

  private drop(socket: WebSocket): void {
    if (socket !== this.socket) {
      return;
    }
    this.socket = undefined;
    this.heardAt = -Infinity;
    this.retryAt = performance.now() + this.wait;
    this.wait = Math.min(2 * this.wait, RETRY_MS.longest);
    socket.close();
  }
}
