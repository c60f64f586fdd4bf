"""What volumes promise, for every family: loose, never short. What they promise to those who ask is in `test_protocol_meets.py`.

Volumes are made around float64 points and kept in node records, as trees keep them; formulas run in kernels, on W lanes at once. What is
claimed about sets of points is then examined in rational arithmetic, through `INSIDE`: which points a volume holds, in plain words.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import poses
from pliant.core.soa import load_bounds
from pliant.query.traverse import TRANSLATION_ERROR
from pliant.volume.protocol import (
    FIT_METHODS,
    VOLUME_TYPES,
    DefaultFit,
    RigidTransform,
    TightestFit,
    check_protocol,
    fit,
    overlap,
    sat_cross_axes,
    separation,
    size,
    support_value,
    transform_volume,
)
from siblings import INSIDE, VOLUMES, Siblings, exact, set_enclosed, set_fitted
from simd_formulas import OFF, REPEATS, SCALES, set_blended, set_carried, set_inflated, set_merged, set_sizes

pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))


# --- the registry --------------------------------------------------------------------------------------------------------------

def test_every_volume_type_has_the_whole_protocol(volume_type):
    check_protocol(volume_type)
    assert fit.has_body(TightestFit, volume_type.volume) and fit.has_body(DefaultFit, volume_type.volume)
    for other in VOLUME_TYPES.values():
        for function in (overlap, separation):
            assert function.has_body(volume_type.volume, other.volume), f"{function.__name__} of {volume_type.name} and {other.name}"
        with np.errstate(invalid="ignore"):
            turned = type(transform_volume(other.empty, RigidTransform(*np.float32([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1]))))
        for function in (overlap, sat_cross_axes):
            assert function.has_body(volume_type.volume, turned), f"{function.__name__} of {volume_type.name} and {other.name}, turned"


def test_every_family_is_described_here():
    assert set(INSIDE) == set(VOLUME_TYPES)
    assert VOLUME_TYPES["kdop6"] == VOLUME_TYPES["aabb"]._replace(name="kdop6")  # so that what is tested of one is tested of both
    assert set(VOLUME_TYPES) - set(VOLUMES) == {"kdop6"}


def test_every_family_has_an_empty_volume(volume_type):
    assert isinstance(volume_type.empty, volume_type.volume)
    assert len(volume_type.empty) == len(volume_type.volume._fields)
    assert all(type(value) is np.float32 for value in volume_type.empty)


def test_a_missing_body_is_refused_by_name():
    with pytest.raises(TypeError, match="no body for tuple"):
        overlap((1, 2), (3, 4))


# --- never short -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scale", SCALES)
def test_volumes_hold_what_they_were_made_around(volume_type, width, rng, scale):
    """The float64 points, not only the float32 ones that they rounded to; and a box of points holds all between them."""
    for _ in range(REPEATS):
        made = Siblings(volume_type, width, rng, scale)
        for k in range(width):
            volume, points = made.volume(0, k), made.points[k]
            middle = tuple(sum(x) / len(points) for x in zip(*points, strict=True))
            assert all(made.holds(volume, point) for point in [*points, middle])


@pytest.mark.parametrize("scale", SCALES)
def test_enclose_holds_its_points_and_is_no_larger_than_around(volume_type, width, rng, scale):
    for _ in range(REPEATS):
        made = Siblings(volume_type, width, rng, scale)
        points = rng.standard_normal((8, 3)) * scale
        rows = made.put(1, 0, points)
        set_enclosed(made.nodes, 1, 1, np.concatenate([rows.min(0), rows.max(0)]), rows.reshape(-1), np.arange(8, dtype=np.int32))
        assert all(made.holds(made.volume(1, 1), exact(point)) for point in points.tolist())
        sizes = np.zeros(width, np.float32)
        set_sizes(made.nodes, 1, sizes)
        assert sizes[1] <= sizes[0]


LIKE = {"cloud": [1, 1, 1], "flat": [1, 1, 0], "needle": [1, 0, 0], "thin": [1, 0.01, 1e-4], "point": [0, 0, 0]}


@pytest.mark.parametrize("how", list(FIT_METHODS))
@pytest.mark.parametrize("like", list(LIKE))
def test_fits_hold_their_points(volume_type, rng, how, like):
    """However they are fitted: points of all shapes, turned, far from the origin, on a lattice, several at one place; few and many."""
    if not fit.has_body(type(FIT_METHODS[how]), volume_type.volume):
        assert volume_type.name != {"ritter": "sphere", "parent": "slabcutball"}[how]
        return
    made = Siblings(volume_type, 8, rng)
    for turn in range(REPEATS):
        n, scale = int(rng.integers(1, 12 if OFF else 40)) * 4, SCALES[1:][turn % 3]
        points = rng.standard_normal((n, 3)) * LIKE[like] @ poses.any_turn(rng).T
        points = np.round(points * 4) / 4 if turn % 5 == 0 else points[rng.integers(n, size=n)] if turn % 5 == 1 else points
        points = (points + rng.standard_normal(3) * (0, 1, 1000)[turn % 3]) * scale
        rows = made.put(1, 0, points)
        box = np.concatenate([rows.min(0), rows.max(0)])
        set_fitted(FIT_METHODS[how], made.nodes, 1, 1, box, rows.reshape(-1), np.arange(n, dtype=np.int32))
        assert all(made.holds(made.volume(1, 1), exact(point)) for point in points.tolist())


def test_the_best_fit_is_tight(volume_type, rng):
    """Around a thin plate that is turned: no larger than `enclose`, and thin, where volumes can be turned."""
    made, sizes = Siblings(volume_type, 8, rng), []
    for _ in range(5 if OFF else 20):
        points = (rng.random((24, 3)) - 0.5) * [1, 1, 1e-3] @ poses.any_turn(rng).T
        rows = made.put(1, 0, points)
        given = np.concatenate([rows.min(0), rows.max(0)]), rows.reshape(-1), np.arange(24, dtype=np.int32)
        set_fitted(FIT_METHODS["plain"], made.nodes, 1, 1, *given)
        set_fitted(FIT_METHODS["best"], made.nodes, 1, 2, *given)
        plain, best = made.volume(1, 1), made.volume(1, 2)
        assert size(best) <= size(plain)
        sizes.append(min(float(support_value(best, *way) + support_value(best, *-way))
                         for way in np.linalg.svd(points)[2].astype(np.float32)))
    assert (np.median(sizes) < 0.1) == (volume_type.name in ("obb", "rss", "slabcutball", "double_slabcutball"))


def test_rounding_to_float32_is_covered(volume_type, rng):
    """Points halfway between two float32, next to them, at both signs and at every magnitude."""
    made = Siblings(volume_type, 8, rng)
    for power in range(-160, 37, 4 if OFF else 1):
        for step in (0.0, 2.0**-24, 2.0**-24 + 2.0**-52, 2.0**-24 - 2.0**-53, 2.0**-23 - 2.0**-53, 3 * 2.0**-24):
            point = np.array([[1 + step, -1 - step, (1 + step) * (1 + 2.0**-23)]]) * 2.0**power
            made.put(0, 0, point)
            assert made.holds(made.volume(0, 0), exact(point[0].tolist()))


@pytest.mark.parametrize("scale", SCALES)
def test_merge_holds_every_lane(volume_type, width, rng, scale):
    """Each lane in turn reaches farthest, so that none can be left out; and empty lanes change nothing."""
    for filled in range(1, width + 1):
        for far in range(filled):
            made = Siblings(volume_type, width, rng, scale, filled)
            made.put(0, far, (rng.standard_normal((3, 3)) + 100) * scale)
            set_merged(made.nodes, 0)
            merged = load_bounds(made.nodes, 0)
            assert all(made.holds(merged, point) for points in made.points for point in points)
            for name in volume_type.volume._fields:                          # where nothing was, the first lane once more
                made.nodes["lanes"][name][0][filled:] = made.nodes["lanes"][name][0][0]
            set_merged(made.nodes, 0)
            assert load_bounds(made.nodes, 0) == merged


DIRECTIONS = [tuple(map(Fraction, d)) for d in product((-1, 0, 1), repeat=3) if sum(map(abs, d)) == 1]
DIRECTIONS += [tuple(Fraction(x, 3) * s for x, s in zip((1, 2, 2), signs, strict=True)) for signs in product((-1, 1), repeat=3)]


@pytest.mark.parametrize("scale", SCALES)
def test_inflate_holds_all_within_the_distance(volume_type, width, rng, scale):
    for _ in range(REPEATS // 3 + 1):
        made = Siblings(volume_type, width, rng, scale)
        distance = np.float32(abs(rng.standard_normal()) * scale * 10.0 ** rng.integers(-9, 3))
        set_inflated(made.nodes, 1, 0, distance)
        for k in range(width):
            for point, direction in product(made.points[k], DIRECTIONS):
                moved = tuple(x + Fraction(float(distance)) * d for x, d in zip(point, direction, strict=True))
                assert made.holds(made.volume(1, k), moved)


@pytest.mark.parametrize("scale", SCALES[1:])
def test_carry_holds_what_it_held_seen_from_elsewhere(volume_type, width, rng, scale):
    """The shift between two origins is known as float32 only; the slack of a query makes up for that and for all that rounds."""
    for _ in range(REPEATS):
        made = Siblings(volume_type, width, rng, scale)
        shift = rng.standard_normal(3) * scale * 10.0 ** rng.integers(-9, 4)
        reach = max(abs(float(x)) for points in made.points for point in points for x in point)
        margin = (np.abs(shift).max() + reach) * TRANSLATION_ERROR
        set_carried(made.nodes, 1, 0, *np.float32([*shift, margin]))
        for k in range(width):
            for point in made.points[k]:
                moved = tuple(x + Fraction(s) for x, s in zip(point, shift.tolist(), strict=True))
                assert made.holds(made.volume(1, k), moved)


@pytest.mark.parametrize("scale", SCALES)
def test_blend_holds_every_weighted_sum(volume_type, width, rng, scale):
    for _ in range(REPEATS // 2 + 1):
        made = Siblings(volume_type, width, rng, scale)
        other = [rng.standard_normal((3, 3)) * scale * 10.0 ** rng.integers(-5, 3) for _ in range(width)]
        for k, points in enumerate(other):
            made.put(1, k, points)
        for s, t in np.float32([(0.25, 0.75), (0.0, 1.0), (1.0, 0.0), rng.random(2), 10.0 ** rng.uniform(-4, 2, 2)]):
            set_blended(made.nodes, 2, 0, 1, s, t)
            for k in range(width):
                for p, q in product(made.points[k], map(exact, other[k].tolist())):
                    point = tuple(Fraction(float(s)) * x + Fraction(float(t)) * y for x, y in zip(p, q, strict=True))
                    assert made.holds(made.volume(2, k), point)
