"""Volumes from maps: they enclose what they must, whatever the maps, weights, sizes and places; they are as tight as the small linear
programme says; and they follow where queries come."""

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from volume_checks import assert_holds, lanes, set_all, shape_of, true_lanes

import blends
import meshes
import pliant as pl
from morphs import assert_around
from pliant import shapes
from pliant.motion.weight_bounds import BOUNDS
from pliant.refit.convex import BOXES, LEAVES
from pliant.tree.nodes import WIDTH_OF_ARITY
from siblings import VOLUMES
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
SPHERE, FACES = shapes.icosphere(1 if OFF else 4)
FEW, FEW_FACES = shapes.icosphere(0)
FEW_FACES = FEW_FACES[:5] if OFF else FEW_FACES


def assert_right(body):
    """All volumes of the body hold what they must, in rational arithmetic."""
    set_all(body)
    assert_holds(body)
    assert_around(body)


# --- enclosure -------------------------------------------------------------------------------------------------------------------

WEIGHTS = {
    "few": lambda n, m, rng: blends.near(rng.standard_normal((n, 3)), m, int(rng.integers(99)), most=2),
    "many": lambda n, m, rng: rng.dirichlet(np.full(m, 0.3), n),
    "one each": lambda n, m, rng: np.eye(m)[rng.integers(0, m, n)],
    "all alike": lambda n, m, rng: np.full((n, m), 1 / m),
    "nearly nothing": lambda n, m, rng: np.column_stack([np.ones(n), np.full((n, m - 1), 1e-17), np.full(n, 1e-300)])[:, :m],
    "sums off": lambda n, m, rng: rng.dirichlet(np.ones(m), n) * rng.uniform(1 - 9e-6, 1 + 9e-6, (n, 1)),
}


def stretched(m, rng, size):
    """All entries of this size or nothing, in any order of sizes."""
    return rng.choice([0, 1e-3, 1, size], (m, 3, 4)) * rng.uniform(-1, 1, (m, 3, 4))


def turned(m, rng, size):
    return np.concatenate([[meshes.rotation(rng.standard_normal(3), rng.uniform(0, 3)) for _ in range(m)],
                           rng.standard_normal((m, 3, 1)) * size], axis=2)


def flattened(m, rng, size):
    """Onto a line, a plane, or a point."""
    made = blends.maps(m, rng, 2.0)
    made[:, rng.permutation(3)[:int(rng.integers(1, 4))]] *= 0.0
    return made


MAPS = {
    "sheared": lambda m, rng, size: blends.maps(m, rng, 2.0),
    "turned": turned,
    "mirrored": lambda m, rng, size: blends.maps(m, rng, 0.1) * np.array([-1, 1, 1, 1]),
    "flattened": flattened,
    "huge": lambda m, rng, size: blends.maps(m, rng, 2.0) * 1e150,
    "tiny": lambda m, rng, size: blends.maps(m, rng, 2.0) * 1e-150,
    "one huge": lambda m, rng, size: blends.maps(m, rng) * np.where(np.arange(m) == m // 2, 1e12, 1.0)[:, None, None],
    "far away": lambda m, rng, size: blends.maps(m, rng) + np.eye(1, 4, 3) * size * 1e12,
    "of all sizes": lambda m, rng, size: stretched(m, rng, 1e6),
    "opposite": lambda m, rng, size: blends.maps(m, rng) * np.where(np.arange(m) % 2, -1.0, 1.0)[:, None, None],
}
policies = st.fixed_dictionaries({"name": st.just("convex"), "bound": st.sampled_from(list(BOUNDS)), "boxes": st.sampled_from(BOXES),
                                  "leaves": st.sampled_from(LEAVES), "front": st.booleans()})
sizes = st.integers(-200, 200).map(lambda power: 10.0**power)
OWN = {"name": "convex", "bound": "greedy"}


@often(160, 40)
@given(st.sampled_from(sorted(WEIGHTS)), st.sampled_from(sorted(MAPS)), st.integers(1, 7), st.one_of(st.just(1.0), sizes),
       st.sampled_from([0.0, 0.0, 1.0, -1e6, 1e12]), st.tuples(*[st.sampled_from([1.0, 1.0, 1.0, 0.0, 1e-6, 1e-30])] * 3), policies,
       st.integers(0, 10**6))
@example("many", "of all sizes", 3, 1.0, 0.0, (1.0, 1.0, 1e-30), OWN, 1)
@example("nearly nothing", "one huge", 3, 1.0, 0.0, (1.0, 1.0, 1.0), OWN, 2)
@example("one each", "sheared", 1, 1e-200, 1e12, (0.0, 0.0, 0.0), OWN, 3)  # all vertices at one point; one map
@example("sums off", "far away", 5, 1e200, 0.0, (1.0, 0.0, 1.0), OWN | {"boxes": "obb"}, 4)
def test_bodies_of_all_kinds(weights, maps, count, size, place, flat, policy, seed):
    """Any weights and maps, any size, near 0 or 1e12 times the size away, flat or not, by every bound."""
    rng = np.random.default_rng(seed)
    rest = (FEW * flat + rng.uniform(-1, 1, 3) * place) * size
    body = pl.Body.blended(rest, FEW_FACES, WEIGHTS[weights](len(FEW), count, rng), leaf=1, policy=policy)
    assert_right(body)
    for _ in range(2):
        body.update(MAPS[maps](count, rng, size))
        assert_right(body)


@pytest.mark.parametrize("power", [20, 31, 35, 45, 100, 300])
def test_maps_that_stretch_what_is_flat(power):
    """Numbers that only their product makes ordinary: a body that is flat but for a hair, and maps that stretch the hair."""
    rng, size = np.random.default_rng(power), 10.0**power
    for flat in np.eye(3):
        squeeze = np.where(flat, 1 / size, 1.0)
        body = pl.Body.blended(FEW * squeeze, FEW_FACES, blends.near(FEW, 3), leaf=1, policy=OWN)
        body.update(blends.maps(3, rng) / np.append(squeeze, 1))
        assert np.ptp(body.vertices, axis=0).min() > 0.5
        assert_right(body)


@often(60, 40)
@given(st.integers(0, 10**6), st.sampled_from([5e-324, 1e-320, 1e-310, 1e-300]), st.sampled_from([1e307, 1e300, 1e150, 1.0]))
@example(0, 5e-324, 1e300)
def test_sums_of_maps_that_are_subnormal(seed, small, large):
    """They lose bits that coordinates make large again."""
    rng = np.random.default_rng(seed)
    body = pl.Body.blended(FEW * large, FEW_FACES, rng.dirichlet(np.ones(3), len(FEW)), leaf=1, policy=OWN)
    body.update(np.round(rng.uniform(-3, 3, (3, 3, 4))) * small * [1, 1, 1, 0])
    assert_right(body)


@pytest.mark.parametrize("arity", [2] if OFF else WIDTH_OF_ARITY)
def test_trees_of_all_widths(arity):
    """Lanes without children stay empty, whatever the maps."""
    rng = np.random.default_rng(arity)
    for leaf in (1, 3):
        body = pl.Body.blended(FEW, FEW_FACES, blends.near(FEW, 4), arity=arity, leaf=leaf)
        for _ in range(2):
            body.update(blends.maps(4, rng, 1.0))
            assert_right(body)
            nodes = shape_of(body).nodes
            unused = np.arange(nodes["child"].shape[1]) >= nodes["count"][:, None]
            assert unused.any() and np.isinf(nodes["lanes"]["lox"][unused]).all() and np.isfinite(nodes["bounds"]["lox"]).all()


@pytest.mark.parametrize("size", [1.0, 1e-226])
@pytest.mark.parametrize("volume", ["aabb", "sphere"])
@pytest.mark.parametrize("boxes", ["own", "aabb", "obb"])
def test_bodies_without_extent_along_an_axis(boxes, volume, size):
    """Boxes that are turned have a rounding error of extent there, and a map may not stretch it without limit: volumes stay finite."""
    for axis in range(3):
        rest = np.where(np.arange(3) == axis, 0.0, FEW) * size
        policy = {"name": "convex", "boxes": boxes}
        body = pl.Body.blended(rest, FEW_FACES, blends.near(FEW, 3), leaf=1, arity=2, volume=volume, policy=policy)
        assert_right(body)
        nodes = shape_of(body).nodes
        used = np.arange(nodes["child"].shape[1]) < nodes["count"][:, None]
        for name in nodes["lanes"].dtype.names:
            assert np.isfinite(nodes["bounds"][name]).all() and np.isfinite(nodes["lanes"][name][used]).all()
            assert (np.abs(nodes["lanes"][name][used]) < 2.0**30).all()
        if not OFF:                                                     # of five faces any two share a vertex
            right = pl.self_within(pl.Body(body.vertices, FEW_FACES), 0.1 * size)
            assert len(right) > 0 and len(pl.self_within(body, 0.1 * size)) == len(right)


@pytest.mark.parametrize("volume", VOLUMES if OFF else ["kdop14", "sphere"])  # each is an entry to compile, up to 15 s
def test_volumes_of_all_families(volume):
    """Ends of slabs along their own directions; a volume around the box for families that have none."""
    rng = np.random.default_rng(5)
    for k, (size, place) in enumerate([(1.0, 0.0), (1e-9, 1e6), (1e120, 1.0)][:2 if OFF else 3]):
        body = pl.Body.blended((FEW + place) * size, FEW_FACES, blends.near(FEW, 4), leaf=2, volume=volume,
                               policy={"name": "convex", "bound": list(BOUNDS)[k % 2], "leaves": LEAVES[k % 2]})
        for bend in (0.3, 3.0)[OFF:]:
            body.update(blends.maps(4, rng, bend) * [[[1, 1, 1, size]]])
            assert_right(body)


def test_frames_beyond_the_last_stamp():
    """After 2**31 updates stamps begin again, and no vertex is taken for one of long ago."""
    body = pl.Body.blended(FEW, FEW_FACES, blends.near(FEW, 3), leaf=1)
    assert_right(body)                                                  # all is true to the first frame
    body._motion.frame = body._bvh.frame = 2**31 - 1
    moved = blends.maps(3, np.random.default_rng(6))
    body.update(moved)
    assert body._motion.frame == 1 and set_all(body) == len(shape_of(body).nodes)
    assert_right(body)
    assert body.vertices.tobytes() == blends.where(FEW, blends.near(FEW, 3), moved).tobytes()


# --- tightness: what the linear programme says ---------------------------------------------------------------------------------------

LANES = 2 if OFF else 8


def at_one_point(weights, bound):
    """A body of `LANES` leaves of a face each, all vertices at 0: only weights and translations say where they are."""
    faces = np.arange(3 * LANES).reshape(-1, 3)
    return pl.Body.blended(np.zeros((3 * LANES, 3)), faces, weights, leaf=1, policy={"name": "convex", "bound": bound, "leaves": "bound"})


def ends_of(body):
    """{(face, direction): the end of its leaf}, where the directions are x, y, z and against them, in the world."""
    shape, motion, found = shape_of(body), body._motion, {}
    for i, k in np.argwhere((shape.tree.child < 0) & (np.arange(shape.tree.width) < shape.tree.count[:, None])).tolist():
        face = int(shape.tree.faces[~shape.tree.child[i, k], 0])
        for axis, name in enumerate("xyz"):
            low, high = (float(shape.nodes["lanes"][end + name][i, k]) / motion.scale for end in ("lo", "hi"))
            found[face, axis], found[face, axis + 3] = high + motion.origin[axis], -(low + motion.origin[axis])
    assert len(found) == 6 * LANES
    return found


def eq12(least, most, b):
    """Eq. 12 of the paper, to the letter; one node has no second, and its sum is 1."""
    if len(b) == 1:
        return b[0]
    first, second = np.argsort(-b, kind="stable")[:2]
    others = np.delete(np.arange(len(b)), [first, second])
    return most[first] * b[first] + (1 - most[first] - least[others].sum()) * b[second] + (least[others] * b[others]).sum()


def programme(least, most, b):
    solved = linprog(-b, A_eq=np.ones((1, len(b))), b_eq=[1], bounds=np.column_stack([least, most]))
    assert solved.status == 0
    return -solved.fun


def some_weights(kind, m, rng):
    made = {"even": rng.dirichlet(np.ones(m), 3 * LANES), "sparse": rng.dirichlet(np.full(m, 0.2), 3 * LANES),
            "narrow": rng.dirichlet(np.full(m, 30.0), 3 * LANES)}[kind]
    made[made < 1e-3] = 0
    return made / made.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["even", "sparse", "narrow"])
@pytest.mark.parametrize("count", [1, 4] if OFF else [1, 2, 4, 9])
def test_bounds_are_those_of_the_linear_programme(kind, count):
    """Eq. 12 is the paper's; "greedy" is the solution of the programme, but for a small part of the range of b."""
    rng, smaller = np.random.default_rng(count), 0
    weights = some_weights(kind, count, rng)
    bodies = {bound: at_one_point(weights, bound) for bound in BOUNDS}
    for _ in range(1 if OFF else 2):
        shifts = rng.uniform(-1, 1, (count, 3))
        found = {}
        for bound, body in bodies.items():
            body.update(np.concatenate([np.tile(np.eye(3), (count, 1, 1)), shifts[:, :, None]], axis=2))
            assert_right(body)
            found[bound] = ends_of(body)
        for (face, way), largest in found["eq12"].items():
            mine = weights[3 * face:3 * face + 3]
            used = mine.any(axis=0)
            least, most = mine.min(axis=0)[used], mine.max(axis=0)[used]
            b = (shifts[:, way % 3] * (1 if way < 3 else -1))[used]
            margin = (count + 24) * 2.0**-20
            right = programme(least, most, b)
            assert largest == pytest.approx(eq12(least, most, b), abs=margin)
            assert right - 1e-9 <= found["greedy"][face, way] <= largest
            assert found["greedy"][face, way] <= right + np.ptp(b) / 128 + margin and largest <= max(b) + margin
            smaller += right < largest - 1e-2 and found["greedy"][face, way] < largest - 5e-3
    assert smaller > 0 or count < 3 or OFF


def test_a_corner_that_is_not_among_the_weights():
    """What Appendix A of the paper denies: eq. 11 gives the second more than any vertex has of it; the programme does not."""
    weights = np.tile([[0.5, 0, 0.5, 0], [0.2, 0.1, 0, 0.7], [0, 0.1, 0.2, 0.7]], (LANES, 1))
    least, most = weights[:3].min(axis=0), weights[:3].max(axis=0)
    assert 1 - most[0] - least[2:].sum() > most[1]                      # the corner of eq. 11
    shifts, ends = np.array([[3.0, 0, 0], [1, 0, 0], [0, 0, 0], [-2, 0, 0]]), {}
    for bound in BOUNDS:
        body = at_one_point(weights, bound)
        body.update(np.concatenate([np.tile(np.eye(3), (4, 1, 1)), shifts[:, :, None]], axis=2))
        assert_right(body)
        ends[bound] = ends_of(body)[0, 0]
    assert (eq12(least, most, shifts[:, 0]), programme(least, most, shifts[:, 0])) == pytest.approx((2.0, 1.6))
    assert ends["eq12"] == pytest.approx(2.0, abs=1e-3)
    assert 1.6 <= ends["greedy"] <= 1.6 + 5 / 128 + 1e-3


@pytest.mark.parametrize("volume", ["aabb"] if OFF else ["aabb", "kdop14"])
def test_boxes_of_their_own_are_no_larger(volume):
    """And bounds are no larger than eq. 12, lane by lane; a map that moves everything as one is bounded as tightly as vertices are."""
    rng, ways = np.random.default_rng(8), {}
    ball, faces = shapes.icosphere(0 if OFF else 2)
    weights, moved = blends.near(ball, 6, most=2), blends.maps(6, rng, 0.5)
    for name, policy in {"eq12": {}, "greedy": {"bound": "greedy"}, "aabb": {"boxes": "aabb"},
                         "exact": {"leaves": "exact"}}.items():
        body = pl.Body.blended(ball, faces, weights, leaf=3, volume=volume, policy={"name": "convex", **policy})
        body.update(moved)
        set_all(body)
        nodes = shape_of(body).nodes
        used = np.arange(nodes["child"].shape[1]) < nodes["count"][:, None]
        ways[name] = np.array([(nodes["lanes"]["hi" + axis] - nodes["lanes"]["lo" + axis])[used] for axis in "xyz"])
    assert (ways["greedy"] <= ways["eq12"] + 1e-4).all()
    assert ways["greedy"].sum() < ways["eq12"].sum() * 0.999 or OFF
    assert ways["eq12"].sum() < ways["aabb"].sum() * 0.98 or OFF
    assert ways["exact"].sum() < ways["eq12"].sum() * 0.98
    body = pl.Body.blended(ball, faces, np.ones((len(ball), 1)), leaf=3, volume=volume)
    body.update([np.diag([2.0, 3, 0.5, 1])[:3]])
    set_all(body)
    free = pl.Body(ball * [2, 3, 0.5], faces, leaf=3, volume=volume)
    set_all(free)
    lengths = [sum((each["bounds"]["hi" + axis] - each["bounds"]["lo" + axis])[0] for axis in "xyz")
               for each in (shape_of(body).nodes, shape_of(free).nodes)]
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-4)


# --- how many volumes, and how many vertices -----------------------------------------------------------------------------------------

WEIGHED = blends.near(SPHERE, 8, most=3)
MOVED = blends.maps(8, np.random.default_rng(12), 0.2)
THERE = blends.where(SPHERE, WEIGHED, MOVED)


def needle():
    """A triangle that touches the body from outside, at its largest x."""
    at = THERE[THERE[:, 0].argmax()]
    made = pl.Body(at + np.array([[-1e-3, 0, 0], [1, 0, 0.01], [1, 0.01, 0]]), [[0, 1, 2]])
    assert pl.collide(pl.Body(THERE, FACES), made)                      # its one volume is true from now on
    return made


@pytest.mark.parametrize("policy", [{"name": "convex", "boxes": "aabb", "leaves": "exact"}, *blends.CONVEX][::3 if OFF else 1], ids=str)
def test_an_update_touches_nothing_and_a_query_what_it_reaches(policy):
    body, other = pl.Body.blended(SPHERE, FACES, WEIGHED, policy=policy, leaf=4), needle()
    pl.collide(body, other)
    shape, motion = shape_of(body), body._motion
    before = [array.tobytes() for array in (shape.nodes, shape.leaves, motion.flat, motion.points, motion.stamps)]
    body.update(MOVED)
    assert shape_of(body) is shape
    for array, old in zip((shape.nodes, shape.leaves, motion.flat, motion.points, motion.stamps), before, strict=True):
        assert array.tobytes() == old
    found = pl.collide(body, other)
    assert len(found) and found.faces.tolist() == pl.collide(pl.Body(THERE, FACES), other).faces.tolist()
    assert found.stats.n_u == true_lanes(body)
    assert 1 < found.stats.n_u < lanes(body) / (1 if OFF else 4)
    touched = np.sort(motion.vertex_ids[motion.stamps["stamp"] == motion.frame])
    assert 0 < len(touched) < len(SPHERE) / (1 if OFF else 10)
    reached = np.flatnonzero(shape.leaves["stamp"] == shape.frame)
    assert touched.tolist() == np.unique(shape.tree.corners[reached]).tolist()
    for axis in range(3):
        assert motion.flat[3 * touched + axis].tobytes() == THERE[touched, axis].tobytes()
        rows = ((THERE[touched, axis] - motion.origin[axis]) * motion.scale).astype(np.float32)
        assert motion.points[4 * touched + axis].tobytes() == rows.tobytes()
    assert pl.collide(body, other).stats.n_u == 0


TIP = THERE[THERE[:, 0].argmax()]


def beside(gap):
    """A triangle so far from the tip."""
    return pl.Body(TIP + np.array([[gap, 0, 0], [1, 0, 0.1], [1, 0.1, 0]]), [[0, 1, 2]])


RAY = TIP + np.array([1.0, 0, 0]), [-1, 1e-3, 0]
QUESTIONS = {
    "cast": lambda body: pl.cast(body, *RAY),
    "occluded": lambda body: pl.occluded(body, *RAY),
    "closest": lambda body: pl.closest(body, TIP + np.array([0.1, 0, 0])),
    "distance": lambda body: pl.distance(body, beside(0.1)),
    "within": lambda body: pl.within(body, beside(0.1), 0.11),
    "visible": lambda body: pl.frustum_cull(body, [[1, 0, 0, -TIP[0] + 0.02]]),
    "collide": lambda body: pl.collide(body, beside(-0.01)),
}


@pytest.mark.parametrize("name", ["cast", "collide"] if OFF else QUESTIONS)
def test_questions_that_reach_little_look_at_few_vertices(name):
    body, free = pl.Body.blended(SPHERE, FACES, WEIGHED, leaf=4), pl.Body(THERE, FACES)
    body.update(MOVED)
    found, expected = QUESTIONS[name](body), QUESTIONS[name](free)
    touched = (body._motion.stamps["stamp"] == body._motion.frame).sum()
    assert 0 < touched < len(SPHERE) / (1 if OFF else 4)
    for part in ("faces", "face", "t", "distance", "points"):
        if hasattr(expected, part):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
        assert expected.any()


def test_settings_reach_the_policy():
    """By name or in a table; what no policy knows is refused."""
    def make(policy):
        return pl.Body.blended(FEW, FEW_FACES, np.ones((len(FEW), 1)), policy=policy)

    assert make("auto")._options.settings == {"bound": "eq12", "boxes": "own", "leaves": "bound", "front": False}
    assert make({"name": "auto", "bound": "eq12", "front": True})._options.settings["bound"] == "eq12"
    for bad, error in (({"name": "convex", "depth": 1}, ValueError), ({"name": "convex", "bound": "best"}, ValueError),
                       ({"name": "convex", "boxes": 3}, ValueError), ({"name": "convex", "front": 1}, TypeError), ("bent", ValueError),
                       ({"name": "convex", "leaves": "tight"}, ValueError), ("blended", ValueError)):
        with pytest.raises(error, match="policy"):
            make(bad)
    with pytest.raises(ValueError, match="policy: expected one of"):
        pl.Body(FEW, FEW_FACES, policy="convex")
