"""What volumes promise, for every family, to those who ask: what shares a point is never told apart, rays do not miss, and nothing meets
what is empty.
"""

from fractions import Fraction
from itertools import product
from math import inf

import numpy as np
import pytest

import meshes
import poses
from pliant.query.collide import transformed
from siblings import Siblings, border, distance_squared, exact
from simd_formulas import OFF, REPEATS, SCALES, meet, meet_lanes, meet_turned, set_merged, set_pierced, set_separation, set_sizes

pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
ZERO = np.float32(0)


# --- never missed ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scale", SCALES)
def test_volumes_that_share_a_point_meet(volume_type, width, rng, scale):
    """Overlap says yes, and separation says 0, in either order; the point may be the only one in common."""
    gaps = np.full(width, np.nan, np.float32)
    for _ in range(REPEATS):
        made = Siblings(volume_type, width, rng, scale)
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
def test_separation_is_a_lower_bound(volume_type, width, rng, scale):
    """Of the squared distance between any two points of the volumes; and not an idle one: points far apart are told to be."""
    gaps, telling = np.zeros(width, np.float32), 0
    for _ in range(REPEATS):
        made = Siblings(volume_type, width, rng, scale)
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
def test_rays_do_not_miss(volume_type, width, rng, scale):
    """A ray that passes through a point of a volume enters and leaves it around there; also along the axes, and along its very border."""
    near, far = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for turn in range(3 * REPEATS):
        made = Siblings(volume_type, width, rng, scale)
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


def test_rays_miss_what_is_aside(volume_type, width, rng):
    made = Siblings(volume_type, width, rng)
    near, far = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for start, end in ((0, inf), (0, 5)):
        set_pierced(made.nodes, 0, np.array([50, 50, 50, inf, inf, 1, start, end], np.float32), near, far)
        assert (near > far).all()
    set_pierced(made.nodes, 0, np.array([-100, 0, 0, 1, inf, inf, 0, 5], np.float32), near, far)  # ends long before
    assert (near > far).all()


def turns(rng):
    """Rotations, and what comes near one: in float32, as loose as two bodies can be against each other, hardly turned, not turned."""
    turn = poses.any_turn(rng)
    yield from (turn, turn.astype(np.float32).astype(np.float64), np.eye(3), meshes.rotation(rng.standard_normal(3), 1e-6))
    yield poses.loosened(turn, rng, 2e-5)


@pytest.mark.parametrize("scale", SCALES[1:])
def test_what_was_turned_meets_all_that_it_held(volume_type, width, rng, scale):
    """A volume around where a point of it goes meets what it has become, by either test; `slack` and `loose` as a query sets them."""
    for _ in range(REPEATS // 4 + 1):
        made = Siblings(volume_type, width, rng, scale)
        reach = max(abs(float(x)) for points in made.points for point in points for x in point)
        for turn in turns(rng):
            move = rng.standard_normal(3) * scale * 10.0 ** rng.integers(-9, 4)
            margin = (2 * reach + 2 * np.abs(move).max()) * transformed.TRANSFORM_ERROR
            loose = transformed.ROTATION_ERROR + 2 * np.abs(turn.T @ turn - np.eye(3)).max()
            way = np.float32([*turn.reshape(-1), *move, margin, loose])
            for k in range(width):
                at = np.array([[float(x) for x in point] for point in made.points[k]]) @ turn.T + move
                for j in range(min(width, len(at))):
                    made.put(1, j, at[j : j + 1])
                with np.errstate(invalid="ignore"):                     # of empty lanes
                    some, parted = meet_turned(made.nodes, 1, 0, k, way)
                assert some == 2 ** min(width, len(at)) - 1
                assert not some & parted


# --- empty -----------------------------------------------------------------------------------------------------------------------

def test_empty_lanes_meet_nothing(volume_type, width, rng):
    """Nor does a ray find them, nor are they large; whatever is beside them."""
    near, far, sizes = (np.zeros(width, np.float32) for _ in range(3))
    for filled in range(width):
        made = Siblings(volume_type, width, rng, 2.0**36, filled)
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
