// What the daemon says of its scene in scene.json, and what of it is checked before it is drawn.

/** Position and unit quaternion: x y z qx qy qz qw. */
export type Pose = number[];

export type Shape = { pose?: Pose } & (
  | { kind: "box"; size: number[] }
  | { kind: "sphere"; radius: number }
  | { kind: "cylinder"; radius: number; length: number }
  | { kind: "capsule"; radius: number; length: number }
  | { kind: "half_space" }
  | { kind: "bore"; size: number[]; radius: number; depth: number; chamfer?: number }
  | { kind: "mesh"; vertices: number[] | number[][]; triangles: number[] | number[][] }
  /** Drawn by the member of `skins` of the same name. */
  | { kind: "skin" }
);

export interface Body {
  name: string;
  fixed: boolean;
  /** The tool of the other hand. */
  held?: boolean;
  material: string;
  shape: Shape;
}

/** A body that deforms, at rest. */
export interface SkinShape {
  name: string;
  material: string;
  vertices: number[][];
  triangles: number[][];
  /** Surfaces inside, between two materials. */
  inner?: number[][];
  /** Stress drawn in the last colour of the scale, Pa. */
  stress_full_pa: number;
}

export interface Scene {
  scene: string;
  title: string;
  device: string;
  rate_hz: number;
  limits: { force_n: number; torque_nm: number; speed_m_per_s: number };
  /** Largest stiffness in the hand at which the device is stable, N/m. */
  stable_stiffness: number;
  /** There when the tool can be turned by clients: how fast at most. */
  turning?: { rate_rad_per_s: number } | null;
  tool: { shape: Shape };
  bodies: Body[];
  skins?: SkinShape[];
  /** There when a recording is played. */
  replay?: { duration_s: number };
  goals: string[];
}

/** Asks for the scene in use. Throws with a text for people when there is none. */
export async function fetchScene(): Promise<Scene> {
  const answer = await fetch("/scene.json", { cache: "no-cache" });
  if (!answer.ok) {
    throw new Error(`the daemon answered ${answer.status}`);
  }
  const scene = (await answer.json()) as Scene;
  if (!Array.isArray(scene.bodies) || scene.tool?.shape === undefined || !(scene.rate_hz > 0)) {
    throw new Error("scene.json lacks bodies, tool or rate");
  }
  return scene;
}
