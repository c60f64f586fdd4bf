"""`first_contact`: known times, and its guarantee: apart at `.before`, meeting at `.time`, and no more than the tolerance between."""

import math

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from pliant import shapes
from pliant.core import validate
from pliant.query.collide import first_contact

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning"))
FLOOR = np.array([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], np.float64)
TIP = np.array([[0, 0, 1], [0.1, 0, 2], [-0.1, 0, 2]], np.float64)
ONE = [[0, 1, 2]]


def bodies(**options):
    """A floor, and a tip above it."""
    return pl.Body(FLOOR, ONE, **options), pl.Body(TIP, ONE, **options)


def falling(t):
    """From height 1 with speed 1.5."""
    return TIP - [0, 0, 1.5 * t]


def assert_kept(found, a, b, path_a, path_b, tolerance=1e-6):
    """The guarantee, asked of bodies of their own; and the bodies are at the time of contact."""
    def meets(time):
        made = []
        for body, path in ((a, path_a), (b, path_b)):
            new = pl.Body(body._motion.vertices if body._rigid else body.vertices, body.faces)
            if body._rigid:
                new.update(transform=body.transform if path is None else path(time))
            elif path is not None:
                new.update(path(time))
            made.append(new)
        return pl.collide(*made).faces

    at = meets(found.time)
    assert len(at) > 0
    assert at.tolist() == found.pairs.faces.tolist() == pl.collide(a, b).faces.tolist()
    assert len(meets(found.before)) == 0
    assert 0 < found.time - found.before <= max(tolerance, math.ulp(found.time))
    for body, path in ((a, path_a), (b, path_b)):
        if path is not None and not body._rigid:
            assert np.array_equal(body.vertices, path(found.time))
    return found


# --- known times -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-12, 0, 5e-324])
@pytest.mark.parametrize("steps", [1] if OFF else [1, 3, 10])
def test_a_tip_falls_on_the_floor(tolerance, steps, policy):
    a, b = bodies(policy=policy)
    found = assert_kept(pl.first_contact(a, b, None, falling, steps=steps, tolerance=tolerance), a, b, None, falling, tolerance)
    assert abs(found.time - 2 / 3) <= max(tolerance, 1e-15)
    assert found.pairs.faces.tolist() == [[0, 0]]
    assert type(found.time) is type(found.before) is float
    assert np.array_equal(a.vertices, FLOOR)


def test_either_body_may_move():
    """And both: times add up, whoever does the moving; the pairs keep the order of the arguments."""
    a, b = bodies()
    found = assert_kept(pl.first_contact(b, a, falling, None), b, a, falling, None)
    assert abs(found.time - 2 / 3) <= 1e-6

    def rising(t):
        return FLOOR + np.array([0, 0, 0.5 * t])

    a, b = bodies()
    found = assert_kept(pl.first_contact(a, b, rising, falling), a, b, rising, falling)
    assert abs(found.time - 1 / 2) <= 1e-6


def test_a_tip_that_accelerates():
    """A parabola: height 1 - 4 t², so that it meets at one half, exactly."""
    a, b = bodies()

    def faster(t):
        return TIP - [0, 0, 4 * t * t]

    found = assert_kept(pl.first_contact(a, b, None, faster, stop=0.6, tolerance=0), a, b, None, faster, 0)
    assert (found.time, found.before) == (0.5, math.nextafter(0.5, 0))  # touching counts


@pytest.mark.parametrize(("start", "stop"), [(0.5, 0.75), (-3, 1), (0.6, 1e6), (-1e9, 1), (np.float32(0.25), np.int64(2))])
def test_other_intervals(start, stop):
    """Of any length, and of any kind of number."""
    a, b = bodies()

    def path(t):
        return falling(min(t, 1))

    found = assert_kept(pl.first_contact(a, b, None, path, start=start, stop=stop), a, b, None, path)
    assert abs(found.time - 2 / 3) <= 1e-6


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_interval_as_long_as_can_be(steps):
    """Its length is no float64; its times are, and so is what is found."""
    a, b = bodies()

    def path(t):
        assert math.isfinite(t)
        return falling(min(max(t, 0), 1))

    found = pl.first_contact(a, b, None, path, start=-1.7e308, stop=1.7e308, steps=steps, tolerance=1e300)
    assert_kept(found, a, b, None, path, 1e300)


def test_rigid_bodies_by_matrix():
    """Two cubes: one slides towards the other from a distance of 2 at speed 4; one turns until its edge is there."""
    a, b = pl.Body.rigid(*meshes.cube()), pl.Body.rigid(*meshes.cube())

    def sliding(t):
        return poses.matrix(move=(3 - 4 * t, 0.25, 0.25))

    found = assert_kept(pl.first_contact(a, b, None, sliding), a, b, None, sliding)
    assert abs(found.time - 1 / 2) <= 1e-6
    assert np.array_equal(b.transform, sliding(found.time))

    def turning(t):                                                     # about z through its own corner, one unit below the other
        return poses.matrix(meshes.rotation([0, 0, 1], -math.pi / 2 * t), (1.2, 0.5, 0.1))

    def still(t):
        return np.eye(4)[:3]

    a.update(np.eye(4))
    found = assert_kept(pl.first_contact(a, b, still, turning, steps=4), a, b, still, turning)
    assert 0 < found.time < 1


def test_a_rigid_body_and_one_that_deforms():
    """A sphere swells to twice its size and meets a cube whose near side comes from 3 to 1: 1 + t = 3 - 2 t."""
    vertices, faces = shapes.icosphere(0 if OFF else 2)
    vertices = vertices @ meshes.rotation(np.cross(vertices[0], [1, 0, 0]), math.acos(vertices[0, 0])).T  # a vertex is at (1, 0, 0)
    a, b = pl.Body(vertices, faces), pl.Body.rigid(*meshes.cube((0, -0.5, -0.5)))

    def swelling(t):
        return vertices * (1 + t)

    def coming(t):
        return poses.matrix(move=(3 - 2 * t, 0.1, 0.2))

    found = assert_kept(pl.first_contact(a, b, swelling, coming, tolerance=1e-9), a, b, swelling, coming, 1e-9)
    assert abs(found.time - 2 / 3) <= 1e-8


def test_the_pairs_are_all_that_meet_then():
    """A cube comes down flat: the whole side arrives at once."""
    a, b = pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.25, 0.25, 2)))

    def down(t):
        return meshes.cube((0.25, 0.25, 2 - 2 * t))[0]

    found = pl.first_contact(a, b, None, down, tolerance=0)
    assert abs(found.time - 0.5) <= 1e-15
    assert found.pairs.faces.tolist() == meshes.right_pairs(a, b).tolist()
    assert len(found.pairs) > 4


# --- the ends --------------------------------------------------------------------------------------------------------------------

def test_meeting_already():
    """At the start nothing is before; the bodies are left there, and no other time is asked for."""
    a, b = bodies()
    asked = []

    def path(t):
        asked.append(t)
        return falling(t)

    found = pl.first_contact(a, b, None, path, start=0.8, stop=2)
    assert (found.time, found.before) == (0.8, 0.8)
    assert found.pairs.faces.tolist() == [[0, 0]]
    assert asked == [0.8]
    assert np.array_equal(b.vertices, falling(0.8))
    resting = pl.Body(FLOOR, ONE), pl.Body(falling(0.7), ONE)
    assert pl.first_contact(*resting, None, None, start=7, stop=7).time == 7


def test_no_contact():
    """None, and the bodies are at the end of the way."""
    a, b = bodies()
    for steps in (1, 4):
        assert pl.first_contact(a, b, None, falling, stop=0.6, steps=steps) is None
        assert np.array_equal(b.vertices, falling(0.6))
        b.update(TIP)
    assert pl.first_contact(a, b, None, None) is None
    assert pl.first_contact(a, b, None, falling, start=0.3, stop=0.3) is None
    assert np.array_equal(b.vertices, falling(0.3))
    empty = pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int))
    assert pl.first_contact(a, empty, None, None) is None


def test_contact_at_the_very_end():
    a, b = bodies()

    def path(t):
        return TIP - [0, 0, t]

    found = assert_kept(pl.first_contact(a, b, None, path, tolerance=0), a, b, None, path, 0)
    assert (found.time, found.before) == (1.0, math.nextafter(1.0, 0))
    assert pl.first_contact(a, b, None, path, stop=math.nextafter(1.0, 0)) is None


# --- steps -----------------------------------------------------------------------------------------------------------------------

def test_steps_catch_what_passes_through():
    """A speck falls through the floor: at the start above, at the stop below. One step sees nothing, many see it."""
    speck = np.array([[0, 0, 1.06], [0.1, 0, 0.9], [-0.1, 0, 0.9]])
    a, b = pl.Body(FLOOR, ONE), pl.Body(speck, ONE)

    def path(t):
        return speck - [0, 0, 2 * t]

    assert pl.first_contact(a, b, None, path) is None
    assert pl.first_contact(a, b, None, path, steps=3) is None
    found = assert_kept(pl.first_contact(a, b, None, path, steps=20), a, b, None, path)
    assert abs(found.time - 0.45) <= 1e-6


def test_steps_are_evenly_spaced_and_end_at_the_stop():
    a, b = bodies()
    asked = []

    def path(t):
        asked.append(t)
        return TIP

    assert pl.first_contact(a, b, None, path, start=0.1, stop=0.7, steps=6) is None
    np.testing.assert_allclose(asked, np.linspace(0.1, 0.7, 7), rtol=1e-15)
    assert (asked[0], asked[-1]) == (0.1, 0.7)


def test_the_first_of_several_contacts():
    """A tip that goes up and down: between the first two steps that tell, whatever comes later."""
    a, b = bodies()

    def path(t):
        return TIP - [0, 0, 1.2 * math.sin(5 * math.pi * t)]

    found = assert_kept(pl.first_contact(a, b, None, path, steps=20), a, b, None, path)
    assert abs(found.time - math.asin(1 / 1.2) / (5 * math.pi)) <= 1e-6


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
def test_the_guarantee_for_bodies_that_deform(policy):
    """Bumpy spheres on their way into each other, whatever the tolerance."""
    scene = shapes.bumpy_pair(1280, 9)
    a, b = (pl.Body(vertices, scene.faces, policy=policy) for vertices in scene.frame(0))

    def between(k):
        first, last = scene.frame(0)[k], scene.frame(3)[k]
        return lambda t: first + t * (last - first)

    for tolerance, steps in ((0.1, 1), (1e-3, 7), (1e-9, 3), (0, 2)):
        found = pl.first_contact(a, b, between(0), between(1), tolerance=tolerance, steps=steps)
        assert_kept(found, a, b, between(0), between(1), tolerance)
        assert 0 < found.time < 1


# --- refused ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("given", "error", "message"), [
    ({"start": np.nan}, ValueError, "start: expected a finite number"),
    ({"start": "0"}, TypeError, "start: expected a number"),
    ({"stop": np.inf}, ValueError, "stop: expected a finite number"),
    ({"stop": True}, TypeError, "stop: expected a number"),
    ({"stop": None}, TypeError, "stop: expected a number"),
    ({"start": 1, "stop": 0.5}, ValueError, r"stop: expected at least start, 1\.0, got 0\.5"),
    ({"tolerance": -1e-9}, ValueError, r"tolerance: expected a finite number from 0\.0 up"),
    ({"tolerance": np.nan}, ValueError, "tolerance"),
    ({"tolerance": 1j}, TypeError, "tolerance"),
    ({"steps": 2.0}, TypeError, "steps: expected an integer"),
    ({"steps": True}, TypeError, "steps"),
    ({"path_a": np.eye(4)}, TypeError, "path_a: expected a function of time, or None for a body that stays, got ndarray"),
    ({"path_b": 3}, TypeError, "path_b: expected a function of time"),
    ({"a": None}, TypeError, "a: expected a Body"),
    ({"b": TIP}, TypeError, "b: expected a Body"),
], ids=str)
def test_what_is_refused(given, error, message):
    """Before anything moves."""
    a, b = bodies()
    arguments = {"a": a, "b": b, "path_a": None, "path_b": falling} | given
    with pytest.raises(error, match=message):
        pl.first_contact(arguments.pop("a"), arguments.pop("b"), arguments.pop("path_a"), arguments.pop("path_b"), **arguments)
    assert np.array_equal(b.vertices, TIP)
    assert b._version == 0


@pytest.mark.parametrize("steps", [0, -1, 10**6])
def test_steps_out_of_range(steps, monkeypatch):
    """Said in a line, not by listing what would have been allowed: that may be a thousand million numbers."""
    monkeypatch.setattr(first_contact, "MAX_STEPS", 10**5)
    with pytest.raises(ValueError, match=r"steps: expected .* got") as caught:
        pl.first_contact(*bodies(), None, falling, steps=steps)
    assert len(str(caught.value)) < 160


def test_integers_that_are_named():
    """A few choices are listed."""
    with pytest.raises(ValueError, match="arity: expected one of 2, 4, 8, got 3"):
        validate.integer("arity", 3, (2, 4, 8))


def test_the_same_body_twice_is_refused():
    a, _ = bodies()
    with pytest.raises(ValueError, match="same body"):
        pl.first_contact(a, a, None, None)


@pytest.mark.parametrize("when", [0.0, 1.0, 0.5])
def test_an_exception_in_a_path_comes_through(when):
    """And leaves bodies that can be moved and asked."""
    a, b = bodies()

    def path(t):
        if t == when:
            raise LookupError("no data for this time")
        return falling(t)

    with pytest.raises(LookupError, match="no data"):
        pl.first_contact(a, b, None, path)
    assert any(np.array_equal(b.vertices, falling(t)) for t in (0, 1))
    assert abs(pl.first_contact(a, b, None, falling).time - 2 / 3) <= 1e-6


@pytest.mark.parametrize(("wrong", "error"), [(np.zeros((2, 3)), pl.MeshError), (TIP * np.nan, pl.MeshError), (None, TypeError),
                                              (np.eye(4), pl.MeshError)])
def test_what_update_refuses_comes_through(wrong, error):
    """A path that gives a wrong shape, no number, or nothing."""
    a, b = bodies()
    with pytest.raises(error):
        pl.first_contact(a, b, None, lambda t: wrong if t > 0 else TIP)
    assert np.array_equal(b.vertices, TIP)
    assert len(pl.collide(a, b)) == 0
    rigid = pl.Body.rigid(TIP, ONE)
    with pytest.raises(pl.MeshError, match="transform"):
        pl.first_contact(a, rigid, None, falling)
    assert np.array_equal(rigid.transform, np.eye(4))
