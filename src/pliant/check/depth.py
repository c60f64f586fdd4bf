"""How deep bodies are in each other: a depth for each pair of intersecting faces.

Where two surfaces intersect, their curve divides each into a part that has passed through the other and the rest. The depth of that part is
the distance of its farthest vertex from the other surface, and it is the depth of all pairs of faces along the curve. So contacts of two
bodies in several places have depths of their own, and no depth grows with the size of triangles.

    inside      the other body is closed: the part has the vertices inside it, by exact winding numbers
    through     it is open: removing the intersecting faces leaves pieces of the mesh; those that are cut off from the largest have passed
    at least    neither body has such a part (edges cross, a border sticks in, a body meets itself): the shortest translation that separates
                the two faces, below which no translation separates the bodies

A part is found from the intersecting faces outwards, so the cost grows with it and not with the body. Of an open surface at most MAX_PART
vertices are visited on the way; a larger piece counts as the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import pliant
from pliant.body import Body
from pliant.check.pair_keys import Rows
from pliant.errors import MeshError
from pliant.query.collide.contacts import contacts_of

NO_DEPTH, INSIDE, THROUGH, AT_LEAST = range(4)
DEPTH_KINDS = ("none", "inside", "through", "at least")
MAX_PART = 4096  # vertices of an open surface that are visited from the faces of a contact
MAX_DEPTH = 3e38  # depths are stored in float32

Indices = NDArray[np.int64]
Depths = NDArray[np.float32]
Kinds = NDArray[np.uint8]


class Connectivity(NamedTuple):
    """The faces around each vertex: those of vertex v are incident[starts[v] : starts[v + 1]]."""

    body: Body
    faces: Rows  # (f, 3) welded
    starts: Indices
    incident: Indices
    closed: bool


class Part(NamedTuple):
    """Vertices that were reached from a contact, and the piece of the mesh that each belongs to."""

    vertices: Indices  # ascending
    pieces: NDArray[np.int32]
    unfinished: NDArray[np.bool_]  # of each piece: it has vertices that were not visited


class PairDepths(NamedTuple):
    """How deep pairs of faces are."""

    depths: Depths  # (m,)
    kinds: Kinds  # (m,) of DEPTH_KINDS
    shallow: NDArray[np.bool_]  # (m,) less deep than `min_depth`


class DepthFinder:
    """Finds depths frame after frame; keeps what does not change, so it serves one list of bodies.

    min_depth : a pair is shallow if its depth is smaller. A depth that is only a lower bound does not suffice: there the curve in which the
        surfaces intersect must also be smaller than that, from end to end
    """

    def __init__(self, min_depth: float = 0.0) -> None:
        self.min_depth = min_depth
        self._meshes: dict[int, Connectivity] = {}
        self._last: dict[tuple[int, int], tuple[tuple[Any, ...], PairDepths]] = {}  # by two bodies: (state, result)

    def find(self, bodies: Sequence[Body], pairs: Rows, faces: Rows) -> PairDepths:
        """The depths of intersecting faces (m, 2) of the bodies `pairs` (m, 2), sorted by these."""
        found = PairDepths(np.zeros(len(pairs), np.float32), np.zeros(len(pairs), np.uint8), np.zeros(len(pairs), bool))
        if not len(pairs):
            return found
        begins = np.concatenate([[0], np.flatnonzero((pairs[1:] != pairs[:-1]).any(axis=1)) + 1, [len(pairs)]]).tolist()
        last = {}
        for begin, end in pairwise(begins):
            i, j = pairs[begin].tolist()
            rows = faces[begin:end]
            state = (bodies[i], bodies[i]._version, bodies[j], bodies[j]._version, rows.tobytes())
            before = self._last.get((i, j))
            last[i, j] = state, before[1] if before is not None and before[0] == state else self._depths_of(bodies, i, j, rows)
            for column, values in zip(found, last[i, j][1], strict=True):
                column[begin:end] = values
        self._last = last
        return found

    def _depths_of(self, bodies: Sequence[Body], i: int, j: int, rows: Rows) -> PairDepths:
        """Depths of pairs of two bodies, or of one with itself."""
        depths, kinds = np.zeros(len(rows)), np.full(len(rows), AT_LEAST, np.uint8)
        if i != j:
            for column, (one, other) in enumerate(((i, j), (j, i))):
                crossing, which = np.unique(rows[:, column], return_inverse=True)
                each, kind = part_depths(self._mesh(one, bodies[one]), self._mesh(other, bodies[other]), crossing)
                deeper = each[which] > depths
                depths[deeper], kinds[deeper] = each[which][deeper], kind
        unknown, shallow = kinds == AT_LEAST, np.zeros(len(rows), bool)
        if unknown.any():
            contacts = contacts_of([(rows[unknown], bodies[i], bodies[j])])
            depths[unknown] = contacts["depths"]
        if self.min_depth > 0:
            shallow[:] = depths < self.min_depth
            if unknown.any():
                shallow[unknown] &= curve_sizes(bodies[i]._welded_faces[rows[unknown, 0]], contacts["segments"]) < self.min_depth
        return PairDepths(np.minimum(depths, MAX_DEPTH).astype(np.float32), kinds, shallow)

    def _mesh(self, place: int, body: Body) -> Connectivity:
        known = self._meshes.get(place)
        if known is None or known.body is not body:
            known = self._meshes[place] = connect(body)
        return known


def connect(body: Body) -> Connectivity:
    """The connectivity of a body."""
    faces = body._welded_faces
    corners = faces.ravel()
    starts = np.concatenate([[0], np.cumsum(np.bincount(corners, minlength=body._motion.count))])
    return Connectivity(body, faces, starts, np.argsort(corners, kind="stable") // 3, is_closed(body))


def part_depths(mesh: Connectivity, other: Connectivity, crossing: Rows) -> tuple[NDArray[np.float64], int]:
    """(depths, kind): how deep the part of a mesh is that has passed through another one, for each of its faces `crossing` (ascending) that
    intersect it; 0 for faces that border on no such part."""
    vertices, corners = mesh.body.vertices, mesh.faces[crossing].astype(np.int64)
    seeds, kind = np.unique(corners), THROUGH
    if other.closed:
        kind = INSIDE
        low, high = other.body.bounds
        seeds = seeds[((vertices[seeds] >= low) & (vertices[seeds] <= high)).all(axis=1)]
        seeds = seeds[pliant.closest(other.body, vertices[seeds], signed=True).distance < 0] if len(seeds) else seeds
    found = np.zeros(len(crossing))
    if not len(seeds):
        return found, kind
    part = flood(mesh, crossing, corners, seeds, len(vertices) if other.closed else MAX_PART, join=other.closed)
    wanted = ~part.unfinished[part.pieces]
    distances = np.zeros(len(part.vertices))
    distances[wanted] = pliant.closest(other.body, vertices[part.vertices[wanted]]).distance
    piece_depths = np.zeros(len(part.unfinished))
    np.maximum.at(piece_depths, part.pieces, distances)
    if not other.closed:
        piece_depths[rest_of(part, corners, piece_depths)] = 0.0
    places = np.minimum(np.searchsorted(part.vertices, corners), len(part.vertices) - 1)
    reached = part.vertices[places] == corners
    return np.where(reached, piece_depths[part.pieces[places]], 0.0).max(axis=1), kind


def curve_sizes(corners: Rows, segments: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m,): the diagonal of the box of the curve that each segment (m, 2, 3) is part of; pairs whose first faces (corners (m, 3)) share a
    vertex have one curve."""
    vertices, places = np.unique(corners, return_inverse=True)
    places, count = places.reshape(-1, 3) + len(corners), len(corners)
    graph = coo_array((np.ones(3 * count, np.int8), (np.repeat(np.arange(count), 3), places.ravel())), shape=(count + len(vertices),) * 2)
    curves = connected_components(graph, directed=False)[1][:count]
    low, high = np.full((curves.max() + 1, 3), np.inf), np.full((curves.max() + 1, 3), -np.inf)
    np.minimum.at(low, curves, segments.min(axis=1))
    np.maximum.at(high, curves, segments.max(axis=1))
    found: NDArray[np.float64] = np.linalg.norm(high - low, axis=1)[curves]
    return found


def is_closed(body: Body) -> bool:
    """Whether a body has an inside."""
    try:
        pliant.closest(body, np.zeros((1, 3)), signed=True)
    except MeshError:
        return False
    return len(body) > 0


def flood(mesh: Connectivity, crossing: Rows, corners: Indices, seeds: Indices, most: int, join: bool) -> Part:
    """The pieces that are reached from `seeds` over faces that are not `crossing`. `join`: edges of crossing faces (corners (k, 3)) between
    two reached vertices join pieces, too. Stops where more than `most` vertices are reached."""
    visited, done = np.zeros(len(mesh.starts) - 1, bool), np.zeros(len(mesh.faces), bool)
    visited[seeds], done[crossing] = True, True
    frontier, count, faces = seeds, len(seeds), [np.zeros((0, 3), np.int64)]
    while len(frontier) and count <= most:
        begin, size = mesh.starts[frontier], mesh.starts[frontier + 1] - mesh.starts[frontier]
        incident = mesh.incident[np.arange(size.sum()) + np.repeat(begin - np.cumsum(size) + size, size)]
        incident = np.unique(incident[~done[incident]])
        done[incident] = True
        faces.append(mesh.faces[incident].astype(np.int64))
        new = faces[-1][~visited[faces[-1]]]
        frontier = np.unique(new)
        visited[frontier] = True
        count += len(frontier)
    vertices = np.flatnonzero(visited)
    if join:
        faces.append(corners)
    pieces = label_pieces(vertices, np.concatenate(faces))
    unfinished = np.zeros(int(pieces.max(initial=-1)) + 1, bool)
    unfinished[pieces[np.searchsorted(vertices, frontier)]] = True
    return Part(vertices, pieces, unfinished)


def label_pieces(vertices: Indices, faces: Indices) -> NDArray[np.int32]:
    """The number of the piece of each vertex (ascending): edges of faces join two of these vertices."""
    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    places = np.minimum(np.searchsorted(vertices, ends), max(len(vertices) - 1, 0))
    places = places[(vertices[places] == ends).all(axis=1)]
    graph = coo_array((np.ones(len(places), np.int8), (places[:, 0], places[:, 1])), shape=(len(vertices), len(vertices)))
    return np.asarray(connected_components(graph, directed=False)[1], np.int32)


def rest_of(part: Part, corners: Indices, depths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which pieces are the rest of their surface, and not a part that has passed: those that were not visited completely and, of a surface
    without such a piece, the piece that reaches farthest."""
    pieces = part.pieces[np.searchsorted(part.vertices, corners)]  # (k, 3); every corner is a seed
    graph = coo_array((np.ones(2 * len(pieces), np.int8), (pieces[:, [0, 0]].ravel(), pieces[:, [1, 2]].ravel())), shape=(len(depths),) * 2)
    surfaces = connected_components(graph, directed=False)[1]
    rest = part.unfinished.copy()
    has_rest = np.zeros(int(surfaces.max(initial=-1)) + 1, bool)
    has_rest[surfaces[rest]] = True
    for piece in np.lexsort((np.arange(len(depths)), -depths)).tolist():
        if not has_rest[surfaces[piece]]:
            rest[piece] = has_rest[surfaces[piece]] = True
    return rest
