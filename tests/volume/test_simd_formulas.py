"""One formula, three kinds of values: scalars, NumPy rows and vectors in a kernel agree; and every lane counts, once, where it is."""

import numba
import numpy as np
import pytest

from pliant.core.jit import kernel
from pliant.core.simd import extract, movemask
from pliant.core.soa import lane, lanes, load_bounds, put_bounds, put_lane, put_lanes
from pliant.tree.nodes import node_dtype
from pliant.volume.protocol import Translation, blend, inflate, merge, min_half_extent, negate, overlap, separation, size, transform_volume
from siblings import Siblings

pytestmark = [pytest.mark.formulas, pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")]

REPEATS = 3 if numba.config.DISABLE_JIT else 20
CLOSE = {"rtol": 4 * 2.0**-24, "atol": 2.0**-40}                        # a · b + c may round once or twice
NEAR = {"rtol": 2.0**-16, "atol": 2.0**-18}                             # where roots and sums of products are taken
PLANES = ("aabb", "kdop14", "kdop18", "kdop26")                         # families that know only sums


@pytest.fixture
def made(volume_type, width):
    """Records with volumes in lanes and whole of 0 and 1."""
    rng = np.random.default_rng(43)
    made = Siblings(volume_type, width, rng)
    for k in range(width):
        made.put(1, k, rng.standard_normal((3, 3)))
    for i in (0, 1):
        copy_lane(made.nodes, i, i)
    return made


# --- in kernels ----------------------------------------------------------------------------------------------------------------

@kernel
def copy_lane(nodes, i, k):
    """The volume around record i becomes its lane k."""
    put_bounds(nodes, i, lane(nodes, i, k))


@kernel
def copy_lanes(nodes, i, j):
    put_lanes(nodes, i, lanes(nodes, j))


@kernel
def whole_into(nodes, i, k, j):
    put_lane(nodes, i, k, load_bounds(nodes, j))


@kernel
def meeting(nodes, i, j):
    return movemask(overlap(lanes(nodes, i), load_bounds(nodes, j)))


@kernel
def numbers(nodes, i, j, out):
    """Row 0: separations, row 1: sizes, row 2: how thick."""
    gap, large, thick = separation(lanes(nodes, i), load_bounds(nodes, j)), size(lanes(nodes, i)), min_half_extent(lanes(nodes, i))
    for k in range(out.shape[1]):
        out[0, k], out[1, k], out[2, k] = extract(gap, k), extract(large, k), extract(thick, k)


@kernel
def changed(nodes, i, j, distance, shift, s, t):
    """Lanes of 0 and of 1, inflated into i, carried into i + 1, blended into i + 2; lanes of j merged."""
    put_lanes(nodes, i, inflate(lanes(nodes, 0), distance))
    put_lanes(nodes, i + 1, transform_volume(lanes(nodes, 0), Translation(shift[0], shift[1], shift[2], shift[3])))
    put_lanes(nodes, i + 2, blend(lanes(nodes, 0), negate(lanes(nodes, 1)), s, t))
    put_bounds(nodes, i, merge(lanes(nodes, j)))


# --- lanes ---------------------------------------------------------------------------------------------------------------------

def test_records_have_room_for_every_lane(volume_type, width):
    dtype = node_dtype(volume_type.volume, width)
    parts = dtype.fields["lanes"][0]
    assert parts.names == dtype.fields["bounds"][0].names == volume_type.volume._fields
    assert all(parts.fields[name][0].shape == (width,) for name in parts.names)
    assert dtype.fields["child"][0].shape == (width,)
    assert dtype.itemsize % 64 == 0


def test_every_pattern_of_lanes(made, width):
    """Each lane meets or not, in every combination; a lane that is left out, repeated or shifted would show."""
    here, there = np.zeros((1, 3)), np.full((1, 3), 1e3)
    made.put(2, 0, here)
    made.put(2, 1, there)
    lanes_of = {name: made.nodes["lanes"][name][2].copy() for name in made.volume_type.volume._fields}
    copy_lane(made.nodes, 2, 0)
    for pattern in range(2**width):
        for name, values in lanes_of.items():
            made.nodes["lanes"][name][3] = [values[0 if pattern >> k & 1 else 1] for k in range(width)]
        assert meeting(made.nodes, 3, 2) == pattern


def test_lanes_are_read_and_written_where_they_are(made, width):
    copy_lanes(made.nodes, 3, 0)
    assert made.nodes["lanes"][3] == made.nodes["lanes"][0]
    assert made.nodes["lanes"][2] != made.nodes["lanes"][0]
    for k in range(width):
        copy_lane(made.nodes, 3, k)
        assert load_bounds(made.nodes, 3) == lane(made.nodes, 0, k)
    for k in range(width):
        whole_into(made.nodes, 3, width - 1 - k, 1)
        assert [lane(made.nodes, 3, j) == load_bounds(made.nodes, 1) for j in range(width)] == [j >= width - 1 - k for j in range(width)]


# --- three kinds of values -------------------------------------------------------------------------------------------------------

def same(one, other, close=CLOSE):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), **close)


def test_vectors_rows_and_scalars_agree(volume_type, width):
    """What a kernel computes for W lanes is what plain Python computes for rows of W, and for one scalar after another."""
    rng = np.random.default_rng(44)
    for _ in range(REPEATS):
        made = Siblings(volume_type, width, rng, records=6)
        for k in range(width):
            made.put(1, k, rng.standard_normal((3, 3)) + rng.standard_normal(3))
        copy_lane(made.nodes, 1, int(rng.integers(width)))
        nodes, one = made.nodes, load_bounds(made.nodes, 1)
        rows, others = lanes(nodes, 0), lanes(nodes, 1)
        scalars = [lane(nodes, 0, k) for k in range(width)]
        distance, s, t = np.float32(rng.random(3))
        shift = np.float32([*rng.standard_normal(3), 2.0**-20])
        found = np.zeros((3, width), np.float32)

        assert [meeting(nodes, 0, 1) >> k & 1 for k in range(width)] == np.asarray(overlap(rows, one)).tolist()
        assert [meeting(nodes, 0, 1) >> k & 1 for k in range(width)] == [bool(overlap(scalar, one)) for scalar in scalars]
        numbers(nodes, 0, 1, found)
        round_about = CLOSE if volume_type.name in PLANES else NEAR
        same(found[:1], [separation(rows, one)], round_about)
        same(found[1:], [size(rows), min_half_extent(rows)])
        same(found.T, [[separation(scalar, one), size(scalar), min_half_extent(scalar)] for scalar in scalars], round_about)

        changed(nodes, 2, 0, distance, shift, s, t)
        if volume_type.name in PLANES:
            assert load_bounds(nodes, 2) == merge(rows)
        else:
            same(load_bounds(nodes, 2), merge(rows), NEAR)
        same(lanes(nodes, 2), inflate(rows, distance), round_about)
        same(lanes(nodes, 3), transform_volume(rows, Translation(*shift)), round_about)
        same(lanes(nodes, 4), blend(rows, negate(others), s, t), round_about)
        for k, scalar in enumerate(scalars):
            same(lane(nodes, 2, k), inflate(scalar, distance), round_about)
            same(lane(nodes, 3, k), transform_volume(scalar, Translation(*shift)), round_about)
            same(lane(nodes, 4, k), blend(scalar, negate(lane(nodes, 1, k)), s, t), round_about)
