"""How deep bodies are in each other: a depth for each pair of intersecting faces.

Where two surfaces intersect, their curve divides each into a part that has passed through the other and the rest. The depth of that part is
the distance of its farthest vertex from the other surface, and it is the depth of all pairs of faces along the curve. So contacts of two
bodies in several places have depths of their own, and no depth grows with the size of triangles.

    inside      the other body is closed: the part has the vertices inside it, by exact winding numbers
    through     it is open: removing the intersecting faces leaves pieces of the mesh; those that are cut off from the largest have passed
    at least    neither body has such a part (edges cross, a border sticks in, a body meets itself): the shortest translation that separates
                the two faces, below which no translation separates the bodies

A part is found from the intersecting faces outwards, so the cost grows with it and not with the body. Where the other surface is open, a
piece of more than MAX_PART vertices counts as the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import pliant
from pliant.body import Body
from pliant.check.distance_bounds import DistanceBounds, lengths_of
from pliant.check.flood import flood, join_pieces
from pliant.check.pair_keys import Rows, run_starts
from pliant.query.collide.contacts import contacts_of

NO_DEPTH, INSIDE, THROUGH, AT_LEAST = range(4)
DEPTH_KINDS = ("none", "inside", "through", "at least")
MAX_PART = 4096  # vertices of a piece of a surface that has passed through an open one
STRIDES = (64, 8, 1)  # of a piece every 64th vertex is measured first
EQUAL = 1 - 1e-6  # points whose bounds differ by less are measured together
MAX_DEPTH = 3e38  # depths are stored in float32

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Depths = NDArray[np.float32]
Kinds = NDArray[np.uint8]


class Connectivity(NamedTuple):
    """The faces around each vertex: those of vertex v are incident[starts[v] : starts[v + 1]]."""

    body: Body
    faces: Rows  # (f, 3) welded
    starts: Indices
    incident: Indices
    closed: bool


class PairDepths(NamedTuple):
    """How deep pairs of faces are."""

    depths: Depths  # (m,)
    kinds: Kinds  # (m,) of DEPTH_KINDS
    shallow: NDArray[np.bool_]  # (m,) less deep than `min_depth`

    def of(self, rows: NDArray[np.bool_]) -> PairDepths:
        """Those of some pairs."""
        return PairDepths(self.depths[rows], self.kinds[rows], self.shallow[rows])


class DepthFinder:
    """Finds depths frame after frame; keeps what does not change, so it serves one list of bodies.

    min_depth : a pair is shallow if its depth is smaller. A depth that is only a lower bound does not suffice: there the curve in which the
        surfaces intersect must also be smaller than that, from end to end
    """

    def __init__(self, min_depth: float = 0.0) -> None:
        self.min_depth = min_depth
        self._meshes: dict[int, Connectivity] = {}
        self._distances = DistanceBounds()

    def find(self, bodies: Sequence[Body], pairs: Rows, faces: Rows, wanted: NDArray[np.bool_] | None = None) -> PairDepths:
        """The depths of intersecting faces (m, 2) of the bodies `pairs` (m, 2), sorted by these; of those that are `wanted`."""
        found = PairDepths(np.zeros(len(pairs), np.float32), np.zeros(len(pairs), np.uint8), np.zeros(len(pairs), bool))
        wanted = np.ones(len(pairs), bool) if wanted is None else wanted
        if not wanted.any():
            return found
        self._distances.begin(bodies)
        for begin, end in pairwise([*run_starts(pairs).tolist(), len(pairs)]):
            if wanted[begin:end].any():
                i, j = pairs[begin].tolist()
                places = begin + np.flatnonzero(wanted[begin:end])
                depths = self._depths_of(bodies, i, j, faces[begin:end], wanted[begin:end])
                found.depths[places], found.kinds[places], found.shallow[places] = depths
        return found

    def _depths_of(self, bodies: Sequence[Body], i: int, j: int, rows: Rows, wanted: NDArray[np.bool_]) -> PairDepths:
        """Depths of the wanted pairs of two bodies, or of one with itself."""
        mine = rows[wanted]
        depths, kinds = np.zeros(len(mine)), np.full(len(mine), AT_LEAST, np.uint8)
        if i != j:
            for column, (one, other) in enumerate(((i, j), (j, i))):
                asked, which = np.unique(mine[:, column], return_inverse=True)
                bounds, vertices = self._distances.bounds(one, other), self._distances.vertices(one)
                each, kind = part_depths(self._mesh(one, bodies[one]), self._mesh(other, bodies[other]), vertices, rows[:, column], asked,
                                         bounds)  # fmt: skip
                self._distances.keep(one, other, bounds)
                deeper = each[which] > depths
                depths[deeper], kinds[deeper] = each[which][deeper], kind
        unknown, shallow = kinds == AT_LEAST, np.zeros(len(mine), bool)
        if unknown.any():
            contacts = contacts_of([(mine[unknown], bodies[i], bodies[j])])
            depths[unknown] = contacts["depths"]
        if self.min_depth > 0:
            shallow[:] = depths < self.min_depth
            if unknown.any():
                shallow[unknown] &= curve_sizes(bodies[i]._welded_faces[mine[unknown, 0]], contacts["segments"]) < self.min_depth
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


def part_depths(mesh: Connectivity, other: Connectivity, vertices: Floats, crossing: Rows, asked: Rows,
                bounds: Floats) -> tuple[Floats, int]:  # fmt: skip
    """(depths, kind): how deep the part of a mesh is that has passed through another one, for each of the faces `asked`, ascending, among
    those that intersect it, `crossing`; 0 for faces that border on no such part. `bounds` (n,): how far each of the vertices is from the
    other mesh at most; smaller ones are stored there."""
    corners = mesh.faces[asked].astype(np.int64)
    crossed = np.zeros(len(mesh.faces), bool)
    crossed[crossing] = True
    found = np.zeros(len(asked))
    joined = np.zeros(len(vertices), bool)
    joined[corners] = True
    seeds = np.flatnonzero(joined)
    joined[:] = False
    if other.closed:
        low, high = other.body.bounds
        seeds = seeds[((vertices[seeds] >= low) & (vertices[seeds] <= high)).all(axis=1)]
        sides = pliant.inside(other.body, vertices[seeds])
        seeds = seeds[(sides.winding_number != 0) & ~sides.on_surface]  # faces may look inward
        joined[seeds] = True
    piece, order = np.full(len(vertices), -1, np.int32), np.empty(len(vertices), np.int32)
    unfinished = np.zeros(len(seeds) + 1, bool)
    most = len(vertices) if other.closed else MAX_PART
    count, pieces = flood(mesh.faces, mesh.starts, mesh.incident, crossed, seeds, joined, most, piece, order, unfinished)
    if not pieces:
        return found, INSIDE
    unfinished, reached = unfinished[:pieces], order[:count]  # pieces one after the other
    mine = piece[corners]  # (k, 3), −1: not reached
    measured = np.zeros(pieces, bool)
    measured[mine[mine >= 0]] = True
    if not other.closed:
        measured &= ~unfinished
    points = reached[measured[piece[reached]]]
    depths, bounds[points] = farthest(other.body, vertices[points], piece[points], pieces, bounds[points])
    if not other.closed:
        surfaces = np.arange(pieces, dtype=np.int32)
        join_pieces(mine, surfaces)
        depths[rest_of(surfaces, unfinished, depths)] = 0.0
    one, two, three = np.append(depths, 0.0)[mine].T  # the last: of corners that were not reached
    return np.maximum(np.maximum(one, two), three), INSIDE if other.closed else THROUGH


def farthest(body: Body, points: Floats, pieces: NDArray[np.int32], count: int, bounds: Floats) -> tuple[Floats, Floats]:
    """How far the farthest point of each piece is from a body (count,), 0 without points; and how far each point is at most. `pieces` (k,),
    ascending: the piece of each point. `bounds` (k,): what is known before.

    Of each piece those points are measured first that may be farthest; where little is known of a large piece, every 64th. A point is at
    most as far as a neighbour and the way to it. Of the others only those are measured that may be farther than the farthest so far."""
    found, bounds = np.zeros(count), bounds.copy()
    if not len(points):
        return found, bounds
    starts = run_starts(pieces[:, None])
    lengths = np.diff(np.append(starts, len(points)))
    places, large = np.arange(len(points)) - np.repeat(starts, lengths), np.repeat(lengths > STRIDES[0], lengths)
    chosen = (bounds >= EQUAL * np.repeat(np.maximum.reduceat(bounds, starts), lengths)) & (np.isfinite(bounds) | ~large)
    is_measured = np.zeros(len(points), bool)
    for stride in STRIDES:
        rows = np.flatnonzero((chosen | (large & (places % stride == 0))) & ~is_measured & (bounds > found[pieces]))
        if len(rows):
            bounds[rows] = pliant.closest(body, points[rows]).distance
            is_measured[rows] = True
            np.maximum.at(found, pieces[rows], bounds[rows])
        chosen = ~large
        if stride > 1 and large.any():
            with np.errstate(over="ignore"):
                neighbour = np.flatnonzero(large) - places[large] % stride
                bounds[large] = np.minimum(bounds[large], bounds[neighbour] + lengths_of(points[large] - points[neighbour]))
    return found, bounds


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
    return len(body) > 0 and len(body._open_edges().border) == 0


def rest_of(surfaces: NDArray[np.int32], unfinished: NDArray[np.bool_], depths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which pieces are the rest of their surface, and not a part that has passed: those that were not visited completely and, of a surface
    without such a piece, the piece that reaches farthest."""
    rest, has_rest = unfinished.copy(), np.zeros(int(surfaces.max(initial=-1)) + 1, bool)
    has_rest[surfaces[rest]] = True
    order = np.lexsort((-depths, surfaces))  # stable: of equal depths the first piece
    farthest_pieces = order[run_starts(surfaces[order][:, None])]
    rest[farthest_pieces[~has_rest[surfaces[farthest_pieces]]]] = True
    return rest
