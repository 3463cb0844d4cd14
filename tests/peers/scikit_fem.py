"""Writes tests/data/fem/scikit_fem.txt, the reference of tests/fem/reference.rs, with scikit-fem.

    python3 -m venv venv && venv/bin/pip install scikit-fem==12.0.2 numpy scipy
    venv/bin/python tests/peers/scikit_fem.py > tests/data/fem/scikit_fem.txt

With --check FILE the numbers are compared with those of FILE instead of printed.
"""

import argparse
import sys

import numpy as np
import scipy
import scipy.linalg
import scipy.sparse.linalg
import skfem
from skfem import Basis, BilinearForm, ElementTetP1, ElementTetP2, ElementVector, LinearForm, MeshTet
from skfem.helpers import ddot, dot, sym_grad, trace

YOUNG_PA, POISSON, DENSITY = 2.5e6, 0.35, 1100.0
SIZE, CELLS = (0.03, 0.02, 0.015), (3, 2, 2)
GRAVITY = (3.0, -2.0, -9.81)
LAME = YOUNG_PA * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
SHEAR = YOUNG_PA / (2 * (1 + POISSON))
# Paths from corner 0 to corner 7 of a brick along the axes in every order; corners by bits: 1 for x, 2 for y, 4 for z.
SIX = [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]]

HEAD = """# Matrices, frequencies and static solutions of a small block by scikit-fem {skfem} (numpy {numpy}, scipy {scipy}), for
# tests/fem/reference.rs; written by tests/peers/scikit_fem.py.
# Mesh: block of 0.03 x 0.02 x 0.015 m, 3 x 2 x 2 bricks of six tetrahedra, node k then moved by 1e-3 m times
# (sin k, sin(2k + 1), sin(3k + 2)), those on x = 0 not along x. E = 2.5e6 Pa, nu = 0.35, density 1100 kg/m3, nodes on x = 0 fixed.
# MeshTet with ElementVector(ElementTetP1) and ElementVector(ElementTetP2), intorder 4; forms lam tr(e) tr(e') + 2 mu e:e' and
# density u.u'; frequencies by scipy.linalg.eigh. Field u at (x, y, z):
# (sin(50x + 20y), cos(30y - 40z), sin(60z + 1 + 10x)). Lines: the 12 lowest frequencies; u.Ku/2 and u.Mu/2; Frobenius norms and
# traces of K and M; then for each free node its place, K u and M u.
# Lines "static": place and displacement of each free node under the acceleration (3, -2, -9.81) m/s2; "graded" is the same block
# without the moves of nodes, its places s = x/0.03 m mapped to x = 0.03 m (0.2 s + 0.8 s^2), quadratic elements."""


@BilinearForm
def stiffness(u, v, _):
    strain, other = sym_grad(u), sym_grad(v)
    return LAME * trace(strain) * trace(other) + 2 * SHEAR * ddot(strain, other)


@BilinearForm
def mass(u, v, _):
    return DENSITY * dot(u, v)


@LinearForm
def weight(v, _):
    return DENSITY * sum(g * v[k] for k, g in enumerate(GRAVITY))


def block():
    """Nodes and tetrahedra, numbered as by `BlockSpec::mesh`."""
    lines = [np.arange(n + 1) / n * size for n, size in zip(CELLS, SIZE)]
    nodes = np.array([(x, y, z) for z in lines[2] for y in lines[1] for x in lines[0]])
    at = lambda x, y, z: x + (CELLS[0] + 1) * (y + (CELLS[1] + 1) * z)
    tets = []
    for z in range(CELLS[2]):
        for y in range(CELLS[1]):
            for x in range(CELLS[0]):
                corner = lambda k: at(x + (k & 1), y + (k >> 1 & 1), z + (k >> 2))
                tets.extend([[corner(k) for k in path] for path in SIX])
    return nodes, np.array(tets)


def shaken(nodes):
    k = np.arange(len(nodes), dtype=float)
    moves = 1e-3 * np.stack([np.sin(k), np.sin(2 * k + 1), np.sin(3 * k + 2)], axis=1)
    moves[nodes[:, 0] == 0.0, 0] = 0.0
    return nodes + moves


def graded(nodes):
    share = nodes[:, 0] / SIZE[0]
    return np.stack([SIZE[0] * (0.2 * share + 0.8 * share**2), nodes[:, 1], nodes[:, 2]], axis=1)


def assembled(nodes, tets, element):
    """Matrices, places of the unknowns by node, load; unknowns in the order (node, axis), fixed ones left out."""
    basis = Basis(MeshTet(nodes.T.copy(), tets.T.copy()), ElementVector(element()), intorder=4)
    k, m, load = stiffness.assemble(basis).tocsr(), mass.assemble(basis).tocsr(), weight.assemble(basis)
    places = basis.doflocs.T
    groups = [list(column) for column in basis.nodal_dofs.T]
    if hasattr(basis, "edge_dofs") and basis.edge_dofs.size:
        groups += [list(column) for column in basis.edge_dofs.T]
    free = [group for group in groups if abs(places[group[0], 0]) > 1e-12]
    keep = np.array(free).ravel()
    at = np.array([places[group[0]] for group in free])
    return k[keep][:, keep], m[keep][:, keep], load[keep], at


def field(at):
    x, y, z = at.T
    return np.stack([np.sin(50 * x + 20 * y), np.cos(30 * y - 40 * z), np.sin(60 * z + 1 + 10 * x)], axis=1).ravel()


def words(numbers):
    return " ".join(repr(float(x)) for x in numbers)


def lines():
    yield HEAD.format(skfem=skfem.__version__, numpy=np.__version__, scipy=scipy.__version__)
    nodes, tets = block()
    for name, element in [("linear", ElementTetP1), ("quadratic", ElementTetP2)]:
        k, m, load, at = assembled(shaken(nodes), tets, element)
        squares = scipy.linalg.eigh(k.toarray(), m.toarray(), eigvals_only=True)
        u = field(at)
        ku, mu = k @ u, m @ u
        yield f"{name} frequencies_hz {words(np.sqrt(squares[:12]) / (2 * np.pi))}"
        yield f"{name} energy_j {words([0.5 * u @ ku, 0.5 * u @ mu])}"
        norm = lambda a: np.sqrt((a.data**2).sum())
        yield f"{name} norms {words([norm(k), norm(m), k.diagonal().sum(), m.diagonal().sum()])}"
        for place, a, b in zip(at, ku.reshape(-1, 3), mu.reshape(-1, 3)):
            yield f"{name} node {words(np.round(place, 12))} {words(a)} {words(b)}"
        yield from static(name, k, load, at)
    k, _, load, at = assembled(graded(nodes), tets, ElementTetP2)
    yield from static("graded", k, load, at)


def static(name, k, load, at):
    u = scipy.sparse.linalg.spsolve(k.tocsc(), load)
    for place, shift in zip(at, u.reshape(-1, 3)):
        yield f"{name} static {words(np.round(place, 12))} {words(shift)}"


def check(path):
    """Compares the numbers with those of a file, line by line of each kind."""
    wanted = {}
    for line in open(path):
        if not line.startswith("#"):
            name, kind, *rest = line.split()
            wanted.setdefault((name, kind), []).append([float(w) for w in rest])
    found = {}
    for line in "\n".join(lines()).split("\n"):
        if not line.startswith("#"):
            name, kind, *rest = line.split()
            found.setdefault((name, kind), []).append([float(w) for w in rest])
    worst = 0.0
    for key, rows in wanted.items():
        a, b = (np.array(sorted(r)) for r in (rows, found[key]))
        # Places may differ in the last digit: rows are matched by the nearest place.
        if key[1] in ("node", "static"):
            order = [int(np.argmin(((b[:, :3] - row[:3]) ** 2).sum(axis=1))) for row in a]
            b = b[order]
        off = np.abs(a - b).max() / np.abs(a).max()
        print(f"{key[0]} {key[1]}: {len(rows)} lines, off by {off:.1e}")
        worst = max(worst, off)
    return worst < 1e-9


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.check:
        sys.exit(0 if check(arguments.check) else 1)
    print("\n".join(lines()))
