"""Families beside each other: what two of them say of each other, what becomes of mirrored and of empty ones, and volumes in the trees of
bodies: at all sizes and places they hold the float64 vertices under them, and all give the same pairs.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from pliant import shapes
from pliant.core.jit import kernel
from pliant.core.simd import extract, movemask
from pliant.core.soa import lane, lanes, load_bounds, put_bounds, put_lanes
from pliant.query.collide import transformed
from pliant.volume.protocol import VOLUME_TYPES, RigidTransform, negate, overlap, sat_cross_axes, separation, transform_volume
from siblings import INSIDE, PAIRS, VOLUMES, Siblings, distance_squared, exact, is_empty
from simd_formulas import OFF, REPEATS, SCALES, set_blended, set_carried, set_inflated, set_merged
from trees import under

pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning"))
PLACES = [(1e-9, 0.0), (1e-9, 1e-3), (1.0, 0.0), (1.0, 1e6), (1e9, 0.0), (1e9, 1e15)]


@pytest.fixture
def rng():
    return np.random.default_rng(47)


# --- mirrored and empty --------------------------------------------------------------------------------------------------------

@kernel
def set_mirrored(nodes, i, j):
    put_lanes(nodes, i, negate(lanes(nodes, j)))


@pytest.mark.parametrize("scale", SCALES)
def test_mirror_holds_what_is_opposite(volume_type, width, rng, scale):
    """And is as large: mirrored twice it is what it was. So differences are blends."""
    made = Siblings(volume_type, width, rng, scale)
    made.put(1, 0, rng.standard_normal((3, 3)) * scale)
    set_mirrored(made.nodes, 2, 0)
    set_mirrored(made.nodes, 3, 2)
    for k in range(width):
        assert all(made.holds(made.volume(2, k), tuple(-x for x in point)) for point in made.points[k])
        assert made.volume(3, k) == made.volume(0, k)
    s, t = np.float32(rng.random(2))
    set_blended(made.nodes, 3, 2, 2, s, t)
    p, q = made.points[0][:2]
    assert made.holds(made.volume(3, 0), tuple(-Fraction(float(s)) * x - Fraction(float(t)) * y for x, y in zip(p, q, strict=True)))


def test_empty_lanes_stay_empty(volume_type, width, rng):
    """Whatever is done to them: they meet nothing, no ray finds them, and they have no part in what is merged."""
    made = Siblings(volume_type, width, rng, filled=width - 1)
    set_inflated(made.nodes, 1, 0, np.float32(1.5))
    set_carried(made.nodes, 2, 0, *np.float32([1, -2, 3, 0.5]))
    set_mirrored(made.nodes, 3, 0)
    assert all(is_empty(made.volume(i, width - 1), volume_type) for i in (1, 2, 3))
    for i, (s, t) in product((1, 2, 3), np.float32([(0.25, 0.75), (1e-6, 1e-6), (3.0, 1e-9)])):
        set_blended(made.nodes, i, i, 0, s, t)
        assert is_empty(made.volume(i, width - 1), volume_type)
        set_merged(made.nodes, i)
        assert np.isfinite(load_bounds(made.nodes, i)).all()
    nothing = Siblings(volume_type, width, rng, filled=0)
    set_merged(nothing.nodes, 0)
    assert load_bounds(nothing.nodes, 0) == volume_type.empty


# --- of two families ---------------------------------------------------------------------------------------------------------------

@kernel
def copy_lane(nodes, i, k):
    put_bounds(nodes, i, lane(nodes, i, k))


@kernel
def mixed(nodes, i, others, j, w, gaps):
    """Lanes of record i against the volume around record j of another family: (which meet, which meet it turned, which of these a finer
    test parts)."""
    one = load_bounds(others, j)
    gap = separation(lanes(nodes, i), one)
    for k in range(len(gaps)):
        gaps[k] = extract(gap, k)
    turned = transform_volume(one, RigidTransform(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13]))
    return movemask(overlap(lanes(nodes, i), one)), movemask(overlap(lanes(nodes, i), turned)), movemask(
        sat_cross_axes(lanes(nodes, i), turned))


@pytest.mark.parametrize(("first", "second"), [(a, b) for a in VOLUMES for b in VOLUMES if a != b and (OFF or {(a, b), (b, a)} & {*PAIRS})])
def test_volumes_of_two_families(first, second, rng):
    """With a point in common they meet, turned or not; apart they are told to be at most as far apart as their points; empty ones meet
    nothing, and rows and scalars say what lanes say. All pairs without the JIT; with it those that other tests have in bodies, since each
    is a kernel to compile."""
    gaps, told, parted = np.zeros(8, np.float32), 0, 0
    for turn in range(REPEATS // 4 + 1):
        scale = SCALES[1:][turn % 3]
        a, b = Siblings(VOLUME_TYPES[first], 8, rng, scale, filled=7), Siblings(VOLUME_TYPES[second], 8, rng, scale)
        common, rotation = rng.standard_normal(3) * scale, poses.any_turn(rng)
        b.put(0, 0, np.concatenate([[common], common + rng.standard_normal((2, 3)) * scale]))
        copy_lane(b.nodes, 0, 0)
        move = rng.standard_normal(3) * scale
        reach = 4 * scale + np.abs(np.float64(b.points[0])).max() + max(abs(float(x)) for p in a.points for q in p for x in q)
        way = np.float32([*rotation.reshape(-1), *move, (2 * reach + 2 * np.abs(move).max()) * transformed.TRANSFORM_ERROR,
                          transformed.ROTATION_ERROR])
        at = rotation @ common + move
        a.put(0, 0, np.concatenate([[common], common + rng.standard_normal((2, 3)) * scale * 0.1]))
        a.put(0, 1, np.concatenate([[at], at + rng.standard_normal((2, 3)) * scale * 0.1]))
        with np.errstate(invalid="ignore"):
            some, turned, apart = mixed(a.nodes, 0, b.nodes, 0, way, gaps)
        assert some & 1 == 1 and not gaps[0] and turned & 2 == 2 and not apart & turned & 2
        assert not (some | turned) & 128                                # the last lane is empty
        for k in range(7):
            least = min(distance_squared(p, q) for p, q in product(a.points[k], b.points[0]))
            assert 0 <= Fraction(float(gaps[k])) <= least
            assert gaps[k] == 0 or not some >> k & 1
            told += gaps[k] > least / 9 > 0
        parted += bin(127 & ~some).count("1")
        rows, one = lanes(a.nodes, 0), load_bounds(b.nodes, 0)
        with np.errstate(invalid="ignore"):                             # the middle of nothing
            assert movemask(overlap(rows, one)) == some == sum(bool(overlap(lane(a.nodes, 0, k), one)) << k for k in range(8))
            np.testing.assert_allclose(np.float64(separation(rows, one)), gaps, 2.0**-16, scale * scale * 2.0**-16)
        none = Siblings(VOLUME_TYPES[second], 8, rng, filled=0)
        with np.errstate(invalid="ignore"):
            assert mixed(a.nodes, 0, none.nodes, 0, way, gaps)[:2] == (0, 0)
    assert told > 0 and parted > 0


# --- in bodies -------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("size", "offset"), PLACES)
def test_vertices_are_held_exactly(volume_type, size, offset):
    """By the lanes above them, made from vertices or merged, and by all nodes above those."""
    rng = np.random.default_rng(int(-np.log10(size)) + 100)
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    vertices = vertices * (1 + 0.3 * rng.random((len(vertices), 1))) * size + offset * rng.standard_normal(3)
    for policy in ("bottom_up", "lazy"):
        body = pl.Body(vertices, faces, volume=volume_type.name, policy=policy, leaf=4)
        body.update(vertices + size * 1e-3 * rng.standard_normal(vertices.shape))
        pl.collide(body, pl.Body(body.vertices, faces, volume=volume_type.name))
        shape = body._bvh_at(body._motion.scale)
        origin, scale, inside = exact(body._motion.origin[:3].tolist()), Fraction(body._motion.scale), INSIDE[volume_type.name]
        place = [tuple((x - o) * scale for x, o in zip(exact(row), origin, strict=True)) for row in body.vertices.tolist()]
        below = under(shape.tree)
        assert (shape.nodes["stamp"] == shape.frame).all()
        for i in range(len(shape.nodes)):
            for k in range(shape.tree.count[i]):
                child = int(shape.tree.child[i, k])
                leaves = [~child] if child < 0 else list(below[child][1])
                for v in set(shape.tree.corners[leaves].ravel().tolist()):
                    assert inside(lane(shape.nodes, i, k), place[v])
                    assert inside(load_bounds(shape.nodes, i), place[v])


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_bodies_of_two_families(first, second):
    """As the reference says: at several sizes and places, side by side and turned, in either order."""
    rng = np.random.default_rng(101)
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    for size, offset in PLACES[1::2][:1 if OFF else 3]:
        away = offset * rng.standard_normal(3)
        a = pl.Body(vertices * size + away, faces, volume=first)
        b = pl.Body((vertices * 0.7 + rng.standard_normal(3) * 0.4) * size + away, faces, volume=second)
        assert len(meshes.assert_right(a, b)) > 0
        turned = pl.Body.rigid(vertices * size, faces, volume=second)
        turned.update(poses.matrix(poses.any_turn(rng), away + rng.standard_normal(3) * size * 0.5))
        assert len(poses.assert_placed(a, turned)) > 0
