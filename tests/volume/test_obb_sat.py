"""Boxes along axes against turned boxes: never apart if a point is in both, seldom together if an axis parts them clearly.

Boxes are in float32, as trees keep them; rotations, places and the reference are in float64. `slack` and `loose` are those that a query of
two placed bodies would set. Formulas run on rows of many boxes, on scalars, and on lanes in kernels.
"""

from itertools import product

import numba
import numpy as np
import pytest
from scipy.optimize import linprog

import meshes
import poses
from pliant.core.jit import kernel
from pliant.core.simd import movemask
from pliant.core.soa import aligned_zeros, lanes, load_bounds
from pliant.query.collide import transformed
from pliant.tree.nodes import WIDTH_OF_ARITY, node_dtype
from pliant.volume.aabb import Box
from pliant.volume.obb_sat import RotatedBox
from pliant.volume.protocol import VOLUME_TYPES, RigidTransform, overlap, sat_cross_axes, transform_volume

pytestmark = pytest.mark.formulas

OFF = bool(numba.config.DISABLE_JIT)
N = 300 if OFF else 1500
KINDS = ("any", "quarters", "float32", "loose", "nearly parallel", "not turned")
SIZES = {"alike": (0.0, 0.0), "a small": (-6.0, 0.0), "b small": (0.0, -6.0), "all sizes": (-4.0, 4.0), "flat": (0.0, 0.0)}


@pytest.fixture
def rng():
    return np.random.default_rng(43)


# --- pairs of boxes --------------------------------------------------------------------------------------------------------------

def some_turns(rng, n, kind):
    """(n, 3, 3): rotations, or what may stand for one between two bodies."""
    turns = np.stack([poses.any_turn(rng) for _ in range(n)])
    if kind == "quarters":
        turns = np.array(poses.quarters())[rng.integers(24, size=n)]
    elif kind == "float32":
        turns = turns.astype(np.float32).astype(np.float64)
    elif kind == "loose":                                               # each of two bodies may be as loose
        turns = np.stack([poses.loosened(turn, rng, 1.9e-5 * rng.random() ** 0.25) for turn in turns])
    elif kind == "nearly parallel":
        angles = rng.choice([1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3], n)
        start = np.array(poses.quarters())[rng.integers(24, size=n)]
        turns = np.stack([meshes.rotation(rng.standard_normal(3), angle) for angle in angles]) @ start
    elif kind == "not turned":
        turns = np.tile(np.eye(3), (n, 1, 1))
    return turns


def some_boxes(rng, n, spread, power, flat):
    """(low, high), each (n, 3) float32; some have sides of 0."""
    sides = 10.0 ** (power * rng.random((n, 1)) if power > 0 else power) * rng.random((n, 3))
    sides *= rng.random((n, 3)) > (0.4 if flat else 0.05)
    low = rng.standard_normal((n, 3)) * spread - sides / 2
    return low.astype(np.float32), (low + sides).astype(np.float32)


class Pairs:
    """n boxes of a, n boxes of b, and how b's frame looks from a's: x -> turn x + move."""

    def __init__(self, low_a, high_a, low_b, high_b, turn, move):
        self.a, self.b = (low_a, high_a), (low_b, high_b)
        self.turn, self.move = turn, move
        reach = sum(np.abs(ends).max(axis=(0, 2)) for ends in (np.stack(self.a), np.stack(self.b))).astype(np.float64)
        loose = np.abs(turn.transpose(0, 2, 1) @ turn - np.eye(3)).max(axis=(1, 2))
        far = np.abs(move).max(axis=1)
        self.way = np.column_stack([turn.reshape(-1, 9), move, transformed.TRANSFORM_ERROR * (reach + far),
                                    transformed.ROTATION_ERROR + 2 * loose]).astype(np.float32)

    def __len__(self):
        return len(self.move)

    def rows(self):
        """(Box, RotatedBox) of rows."""
        return Box(*self.a[0].T, *self.a[1].T), transform_volume(Box(*self.b[0].T, *self.b[1].T), RigidTransform(*self.way.T))

    def answers(self):
        """(overlap, skew) of all."""
        a, b = self.rows()
        return overlap(a, b), sat_cross_axes(a, b)

    def middles(self):
        """Middles and half sides of both, in float64 and in their own frames."""
        (low_a, high_a), (low_b, high_b) = ([end.astype(np.float64) for end in ends] for ends in (self.a, self.b))
        return (low_a + high_a) / 2, (high_a - low_a) / 2, (low_b + high_b) / 2, (high_b - low_b) / 2


def touching(rng, n, kind, sizes):
    """Pairs that have a point in common, often one on the border of both."""
    powers = SIZES[sizes]
    low_a, high_a = some_boxes(rng, n, 1.0, powers[0], sizes == "flat")
    low_b, high_b = some_boxes(rng, n, 1.0, powers[1], sizes == "flat")
    turn = some_turns(rng, n, kind)
    p, q = (low + (high.astype(np.float64) - low) * np.clip(1.5 * rng.random((n, 3)) - 0.25, 0, 1)
            for low, high in ((low_a, high_a), (low_b, high_b)))
    return Pairs(low_a, high_a, low_b, high_b, turn, p - np.einsum("nij,nj->ni", turn, q))


def anywhere(rng, n, kind="any", spread=0.4):
    """Pairs of boxes of like sizes near each other."""
    low_a, high_a = some_boxes(rng, n, 0.1, 0.0, False)
    low_b, high_b = some_boxes(rng, n, 0.1, 0.0, False)
    return Pairs(low_a, high_a, low_b, high_b, some_turns(rng, n, kind), rng.standard_normal((n, 3)) * spread)


# --- the reference -----------------------------------------------------------------------------------------------------------------

def clearance(pairs):
    """(by the six axes of faces, by all fifteen): the widest gap along any axis, (n,) float64; negative where boxes overlap."""
    at_a, half_a, at_b, half_b = pairs.middles()
    between = np.einsum("nij,nj->ni", pairs.turn, at_b) + pairs.move - at_a
    axes_b = pairs.turn.transpose(0, 2, 1)                              # a row each

    def gap(axis):
        length = np.linalg.norm(axis, axis=1)
        gaps = np.abs((between * axis).sum(1)) - (half_a * np.abs(axis)).sum(1)
        gaps -= (half_b * np.abs(np.einsum("nkj,nj->nk", axes_b, axis))).sum(1)
        return np.where(length > 1e-7, gaps / np.maximum(length, 1e-7), -np.inf)

    of_a = [np.tile(np.eye(3)[k], (len(pairs), 1)) for k in range(3)]
    of_b = [axes_b[:, k] for k in range(3)]
    faces = np.max([gap(axis) for axis in of_a + of_b], axis=0)
    return faces, np.maximum(faces, np.max([gap(np.cross(u, v)) for u, v in product(of_a, of_b)], axis=0))


def meets(pairs, i):
    """Is there a point in both boxes, by linear programming: its place in b's frame within b, and turned into a's frame within a."""
    turn, move = pairs.turn[i], pairs.move[i]
    (low_a, high_a), (low_b, high_b) = ([end[i].astype(np.float64) for end in ends] for ends in (pairs.a, pairs.b))
    found = linprog(np.zeros(3), np.vstack([turn, -turn]), np.concatenate([high_a - move, move - low_a]),
                    bounds=list(zip(low_b, high_b, strict=True)), method="highs")
    return found.status == 0


def test_the_reference_agrees_with_linear_programming(rng):
    pairs = anywhere(rng, 30 if OFF else 150)
    _, gaps = clearance(pairs)
    clear = np.flatnonzero(np.abs(gaps) > 1e-6)
    assert len(clear) > 0.9 * len(pairs)
    right = np.array([meets(pairs, i) for i in clear])
    np.testing.assert_array_equal(gaps[clear] < 0, right)
    assert 0.1 < right.mean() < 0.9
    some, parted = pairs.answers()
    assert (some & ~parted)[clear][right].all()


# --- never missed -------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", SIZES)
def test_boxes_with_a_point_in_common_are_not_parted(rng, kind, sizes):
    some, parted = touching(rng, N, kind, sizes).answers()
    assert some.all()
    assert not parted.any()


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_that_overlap_are_not_parted(rng, kind):
    """By the reference, anywhere: also without a point that was put there."""
    pairs = anywhere(rng, N, kind)
    _, gaps = clearance(pairs)
    some, parted = pairs.answers()
    assert 0.05 < (gaps < 0).mean() < 0.95
    assert some[gaps < -1e-9].all()
    assert not parted[gaps < -1e-9].any()


@pytest.mark.parametrize("kind", ["any", "quarters", "nearly parallel"])
def test_boxes_that_share_a_face_an_edge_or_a_corner_are_not_parted(rng, kind):
    """Unit cubes at a distance of 1 along 1, 2 or 3 axes of either: nothing but the border in common."""
    turn = some_turns(rng, N, kind)
    half = np.full((N, 3), 0.5, np.float32)
    at = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))[rng.integers(27, size=N)]
    if kind == "any":                                                   # the middle of a face of b on a corner of a
        corner = np.where(at == 0, 0.5, 0.5 * at)
        out = np.sign(np.einsum("nji,nj->ni", turn, corner))[:, :1] * np.array([0.5, 0, 0])
        at = corner + np.einsum("nij,nj->ni", turn, out)
    some, parted = Pairs(-half, half, -half, half, turn, at).answers()
    if kind != "nearly parallel":                                       # which turns a corner away from the border
        assert some.all()
        assert not parted.any()
    else:
        pairs = Pairs(-half, half, -half, half, turn, at * (1 - 1e-2))
        assert pairs.answers()[0].all()
        assert not pairs.answers()[1].any()


# --- not idle -----------------------------------------------------------------------------------------------------------------------

def test_boxes_clearly_apart_along_an_axis_are_parted(rng):
    """By six axes, and by all fifteen: what is parted by more than the allowance for rounding is said to be."""
    pairs = anywhere(rng, N)
    by_faces, by_all = clearance(pairs)
    some, parted = pairs.answers()
    allowance = 1e-4
    assert 0.2 < (by_faces > allowance).mean()
    assert not some[by_faces > allowance].any()
    assert (parted | ~some)[by_all > allowance].all()
    assert (by_all > np.maximum(by_faces, 0) + allowance).any()         # there are some that only edges part


@pytest.mark.parametrize(("spread", "lite", "full"), [(0.25, 0.12, 0.002), (0.6, 0.04, 0.001)])
def test_how_many_needless_positives_there_are(rng, spread, lite, full):
    """Of boxes that are apart six axes let pass 7 and 2 %, as exact ones would; fifteen hardly any. A guard, generous."""
    pairs = anywhere(rng, 5 * N, spread=spread)
    _, gaps = clearance(pairs)
    some, parted = pairs.answers()
    apart = gaps > 0
    assert 0.2 < apart.mean()
    assert some[apart].mean() < lite
    assert (some & ~parted)[apart].mean() < full


# --- empty ------------------------------------------------------------------------------------------------------------------------

def test_empty_boxes_meet_nothing(rng):
    """Neither as a nor as what was turned; NaN parts nothing, and lets nothing through."""
    pairs, empty = touching(rng, 50, "any", "alike"), VOLUME_TYPES["aabb"].empty
    a, b = pairs.rows()
    with np.errstate(invalid="ignore"):
        for way in (RigidTransform(*pairs.way.T), RigidTransform(*np.float32([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1e30, 1e-5]))):
            none = transform_volume(empty, way)
            assert not np.any(overlap(a, none))
            assert not np.any(overlap(empty, none))
        assert not np.any(overlap(empty, b))
        assert not np.any(overlap(Box(*(np.full(50, value) for value in empty)), b))


# --- scalars, rows, lanes ------------------------------------------------------------------------------------------------------------

@kernel
def set_answers(nodes_a, nodes_b, ways, some, parted):
    """Lanes of a's record i against the turned box around b's record i."""
    for i in range(len(nodes_a)):
        w = ways[i]
        turned = transform_volume(load_bounds(nodes_b, i),
                                  RigidTransform(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13]))
        some[i], parted[i] = movemask(overlap(lanes(nodes_a, i), turned)), movemask(sat_cross_axes(lanes(nodes_a, i), turned))


def in_lanes(pairs, width):
    """(overlap, skew) as kernels find them: each box of a in one of the lanes, beside empty ones."""
    n = len(pairs)
    nodes_a, nodes_b = aligned_zeros(n, node_dtype(Box, width)), aligned_zeros(n, node_dtype(Box, width))
    lane = np.arange(n) % width
    for k, name in enumerate(Box._fields):
        nodes_a["lanes"][name] = VOLUME_TYPES["aabb"].empty[k]
        nodes_a["lanes"][name][np.arange(n), lane] = pairs.a[k // 3][:, k % 3]
        nodes_b["bounds"][name] = pairs.b[k // 3][:, k % 3]
    some, parted = np.zeros(n, np.int64), np.zeros(n, np.int64)
    with np.errstate(invalid="ignore"):
        set_answers(nodes_a, nodes_b, pairs.way, some, parted)
    assert (some & ~(1 << lane) == 0).all()                             # empty lanes meet nothing
    return some >> lane & 1 != 0, parted >> lane & 1 != 0


@pytest.mark.parametrize("width", sorted(set(WIDTH_OF_ARITY.values())), ids=lambda width: f"W{width}")
@pytest.mark.parametrize("kind", KINDS)
def test_lanes_of_kernels_miss_nothing_either(rng, kind, width):
    for sizes in SIZES:
        some, parted = in_lanes(touching(rng, N // 4, kind, sizes), width)
        assert some.all()
        assert not parted.any()
    pairs = anywhere(rng, N // 4, kind)
    by_rows, by_lanes = pairs.answers(), in_lanes(pairs, width)
    clear = np.abs(clearance(pairs)[1]) > 1e-4                          # elsewhere one rounding more or less may decide
    np.testing.assert_array_equal((by_rows[0] & ~by_rows[1])[clear], (by_lanes[0] & ~by_lanes[1])[clear])


def test_scalars_answer_as_rows_do(rng):
    pairs = anywhere(rng, 100)
    a, b = pairs.rows()
    some, parted = pairs.answers()
    for i in range(len(pairs)):
        one, other = Box(*(field[i] for field in a)), RotatedBox(*(field[i] for field in b))
        assert all(type(value) is np.float32 for value in other)
        assert bool(overlap(one, other)) == some[i]
        assert bool(sat_cross_axes(one, other)) == parted[i]
