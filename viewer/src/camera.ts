// Where the scene is looked at from: presets, mouse and touch, arrow keys.
//
// x points to the operator, y to the operator's right, z up; "front" is where the operator sits, "side" to the left.

import { Box3, PerspectiveCamera, Sphere, Vector3, type Object3D } from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

export const VIEWS = ["fit", "front", "side", "top", "tool"] as const;
export type View = (typeof VIEWS)[number];

/** From the middle of the scene to the eye. */
const DIRECTIONS: Record<View, [number, number, number]> = {
  fit: [0.65, -1, 0.6],
  front: [1, 0, 0.08],
  side: [0, -1, 0.08],
  // A hair off the axis, towards the operator, so that up is still defined.
  top: [0.002, 0, 1],
  tool: [0.65, -1, 0.4],
};
/** Least radius of what is looked at, m: of a scene, and of a tool alone, which needs room to move. */
const LEAST_RADIUS = { scene: 0.02, tool: 0.06 };
/** Room around the scene, for what moves. */
const MARGIN = 1.1;
/** Turn of one press of an arrow key, rad, and zoom of plus and minus. */
const KEY = { turn: 0.12, zoom: 1.15 };

export class Camera {
  readonly camera = new PerspectiveCamera(32, 1, 0.001, 100);
  private readonly controls: OrbitControls;
  middle = new Vector3();
  private follows = false;
  radius = 0.1;

  constructor(canvas: HTMLCanvasElement) {
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** Takes middle and size from what is in the scene: solid bodies, and the tool. */
  measure(solids: Object3D[], tool: Object3D): void {
    const box = new Box3();
    [...solids, tool].forEach((object) => {
      object.updateMatrixWorld(true);
      box.expandByObject(object);
    });
    const ball = box.isEmpty() ? new Sphere() : box.getBoundingSphere(new Sphere());
    this.middle = ball.center;
    this.radius = Math.max(ball.radius, solids.length > 0 ? LEAST_RADIUS.scene : LEAST_RADIUS.tool);
    this.camera.near = this.radius / 50;
    this.camera.far = this.radius * 60;
    this.camera.updateProjectionMatrix();
  }

  look(view: View): void {
    this.follows = view === "tool";
    const narrow = Math.min(1, this.camera.aspect);
    const reach = this.radius / Math.sin(((this.camera.fov / 2) * Math.PI) / 180) / narrow;
    const distance = reach * (view === "tool" ? 0.6 : MARGIN);
    if (!this.follows) {
      this.controls.target.copy(this.middle);
    }
    const [x, y, z] = DIRECTIONS[view];
    this.camera.position.copy(this.controls.target).addScaledVector(new Vector3(x, y, z).normalize(), distance);
    this.controls.update();
  }

  resize(aspect: number): void {
    this.camera.aspect = aspect;
    this.camera.updateProjectionMatrix();
  }

  update(tool: Vector3): void {
    if (this.follows) {
      const move = tool.clone().sub(this.controls.target);
      this.controls.target.add(move);
      this.camera.position.add(move);
    }
    this.controls.update();
  }

  private key(event: KeyboardEvent): void {
    const arm = this.camera.position.clone().sub(this.controls.target);
    const side = new Vector3(0, 0, 1).cross(arm).normalize();
    const tilt = arm.angleTo(new Vector3(0, 0, 1));
    switch (event.key) {
      case "ArrowLeft":
        arm.applyAxisAngle(new Vector3(0, 0, 1), -KEY.turn);
        break;
      case "ArrowRight":
        arm.applyAxisAngle(new Vector3(0, 0, 1), KEY.turn);
        break;
      case "ArrowUp":
        arm.applyAxisAngle(side, -Math.min(KEY.turn, tilt - 0.01));
        break;
      case "ArrowDown":
        arm.applyAxisAngle(side, Math.min(KEY.turn, Math.PI - 0.01 - tilt));
        break;
      case "+":
      case "=":
        arm.divideScalar(KEY.zoom);
        break;
      case "-":
        arm.multiplyScalar(KEY.zoom);
        break;
      default:
        return;
    }
    event.preventDefault();
    this.camera.position.copy(this.controls.target).add(arm);
  }
}
