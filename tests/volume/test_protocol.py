"""What volumes promise, for every family: loose, never short; nothing meets what is empty; one formula for scalars, rows and lanes.

Volumes are made around float64 points and kept in node records, as trees keep them; formulas run in kernels, on W lanes at once. What is
claimed about sets of points is then examined in rational arithmetic, through `INSIDE`: which points a volume holds, in plain words.
"""

from fractions import Fraction
from itertools import product
from math import inf

import numba
import numpy as np
import pytest

import meshes
import poses
from pliant.core.jit import kernel
from pliant.core.records import lane, lanes, put_lanes, put_whole, whole
from pliant.core.simd import bits, element
from pliant.query import placed
from pliant.query.traverse import SLACK
from pliant.tree.nodes import WIDTHS
from pliant.volume.protocol import (
    FAMILIES,
    HOWS,
    PROTOCOL,
    Best,
    Plain,
    Ray,
    Shift,
    Turn,
    blend,
    carry,
    fit,
    inflate,
    merge,
    overlap,
    pierce,
    separation,
    size,
    skew,
    span,
)
from siblings import INSIDE, VOLUMES, Siblings, border, distance_squared, exact, set_enclosed, set_fitted

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
REPEATS = 3 if OFF else 16
SCALES = (2.0**-140, 2.0**-20, 1.0, 2.0**36)                            # from float32's subnormals to the most that a body brings
ZERO = np.float32(0)


# --- formulas in kernels -------------------------------------------------------------------------------------------------------

@kernel
def meet(nodes, i, j):
    return bits(overlap(lanes(nodes, i), whole(nodes, j)))


@kernel
def meet_lanes(nodes, i, j):
    return bits(overlap(lanes(nodes, i), lanes(nodes, j)))


@kernel
def set_separation(nodes, i, j, out):
    value = separation(lanes(nodes, i), whole(nodes, j))
    for k in range(len(out)):
        out[k] = element(value, k)


@kernel
def set_sizes(nodes, i, out):
    value = size(lanes(nodes, i))
    for k in range(len(out)):
        out[k] = element(value, k)


@kernel
def set_pierced(nodes, i, ray, near, far):
    enter, leave = pierce(lanes(nodes, i), Ray(ray[0], ray[1], ray[2], ray[3], ray[4], ray[5], ray[6], ray[7], np.float32(0)))
    for k in range(len(near)):
        near[k], far[k] = element(enter, k), element(leave, k)


@kernel
def set_merged(nodes, i):
    put_whole(nodes, i, merge(lanes(nodes, i)))


@kernel
def set_inflated(nodes, i, j, distance):
    put_lanes(nodes, i, inflate(lanes(nodes, j), distance))


@kernel
def set_carried(nodes, i, j, x, y, z, slack):
    put_lanes(nodes, i, carry(lanes(nodes, j), Shift(x, y, z, slack)))


@kernel
def meet_turned(nodes, i, j, k, w):
    """(Which lanes of record i meet lane k of record j, seen from another frame; which of them a finer test parts from it.)"""
    way = Turn(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13])
    turned = carry(lane(nodes, j, k), way)
    return bits(overlap(lanes(nodes, i), turned)), bits(skew(lanes(nodes, i), turned))


@kernel
def set_blended(nodes, i, j, o, s, t):
    put_lanes(nodes, i, blend(lanes(nodes, j), lanes(nodes, o), s, t))


@pytest.fixture(params=sorted(set(WIDTHS.values())), ids=lambda width: f"W{width}")
def width(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(41)


# --- the registry --------------------------------------------------------------------------------------------------------------

def test_every_family_has_the_whole_protocol(family):
    for function in PROTOCOL:
        assert any(family.volume in key for key in function.table), f"{family.name} has no {function.__name__}"
    assert {(Best, family.volume), (Plain, family.volume)} <= set(fit.table)
    assert {(family.volume, Shift), (family.volume, Turn)} <= set(carry.table)
    for other in FAMILIES.values():
        for function in (overlap, separation):
            assert (family.volume, other.volume) in function.table, f"{function.__name__} of {family.name} and {other.name}"
        with np.errstate(invalid="ignore"):
            turned = type(carry(other.empty, Turn(*np.float32([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1]))))
        for function in (overlap, skew):
            assert (family.volume, turned) in function.table, f"{function.__name__} of {family.name} and {other.name}, turned"


def test_every_family_is_described_here():
    assert set(INSIDE) == set(FAMILIES)
    assert FAMILIES["kdop6"] == FAMILIES["aabb"]._replace(name="kdop6")            # so that what is tested of one is tested of both
    assert set(FAMILIES) - set(VOLUMES) == {"kdop6"}


def test_every_family_has_an_empty_volume(family):
    assert isinstance(family.empty, family.volume)
    assert len(family.empty) == len(family.volume._fields)
    assert all(type(value) is np.float32 for value in family.empty)


def test_a_missing_body_is_refused_by_name():
    with pytest.raises(TypeError, match="overlap"):
        overlap((1, 2), (3, 4))


# --- never short -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scale", SCALES)
def test_volumes_hold_what_they_were_made_around(family, width, rng, scale):
    """The float64 points, not only the float32 ones that they rounded to; and a box of points holds all between them."""
    for _ in range(REPEATS):
        made = Siblings(family, width, rng, scale)
        for k in range(width):
            volume, points = made.volume(0, k), made.points[k]
            middle = tuple(sum(x) / len(points) for x in zip(*points, strict=True))
            assert all(made.holds(volume, point) for point in [*points, middle])


@pytest.mark.parametrize("scale", SCALES)
def test_enclose_holds_its_points_and_is_no_larger_than_around(family, width, rng, scale):
    for _ in range(REPEATS):
        made = Siblings(family, width, rng, scale)
        points = rng.standard_normal((8, 3)) * scale
        rows = made.put(1, 0, points)
        set_enclosed(made.nodes, 1, 1, np.concatenate([rows.min(0), rows.max(0)]), rows.reshape(-1), np.arange(8, dtype=np.int32))
        assert all(made.holds(made.volume(1, 1), exact(point)) for point in points.tolist())
        sizes = np.zeros(width, np.float32)
        set_sizes(made.nodes, 1, sizes)
        assert sizes[1] <= sizes[0]


LIKE = {"cloud": [1, 1, 1], "flat": [1, 1, 0], "needle": [1, 0, 0], "thin": [1, 0.01, 1e-4], "point": [0, 0, 0]}


@pytest.mark.parametrize("how", list(HOWS))
@pytest.mark.parametrize("like", list(LIKE))
def test_fits_hold_their_points(family, rng, how, like):
    """However they are fitted: points of all shapes, turned, far from the origin, on a lattice, several at one place; few and many."""
    if (type(HOWS[how]), family.volume) not in fit.table:
        assert how == "ritter" and family.name != "sphere"
        return
    made = Siblings(family, 8, rng)
    for turn in range(REPEATS):
        n, scale = int(rng.integers(1, 12 if OFF else 40)) * 4, SCALES[1:][turn % 3]
        points = rng.standard_normal((n, 3)) * LIKE[like] @ poses.any_turn(rng).T
        points = np.round(points * 4) / 4 if turn % 5 == 0 else points[rng.integers(n, size=n)] if turn % 5 == 1 else points
        points = (points + rng.standard_normal(3) * (0, 1, 1000)[turn % 3]) * scale
        rows = made.put(1, 0, points)
        box = np.concatenate([rows.min(0), rows.max(0)])
        set_fitted(HOWS[how], made.nodes, 1, 1, box, rows.reshape(-1), np.arange(n, dtype=np.int32))
        assert all(made.holds(made.volume(1, 1), exact(point)) for point in points.tolist())


def test_the_best_fit_is_tight(family, rng):
    """Around a thin plate that is turned: no larger than `enclose`, and thin, where volumes can be turned."""
    made, sizes = Siblings(family, 8, rng), []
    for _ in range(5 if OFF else 20):
        points = (rng.random((24, 3)) - 0.5) * [1, 1, 1e-3] @ poses.any_turn(rng).T
        rows = made.put(1, 0, points)
        given = np.concatenate([rows.min(0), rows.max(0)]), rows.reshape(-1), np.arange(24, dtype=np.int32)
        set_fitted(HOWS["plain"], made.nodes, 1, 1, *given)
        set_fitted(HOWS["best"], made.nodes, 1, 2, *given)
        plain, best = made.volume(1, 1), made.volume(1, 2)
        assert size(best) <= size(plain)
        sizes.append(min(float(span(best, *way) + span(best, *-way)) for way in np.linalg.svd(points)[2].astype(np.float32)))
    assert (np.median(sizes) < 0.1) == (family.name in ("obb", "rss", "slabcutball", "slabcutball2"))


def test_rounding_to_float32_is_covered(family, rng):
    """Points halfway between two float32, next to them, at both signs and at every magnitude."""
    made = Siblings(family, 8, rng)
    for power in range(-160, 37, 4 if OFF else 1):
        for step in (0.0, 2.0**-24, 2.0**-24 + 2.0**-52, 2.0**-24 - 2.0**-53, 2.0**-23 - 2.0**-53, 3 * 2.0**-24):
            point = np.array([[1 + step, -1 - step, (1 + step) * (1 + 2.0**-23)]]) * 2.0**power
            made.put(0, 0, point)
            assert made.holds(made.volume(0, 0), exact(point[0].tolist()))


@pytest.mark.parametrize("scale", SCALES)
def test_merge_holds_every_lane(family, width, rng, scale):
    """Each lane in turn reaches farthest, so that none can be left out; and empty lanes change nothing."""
    for filled in range(1, width + 1):
        for far in range(filled):
            made = Siblings(family, width, rng, scale, filled)
            made.put(0, far, (rng.standard_normal((3, 3)) + 100) * scale)
            set_merged(made.nodes, 0)
            merged = whole(made.nodes, 0)
            assert all(made.holds(merged, point) for points in made.points for point in points)
            for name in family.volume._fields:                          # where nothing was, the first lane once more
                made.nodes["lanes"][name][0][filled:] = made.nodes["lanes"][name][0][0]
            set_merged(made.nodes, 0)
            assert whole(made.nodes, 0) == merged


DIRECTIONS = [tuple(map(Fraction, d)) for d in product((-1, 0, 1), repeat=3) if sum(map(abs, d)) == 1]
DIRECTIONS += [tuple(Fraction(x, 3) * s for x, s in zip((1, 2, 2), signs, strict=True)) for signs in product((-1, 1), repeat=3)]


@pytest.mark.parametrize("scale", SCALES)
def test_inflate_holds_all_within_the_distance(family, width, rng, scale):
    for _ in range(REPEATS // 3 + 1):
        made = Siblings(family, width, rng, scale)
        distance = np.float32(abs(rng.standard_normal()) * scale * 10.0 ** rng.integers(-9, 3))
        set_inflated(made.nodes, 1, 0, distance)
        for k in range(width):
            for point, direction in product(made.points[k], DIRECTIONS):
                moved = tuple(x + Fraction(float(distance)) * d for x, d in zip(point, direction, strict=True))
                assert made.holds(made.volume(1, k), moved)


@pytest.mark.parametrize("scale", SCALES[1:])
def test_carry_holds_what_it_held_seen_from_elsewhere(family, width, rng, scale):
    """The shift between two origins is known as float32 only; the slack of a query makes up for that and for all that rounds."""
    for _ in range(REPEATS):
        made = Siblings(family, width, rng, scale)
        shift = rng.standard_normal(3) * scale * 10.0 ** rng.integers(-9, 4)
        reach = max(abs(float(x)) for points in made.points for point in points for x in point)
        slack = (np.abs(shift).max() + reach) * SLACK
        set_carried(made.nodes, 1, 0, *np.float32([*shift, slack]))
        for k in range(width):
            for point in made.points[k]:
                moved = tuple(x + Fraction(s) for x, s in zip(point, shift.tolist(), strict=True))
                assert made.holds(made.volume(1, k), moved)


def turns(rng):
    """Rotations, and what comes near one: in float32, as loose as two bodies can be against each other, hardly turned, not turned."""
    turn = poses.any_turn(rng)
    yield from (turn, turn.astype(np.float32).astype(np.float64), np.eye(3), meshes.rotation(rng.standard_normal(3), 1e-6))
    yield poses.loosened(turn, rng, 2e-5)


@pytest.mark.parametrize("scale", SCALES[1:])
def test_what_was_turned_meets_all_that_it_held(family, width, rng, scale):
    """A volume around where a point of it goes meets what it has become, by either test; `slack` and `loose` as a query sets them."""
    for _ in range(REPEATS // 4 + 1):
        made = Siblings(family, width, rng, scale)
        reach = max(abs(float(x)) for points in made.points for point in points for x in point)
        for turn in turns(rng):
            move = rng.standard_normal(3) * scale * 10.0 ** rng.integers(-9, 4)
            slack = (2 * reach + 2 * np.abs(move).max()) * placed.SLACK
            loose = placed.LOOSE + 2 * np.abs(turn.T @ turn - np.eye(3)).max()
            way = np.float32([*turn.reshape(-1), *move, slack, loose])
            for k in range(width):
                at = np.array([[float(x) for x in point] for point in made.points[k]]) @ turn.T + move
                for j in range(min(width, len(at))):
                    made.put(1, j, at[j : j + 1])
                with np.errstate(invalid="ignore"):                     # of empty lanes
                    some, parted = meet_turned(made.nodes, 1, 0, k, way)
                assert some == 2 ** min(width, len(at)) - 1
                assert not some & parted


@pytest.mark.parametrize("scale", SCALES)
def test_blend_holds_every_weighted_sum(family, width, rng, scale):
    for _ in range(REPEATS // 2 + 1):
        made = Siblings(family, width, rng, scale)
        other = [rng.standard_normal((3, 3)) * scale * 10.0 ** rng.integers(-5, 3) for _ in range(width)]
        for k, points in enumerate(other):
            made.put(1, k, points)
        for s, t in np.float32([(0.25, 0.75), (0.0, 1.0), (1.0, 0.0), rng.random(2), 10.0 ** rng.uniform(-4, 2, 2)]):
            set_blended(made.nodes, 2, 0, 1, s, t)
            for k in range(width):
                for p, q in product(made.points[k], map(exact, other[k].tolist())):
                    point = tuple(Fraction(float(s)) * x + Fraction(float(t)) * y for x, y in zip(p, q, strict=True))
                    assert made.holds(made.volume(2, k), point)


# --- never missed ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scale", SCALES)
def test_volumes_that_share_a_point_meet(family, width, rng, scale):
    """Overlap says yes, and separation says 0, in either order; the point may be the only one in common."""
    gaps = np.full(width, np.nan, np.float32)
    for _ in range(REPEATS):
        made = Siblings(family, width, rng, scale)
        common = rng.standard_normal(3) * scale
        outward = np.sign(rng.standard_normal(3))
        for i, side in ((0, outward), (1, -outward)):
            for k in range(width):
                made.put(i, k, np.concatenate([[common], common + side * np.abs(rng.standard_normal((2, 3))) * scale]))
            set_merged(made.nodes, i)
        assert meet(made.nodes, 0, 1) == meet(made.nodes, 1, 0) == meet_lanes(made.nodes, 0, 1) == 2**width - 1
        for i, j in ((0, 1), (1, 0)):
            set_separation(made.nodes, i, j, gaps)
            assert not gaps.any()


@pytest.mark.parametrize("scale", SCALES[1:])
def test_separation_is_a_lower_bound(family, width, rng, scale):
    """Of the squared distance between any two points of the volumes; and not an idle one: points far apart are told to be."""
    gaps, telling = np.zeros(width, np.float32), 0
    for _ in range(REPEATS):
        made = Siblings(family, width, rng, scale)
        one = rng.standard_normal((3, 3)) * scale + rng.standard_normal(3) * 4 * scale
        made.put(1, 0, one)
        set_merged(made.nodes, 1)
        set_separation(made.nodes, 0, 1, gaps)
        for k in range(width):
            least = min(distance_squared(p, q) for p, q in product(made.points[k], map(exact, one.tolist())))
            assert gaps[k] >= 0
            assert Fraction(float(gaps[k])) <= least
            telling += gaps[k] > least / 4
            assert gaps[k] == 0 or not meet(made.nodes, 0, 1) >> k & 1
    assert telling > 0


@pytest.mark.parametrize("scale", SCALES[1:])
def test_rays_do_not_miss(family, width, rng, scale):
    """A ray that passes through a point of a volume enters and leaves it around there; also along the axes, and along its very border."""
    near, far = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for turn in range(3 * REPEATS):
        made = Siblings(family, width, rng, scale)
        origin, direction = (rng.standard_normal((2, 3)) * scale).astype(np.float32)
        direction[rng.random(3) < 0.3] = 0
        t = np.float32(2.0 ** rng.integers(-2, 3)) if turn % 4 else ZERO
        k = int(rng.integers(width))
        if turn % 2:                                                    # start on the border: coordinates of the volume itself
            made.put(0, k, (rng.standard_normal((2, 3)) * scale).astype(np.float32).astype(np.float64))
            inside = [point for point in border(made.volume(0, k)) if made.holds(made.volume(0, k), exact(point.tolist()))]
            target = inside[rng.integers(len(inside))]
            origin = np.where(direction == 0, target, (target - t * direction)).astype(np.float32)
        through = [Fraction(float(o)) + Fraction(float(t)) * Fraction(float(d)) for o, d in zip(origin, direction, strict=True)]
        if turn % 2 == 0:
            made.put(0, k, np.array([[float(x) for x in through]]))
        if not made.holds(made.volume(0, k), through):
            continue                                                    # the border was rounded away
        with np.errstate(divide="ignore", over="ignore"):
            over = np.where(direction == 0, np.float32(inf), 1 / direction).astype(np.float32)
        with np.errstate(invalid="ignore"):                             # 0 · inf, which the formula expects
            set_pierced(made.nodes, 0, np.array([*origin, *over, 0, inf], np.float32), near, far)
        assert near[k] <= far[k]
        assert near[k] <= t * np.float32(1 + 2.0**-18) + np.float32(2.0**-126)
        assert far[k] >= t * np.float32(1 - 2.0**-18)


def test_rays_miss_what_is_aside(family, width, rng):
    made = Siblings(family, width, rng)
    near, far = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for start, end in ((0, inf), (0, 5)):
        set_pierced(made.nodes, 0, np.array([50, 50, 50, inf, inf, 1, start, end], np.float32), near, far)
        assert (near > far).all()
    set_pierced(made.nodes, 0, np.array([-100, 0, 0, 1, inf, inf, 0, 5], np.float32), near, far)      # ends long before
    assert (near > far).all()


# --- empty -----------------------------------------------------------------------------------------------------------------------

def test_empty_lanes_meet_nothing(family, width, rng):
    """Nor does a ray find them, nor are they large; whatever is beside them."""
    near, far, sizes = (np.zeros(width, np.float32) for _ in range(3))
    for filled in range(width):
        made = Siblings(family, width, rng, 2.0**36, filled)
        made.put(1, 0, np.array([[-1, -1, -1], [1, 1, 1]]) * 2.0**38)   # around everything
        set_merged(made.nodes, 1)
        full = 2**filled - 1
        assert meet(made.nodes, 0, 1) == full
        assert meet(made.nodes, 0, 2) == 0                              # record 2 is empty
        assert meet_lanes(made.nodes, 2, 2) == 0
        with np.errstate(invalid="ignore"):                             # inf − inf, which the formula expects
            way = np.float32([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1e-5])
            assert meet_turned(made.nodes, 0, 1, 0, way)[0] == full
            assert meet_turned(made.nodes, 2, 1, 0, way)[0] == meet_turned(made.nodes, 1, 2, 0, way)[0] == 0
        set_sizes(made.nodes, 0, sizes)
        assert (sizes[filled:] <= sizes[:filled].min(initial=inf)).all()
        with np.errstate(invalid="ignore"):
            set_pierced(made.nodes, 0, np.array([-(2.0**38), 1, 1, 1, inf, inf, 0, inf], np.float32), near, far)
        assert (near[filled:] > far[filled:]).all()
