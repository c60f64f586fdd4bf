"""Meshless motion: a surface that follows a few simulation nodes (paper M, Steinemann, Otaduy and Gross 2008, section 3).

Node j is at X_j at rest and at x_j now. It carries the affine map T_j v = x_j + F_j (v − X_j), and a vertex is at Σ_j w_vj T_j v
(eq. 1 to 3).

F_j is the deformation gradient by moving least squares over the nodes around it, the matrix that minimises
Σ_i ω_ji |x_i − x_j − F (X_i − X_j)|²: F = 1 + Σ_i ω_ji (u_i − u_j) ⊗ M⁻¹ (X_i − X_j), with displacements u = x − X and the moments
M = Σ_i ω_ji (X_i − X_j) (X_i − X_j)ᵀ. An affine map of all nodes gives just that map. Where the nodes around lie in a plane or on a line,
M is singular: its pseudo-inverse then changes nothing across them.

Weights of the surface are not those of moving least squares, which may be negative, but positive kernels with compact support (Müller et
al. 2004), (1 − d²/h²)³, divided by their sum: convex for every vertex, as bounds of blended bodies want them.

Invariants: rows of weights are not negative, sum up to 1 but for roundings, and have sorted columns; nothing here is (n, m) and dense. All
distances are taken in coordinates of about 1 (`Frame`), so that sizes from 1e-300 to 1e300 are the same to it.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, vstack
from scipy.spatial import cKDTree

from pliant.core import validate, validate_rig
from pliant.errors import ArgumentError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

NEIGHBOURS = 8                                                          # around a node, for its gradient
SPACING_NEIGHBOURS = 3                                                  # nodes that say how far apart nodes are
RADIUS_FACTOR = 1.25                                                    # times the farthest of these: there a kernel is 0
RANK_TOLERANCE = 1e-8                                                   # of the largest moment: below, nodes do not span that direction
VERTEX_BLOCK = 4096                                                     # vertices that are weighed at a time: bounds what is in memory
COINCIDENT = 1e-150                                                     # in frames: nearer, two nodes are at one place
MAX_DISTANCE = 1e100                                                    # in frames: farther, all nodes are at the same distance


class UnitFrame(NamedTuple):
    """Coordinates of about 1: (x − middle) / 2**exponent, a division without rounding."""
    center: Floats
    exponent: int

    def normalize(self, points: Floats) -> Floats:
        return self.normalize_lengths(points - self.center)

    def normalize_lengths(self, lengths: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            made: Floats = np.clip(np.ldexp(lengths, -self.exponent), -MAX_DISTANCE, MAX_DISTANCE)
        return made


class NodeLinks(NamedTuple):
    """Which nodes are around which at rest, sorted by both: `node` has `other` at X_other − X_node = `offset`, in units of the frame."""
    node: Indices
    other: Indices
    offset: Floats
    weight: Floats                                                      # ω


class GradientOperator(NamedTuple):
    """What gradients are made of. `operator` @ u, (3 m, 3), has ∂u_c / ∂X_k of node i in row 3 i + k and column c, in units of the
    frame."""
    operator: csr_array
    span: Floats                                                        # (m, 3, 3) the projection onto what the nodes around span
    moments: Floats                                                     # (m, 3, 3) M, without the directions that are not spanned


class MeshlessNodes:
    """Simulation nodes that deform an embedded surface (meshless animation): weights for `Body.blended`, and maps for its `update`.

    Parameters
    ----------
    positions : (m, 3) of the nodes at rest
    radius : the support radius of the nodes, one number or (m,); usually 2 to 3 times the distance between nodes
    neighbours : the minimum number of nodes in the estimate of a gradient: where fewer are within the radius, the nearest are added

    >>> import numpy as np
    >>> import pliant as pl
    >>> nodes = pl.MeshlessNodes([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], radius=2.0)
    >>> weights = nodes.weights([[0.5, 0, 0], [9, 0, 0]])
    >>> weights.toarray().round(3).tolist()
    [[0.359, 0.359, 0.141, 0.141], [0.0, 1.0, 0.0, 0.0]]
    >>> maps = nodes.maps(2 * nodes.positions + [0, 0, 5])
    >>> np.allclose(maps, [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 5]])
    True
    """

    def __init__(self, positions: ArrayLike, radius: ArrayLike, *, neighbours: int = NEIGHBOURS) -> None:
        rows: Floats = validate_rig.points("positions", positions)
        if not len(rows):
            raise ArgumentError("positions: expected at least one node, got none")
        self._positions = np.array(rows)
        self._radius: Floats = validate_rig.positives("radius", radius, len(rows), "node")
        wanted = validate.integer("neighbours", neighbours, range(1, 1 << 31))
        self.frame = unit_frame(rows, float(self._radius.max()))
        self._rest, self._reach = self.frame.normalize(rows), self.frame.normalize_lengths(self._radius)
        self._tree = cKDTree(self._rest)
        self.links = _neighbour_links(self._rest, self._reach, self._tree, min(wanted, len(rows) - 1))
        self.slopes = _gradient_operator(self.links, len(rows))
        for array in (self._positions, self._radius):
            array.flags.writeable = False

    @property
    def positions(self) -> Floats:
        """(m, 3) float64 at rest, read-only."""
        return self._positions

    @property
    def radius(self) -> Floats:
        """(m,) float64, read-only."""
        return self._radius

    @property
    def spacing(self) -> Floats:
        """(m,) the mean distance from each node to its three nearest; the radius, if all nodes are at one position."""
        near = min(SPACING_NEIGHBOURS, len(self) - 1)
        far = self._tree.query(self._rest, [*range(2, near + 2)])[0].mean(axis=1) if near else np.zeros(1)
        return np.ldexp(far, self.frame.exponent) if far.any() else np.array(self._radius)

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._positions)

    def __repr__(self) -> str:
        return f"Nodes({len(self)} nodes, {len(self.links.node)} links)"

    def weights(self, vertices: ArrayLike, *, most: int | None = None) -> csr_array:
        """(n, m) sparse float64: the weight of each node for each vertex. Rows are convex combinations, columns are sorted.

        vertices : (n, 3) at rest; a vertex that no node reaches belongs to the nearest node
        most : keep only this many nodes per vertex, those with the largest weights (of equal weights the first)
        """
        rows = self.frame.normalize(validate_rig.points("vertices", vertices))
        if most is not None:
            most = validate.integer("most", most, range(1, 1 << 31))
        if not len(rows):
            return csr_array((0, len(self)))
        return vstack([self._block_weights(rows[start:start + VERTEX_BLOCK], most) for start in range(0, len(rows), VERTEX_BLOCK)],
                      format="csr")

    def _block_weights(self, rows: Floats, most: int | None) -> csr_array:
        """The weights of some of the vertices."""
        vertex, node, distance = _pairs_within(rows, self._rest, self._reach)
        value = _poly6_kernel(distance / self._reach[node])
        lost = np.flatnonzero(np.bincount(vertex, value, len(rows)) == 0)
        places = np.concatenate([vertex, lost]), np.concatenate([node, self._tree.query(rows[lost])[1]])
        made = coo_array((np.concatenate([value, np.ones(len(lost))]), places), shape=(len(rows), len(self))).tocsr()
        made.sum_duplicates()                                           # also sorts; a node that has just no weight may come twice
        if most is not None:
            counts = np.diff(made.indptr)
            vertex = np.repeat(np.arange(len(rows)), counts)
            order = np.argsort(-made.data, kind="stable")
            order = order[np.argsort(vertex[order].astype(np.int16), kind="stable")]  # BLOCK fits, and is sorted digit by digit
            made.data[order[np.arange(len(order)) - made.indptr[vertex] >= most]] = 0.0
        made.eliminate_zeros()
        made.data /= np.repeat(made.sum(axis=1), np.diff(made.indptr))
        return made

    def gradients(self, positions: ArrayLike) -> Floats:
        """(m, 3, 3): the deformation gradient F at each node. If the nodes around one lie in a plane or on a line, F does not change the
        directions across it.

        positions : (m, 3) of the nodes now
        """
        return self.gradients_at(validate_rig.points("positions", positions, len(self)))

    def gradients_at(self, rows: Floats) -> Floats:
        """As `gradients`, with rows that have been examined."""
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.ldexp(rows - self._positions, -self.frame.exponent)
            slopes = self.slopes.operator @ (moved - moved.mean(axis=0))  # the mean: far away, less is lost to rounding
        made: Floats = np.eye(3) + slopes.reshape(-1, 3, 3).transpose(0, 2, 1)
        validate.check_finite("positions: gradients", made.reshape(-1, 9))
        return made

    def maps(self, positions: ArrayLike) -> Floats:
        """(m, 3, 4): the affine map (F | t) of each node: v moves to F v + t = x + F (v − X).

        positions : (m, 3) of the nodes now
        """
        rows = validate_rig.points("positions", positions, len(self))
        return self.maps_with(self.gradients_at(rows), rows)

    def maps_with(self, gradients: Floats, rows: Floats) -> Floats:
        """(m, 3, 4) from gradients (m, 3, 3), with nodes at these rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            shift = rows - (gradients @ self._positions[:, :, None])[:, :, 0]
        validate.check_finite("positions: maps", shift)
        return np.concatenate([gradients, shift[:, :, None]], axis=2)


def farthest_point_sampling(points: ArrayLike, count: int, seed: int = 0) -> Indices:
    """(count,) int64: points (n, 3) that lie far from each other, by index. The first is chosen at random, every other is the one that is
    farthest from those before it (of several the first), so that any number of them from the front is spread as evenly as it can be.
    Each is chosen once, also where points coincide. Takes count · n steps: 550 of 45,682 take 0.1 s.

    >>> from pliant.motion.meshless import farthest_point_sampling
    >>> sorted(farthest_point_sampling([[0, 0, 0], [0.1, 0, 0], [5, 0, 0], [5.1, 0, 0], [9, 0, 0]], 3, seed=1).tolist())
    [0, 2, 4]
    """
    rows = validate_rig.points("points", points)
    count = validate.integer("count", count, range(len(rows) + 1))
    seed = validate.integer("seed", seed, range(1 << 63))
    chosen = np.empty(count, np.int64)
    if not count:
        return chosen
    columns = np.ascontiguousarray(unit_frame(rows).normalize(rows).T)
    nearest = np.full(len(rows), np.inf)                                # squares of distances to those chosen; −1 for themselves
    at = int(np.random.default_rng(seed).integers(len(rows)))
    for k in range(count):
        chosen[k] = at
        np.minimum(nearest, sum((column - column[at]) ** 2 for column in columns), out=nearest)
        nearest[at] = -1.0
        at = int(nearest.argmax())
    return chosen


def unit_frame(rows: Floats, otherwise: float = 1.0) -> UnitFrame:
    """The frame in which these rows, not none, reach from about −1 to 1; if they are all at one place, one of that size."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    half = float((0.5 * high - 0.5 * low).max())
    return UnitFrame(0.5 * low + 0.5 * high, int(np.frexp(half or otherwise)[1]))


def _poly6_kernel(distance: Floats) -> Floats:
    """(1 − q²)³ for distances q in units of the radius."""
    made: Floats = ((1.0 - distance) * (1.0 + distance)) ** 3
    return made


def _pairs_within(points: Floats, centres: Floats, reach: Floats) -> tuple[Indices, Indices, Floats]:
    """(point, centre, distance), arrays in no order, for all that are nearer than the reach (m,) of the centre. Centres whose reaches
    are alike are searched together: a few long ones do not make all others find too much."""
    tree, octave = cKDTree(points), np.frexp(reach)[1]
    found = []
    for each in np.unique(octave):
        some = np.flatnonzero(octave == each)
        pairs = tree.sparse_distance_matrix(cKDTree(centres[some]), reach[some].max(), output_type="ndarray")
        centre = some[pairs["j"]]
        near = pairs["v"] < reach[centre]
        found.append((pairs["i"][near], centre[near], pairs["v"][near]))
    point, centre, distance = (np.concatenate(each) for each in zip(*found, strict=True))
    return point, centre, distance


def _neighbour_links(rest: Floats, reach: Floats, tree: cKDTree, minimum: int) -> NodeLinks:
    """Nodes within the reach of each, which is made longer where that would be fewer than `minimum`."""
    if minimum:
        reach = np.maximum(reach, RADIUS_FACTOR * tree.query(rest, [minimum + 1])[0][:, 0])
    other, node, distance = _pairs_within(rest, rest, reach)
    order = np.lexsort((other, node))
    order = order[other[order] != node[order]]
    other, node, distance = other[order], node[order], distance[order]
    return NodeLinks(node, other, rest[other] - rest[node], _poly6_kernel(distance / reach[node]))


def _gradient_operator(links: NodeLinks, count: int) -> GradientOperator:
    """Moments, their pseudo-inverses, and what they make of displacements."""
    size = np.zeros(count)
    np.maximum.at(size, links.node, np.abs(links.offset).max(axis=1))
    size[size < COINCIDENT] = 1.0                                       # nobody is around, or all are at the same place
    unit = links.offset / size[links.node, None]
    starts = np.searchsorted(links.node, np.arange(count + 1))
    products = np.concatenate([links.weight[:, None, None] * unit[:, :, None] * unit[:, None, :], np.zeros((1, 3, 3))])
    moments = np.where((starts[1:] > starts[:-1])[:, None, None], np.add.reduceat(products, starts[:-1]), 0.0)
    values, axes = np.linalg.eigh(moments)
    spanned = (values > RANK_TOLERANCE * values[:, 2:]) & (values > 0)
    inverse = (axes * np.where(spanned, 1.0 / np.where(spanned, values, 1.0), 0.0)[:, None]) @ axes.transpose(0, 2, 1)
    span = (axes * spanned[:, None]) @ axes.transpose(0, 2, 1)
    span[spanned.all(axis=1)] = np.eye(3)
    regular_moments = (axes * np.where(spanned, values, 0.0)[:, None]) @ axes.transpose(0, 2, 1) * size[:, None, None] ** 2
    steps = (links.weight / size[links.node])[:, None] * (inverse[links.node] @ unit[:, :, None])[:, :, 0]
    own = -np.add.reduceat(np.concatenate([steps, np.zeros((1, 3))]), starts[:-1])
    own[starts[1:] == starts[:-1]] = 0.0
    rows = 3 * np.concatenate([links.node, np.arange(count)])[:, None] + np.arange(3)
    columns = np.repeat(np.concatenate([links.other, np.arange(count)]), 3)
    operator = coo_array((np.concatenate([steps, own]).reshape(-1), (rows.reshape(-1), columns)), shape=(3 * count, count)).tocsr()
    operator.sum_duplicates()
    return GradientOperator(operator, span, regular_moments)
