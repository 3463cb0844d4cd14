// OSC packets as bytes and back: messages with i, f, s, b, T and F, and bundles of them.
//
// What cannot be read is an error for the caller to drop; nothing is guessed.

/** One argument of a message. Numbers that are whole travel as `i`, others as `f`, unless marked by [`float`]. */
export type Argument = number | string | boolean | Uint8Array | Float;

/** A number that travels as `f` even when it is whole. */
export interface Float {
  float: number;
}

/** A message as it was received: plain values only. */
export interface Message {
  address: string;
  args: (number | string | boolean | Uint8Array)[];
}

/** Bundles may be nested this deep, as in the daemon. */
const DEPTH = 8;

export const float = (value: number): Float => ({ float: value });

const padded = (length: number): number => (length + 3) & ~3;

/** The bytes of one message. */
export function encode(address: string, args: Argument[] = []): Uint8Array<ArrayBuffer> {
  const texts = new TextEncoder();
  const parts: Uint8Array[] = [];
  let tags = ",";
  for (const argument of args) {
    if (typeof argument === "boolean") {
      tags += argument ? "T" : "F";
    } else if (typeof argument === "string") {
      tags += "s";
      parts.push(terminated(texts.encode(argument)));
    } else if (argument instanceof Uint8Array) {
      tags += "b";
      parts.push(
        word((view) => view.setInt32(0, argument.length)),
        filled(argument),
      );
    } else if (typeof argument === "number" && Number.isInteger(argument) && Math.abs(argument) < 2 ** 31) {
      tags += "i";
      parts.push(word((view) => view.setInt32(0, argument)));
    } else {
      const value = typeof argument === "number" ? argument : argument.float;
      tags += "f";
      parts.push(word((view) => view.setFloat32(0, value)));
    }
  }
  return joined([terminated(texts.encode(address)), terminated(texts.encode(tags)), ...parts]);
}

function word(write: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(4);
  write(new DataView(bytes.buffer));
  return bytes;
}

function filled(bytes: Uint8Array): Uint8Array {
  const whole = new Uint8Array(padded(bytes.length));
  whole.set(bytes);
  return whole;
}

function terminated(bytes: Uint8Array): Uint8Array {
  const whole = new Uint8Array(padded(bytes.length + 1));
  whole.set(bytes);
  return whole;
}

function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The messages of one packet, in order; those of bundles too. Throws when the bytes are no OSC packet. */
export function decode(bytes: Uint8Array, depth = 0): Message[] {
  if (bytes[0] !== 0x23) {
    return [message(new Reader(bytes))];
  }
  const reader = new Reader(bytes);
  if (reader.text() !== "#bundle" || depth >= DEPTH) {
    throw new Error("not a bundle, or nested too deep");
  }
  reader.take(8);
  const messages: Message[] = [];
  while (!reader.done()) {
    messages.push(...decode(reader.take(reader.int()), depth + 1));
  }
  return messages;
}

function message(reader: Reader): Message {
  const address = reader.text();
  const tags = reader.text();
  if (!address.startsWith("/") || !tags.startsWith(",")) {
    throw new Error("not an OSC message");
  }
  const args: Message["args"] = [];
  for (const tag of tags.slice(1)) {
    args.push(reader.argument(tag));
  }
  return { address, args };
}

/** Walks through the bytes of a packet; every step is checked against the end. */
class Reader {
  private at = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  done(): boolean {
    return this.at >= this.bytes.length;
  }

  take(length: number): Uint8Array {
    if (length < 0 || this.at + length > this.bytes.length) {
      throw new Error("the packet ends too early");
    }
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  int(): number {
    this.take(4);
    return this.view.getInt32(this.at - 4);
  }

  text(): string {
    const end = this.bytes.indexOf(0, this.at);
    if (end < 0) {
      throw new Error("a text without an end");
    }
    const text = new TextDecoder().decode(this.bytes.subarray(this.at, end));
    this.take(padded(end - this.at + 1));
    return text;
  }

  argument(tag: string): Message["args"][number] {
    switch (tag) {
      case "i":
        return this.int();
      case "f":
        this.take(4);
        return this.view.getFloat32(this.at - 4);
      case "s":
        return this.text();
      case "b": {
        const length = this.int();
        const blob = this.take(length);
        this.take(padded(length) - length);
        return blob;
      }
      case "T":
        return true;
      case "F":
        return false;
      default:
        throw new Error(`an argument of unknown type ${tag}`);
    }
  }
}

/** A blob of little-endian single-precision numbers. */
export function floats(blob: Uint8Array): Float32Array {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  return Float32Array.from({ length: blob.byteLength >> 2 }, (_, index) => view.getFloat32(4 * index, true));
}
