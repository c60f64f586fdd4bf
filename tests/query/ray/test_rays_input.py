"""What rays may be given as, and what is refused: shapes, dtypes, layouts, limits, and rays that are none."""

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
from integer_spheres import FACES, SPHERE
from pliant.errors import MeshError
from ray_checks import assert_rays, assert_same, both, some_rays

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
NAN, INF = np.nan, np.inf
T = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64)
UP = np.array([0.0, 0.0, 1.0])
BELOW = np.array([1.0, 1.0, -1.0])
ASKS = (pl.cast, pl.cast_all, pl.occluded)


def triangle():
    return pl.Body(T, [[0, 1, 2]])


def whole_rays(n):
    """Rays of small whole numbers at the sphere of `lattice`: every dtype holds them."""
    rng = np.random.default_rng(61)
    origins = rng.integers(-60, 61, (n, 3)).astype(float)
    directions = np.where(rng.random((n, 1)) < 0.6, SPHERE[rng.integers(0, len(SPHERE), n)] - origins, rng.integers(-60, 61, (n, 3)))
    return origins, np.clip(directions, -127, 127) + 0.0


# --- layouts and dtypes ------------------------------------------------------------------------------------------------------------

def strided(array):
    room = np.full((2 * len(array), 7), 99, array.dtype)
    room[1::2, ::3] = array
    return room[1::2, ::3]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


VIEWS = {"lists": np.ndarray.tolist, "tuples": lambda a: tuple(map(tuple, a.tolist())), "list of rows": list,
         "Fortran order": np.asfortranarray, "strided": strided, "read-only": read_only,
         "backwards": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]}


@pytest.fixture(scope="module")
def answers():
    """A body, rays, and what they hit."""
    body, (origins, directions) = pl.Body(SPHERE, FACES[:40] if OFF else FACES), whole_rays(8 if OFF else 60)
    found = assert_rays(body, origins, directions)
    assert both(found)
    return body, origins, directions, found


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_layouts(view, answers):
    body, origins, directions, found = answers
    given = view(origins), view(directions)
    before = [np.array(each) for each in given]
    assert_same(pl.cast(body, *given), found)
    assert_same(pl.cast_all(body, *given), pl.cast_all(body, origins, directions))
    assert pl.occluded(body, *given).tolist() == found.hit.tolist()
    for each, kept in zip(given, before, strict=True):
        np.testing.assert_array_equal(np.asarray(each), kept)           # nothing is written to


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", ">f8", "i1", "i2", "i4", "i8", ">i8"])
def test_dtypes(kind, answers):
    body, origins, directions, found = answers
    for given in ((origins.astype(kind), directions), (origins, directions.astype(kind)), (origins.astype(kind), directions.astype(kind))):
        assert_same(pl.cast(body, *given), found)
    low = np.zeros(len(origins)).astype(kind)
    found = pl.cast(body, origins, directions, t_min=low, t_max=(low + 100).astype(kind))
    assert_same(found, pl.cast(body, origins, directions, t_max=100))


def test_float32_is_what_it_is():
    """Numbers that float32 rounds: the rays are the rounded ones, exactly."""
    rng, body = np.random.default_rng(62), pl.Body(*meshes.cube((-0.5, -0.5, -0.5)))
    origins, directions = (each.astype(np.float32) for each in some_rays(*meshes.cube((-0.5, -0.5, -0.5)), rng, 12 if OFF else 60))
    assert both(assert_rays(body, origins, directions))
    assert_same(pl.cast(body, origins, directions), pl.cast(body, origins.astype(float), directions.astype(float)))


def test_one_origin_or_one_direction_for_all():
    body, rng = pl.Body(*meshes.cube((-1, -1, -1), 2.0)), np.random.default_rng(63)
    n = 4 if OFF else 30
    many = rng.standard_normal((n, 3))
    for ask in ASKS:
        for one in ([0.25, 0.5, 0.125], np.float32([1, 0, -3]), (0, 2, 1)):
            rows = np.tile(np.asarray(one, float), (n, 1))
            for given, spelt in (((one, many), (rows, many)), ((many, one), (many, rows))):
                found, right = ask(body, *given), ask(body, *spelt)
                if ask is pl.occluded:
                    assert found.shape == (n,) and found.tolist() == right.tolist()
                else:
                    assert_same(found, right)
    assert assert_rays(body, np.zeros(3), many).hit.all()
    assert len(pl.cast(body, [0, 0, 0], [[1, 0, 0]])) == 1
    assert len(pl.cast(body, [[0, 0, 0]], [1, 0, 0])) == 1
    assert len(pl.cast(body, np.zeros((3, 3)), [1, 0, 0])) == 3         # three rows are three rays


def test_no_rays():
    for target in (triangle(), pl.Scene([triangle()]), pl.Scene(), pl.Body([], [])):
        for origins, directions in ((np.zeros((0, 3)), np.zeros((0, 3))), ([0, 0, 0], np.zeros((0, 3))), (np.zeros((0, 3)), [0, 0, 1]),
                                    (np.zeros((0, 3), np.float32), np.zeros((0, 3), int))):
            found = assert_rays(target, origins, directions)
            assert len(found) == 0 and found.stats[:2] == (0, 0)
            assert_rays(target, origins, directions, np.zeros(0), np.zeros(0), mask=np.zeros(0, int))


def test_a_single_ray_of_each_kind():
    found = assert_rays(triangle(), [BELOW], [UP], 0, INF)
    assert (found.hit.tolist(), found.face.tolist(), found.body.tolist()) == ([True], [0], [0])
    for t_min, t_max, hit in ((0, INF, True), (0.5, 1.5, True), (2, 3, False), (-INF, INF, True), (-INF, 0, False),
                              (np.float32(0.5), 9, True), (0, np.int64(2), True), ([0.5], [1.5], True), ([2], 3, False)):
        assert pl.cast(triangle(), [BELOW], [UP], t_min=t_min, t_max=t_max).hit.tolist() == [hit]
        assert len(pl.cast_all(triangle(), [BELOW], [UP], t_min=t_min, t_max=t_max).ray) == hit
        assert pl.occluded(triangle(), [BELOW], [UP], t_min=t_min, t_max=t_max).tolist() == [hit]


# --- rays that are none ------------------------------------------------------------------------------------------------------------

NONE = {"NaN in the origin": ([NAN, 1, -1], UP, 0, INF), "infinite origin": ([1, -INF, -1], UP, 0, INF),
        "all NaN": ([NAN] * 3, [NAN] * 3, NAN, NAN), "NaN in the direction": (BELOW, [0, NAN, 1], 0, INF),
        "infinite direction": (BELOW, [0, 0, INF], 0, INF), "a zero direction": (BELOW, [0, 0, 0], 0, INF),
        "a negative zero direction": (BELOW, [-0.0, 0, -0.0], -INF, INF), "t_min is NaN": (BELOW, UP, NAN, INF),
        "t_max is NaN": (BELOW, UP, 0, NAN), "limits the wrong way round": (BELOW, UP, 1.5, 0.5),
        "from infinity": (BELOW, UP, INF, INF), "to minus infinity": (BELOW, UP, -INF, -INF), "inside out": (BELOW, UP, INF, -INF),
        "everything infinite": ([INF] * 3, [INF] * 3, -INF, INF)}


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_ray_misses(name):
    """No error, no warning, no harm to the rays beside it, in any place."""
    origin, direction, low, high = NONE[name]
    body, scene = triangle(), pl.Scene([triangle(), pl.Body(T + UP, [[0, 1, 2]])])
    n = 3 if OFF else 9
    for target in (body, scene):
        assert pl.pick(target, origin, direction, t_min=low, t_max=high) is None
        for at in (0, n // 2, n - 1)[OFF:2 if OFF else 3]:
            origins, directions, t_min, t_max = np.tile(BELOW, (n, 1)), np.tile(UP, (n, 1)), np.zeros(n), np.full(n, INF)
            origins[at], directions[at], t_min[at], t_max[at] = origin, direction, low, high
            found = assert_rays(target, origins, directions, t_min, t_max)
            assert found.hit.tolist() == [k != at for k in range(n)]


def test_all_rays_are_none():
    found = assert_rays(triangle(), np.full((4, 3), NAN), UP)
    assert not found.hit.any()
    assert not assert_rays(triangle(), np.tile(BELOW, (4, 1)), np.zeros(3)).hit.any()
    assert not pl.cast(triangle(), np.full((4, 3), BELOW), UP, t_min=NAN).hit.any()


# --- what is refused ---------------------------------------------------------------------------------------------------------------

ROWS, WAYS = np.tile(BELOW, (4, 1)), np.tile(UP, (4, 1))

# name -> (arguments that differ from a good call, the argument that the message names)
REFUSED = {
    "flat origins": ({"origins": np.zeros(12)}, "origins"),
    "a number for origins": ({"origins": 1.0}, "origins"),
    "two columns": ({"origins": np.zeros((4, 2))}, "origins"),
    "four columns": ({"directions": np.zeros((4, 4))}, "directions"),
    "three dimensions": ({"directions": np.zeros((1, 4, 3))}, "directions"),
    "transposed": ({"directions": np.zeros((3, 4))}, "directions"),
    "two numbers": ({"directions": [0, 1]}, "directions"),
    "ragged": ({"origins": [[0, 0, 0], [1, 0], [0, 1, 0], [0, 0, 1]]}, "origins"),
    "complex origins": ({"origins": np.zeros((4, 3), complex)}, "origins"),
    "bool directions": ({"directions": np.ones((4, 3), bool)}, "directions"),
    "object origins": ({"origins": np.zeros((4, 3)).astype(object)}, "origins"),
    "text": ({"directions": [["0", "0", "1"]] * 4}, "directions"),
    "None": ({"origins": None}, "origins"),
    "dates": ({"directions": np.zeros((4, 3), "M8[s]")}, "directions"),
    "masked": ({"origins": np.ma.masked_array(ROWS)}, "origins"),
    "five directions for four origins": ({"directions": np.zeros((5, 3))}, "origins|directions"),
    "three limits for four rays": ({"t_max": np.ones(3)}, "t_max"),
    "limits in two dimensions": ({"t_min": np.zeros((4, 1))}, "t_min"),
    "t_min is text": ({"t_min": "0"}, "t_min"),
    "t_max is None": ({"t_max": None}, "t_max"),
    "t_max is complex": ({"t_max": np.ones(4, complex)}, "t_max"),
    "mask of floats": ({"mask": np.ones(4)}, "mask"),
    "mask is a float": ({"mask": 1.0}, "mask"),
    "mask is text": ({"mask": "all"}, "mask"),
    "three masks for four rays": ({"mask": np.ones(3, int)}, "mask"),
    "masks in two dimensions": ({"mask": np.ones((4, 1), int)}, "mask"),
    "no target": ({"target": None}, "target"),
    "a mesh for a target": ({"target": (T, [[0, 1, 2]])}, "target"),
    "an array for a target": ({"target": T}, "target"),
    "a list of bodies": ({"target": [triangle()]}, "target"),
}


@pytest.mark.parametrize(("changes", "name"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_arguments_are_refused_by_name(changes, name):
    body = triangle()
    for ask in ASKS:
        given = {"target": body, "origins": ROWS, "directions": WAYS, **changes}
        with pytest.raises((TypeError, ValueError), match=name) as refusal:
            ask(given.pop("target"), given.pop("origins"), given.pop("directions"), **given)
        assert type(refusal.value) in (pl.ArgumentTypeError, pl.ArgumentError, MeshError)
    assert assert_rays(body, ROWS, WAYS).hit.all()


def test_pick_takes_one_ray():
    for origin, direction in ((ROWS, UP), (BELOW, WAYS), ([0, 1], UP), (BELOW, 3.0), ("abc", UP), (None, UP)):
        with pytest.raises((TypeError, ValueError), match=r"origin|direction"):
            pl.pick(triangle(), origin, direction)
    for name in ("t_min", "t_max"):
        with pytest.raises((TypeError, ValueError), match=name):
            pl.pick(triangle(), BELOW, UP, **{name: "0"})
    assert pl.pick(triangle(), BELOW, UP).face == 0


def test_options_have_names_and_known_values():
    for ask in (*ASKS, pl.pick):
        ray = (BELOW, UP) if ask is pl.pick else (ROWS, WAYS)
        with pytest.raises(TypeError):
            ask(triangle(), *ray, 0.0)
        with pytest.raises(TypeError):
            ask(triangle(), *ray, tmax=1.0)
    for value in ("fast", None, 1):
        with pytest.raises((TypeError, ValueError), match="traversal"):
            pl.cast(triangle(), ROWS, WAYS, traversal=value)


@pytest.mark.parametrize("mask", [1.0, "all", [1, 2], np.ones(2, int)], ids=str)
def test_a_body_has_one_whole_mask(mask):
    scene = pl.Scene()
    with pytest.raises((TypeError, ValueError), match="mask"):
        scene.add(triangle(), mask=mask)
    assert len(scene) == 0
    assert scene.add(triangle(), mask=np.uint32(5)) == 0
    assert pl.cast(scene, ROWS, WAYS, mask=[4, 2, 1, 8]).hit.tolist() == [True, False, True, False]
