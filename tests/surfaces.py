"""Meshes of which it matters what hangs together with what, and which faces that makes neighbours."""

from itertools import combinations

import numba
import numpy as np

import meshes
import trees
from pliant import shapes

OFF = bool(numba.config.DISABLE_JIT)
FEW = 20 if OFF else 150


def shuffled(mesh, seed=3):
    """The same mesh with its faces in another order."""
    return mesh[0], np.ascontiguousarray(mesh[1][np.random.default_rng(seed).permutation(len(mesh[1]))])


def without_places(faces):
    """A mesh of which only the faces matter."""
    faces = np.array(faces, np.int32)
    return np.random.default_rng(4).standard_normal((faces.max() + 1, 3)), faces


def grown(n, seed):
    """A disc grown from one face by adding faces at random free edges: links make a tree."""
    rng, faces, free = np.random.default_rng(seed), [(0, 1, 2)], [(0, 1), (1, 2), (2, 0)]
    for new in range(3, n + 2):
        a, b = free.pop(rng.integers(len(free)))
        faces.append((a, b, new))
        free += [(a, new), (new, b)]
    return without_places(faces)


def bush_between_strips(length, levels):
    """Two strips of faces end where a bush begins, in which every face has two more behind it: near and large, so that a region that
    comes from the end of one strip finds the bush taken."""
    faces, edges, new = [(0, 1, 2)], [[(1, 2)], [(2, 0)]], 3
    for strip in edges:
        for _ in range(length):
            a, b = strip.pop()
            faces.append((a, b, new))
            strip.append((b, new))
            new += 1
    level = [(0, 1)]
    for _ in range(levels):
        behind = []
        for a, b in level:
            faces.append((a, b, new))
            behind += [(a, new), (new, b)]
            new += 1
        level = behind
    return without_places(faces)


def tube(around, along):
    """A closed strip of squares, `along` of them one above the other."""
    k = np.arange(around * along).reshape(along, around)
    low, high = k.ravel(), k.ravel() + around
    right = np.roll(k, -1, 1).ravel()
    angle, height = 2 * np.pi * np.arange(around) / around, np.repeat(np.arange(along + 1.0), around)
    vertices = np.column_stack([np.tile(np.cos(angle), along + 1), np.tile(np.sin(angle), along + 1), height])
    faces = np.concatenate([np.column_stack([low, right, high]), np.column_stack([right, right + around, high])])
    return shuffled((vertices, faces.astype(np.int32)))


def row_of(mesh, n):
    """Copies of a mesh next to each other, in no order."""
    order = np.random.default_rng(5).permutation(n)
    return meshes.joined(*((mesh[0] + [3.0 * k, 0, 0], mesh[1]) for k in order))


SPHERE = shapes.icosphere(0 if OFF else 2)
SURFACES = {                                                            # connected, and edges join the faces around every vertex
    "one face": without_places([(0, 1, 2)]),
    "sphere": SPHERE,
    "shuffled sphere": shuffled(SPHERE),
    "sheet": shuffled(shapes.sheet(3, 3) if OFF else shapes.sheet(9, 11)),
    "strip": shuffled(shapes.sheet(1, FEW)),
    "disc grown at random": grown(FEW, 1),
    "disc grown otherwise": shuffled(grown(FEW, 2)),
    "bush between strips": bush_between_strips(5, 4) if OFF else bush_between_strips(12, 7),
    "closed fan": meshes.fan(meshes.ring(FEW, True, 1), True),
}
OTHERS = {
    "spheres in a row": row_of(shapes.icosphere(0 if OFF else 1), 2 if OFF else 7),
    "sphere and single faces": meshes.joined(meshes.soup(np.random.default_rng(6).standard_normal((9, 3, 3))), SPHERE),
    "single faces": meshes.soup(np.random.default_rng(6).standard_normal((FEW, 3, 3))),
    "copies of one face": without_places(np.tile([0, 1, 2], (FEW, 1))),
    "doubled sphere": (SPHERE[0], np.vstack([SPHERE[1], SPHERE[1][:, ::-1]])),
    "pages of a book": without_places([(0, 1, k) for k in range(2, FEW)]),
    "one vertex in all faces": without_places([(0, 2 * k + 1, 2 * k + 2) for k in range(FEW)]),
    "fans that touch in a vertex": without_places([(0, 10 * k + j, 10 * k + j + 1) for k in range(FEW // 8) for j in range(1, 9)]),
    "a chain of touching faces": without_places([(2 * k, 2 * k + 1, 2 * k + 2) for k in range(FEW)]),
    "segments and points": without_places([(k, k, k + (k % 3)) for k in range(FEW)] + [(5, 5, 5), (7, 9, 9)]),
    "few vertices": without_places(np.random.default_rng(7).integers(0, 12, (FEW, 3))),
    "many vertices": without_places(np.random.default_rng(8).integers(0, 2 * FEW, (FEW, 3))),
    "some of a sheet": (shapes.sheet(12, 12)[0], shapes.sheet(12, 12)[1][np.random.default_rng(9).permutation(288)[:FEW]]),
}
MESHES = SURFACES | OTHERS


def pieces_of(items, pairs):
    """The sets of items that pairs connect."""
    root = {item: item for item in items}

    def find(item):
        while root[item] != item:
            root[item] = root[root[item]]
            item = root[item]
        return item

    for a, b in pairs:
        if a in root and b in root:
            root[find(a)] = find(b)
    found = {}
    for item in items:
        found.setdefault(find(item), set()).add(item)
    return list(found.values())


def neighbours(faces):
    """(pairs of faces that share an edge, pairs that may also count as neighbours: those that share a vertex, but are in pieces around it
    that no edge through it joins)."""
    corners = [set(face) for face in faces.tolist()]
    around = {}
    for f, face in enumerate(corners):
        for v in face:
            around.setdefault(v, []).append(f)
    edges, touching = set(), set()
    for star in around.values():
        sharing = [(f, g) for f, g in combinations(star, 2) if len(corners[f] & corners[g]) > 1]
        edges.update(sharing)
        pieces = pieces_of(star, sharing)
        touching.update((f, g) for one, two in combinations(pieces, 2) for f in one for g in two)
    return edges, touching


def sets_of(tree):
    """The faces under every node and in every leaf."""
    return trees.faces_under(tree), [set(held) for held in trees.leaf_faces(tree)]
