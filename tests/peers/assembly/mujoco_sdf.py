"""MuJoCo on a task: signed distance octrees of both parts, stiff contact. Argument: bolt or peg."""

import sys

import mujoco
import numpy as np

from task import FRICTION, STEP_S, Task


class MuJoCo:
    def __init__(self, task):
        spec = mujoco.MjSpec()
        option = spec.option
        option.timestep, option.gravity, option.impratio = STEP_S, [0, 0, 0], 10
        option.cone, option.integrator = mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        option.sdf_iterations, option.sdf_initpoints = 10, 40
        geom = spec.default.geom
        geom.friction, geom.condim, geom.solref, geom.solimp = [FRICTION, 0, 0], 3, [2 * STEP_S, 1], [0.99, 0.9999, 1e-5, 0.5, 2]
        body = spec.worldbody.add_body(name="moving", pos=task.start)
        body.quat = [np.cos(task.turn / 2), 0, 0, np.sin(task.turn / 2)]
        body.add_freejoint()
        body.mass, body.ipos, body.inertia, body.explicitinertial = task.mass, task.center, np.diag(task.inertia), True
        for body, name, (nodes, triangles) in zip((body, spec.worldbody.add_body(name="fixed")), task.names, task.meshes):
            mesh = spec.add_mesh(name=name, uservert=nodes.ravel().astype(np.float32), userface=triangles.ravel().astype(np.int32))
            mesh.needsdf, mesh.octree_maxdepth = True, 6
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_SDF, meshname=name)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self.body, self.center = self.model.body("moving").id, task.center

    def step(self, force, torque):
        self.data.xfrc_applied[self.body] = np.concatenate([force, torque])
        mujoco.mj_step(self.model, self.data)

    def state(self):
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, self.data.qpos[3:7])
        rotation = rotation.reshape(3, 3)
        spin = rotation @ self.data.qvel[3:6]
        return rotation, self.data.qpos[:3].copy(), self.data.qvel[:3] + np.cross(spin, rotation @ self.center), spin


if __name__ == "__main__":
    task = Task(sys.argv[1])
    task.run(MuJoCo(task), f"MuJoCo {mujoco.__version__}, signed distance")
