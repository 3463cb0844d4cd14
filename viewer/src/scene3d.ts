// The scene in three dimensions: bodies from scene.json, poses from the stream, forces as arrows.
//
// Drawing never takes more than half of the page's time, however slow the machine, and a quarter where it is done in
// software: Stop must answer at once.

import {
  AmbientLight,
  BufferGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  DirectionalLight,
  DoubleSide,
  EdgesGeometry,
  Float32BufferAttribute,
  FrontSide,
  Group,
  Line,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshStandardMaterial,
  PlaneGeometry,
  Scene as World,
  SphereGeometry,
  Vector3,
  WebGLRenderer,
  type Object3D,
} from "three";
import { Camera, type View } from "./camera";
import { Cut } from "./cut";
import type { Frame } from "./model";
import { BEHIND_S, Motion, place, turn } from "./motion";
import type { Body, Pose, Scene, Shape } from "./scene";
import { geometry } from "./shapes";
import { SkinMesh, type Scale, type SkinSample } from "./skins";

/** Contacts drawn at once; the daemon may know of more. */
const CONTACTS = 32;
/** Length of the arrow of the largest force, as a share of the scene's radius. */
const ARROW = 0.9;
/** Side of a plane that has no end, in radii of the scene. */
const PLANE = 6;
/** Forces below this are not drawn, N. */
const LEAST_N = 0.02;
/** Pushed back a hair, so that what lies on it is seen and not the two by turns. */
const BEHIND = { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };
/** Drawn after everything else. */
const ABOVE = 10;
/**
 * Frames at most this often, ms, and how many times as long as a frame takes lies between two of them. Where drawing
 * is done in software it takes the processors that the page, and perhaps the daemon, need: Stop comes first.
 */
const PACE = { fast: { frame: 16, share: 2 }, software: { frame: 120, share: 4 } };
/** A frame that takes longer is drawn with fewer pixels, down to this many for each of the page's. */
const SLOW_MS = 60;
const LEAST_SHARPNESS = 0.6;

/** A force from a point: shaft and head, pointing along z before it is turned. */
class Arrow extends Group {
  private readonly shaft: Mesh;
  private readonly head: Mesh;

  constructor(material: MeshStandardMaterial) {
    super();
    this.shaft = new Mesh(new CylinderGeometry(1, 1, 1, 12).rotateX(Math.PI / 2).translate(0, 0, 0.5), material);
    this.head = new Mesh(new ConeGeometry(1, 1, 20).rotateX(Math.PI / 2).translate(0, 0, 0.5), material);
    this.shaft.renderOrder = this.head.renderOrder = ABOVE;
    this.add(this.shaft, this.head);
  }

  show(from: number[], force: number[], metresPerNewton: number, longest: number, width: number): void {
    const vector = new Vector3(force[0], force[1], force[2]);
    const newtons = vector.length();
    this.visible = newtons > LEAST_N && metresPerNewton > 0;
    if (!this.visible) {
      return;
    }
    const length = Math.min(newtons * metresPerNewton, longest);
    const head = Math.min(4 * width, 0.6 * length);
    this.position.set(from[0] ?? 0, from[1] ?? 0, from[2] ?? 0);
    this.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), vector.divideScalar(newtons));
    this.shaft.scale.set(width, width, length - head);
    this.head.scale.set(2.2 * width, 2.2 * width, head);
    this.head.position.z = length - head;
  }
}

/** Colours of the page's style sheet, as they are now. */
function palette(): (name: string) => Color {
  const style = getComputedStyle(document.documentElement);
  return (name) => new Color(style.getPropertyValue(`--${name}`).trim());
}

export class Scene3d {
  private readonly world = new World();
  private readonly camera: Camera;
  private readonly motion = new Motion();
  private readonly materials: Record<string, MeshStandardMaterial>;
  private readonly lines = new LineBasicMaterial({ transparent: true, opacity: 0.55 });
  /** Force on each hand. */
  private readonly forces: [Arrow, Arrow];
  /** Number of the body that is the second hand's tool; -1 without one. */
  private second = -1;
  private readonly contacts: { dot: Mesh; arrow: Arrow }[];
  private bodies: Object3D[] = [];
  private skins: SkinMesh[] = [];
  private readonly needle = new Line(new BufferGeometry(), new LineBasicMaterial({ depthTest: false }));
  private readonly cut: Cut;
  private stress: Scale = [];
  private tool: Object3D = new Group();
  private handle: Object3D = new Group();
  private forceLimit = 1;
  /** False until the first sample of a scene: only then it is known where things are. */
  private framed = false;
  private drawnAt = -Infinity;
  /** False when the picture is not as large as its frame. */
  private fits = false;
  /** Time from the start of a frame until the machine has drawn it, ms, smoothed. */
  private cost = 0;
  /** Passed when the frame at hand is drawn; software drawing goes on long after `render` has returned. */
  private fence: WebGLSync | null = null;
  private sharpness: number;

  private constructor(
    private readonly renderer: WebGLRenderer,
    private readonly frame: HTMLElement,
    private readonly pace: { frame: number; share: number },
  ) {
    // Asking for errors waits for the graphics; what can go wrong here shows in the tests.
    renderer.debug.checkShaderErrors = false;
    this.sharpness = pace === PACE.software ? LEAST_SHARPNESS : Math.min(devicePixelRatio, 2);
    this.camera = new Camera(renderer.domElement);
    const solid = (roughness: number) => new MeshStandardMaterial({ roughness, metalness: 0.05 });
    // Forces are seen through everything: they begin inside the tool and the wall.
    const above = () => new MeshStandardMaterial({ roughness: 0.6, transparent: true, depthTest: false });
    const clear = (opacity: number) =>
      new MeshStandardMaterial({ transparent: true, opacity, depthWrite: false, side: 2 });
    this.materials = {
      body: solid(0.7),
      fixed: solid(0.9),
      ground: new MeshStandardMaterial({ roughness: 0.9, metalness: 0.05, ...BEHIND }),
      open: clear(0.42),
      tool: solid(0.45),
      handle: clear(0.28),
      skin: new MeshStandardMaterial({ roughness: 0.6, vertexColors: true, side: DoubleSide }),
      // What lies inside a body stays whole when the body is cut open; where it reaches the surface it is behind it.
      inside: new MeshStandardMaterial({ roughness: 0.6, metalness: 0.05, ...BEHIND }),
      push: above(),
      touch: above(),
    };
    const sun = new DirectionalLight(0xffffff, 2.2);
    sun.position.set(0.6, -0.5, 1);
    this.world.add(new AmbientLight(0xffffff, 1.5), sun);
    this.forces = [new Arrow(this.material("push")), new Arrow(this.material("push"))];
    this.world.add(...this.forces);
    this.contacts = Array.from({ length: CONTACTS }, () => {
      const dot = new Mesh(new SphereGeometry(1, 16, 12), this.material("touch"));
      dot.renderOrder = ABOVE;
      const arrow = new Arrow(this.material("touch"));
      this.world.add(dot, arrow);
      return { dot, arrow };
    });
    this.needle.renderOrder = ABOVE;
    this.needle.visible = false;
    this.world.add(this.needle);
    this.cut = new Cut((on) => this.clip(on));
    this.dress();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.dress());
    new ResizeObserver(() => (this.fits = false)).observe(frame);
  }

  /** A view in that element; nothing when the browser cannot draw in three dimensions. */
  static create(frame: HTMLElement): Scene3d | undefined {
    const canvas = document.createElement("canvas");
    // A machine without a graphics processor draws in software: smooth edges cost too much there.
    const fast = canvas.getContext("webgl2", { antialias: true, failIfMajorPerformanceCaveat: true });
    const context = fast ?? canvas.getContext("webgl2", { antialias: false });
    if (context === null) {
      return undefined;
    }
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute(
      "aria-label",
      "The scene in three dimensions. Arrow keys turn it, plus and minus come nearer or go back.",
    );
    frame.prepend(canvas);
    try {
      return new Scene3d(new WebGLRenderer({ canvas, context }), frame, fast === null ? PACE.software : PACE.fast);
    } catch {
      canvas.remove();
      return undefined;
    }
  }

  look(view: View): void {
    this.measure();
    this.camera.look(view);
  }

  /** Takes the size of the scene as it is now; planes have none. */
  private measure(): void {
    this.camera.measure([...this.bodies.filter((body) => !isPlane(body)), ...this.skins], this.tool);
  }

  /** What of the scene is cut: its bodies. The tool, the hand and the forces stay whole. */
  private clip(on: boolean): void {
    this.renderer.localClippingEnabled = on;
    const cut = ["body", "fixed", "ground", "open", "skin"].map((name) => this.material(name));
    for (const material of [...cut, this.lines]) {
      material.clippingPlanes = on ? [this.cut.plane] : null;
    }
    for (const name of ["body", "fixed", "ground"]) {
      // One looks into what is cut, at the inner side of its far walls.
      this.material(name).side = on ? DoubleSide : FrontSide;
      this.material(name).needsUpdate = true;
    }
  }

  addSkin(sample: SkinSample): void {
    this.skins[sample.skin]?.take(sample);
  }

  /** The path of a needle; no points, no needle. */
  setPath(points: number[]): void {
    this.needle.visible = points.length >= 6;
    if (this.needle.visible) {
      this.needle.geometry.dispose();
      this.needle.geometry = new BufferGeometry();
      this.needle.geometry.setAttribute("position", new Float32BufferAttribute(points, 3));
    }
  }

  add(frame: Frame): void {
    this.motion.add(frame);
  }

  /** Builds the bodies anew. */
  load(scene: Scene): void {
    this.motion.clear();
    for (const old of [...this.bodies, ...this.skins, this.tool, this.handle]) {
      this.world.remove(old);
      old.traverse((part) => {
        if (part instanceof Mesh || part instanceof LineSegments) {
          (part.geometry as BufferGeometry).dispose();
        }
      });
    }
    this.forceLimit = scene.limits.force_n;
    this.second = scene.bodies.findIndex((body) => body.held === true);
    this.tool = this.solid(scene.tool.shape, "tool", 0);
    this.handle = this.solid(scene.tool.shape, "handle", 0);
    // Planes are as large as the rest of the scene asks for.
    const solids = scene.bodies.map((body) =>
      body.shape.kind === "half_space" ? undefined : this.body(body, 0),
    );
    this.skins = (scene.skins ?? []).map((skin) => new SkinMesh(skin, this.material("skin"), this.material("inside")));
    this.needle.visible = false;
    this.camera.measure([...solids.filter((solid) => solid !== undefined), ...this.skins], this.tool);
    const extent = PLANE * this.camera.radius;
    this.bodies = scene.bodies.map((body, k) => solids[k] ?? this.body(body, extent));
    this.world.add(...this.bodies, ...this.skins, this.tool, this.handle);
    this.framed = false;
  }

  private body({ shape, fixed, held }: Body, extent: number): Object3D {
    // One looks into a bore from outside: its block is see-through.
    const kinds: Record<string, string> = { bore: "open", half_space: "ground" };
    return this.solid(shape, held ? "tool" : (kinds[shape.kind] ?? (fixed ? "fixed" : "body")), extent);
  }

  private material(name: string): MeshStandardMaterial {
    return this.materials[name] ?? new MeshStandardMaterial();
  }

  private solid(shape: Shape, material: string, extent: number): Object3D {
    const holder = new Group();
    const inner = new Group();
    holder.add(inner);
    if (shape.pose !== undefined) {
      inner.position.copy(place(shape.pose));
      inner.quaternion.copy(turn(shape.pose));
    }
    const made =
      shape.kind === "half_space"
        ? extent > 0
          ? new PlaneGeometry(extent, extent, 12, 12)
          : undefined
        : geometry(shape);
    if (made === undefined) {
      return holder;
    }
    inner.add(new Mesh(made, this.material(material)));
    if (material !== "handle") {
      // All lines of a plane, so that it reads as one; of a solid only its sharp edges.
      const edges = shape.kind === "half_space" ? grid(extent, 12) : new EdgesGeometry(made, 28);
      inner.add(new LineSegments(edges, this.lines));
    }
    return holder;
  }

  private dress(): void {
    const colour = palette();
    this.world.background = colour("space");
    this.lines.color = colour("quiet");
    for (const name of ["body", "fixed", "ground", "tool", "handle", "inside", "push", "touch"]) {
      this.material(name).color = colour(name);
    }
    this.material("open").color = colour("body");
    (this.needle.material as LineBasicMaterial).color = colour("needle");
    this.stress = ["none", "some", "full"].map((name) => colour(`stress-${name}`));
    this.skins.forEach((skin) => skin.repaint());
  }

  /** Takes the size of the frame. An emptied picture is drawn in the same turn: until then the one before is shown. */
  private fit(): void {
    this.fits = true;
    const { clientWidth: width, clientHeight: height } = this.frame;
    if (width > 0 && height > 0) {
      this.renderer.setPixelRatio(this.sharpness);
      this.renderer.setSize(width, height, false);
      this.camera.resize(width / height);
    }
  }

  /** Draws the scene as it was a moment ago, when it is time to and the frame before is done. */
  draw(daemonTime: number): void {
    const now = performance.now();
    if (!this.ready(now)) {
      return;
    }
    this.drawnAt = now;
    if (!this.fits) {
      this.fit();
    }
    const frame = this.motion.at(daemonTime - BEHIND_S);
    if (frame !== undefined) {
      this.pose(frame);
    }
    this.skins.forEach((skin) => skin.show(daemonTime - BEHIND_S, this.stress));
    this.camera.update(this.tool.position);
    this.cut.lay(this.camera.middle, this.camera.radius);
    this.renderer.render(this.world, this.camera.camera);
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    this.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
  }

  /** True when the last frame is drawn and as much time again has passed. Slow machines get a coarser picture. */
  private ready(now: number): boolean {
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    if (this.fence !== null) {
      if (!gl.isContextLost() && gl.getSyncParameter(this.fence, gl.SYNC_STATUS) !== gl.SIGNALED) {
        return false;
      }
      gl.deleteSync(this.fence);
      this.fence = null;
      this.cost += 0.2 * (now - this.drawnAt - this.cost);
      if (this.cost > SLOW_MS && this.sharpness > LEAST_SHARPNESS) {
        this.sharpness = Math.max(LEAST_SHARPNESS, 0.75 * this.sharpness);
        this.cost *= 0.6;
        this.fits = false;
      }
    }
    return !this.fits || now - this.drawnAt >= Math.max(this.pace.frame, this.pace.share * this.cost) - 2;
  }

  private pose(frame: Frame): void {
    const set = (object: Object3D, pose: Pose): void => {
      object.position.copy(place(pose));
      object.quaternion.copy(turn(pose));
    };
    set(this.tool, frame.tool);
    set(this.handle, frame.handle);
    this.bodies.forEach((body, k) => {
      const pose = frame.bodies[k];
      // The second hand's tool is not known where its recording is missing.
      body.visible = pose !== undefined || k !== this.second;
      set(body, pose ?? [0, 0, 0, 0, 0, 0, 1]);
    });
    if (!this.framed) {
      this.framed = true;
      this.look("fit");
    }
    const scale = (ARROW * this.camera.radius) / this.forceLimit;
    // Forces in the scene may be far above what the hand is given.
    const longest = 2 * ARROW * this.camera.radius;
    const width = 0.016 * this.camera.radius;
    this.forces[0].show(frame.tool, frame.force, scale, longest, 1.5 * width);
    const other = frame.bodies[this.second] ?? [];
    this.forces[1].show(other, frame.second?.force ?? [0, 0, 0], scale, longest, 1.5 * width);
    const contacts = [...frame.contacts, ...(frame.second?.contacts ?? [])];
    this.contacts.forEach(({ dot, arrow }, k) => {
      const contact = contacts[k];
      dot.visible = contact !== undefined;
      arrow.show(contact?.point ?? [], contact?.force ?? [0, 0, 0], scale, longest, width);
      if (contact !== undefined) {
        dot.position.set(contact.point[0] ?? 0, contact.point[1] ?? 0, contact.point[2] ?? 0);
        dot.scale.setScalar(2.2 * width);
      }
    });
  }
}

const isPlane = (body: Object3D): boolean => {
  let plane = false;
  body.traverse((part) => (plane ||= part instanceof Mesh && part.geometry instanceof PlaneGeometry));
  return plane;
};

/** Lines of a square in the plane z = 0, a little above it. */
function grid(extent: number, cells: number): BufferGeometry {
  const points: Vector3[] = [];
  const half = extent / 2;
  for (let k = 0; k <= cells; k++) {
    const at = -half + (k * extent) / cells;
    points.push(
      new Vector3(at, -half, 0),
      new Vector3(at, half, 0),
      new Vector3(-half, at, 0),
      new Vector3(half, at, 0),
    );
  }
  return new BufferGeometry().setFromPoints(points).translate(0, 0, extent * 2e-4);
}
