// Poses between two samples: the page draws more often than it is told, and a little behind.

import { Quaternion, Vector3 } from "three";
import type { Frame } from "./model";
import type { Pose } from "./scene";

/** The page draws the scene as it was this long ago, s: two samples and some, so that there is one on either side. */
export const BEHIND_S = 0.08;
/** Samples kept. */
const KEPT = 16;

/** The newest samples, oldest first. */
export class Motion {
  private frames: Frame[] = [];

  add(frame: Frame): void {
    const newest = this.frames.at(-1);
    if (newest !== undefined && frame.time < newest.time) {
      this.frames = [];
    }
    this.frames.push(frame);
    this.frames.splice(0, this.frames.length - KEPT);
  }

  clear(): void {
    this.frames = [];
  }

  /** The scene at a time on the daemon's clock; never guessed beyond the newest sample. */
  at(time: number): Frame | undefined {
    const after = this.frames.findIndex((frame) => frame.time > time);
    const later = this.frames[after];
    const earlier = this.frames[after - 1];
    if (later === undefined || earlier === undefined) {
      return later ?? this.frames.at(-1);
    }
    return between(earlier, later, (time - earlier.time) / (later.time - earlier.time));
  }
}

function between(a: Frame, b: Frame, share: number): Frame {
  // Contacts come and go; those of the nearer sample are drawn as they were.
  const nearer = share < 0.5 ? a : b;
  const mixed: Frame = {
    time: a.time + share * (b.time - a.time),
    tool: blend(a.tool, b.tool, share),
    handle: blend(a.handle, b.handle, share),
    force: mix(a.force, b.force, share),
    contacts: nearer.contacts,
    bodies: b.bodies.map((pose, k) => blend(a.bodies[k] ?? pose, pose, share)),
  };
  if (a.second !== undefined && b.second !== undefined && nearer.second !== undefined) {
    mixed.second = { force: mix(a.second.force, b.second.force, share), contacts: nearer.second.contacts };
  }
  return mixed;
}

const mix = (a: number[], b: number[], share: number): number[] =>
  a.map((value, k) => value + share * ((b[k] ?? value) - value));

export const place = (pose: Pose): Vector3 => new Vector3(pose[0], pose[1], pose[2]);
export const turn = (pose: Pose): Quaternion => new Quaternion(pose[3], pose[4], pose[5], pose[6]).normalize();

function blend(a: Pose, b: Pose, share: number): Pose {
  const position = place(a).lerp(place(b), share);
  const rotation = turn(a).slerp(turn(b), share);
  return [...position.toArray(), ...rotation.toArray()];
}
