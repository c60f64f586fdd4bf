"""Every query at sizes from 2**-1074 to 2**1020, against exact answers: `range_checks.py`, and `range_sweep.py` for every size.

Here sizes go in coarse steps, and by one around each of the limits that the library has: of the scale (`motion/free.py`), of the filters
(`geometry/predicates.py`), of normal numbers and of all numbers. Two cases are tried at all of these sizes, the others at one in five.
"""

from collections import Counter

import numpy as np
import pytest

import naive
import pliant as pl
import range_checks as checks
from pliant.geometry.predicates import RANGE_MAX, RANGE_MIN
from pliant.motion.free import MAX_REACH, MIN_REACH, SCALE_STEP_BITS, scale_for
from pliant.refit.policy import POLICIES
from pliant.tree.nodes import BUILDERS
from siblings import VOLUMES

BOTTOM, TOP = -1074, 1020
LIMITS = [*(int(np.log2(limit)) for limit in (MIN_REACH, MAX_REACH, RANGE_MIN, RANGE_MAX)), int(np.log2(MAX_REACH)) + SCALE_STEP_BITS,
          int(np.log2(MIN_REACH)) - SCALE_STEP_BITS, BOTTOM + 1, -1022, TOP - 1]
SIZES = sorted({*range(-1070, TOP + 1, 30), *(k + beside for k in LIMITS for beside in (-1, 0, 1))})
ALWAYS = ("crossing", "soups")


def swept(sizes=SIZES, always=ALWAYS):
    """(name, k, case): every case at some sizes, these two at all."""
    for at, (name, case) in enumerate(checks.cases().items()):
        for k in sizes if name in always else sizes[at % 5::5]:
            made = checks.scaled(case, k)
            if made is not None:
                yield name, k, made


def run(tries, check):
    """Try all, and only then fail, with all that is wrong; how many there were."""
    wrong, n = [], 0
    for name, k, *rest in tries:
        n += 1
        try:
            check(*rest)
        except AssertionError as error:
            wrong.append(f"{name}, 2**{k}: {error}")
    assert not wrong, f"{len(wrong)} of {n} wrong:\n" + "\n".join(wrong[:20])
    return n


def bodies(case, **options):
    return pl.Body(case.a, case.faces_a, **options), pl.Body(case.b, case.faces_b, **options)


@pytest.mark.parametrize("query", list(checks.PAIRS))
def test_query_of_two_bodies(query):
    assert run(swept(), lambda case: checks.PAIRS[query](case, *bodies(case))) > 300


def test_query_of_one_body():
    assert run(swept(SIZES[::2]), lambda case: checks.check_self(case, pl.Body(*checks.joined(case)))) > 150


@pytest.mark.parametrize("volume", VOLUMES)
def test_volume_types(volume):
    """Every volume type, at sizes where coordinates are as large and as small as float32 ever sees them."""
    sizes = [-1072, -1040, -300, -67, -68, -21, -20, -19, 0, 15, 24, 27, 28, 29, 31, 33, 35, 60, 76, 77, 340, 1000]
    names = ("crossing", "soups", "300 sizes apart", "900 sizes apart", "2**-12, at a face", "2**-42, at a corner",
             "2**-130, through a plate")
    chosen = [(name, k, checks.scaled(checks.cases()[name], k)) for name in names for k in sizes]
    for query in ("collide", "distance", "within", "closest", "inside", "rays"):
        tries = ((f"{query}, {name}", k, case) for name, k, case in chosen if case is not None)
        assert run(tries, lambda case, query=query: checks.PAIRS[query](case, *bodies(case, volume=volume))) > 100


@pytest.mark.parametrize("build", list(BUILDERS))
def test_builders(build):
    sizes = [-1072, -68, -21, -20, 27, 28, 29, 76, 1000]
    chosen = [(name, k, checks.scaled(checks.cases()[name], k)) for name in ("crossing", "soups") for k in sizes]
    for query in ("collide", "closest"):
        assert run(chosen, lambda case, query=query: checks.PAIRS[query](case, *bodies(case, build=build))) == len(chosen)


@pytest.mark.parametrize("policy", [name for name, policy in POLICIES.items() if not policy.motion])
def test_policies_follow_a_body_through_all_sizes(policy):
    """One body is given one size after the other: its origin, its scale and its volumes follow."""
    case = checks.cases()["soups"]
    a, b = bodies(case, policy=policy)

    def check_soups(case):
        a.update(case.a)
        b.update(case.b)
        for query in ("collide", "closest"):
            checks.PAIRS[query](case, a, b)
    order = np.random.default_rng(5).permutation(SIZES[::3]).tolist()
    assert run((("soups", k, checks.scaled(case, k)) for k in order if checks.scaled(case, k)), check_soups) > 30


@pytest.mark.parametrize(("one", "other"), [(-1070, 1020), (-1000, 0), (-300, 300), (-140, 0), (-60, 20), (-20, 28), (-21, 29), (0, 40),
                                            (28, 29), (27, 77), (-50, -1)])
def test_tiny_and_huge(one, other):
    """A chip through a plate, above it, and beside it, either first."""
    plate, square = np.array([[-4.0, -3.5, 0], [5, -4, 0], [4, 4.5, 0], [-4, 4, 0]]) / 8, np.array([[0, 1, 2], [0, 2, 3]])
    for lift in (-0.25, 0.0, 0.125):
        chip = np.ldexp(checks.CHIP + [0, 0, lift], one)
        tolerance = float(np.ldexp(0.0625, one))
        case = checks.Case(chip, checks.ONE, np.ldexp(plate, other), square, tolerance)
        turned = checks.Case(case.b, square, chip, checks.ONE, tolerance)
        for made in (case, turned):
            for query in ("collide", "distance", "within", "closest", "inside", "rays", "scene", "image"):
                checks.PAIRS[query](made, *bodies(made))


@pytest.mark.parametrize("extent", [1e6, 1e7, 2.0**28, 3e8, 1e9, 5e9, 1e10, 3.4e10, 2.0**36, 1e11, 1e15, 1e30, 1e100, 1e300])
def test_ground_plane(extent):
    """An "infinite" plane under, through and above a body of unit size: it stands for all sizes."""
    rows, faces = checks.ball()
    ground, square = np.array([[-extent, -extent, 0], [extent, -extent, 0], [extent, extent, 0], [-extent, extent, 0]]), np.array(
        [[0, 1, 2], [0, 2, 3]])
    for height in (-2.0, -float(rows[:, 2].min()), 0.25, 3.0):
        case = checks.Case(rows + [0.5, 0.25, height], faces, ground, square, 1.5)
        for query in ("collide", "distance", "within", "closest", "inside", "rays", "image"):
            checks.PAIRS[query](case, *bodies(case))
            if query in ("closest", "inside", "rays"):
                other = checks.Case(ground, square, case.a, faces, 1.5)
                checks.PAIRS[query](other, *bodies(other))


# --- cases that were wrong ----------------------------------------------------------------------------------------------------------------

A = np.array([[-5.0, -5, -2], [-1, 9, 3], [2, -7, 8]])
B = np.array([[-2.0, 6, -5], [-6, 0, 1], [-1, -9, -6]])
LARGE = [2.5e8, 5e8, 1e9, 2e9, 3.5e9, 2.0**32]                          # times 9: up to what MOST_REACH once was


@pytest.mark.parametrize("volume", VOLUMES)
@pytest.mark.parametrize("size", LARGE)
def test_two_large_triangles_that_cross(size, volume):
    """Heights along e × n overflowed float32, and infinite ones read as "certainly apart": no pair was found."""
    a, b = pl.Body(A * size, checks.ONE, volume=volume), pl.Body(B * size, checks.ONE, volume=volume)
    assert naive.triangles_meet(A * size, B * size)
    assert len(pl.collide(a, b)) == len(pl.collide(b, a)) == 1
    both = pl.Body(np.vstack([A, B]) * size, [[0, 1, 2], [3, 4, 5]], volume=volume)
    assert pl.self_collide(both).faces.tolist() == [[0, 1]]
    assert len(pl.Scene([a, b]).collide().faces) == 1
    assert pl.distance(a, b).distance == pl.self_distance(both).distance == 0.0
    assert len(pl.within(a, b, 0.0)) == 1


@pytest.mark.parametrize("policy", [name for name, policy in POLICIES.items() if not policy.motion])
@pytest.mark.parametrize("size", LARGE)
def test_two_large_triangles_that_come_together(size, policy):
    a, b = pl.Body(A, checks.ONE, policy=policy), pl.Body(B, checks.ONE, policy=policy)
    assert len(pl.collide(a, b)) == 1
    a.update(A * size)
    b.update(B * size)
    assert len(pl.collide(a, b)) == 1
    a.update((A * size)[[0]], changed=[0])
    assert len(pl.collide(a, b)) == 1
    start = B * size + [0, 0, 40 * size]
    found = pl.first_contact(a, b, None, lambda t: start - [0, 0, 40 * size * t], steps=8)
    assert found is not None and naive.triangles_meet(A * size, start - [0, 0, 40 * size * found.time])


@pytest.mark.parametrize("k", range(28, 37))
def test_points_far_from_large_bodies(k):
    """Weights of a foot, products of four lengths, overflowed: nothing was near."""
    case = checks.scaled(checks.cases()["900 sizes apart"], k)
    checks.check_closest(case, *bodies(case))
    np.testing.assert_array_equal(pl.closest(pl.Body(case.a, case.faces_a), case.a).distance, 0.0)


@pytest.mark.parametrize("away", [10.0**-k for k in (10, 19, 20, 25, 28, 30, 31, 33, 36, 38, 44, 100, 310)])
def test_points_beside_a_body_that_is_one_point(away):
    """It has no size to measure errors by, and squares of its distances are 0 in float32: nothing was near."""
    for at in ([0.0, 0, 0], [-7.0, 0, 2]):
        body, beside = pl.Body(np.tile(at, (3, 1)), checks.ONE), np.array([at]) + [[0, away, 0]]
        found = pl.closest(body, beside)
        assert found.face[0] == 0 and found.distance[0] == np.abs(beside - at).max()
        assert pl.closest(pl.Scene([body]), beside).distance[0] == found.distance[0]


def test_planes_beside_bodies_of_subnormal_numbers():
    """Half of a subnormal number rounds, and the scale made that as large as the body."""
    for unit in (5e-324, 1e-323, 1e-320):
        rows = np.array([[1.0, 0, 0], [3, 0, 0], [2, 2, 0], [2, 1, 0]]) * unit
        body = pl.Body(rows, [[0, 1, 2], [0, 3, 2]])
        for level in range(5):
            right = [f for f, face in enumerate(([0, 1, 2], [0, 3, 2])) if max(rows[face, 0]) >= level * unit]
            assert pl.frustum_cull(body, [[1.0, 0, 0, -level * unit]]).face.tolist() == right, (unit, level)


def test_first_hit_of_a_scene_of_tiny_and_huge_bodies():
    """t of a huge face rounds by more than a tiny body is away: what counts first must not depend on which body is looked at first."""
    checked = Counter()
    for name in ("2**-60, through a plate", "2**-60, above a plate", "2**-130, above a plate"):
        case = checks.cases()[name]
        origins, directions = checks.rays_of(case)
        for order in (1, -1):
            scene = pl.Scene(bodies(case)[::order])
            one, every = pl.cast(scene, origins, directions), pl.cast_all(scene, origins, directions)
            first = np.searchsorted(every.ray, np.arange(len(origins)))
            for ray in range(len(origins)):
                hit = bool((every.ray == ray).any())
                assert bool(one.hit[ray]) == hit
                if hit:
                    at = first[ray]
                    assert (one.t[ray], one.body[ray], one.face[ray]) == (every.t[at], every.body[at], every.face[at])
                checked[hit] += 1
    assert checked[True] > 20


# --- the scale ----------------------------------------------------------------------------------------------------------------------------

def test_scales_keep_reaches_within_their_limits():
    for k in range(BOTTOM, 1024):
        for reach in (2.0**k, min(2.0**k * 1.75, 1.7e308), np.nextafter(2.0**k, 0.0)):
            if reach == 0.0:
                continue
            scale = scale_for(reach)
            assert np.frexp(scale)[0] == 0.5
            assert reach * scale <= MAX_REACH
            assert reach * scale >= MIN_REACH or scale == 2.0**1023
    assert scale_for(0.0) == scale_for(1.0) == scale_for(1e6) == scale_for(1e-6) == 1.0


def test_bodies_of_similar_sizes_have_one_scale():
    """A pair of different scales needs a second set of volumes: bodies of 1e9 and 1e12 must not."""
    assert scale_for(1e9) == scale_for(1e12) != 1.0
    assert scale_for(1e-9) == scale_for(1e-7)
