"""Writes tests/data/fem/mujoco_flex.txt, the reference of tests/soft/peer.rs, with MuJoCo's flex bodies.

    python3 -m venv venv && venv/bin/pip install mujoco==4.0.0 numpy
    venv/bin/python tests/peers/mujoco_flex.py > tests/data/fem/mujoco_flex.txt

A jelly cube is dropped on a table without friction, which MuJoCo would let creep. The mesh and the masses of its nodes are those of our test; the steps are refined and the contact of
the table is made stiffer, so that the figures show how far they depend on either.
"""

import sys

import mujoco
import numpy as np

SIDE, CELLS, DROP = 0.04, 4, 0.01
YOUNG_PA, POISSON, DENSITY, DAMPING_S = 50e3, 0.3, 1000.0, 2e-3
GRAVITY = 9.81
# Radius of the balls at the nodes, which MuJoCo needs; the table is lowered by as much.
RADIUS = 1e-4
# Paths from corner 0 to corner 7 of a brick along the axes in every order; corners by bits: 1 for x, 2 for y, 4 for z.
SIX = [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]]
# Step, s, and time constant of the table's contact, s.
RUNS = [(1e-3, 4e-3), (2.5e-4, 4e-3), (2.5e-4, 2e-3), (2.5e-4, 1e-3), (1.25e-4, 1e-3), (1.25e-4, 5e-4)]
BOUNCE_S, REST_S = 0.15, 0.5

HEAD = """# A soft cube of {side} m dropped from {drop} m on a table, by MuJoCo {version} (flex, tetrahedra), for tests/soft/peer.rs; written by
# tests/peers/mujoco_flex.py. E = {young} Pa, nu = {poisson}, density {density} kg/m3, stiffness damping {damping} s, no friction.
# Mesh: {cells}^3 bricks of six tetrahedra. Heights in mm: centre of mass less half the side.
# Columns: step s; time constant of the contact s; lowest height of the first impact and its time s; highest after it and its time s;
# height at rest; height of the lowest node at rest."""


def block():
    """Nodes and tetrahedra, numbered as by `BlockSpec::mesh`, and the mass of each node."""
    line = np.arange(CELLS + 1) / CELLS * SIDE - SIDE / 2
    nodes = np.array([(x, y, z) for z in line for y in line for x in line])
    at = lambda x, y, z: x + (CELLS + 1) * (y + (CELLS + 1) * z)
    tets = []
    for z in range(CELLS):
        for y in range(CELLS):
            for x in range(CELLS):
                corner = [at(x + (k & 1), y + (k >> 1 & 1), z + (k >> 2)) for k in range(8)]
                tets += [[corner[k] for k in path] for path in SIX]
    tets = np.array(tets)
    a, b, c, d = (nodes[tets[:, k]] for k in range(4))
    volume = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6
    assert (volume > 0).all()
    mass = np.zeros(len(nodes))
    for k in range(4):
        np.add.at(mass, tets[:, k], DENSITY * volume / 4)
    return nodes, tets, mass


def words(array):
    return " ".join(repr(x) for x in array.ravel().tolist())


def model(step, contact, nodes, tets, mass):
    xml = f"""<mujoco><option timestep="{step}" solver="Newton" tolerance="1e-10" iterations="200" integrator="discrete"
      gravity="0 0 {-GRAVITY}" cone="elliptic"/>
    <worldbody><geom type="plane" size="1 1 .1" pos="0 0 {-RADIUS}" condim="1" solref="{contact} 1"/>
    <flexcomp name="cube" type="direct" dim="3" radius="{RADIUS}" mass="{mass.sum()}" pos="0 0 {SIDE / 2 + DROP}"
      point="{words(nodes)}" element="{words(tets)}">
    <contact condim="1" solref="{contact} 1" selfcollide="none"/>
    <elasticity young="{YOUNG_PA}" poisson="{POISSON}" damping="{DAMPING_S}"/></flexcomp></worldbody></mujoco>"""
    made = mujoco.MjModel.from_xml_string(xml)
    # MuJoCo gives every node the same mass.
    made.body_mass[made.flex_vertbodyid] = mass
    mujoco.mj_setConst(made, mujoco.MjData(made))
    return made


def drop(step, contact, rest):
    nodes, tets, mass = block()
    made = model(step, contact, nodes, tets, mass)
    data = mujoco.MjData(made)
    heights, lowest = [], 0.0
    for _ in range(round(rest / step)):
        mujoco.mj_step(made, data)
        places = data.flexvert_xpos.reshape(-1, 3)
        heights.append((mass @ places[:, 2]) / mass.sum() - SIDE / 2)
        lowest = places[:, 2].min()
    heights = np.array(heights)
    first = heights[: round(BOUNCE_S / step)]
    down = first.argmin()
    up = down + first[down:].argmax()
    return [1e3 * first[down], step * (down + 1), 1e3 * first[up], step * (up + 1), 1e3 * heights[-1], 1e3 * lowest]


def main():
    print(HEAD.format(side=SIDE, drop=DROP, version=mujoco.__version__, young=YOUNG_PA, poisson=POISSON, density=DENSITY,
                      damping=DAMPING_S, cells=CELLS))
    for step, contact in RUNS:
        figures = drop(step, contact, REST_S)
        print(step, contact, *(f"{x:.6f}" for x in figures))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
