// The cut-away: a plane that hides what lies before it, so that one sees inside. Off until an axis is chosen.

import { Plane, Vector3 } from "three";
import { byId } from "./dom";

/** Towards what is left of the scene: the side away from where the camera begins. */
const AXES: Record<string, Vector3> = { x: new Vector3(-1, 0, 0), y: new Vector3(0, 1, 0), z: new Vector3(0, 0, -1) };

export class Cut {
  readonly plane = new Plane(new Vector3(1, 0, 0), 0);
  private readonly axis = byId("cut-axis", HTMLSelectElement);
  private readonly place = byId("cut-place", HTMLInputElement);
  private readonly turned = byId("cut-turned", HTMLInputElement);

  /** `changed` is called when the plane was switched on or off. */
  constructor(private readonly changed: (on: boolean) => void) {
    this.axis.addEventListener("change", () => this.choose());
    this.choose();
  }

  get on(): boolean {
    return AXES[this.axis.value] !== undefined;
  }

  private choose(): void {
    this.place.disabled = this.turned.disabled = !this.on;
    this.changed(this.on);
  }

  /** Puts the plane where the slider says, within a scene of that middle and radius. */
  lay(middle: Vector3, radius: number): void {
    const normal = AXES[this.axis.value];
    if (normal !== undefined) {
      const along = normal.x + normal.y + normal.z;
      const at = middle.dot(normal) + (along * Number(this.place.value) * radius) / 100;
      const side = this.turned.checked ? -1 : 1;
      this.plane.normal.copy(normal).multiplyScalar(side);
      this.plane.constant = -side * at;
    }
  }
}
