"""Nut M48x5 and bolt, peg and bore: meshes, convex pieces, and exact distances, for engines beside `hapticd bench assembly`.

ISO 68-1 profile; the bolt's is moved inward and the nut's outward by 0.2 mm. The helix is z = PITCH * angle / 2 pi. SI units.
"""

import numpy as np

PITCH, MAJOR_R, GAP = 5e-3, 24e-3, 0.4e-3
MINOR_R = MAJOR_R - 5 / 8 * PITCH * np.sqrt(3) / 2
# Half widths of the crest and of the root, along the axis.
CREST, ROOT = PITCH / 16, PITCH / 8
FLANK = PITCH / 2 - CREST - ROOT
BOLT_Z, BOLT_CHAMFER, NUT_Z, NUT_ACROSS = 20e-3, 1.5e-3, 7.5e-3, 75e-3
PEG_R, PEG_Z, PEG_CHAMFER = 49.97e-3 / 2, 60e-3, 1e-3
BORE_R, BORE_Z, BORE_OUTER_R, BORE_CHAMFER = 50.035e-3 / 2, 40e-3, 40e-3, 1e-3


def profile(phase):
    """Radius of the basic profile at an axial distance from a crest."""
    off = np.abs((phase + PITCH / 2) % PITCH - PITCH / 2)
    return MAJOR_R - np.clip((off - CREST) / FLANK, 0, 1) * (MAJOR_R - MINOR_R)


def outside_thread(p, offset):
    """Signed distance from the profile moved by `offset`, positive on the side of the air of a bolt."""
    r, angle = np.hypot(p[:, 0], p[:, 1]), np.arctan2(p[:, 1], p[:, 0])
    phase = (p[:, 2] - PITCH * angle / (2 * np.pi) + PITCH / 2) % PITCH - PITCH / 2
    root = PITCH / 2 - ROOT
    corners = [(-PITCH + CREST, MAJOR_R), (-PITCH + root, MINOR_R), (-root, MINOR_R), (-CREST, MAJOR_R), (CREST, MAJOR_R),
               (root, MINOR_R), (PITCH - root, MINOR_R), (PITCH - CREST, MAJOR_R)]
    at = np.stack([phase, r], 1)
    least = np.full(len(p), np.inf)
    for a, b in zip(corners, corners[1:]):
        a, b = np.array(a) + (0, offset), np.array(b) + (0, offset)
        t = np.clip((at - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        least = np.minimum(least, np.linalg.norm(at - a - t[:, None] * (b - a), axis=1))
    return np.sign(r - profile(phase) - offset) * least


def bolt_distance(p):
    r, z = np.hypot(p[:, 0], p[:, 1]), p[:, 2]
    cone = (r - (max(MAJOR_R - GAP / 2 - BOLT_CHAMFER, MINOR_R - GAP / 2) + np.maximum(0, BOLT_Z - z))) / np.sqrt(2)
    return np.maximum.reduce([outside_thread(p, -GAP / 2), z - BOLT_Z, -z, cone])


def nut_distance(p):
    """The hexagon outside is of no concern."""
    return np.maximum(-outside_thread(p, GAP / 2), np.abs(p[:, 2]) - NUT_Z)


def peg_distance(p):
    r, z = np.hypot(p[:, 0], p[:, 1]), p[:, 2]
    return np.maximum.reduce([r - PEG_R, -z, z - PEG_Z, (r - (PEG_R - PEG_CHAMFER) - z) / np.sqrt(2)])


def bore_distance(p):
    r, z = np.hypot(p[:, 0], p[:, 1]), p[:, 2]
    chamfer = z > BORE_Z - BORE_CHAMFER
    wall = (BORE_R + np.maximum(0, z - BORE_Z + BORE_CHAMFER) - r) / np.where(chamfer, np.sqrt(2), 1)
    return np.maximum.reduce([wall, -z, z - BORE_Z])


DISTANCE = dict(bolt=bolt_distance, nut=nut_distance, peg=peg_distance, bore=bore_distance)


class Mesh:
    """Triangles that are collected and welded."""

    def __init__(self):
        self.nodes, self.triangles = [], []

    def add(self, nodes, triangles):
        first = len(self.nodes)
        self.nodes += [tuple(p) for p in nodes]
        self.triangles += [tuple(int(k) + first for k in t) for t in triangles]

    def strip(self, below, above):
        """Between two rings; its normal is (along the ring) x (from below to above)."""
        n = len(below)
        quads = [(i, (i + 1) % n) for i in range(n)]
        self.add(list(below) + list(above), [t for i, k in quads for t in ((i, k, n + k), (i, n + k, n + i))])

    def cap(self, ring, z, up):
        n = len(ring)
        self.add(list(ring) + [(0, 0, z)], [(i, (i + 1) % n, n) if up else ((i + 1) % n, i, n) for i in range(n)])

    def welded(self):
        nodes = np.array(self.nodes)
        _, index, number = np.unique(np.round(nodes / 1e-9).astype(np.int64), axis=0, return_index=True, return_inverse=True)
        t = number.reshape(-1)[np.array(self.triangles)]
        return nodes[index], t[(t[:, 0] != t[:, 1]) & (t[:, 1] != t[:, 2]) & (t[:, 0] != t[:, 2])]


def circle(radius, z, count):
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(count, z)], 1)


def thread(count, low, high, offset, inward, limit=None):
    """A threaded wall whose rows follow the helix, and its lowest and highest ring."""
    root = PITCH / 2 - ROOT
    rows = [-CREST, CREST, (CREST + root) / 2, root, PITCH - root, PITCH - (CREST + root) / 2]
    turns = range(int(np.floor(low / PITCH)) - 2, int(np.ceil(high / PITCH)) + 3)
    rows = np.concatenate([np.array(rows) + k * PITCH for k in turns])

    def node(i, z):
        angle = 2 * np.pi * i / count
        r = profile(np.array(z - PITCH * i / count)) + offset
        r = r if limit is None else min(r, limit(z))
        return r * np.cos(angle), r * np.sin(angle), z

    nodes = [node(i, np.clip(row + PITCH * i / count, low, high)) for i in range(count) for row in rows]
    size, triangles = len(rows), []
    for i in range(count):
        for j in range(size - 1):
            a, d = i * size + j, i * size + j + 1
            # The last column meets the first one turn further up.
            b = a + size if i < count - 1 else j + 6
            c = b + 1
            if i == count - 1 and c >= size:
                continue
            far = [np.linalg.norm(np.subtract(nodes[p], nodes[q])) for p, q in ((a, c), (b, d))]
            pair = [(a, b, c), (a, c, d)] if far[0] <= far[1] else [(a, b, d), (b, c, d)]
            triangles += [t[::-1] for t in pair] if inward else pair
    return nodes, triangles, *([node(i, z) for i in range(count)] for z in (low, high))


def bolt_mesh():
    mesh, limit = Mesh(), lambda z: max(MAJOR_R - GAP / 2 - BOLT_CHAMFER, MINOR_R - GAP / 2) + max(0, BOLT_Z - z)
    nodes, triangles, low, high = thread(100, 0, BOLT_Z, -GAP / 2, False, limit)
    mesh.add(nodes, triangles)
    mesh.cap(low, 0, False)
    mesh.cap(high, BOLT_Z, True)
    return mesh.welded()


def nut_mesh(count=120):
    mesh, angle = Mesh(), 2 * np.pi * np.arange(120) / 120
    nodes, triangles, low, high = thread(count, -NUT_Z, NUT_Z, GAP / 2, True)
    mesh.add(nodes, triangles)
    r = NUT_ACROSS / 2 / np.cos((angle + np.pi / 6) % (np.pi / 3) - np.pi / 6)
    hexagon = lambda z: np.stack([r * np.cos(angle), r * np.sin(angle), np.full(count, z)], 1)
    mesh.strip(hexagon(-NUT_Z), hexagon(NUT_Z))
    mesh.strip(low, hexagon(-NUT_Z))
    mesh.strip(hexagon(NUT_Z), high)
    return mesh.welded()


def peg_mesh(count=256):
    mesh = Mesh()
    rings = [circle(PEG_R - PEG_CHAMFER, 0, count)] + [circle(PEG_R, z, count) for z in np.linspace(PEG_CHAMFER, PEG_Z, 9)]
    for below, above in zip(rings, rings[1:]):
        mesh.strip(below, above)
    mesh.cap(rings[0], 0, False)
    mesh.cap(rings[-1], PEG_Z, True)
    return mesh.welded()


def bore_mesh(count=256):
    mesh = Mesh()
    walls = [circle(BORE_R, z, count) for z in np.linspace(0, BORE_Z - BORE_CHAMFER, 7)]
    walls.append(circle(BORE_R + BORE_CHAMFER, BORE_Z, count))
    outer = [circle(BORE_OUTER_R, z, count) for z in (0, BORE_Z)]
    for below, above in zip(walls, walls[1:]):
        mesh.strip(above, below)
    mesh.strip(*outer)
    mesh.strip(walls[0], outer[0])
    mesh.strip(outer[1], walls[-1])
    return mesh.welded()


MESH = dict(bolt=bolt_mesh, nut=nut_mesh, peg=peg_mesh, bore=bore_mesh)


def wedges(inner, low, high, count=60):
    """Convex pieces of a ridge: those whose crest is whole."""
    pieces = []
    offset = GAP / 2 if inner else -GAP / 2
    root = PITCH / 2 - ROOT
    if inner:
        half = PITCH / 2 - CREST
        corners = [(MINOR_R, ROOT), (MAJOR_R, half), (MAJOR_R + 1e-3, half)]
        middle, crest = PITCH / 2, ROOT
    else:
        corners = [(MAJOR_R, CREST), (MINOR_R, root), (MINOR_R - 0.5e-3, root)]
        middle, crest = 0.0, CREST
    for step in range(int((low - PITCH) / PITCH * count) - count, int((high + PITCH) / PITCH * count) + count):
        ends = [PITCH * k / count + middle for k in (step, step + 1)]
        if min(ends) - crest < low or max(ends) + crest > high:
            continue
        angles = [2 * np.pi * k / count for k in (step, step + 1)]
        pieces.append(np.array([[(r + offset) * np.cos(t), (r + offset) * np.sin(t), np.clip(z + s * w, low, high)]
                                for t, z in zip(angles, ends) for r, w in corners for s in (-1, 1)]))
    return pieces


def pieces(name):
    """Convex pieces of a part."""
    if name == "peg":
        return [peg_mesh()[0]]
    if name == "nut":
        return wedges(True, -NUT_Z, NUT_Z)
    if name == "bolt":
        core = MINOR_R - GAP / 2
        return wedges(False, 0, BOLT_Z) + [np.concatenate([circle(core, z, 64) for z in (0, BOLT_Z)])]
    count = 128
    angle, reach = 2 * np.pi * np.arange(count + 1) / count, 1 / np.cos(np.pi / count)
    return [np.array([[r * np.cos(t), r * np.sin(t), z] for r in (BORE_R * reach, BORE_OUTER_R) for t in pair for z in (0, BORE_Z)])
            for pair in zip(angle, angle[1:])]
