"""The tasks of `hapticd bench assembly` for any engine, and the figures that its option --peers reads.

An engine has `step(force_world, torque_world_about_the_centre_of_mass)`, which may give the time of the step in ms where it is not that of this
thread, and `state()`, which gives rotation, origin, velocity of the centre
of mass and angular velocity of the moving part in the frame of the fixed one. Penetration is measured on all nodes of both parts by the
distances of `parts.py`, never by the engine.
"""

import json
import time

import numpy as np

import parts

STEP_S, DENSITY, FRICTION = 1e-3, 7850.0, 0.1


def inertia(nodes, triangles):
    """Mass, centre of mass and inertia about it."""
    corners = nodes[triangles]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    mass = volume.sum() / 6
    center = (volume[:, None] * corners.sum(1)).sum(0) / 24 / mass
    square = (np.ones((3, 3)) + np.eye(3)) / 120
    moment = np.einsum("i,iab,ac,icd->bd", volume, corners, square, corners) - mass * np.outer(center, center)
    return DENSITY * mass, center, DENSITY * (np.trace(moment) * np.eye(3) - moment)


class Task:
    """`bolt`: a nut driven on. `peg`: a peg held aside, then pushed in."""

    def __init__(self, kind):
        self.kind = kind
        self.names = ("nut", "bolt") if kind == "bolt" else ("peg", "bore")
        self.meshes = [parts.MESH[name]() for name in self.names]
        self.mass, self.center, self.inertia = inertia(*self.meshes[0])
        height = 16e-3 if kind == "bolt" else 20e-3
        turn = 2 * np.pi * height / parts.PITCH if kind == "bolt" else 0.0
        self.start = np.array([0, 0, height])
        self.rotation = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
        self.turn, self.steps = turn, 3000 if kind == "bolt" else 2000

    def load(self, at, state):
        """Force and torque of the hand at a time."""
        rotation, place, velocity, spin = state
        if self.kind == "bolt":
            return np.array([5.0, 0, -10]), np.array([0.05, 0, np.clip(0.1 * (-np.pi - spin[2]), -1, 1)])
        force = np.array([20.0, 0, 0])
        if at >= 1.0:
            behind = self.start[2] - 10e-3 * (at - 1.0) - place[2]
            force[2] = np.clip(2e4 * behind + 200 * (-10e-3 - velocity[2]), -60, 60)
        lever = rotation @ (np.array([0, 0, 55e-3]) - self.center)
        return force, np.cross(lever, [20.0, 0, 0])

    def depth(self, rotation, place):
        """Greatest depth of a node of either part in the other, m."""
        moving, fixed = (parts.DISTANCE[name] for name in self.names)
        ours, theirs = self.meshes[0][0] @ rotation.T + place, (self.meshes[1][0] - place) @ rotation
        return max(0.0, -fixed(ours).min(), -moving(theirs).min())

    def run(self, engine, name):
        """Drives an engine and prints the figures."""
        states, times = [engine.state()], []
        for k in range(self.steps):
            force, torque = self.load(k * STEP_S, states[-1])
            begin = time.thread_time_ns()
            taken = engine.step(force, torque)
            times.append((time.thread_time_ns() - begin) * 1e-6 if taken is None else taken)
            states.append(engine.state())
            if not np.linalg.norm(states[-1][1] - self.start) < 0.1:
                raise SystemExit(f"{name}: the part escapes after {k} ms")
        self.report(name, states[1:], times)

    def report(self, name, states, times):
        depth = 1e6 * np.array([self.depth(*state[:2]) for state in states[::10]])
        velocity, spin = (np.array([state[k] for state in states]) for k in (2, 3))
        figures = dict(name=name, step_ms_p50=np.median(times), step_ms_p99=np.percentile(times, 99), penetration_um_mean=depth.mean(),
                       penetration_um_max=depth.max())
        if self.kind == "bolt":
            angle = np.unwrap([np.arctan2(state[0][1, 0], state[0][0, 0]) for state in states])
            height = np.array([state[1][2] for state in states])
            lead = parts.PITCH * (angle - angle[0]) / (2 * np.pi)
            late = slice(self.steps // 3, None)
            jitter = velocity[late, 2] - parts.PITCH * spin[late, 2] / (2 * np.pi)
            figures["lead_error_mm"] = 1e3 * np.abs(height - height[0] - lead).max()
            figures["jitter_mm_per_s"] = 1e3 * np.sqrt((jitter**2).mean())
        else:
            held = velocity[500:1000]
            figures["jitter_mm_per_s"] = 1e3 * np.sqrt((held**2).sum(1).mean())
        print(json.dumps({key: x if isinstance(x, str) else float(x) for key, x in figures.items()}), flush=True)
