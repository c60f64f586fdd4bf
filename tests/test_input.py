"""Bad input is refused by argument, row and value, and leaves no trace: the body answers afterwards exactly as before."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from child import python
from integer_spheres import FACES, MOVED, OTHER, SPHERE, answer
from pliant.core import jit, validate
from pliant.errors import MeshError
from pliant.refit.policy import POLICIES

NAN, INF = float("nan"), float("inf")
ROWS = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
CORNERS = [[0, 1, 2], [0, 2, 3]]


def with_rows(array, rows):
    """A copy in which some rows are others."""
    array = np.array(array)
    for row, value in rows.items():
        array[row] = value
    return array


class OnGpu:
    """Looks like an array in the memory of a GPU; reading it as if it were on the host would be an error."""

    __cuda_array_interface__ = {"shape": (4, 3), "typestr": "<f8", "data": (0, False), "version": 3}  # noqa: RUF012

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("was read")


# ------------------------------------------------------------------------------------------------ what is refused

# name -> (vertices, class, what the message must say); for Body(vertices, faces) and for update(vertices) of a body of four vertices
VERTICES = {
    "flat": (np.zeros(12), MeshError, ["(n, 3)", "(12,)"]),
    "one number": (3.0, MeshError, ["(n, 3)", "()"]),
    "two columns": (np.zeros((4, 2)), MeshError, ["(n, 3)", "(4, 2)"]),
    "homogeneous": (np.ones((4, 4)), MeshError, ["(n, 3)", "(4, 4)"]),
    "three dimensions": (np.zeros((1, 4, 3)), MeshError, ["(n, 3)", "(1, 4, 3)"]),
    "transposed": (np.zeros((3, 4)), MeshError, ["(n, 3)", "(3, 4)"]),
    "ragged": ([[0, 0, 0], [1, 0], [0, 1, 0], [0, 0, 1]], MeshError, ["rows"]),
    "complex": (np.zeros((4, 3), complex), TypeError, ["complex128"]),
    "bool": (np.zeros((4, 3), bool), TypeError, ["bool"]),
    "object": (np.array(ROWS, object), TypeError, ["object"]),
    "strings": ([["0", "0", "0"]] * 4, TypeError, ["<U1"]),
    "bytes": (np.zeros((4, 3), "S2"), TypeError, ["S2"]),
    "dates": (np.zeros((4, 3), "M8[s]"), TypeError, ["datetime64"]),
    "durations": (np.zeros((4, 3), "m8[s]"), TypeError, ["timedelta64"]),
    "records": (np.zeros((4, 3), [("x", "f8")]), TypeError, ["x"]),
    "a set": ({1.0, 2.0}, TypeError, ["object"]),
    "beyond int64": ([[2**70, 0, 0]] * 4, TypeError, ["object"]),
    "masked": (np.ma.masked_array(ROWS, np.eye(4, 3, dtype=bool)), TypeError, ["mask"]),
    "masked, nothing hidden": (np.ma.masked_array(ROWS), TypeError, ["mask"]),
    "on a GPU": (OnGpu(), TypeError, ["GPU", "host"]),
    "not a number": (with_rows(ROWS, {2: [7.5, NAN, 0.25]}), MeshError, ["row 2", "[7.5, nan, 0.25]", "finite"]),
    "infinite": (with_rows(ROWS, {3: [1.0, 2.0, -INF]}), MeshError, ["row 3", "[1.0, 2.0, -inf]"]),
    "three bad rows": (with_rows(ROWS, {1: NAN, 2: INF, 3: [0, 0, NAN]}), MeshError, ["row 1", "[nan, nan, nan]", "3 rows"]),
    "first and last": (with_rows(ROWS, {0: [NAN, 8.0, 9.0], 3: INF}), MeshError, ["row 0", "[nan, 8.0, 9.0]", "2 rows"]),
    "only float32 is infinite": (with_rows(np.float32(ROWS), {1: INF}), MeshError, ["row 1", "inf"]),
    "only float16 is infinite": (with_rows(np.float16(ROWS), {1: INF}), MeshError, ["row 1", "inf"]),
    "beyond 2**53": (with_rows(np.int64(ROWS), {3: [0, -(2**53) - 1, 5]}), MeshError, ["row 3", "[0, -9007199254740993, 5]", "2**53"]),
    "two, unsigned": (with_rows(np.uint64(ROWS), {1: 2**53 + 1, 2: 2**64 - 1}), MeshError, ["row 1", "9007199254740993", "2 rows"]),
}
if np.dtype(np.longdouble).itemsize > 8:
    VERTICES["long double"] = (np.array(ROWS, np.longdouble), TypeError, [str(np.dtype(np.longdouble))])

# For update alone: another number of vertices.
NUMBERS = {
    "one more": (np.zeros((5, 3)), MeshError, ["4 rows", "got 5"]),
    "one fewer": (np.zeros((3, 3), np.float32), MeshError, ["4 rows", "got 3"]),
    "none": ([], MeshError, ["4 rows", "got 0"]),
}

FACE_ROWS = {
    "flat": (np.zeros(6, int), MeshError, ["(f, 3)", "(6,)"]),
    "quadrilaterals": ([[0, 1, 2, 3]], MeshError, ["(f, 3)", "(1, 4)", "triangulate"]),
    "no columns": (np.zeros((0, 4), int), MeshError, ["(f, 3)", "(0, 4)"]),
    "one index": (0, MeshError, ["(f, 3)", "()"]),
    "ragged": ([[0, 1, 2], [0, 1]], MeshError, ["rows"]),
    "float": (np.array(CORNERS, float), TypeError, ["integer", "float64"]),
    "one float in a list": ([[0, 1, 2.0]], TypeError, ["integer", "float64"]),
    "bool": ([[True, False, True]], TypeError, ["bool"]),
    "complex": (np.array(CORNERS, complex), TypeError, ["complex128"]),
    "object": (np.array(CORNERS, object), TypeError, ["object"]),
    "strings": ([["0", "1", "2"]], TypeError, ["<U1"]),
    "masked": (np.ma.masked_array(CORNERS), TypeError, ["mask"]),
    "on a GPU": (OnGpu(), TypeError, ["GPU"]),
    "negative": ([[0, 1, 2], [0, -1, 2]], MeshError, ["row 1", "[0, -1, 2]", "0 to 3"]),
    "too large by one": ([[0, 1, 4]], MeshError, ["row 0", "[0, 1, 4]", "0 to 3"]),
    "three bad rows": ([[0, 1, 2], [9, 1, 2], [0, 1, 3], [0, 0, 7], [-1, 0, 0]], MeshError, ["row 1", "[9, 1, 2]", "3 rows"]),
    "would wrap to 0": (np.array([[0, 1, 2], [2**32, 1, 2]]), MeshError, ["row 1", "4294967296"]),
    "would wrap to 1": (np.array([[0, 2**64 - 2**32 + 1, 2]], np.uint64), MeshError, ["row 0", "18446744069414584321"]),
    "least int8": (np.array([[0, -128, 2]], np.int8), MeshError, ["row 0", "-128"]),
}

OPTIONS = {
    "unknown volume": ({"volume": "ball"}, ValueError, ["volume", "'aabb'", "'ball'"]),
    "volume in capitals": ({"volume": "AABB"}, ValueError, ["volume", "'AABB'"]),
    "volume of another type": ({"volume": ["aabb"]}, ValueError, ["volume", "['aabb']"]),
    "no volume": ({"volume": None}, ValueError, ["volume", "None"]),
    "unknown build": ({"build": "fast"}, ValueError, ["build", "'sah'", "'fast'"]),
    "unknown policy": ({"policy": "eager"}, ValueError, ["policy", "'bottom_up'", "'eager'"]),
    "arity of 3": ({"arity": 3}, ValueError, ["arity", "2, 4, 8", "3"]),
    "arity of 0": ({"arity": 0}, ValueError, ["arity", "0"]),
    "negative arity": ({"arity": -8}, ValueError, ["arity", "-8"]),
    "huge arity": ({"arity": 2**80}, ValueError, ["arity"]),
    "arity as a float": ({"arity": 8.0}, TypeError, ["arity", "float", "8.0"]),
    "arity as text": ({"arity": "8"}, TypeError, ["arity", "str"]),
    "leaf of 0": ({"leaf": 0}, ValueError, ["leaf", "0"]),
    "leaf of 9": ({"leaf": 9}, ValueError, ["leaf", "9"]),
    "leaf as a truth value": ({"leaf": True}, TypeError, ["leaf", "True"]),
    "leaf as NumPy's truth value": ({"leaf": np.True_}, TypeError, ["leaf"]),
    "origin of two": ({"origin": [0, 1]}, MeshError, ["origin", "2"]),
    "origin of six": ({"origin": np.zeros((2, 3))}, MeshError, ["origin", "6"]),
    "origin is a number": ({"origin": 1.0}, MeshError, ["origin"]),
    "empty origin": ({"origin": []}, MeshError, ["origin"]),
    "origin is not finite": ({"origin": [0, NAN, 0]}, MeshError, ["origin", "nan"]),
    "complex origin": ({"origin": [0, 1j, 0]}, TypeError, ["origin", "complex128"]),
    "origin is text": ({"origin": "abc"}, TypeError, ["origin"]),
}


def assert_says(error, name, kind, words):
    """The class is that of the package which is also `kind`, and the message names the argument and all the words."""
    assert type(error) is {TypeError: pl.ArgumentTypeError, ValueError: pl.ArgumentError}.get(kind, kind)
    assert not issubclass(kind, MeshError) or isinstance(error, ValueError)
    message = str(error)
    assert name in message
    assert [word for word in words if word not in message] == [], message


def cases(*tables):
    merged = {name: case for table in tables for name, case in table.items()}
    return pytest.mark.parametrize(("value", "kind", "words"), merged.values(), ids=merged.keys())


@pytest.mark.formulas
@cases(VERTICES, {"None": (None, TypeError, ["object"])})
def test_bad_vertices_are_refused(value, kind, words):
    with pytest.raises((MeshError, TypeError)) as refusal:
        pl.Body(value, CORNERS)
    assert_says(refusal.value, "vertices", kind, words)


@pytest.mark.formulas
@cases(FACE_ROWS)
def test_bad_faces_are_refused(value, kind, words):
    with pytest.raises((MeshError, TypeError)) as refusal:
        pl.Body(ROWS, value)
    assert_says(refusal.value, "faces", kind, words)


@pytest.mark.formulas
@cases(OPTIONS)
def test_bad_options_are_refused(value, kind, words):
    with pytest.raises((ValueError, TypeError)) as refusal:
        pl.Body(ROWS, CORNERS, **value)
    assert_says(refusal.value, next(iter(value)), kind, words)


@pytest.mark.formulas
@pytest.mark.parametrize("borrowed", [False, True], ids=["copied", "borrowed"])
@cases(VERTICES, NUMBERS, {"None": (None, TypeError, ["nothing given"])})
def test_a_refused_update_changes_nothing(value, kind, words, borrowed):
    """Positions, pairs and the next update are what they would be without it, also where the body borrows its positions."""
    a, b = pl.Body(ROWS, CORNERS), pl.Body([[0.2, 0.2, -1], [0.2, 0.2, 1], [0.3, 0.3, 0]], [[0, 1, 2]])
    kept = np.add(ROWS, [0.1, 0.0, 0.125])
    a.update(kept, copy=not borrowed)
    before = answer(a, b)
    for copy in (True, False):
        with pytest.raises((MeshError, TypeError)) as refusal:
            a.update(value, copy=copy)
        assert_says(refusal.value, "vertices", kind, words)
        assert answer(a, b) == before
    a.update(ROWS)
    assert answer(a, b) == answer(pl.Body(ROWS, CORNERS), b)
    assert kept.tobytes() == np.add(ROWS, [0.1, 0.0, 0.125]).tobytes()


def test_a_refused_update_changes_nothing_for_any_policy(policy):
    """The refused rows are far away and everywhere: a volume that had followed them would lose pairs."""
    a, b = pl.Body(SPHERE, FACES, policy=policy), pl.Body(OTHER, FACES, policy=policy)
    before = answer(a, b)
    assert len(pl.collide(a, b)) > 20
    for row in (0, 20, 41):
        with pytest.raises(MeshError, match=f"row {row} "):
            a.update(with_rows(SPHERE + 1e6, {row: NAN}))
        assert answer(a, b) == before
    a.update(MOVED)
    with pytest.raises(MeshError):
        a.update(with_rows(SPHERE * 1e30, {41: INF}))
    assert answer(a, b) == answer(pl.Body(MOVED, FACES), b)


@pytest.mark.skipif(jit.DISABLED, reason="about kernels")
def test_a_borrowed_array_gone_bad_cannot_end_the_process():
    """The old positions are overwritten, the new ones refused: until the next update an error or any answer is allowed, a crash is not."""
    python("""
        import sys
        import numpy as np
        import pliant as pl
        from pliant import shapes

        vertices, faces = shapes.icosphere(2)
        for policy in sys.argv[1:]:
            print(policy)
            a, b = pl.Body(vertices, faces, policy=policy), pl.Body(vertices + 0.5, faces)
            expected = pl.collide(a, b).faces
            mine = vertices.copy()
            a.update(mine, copy=False)
            for bad in (np.nan, np.inf, -np.inf):
                mine[::3] = bad
                try:
                    a.update(mine, copy=False)
                    sys.exit("was not refused")
                except pl.MeshError:
                    pass
                try:
                    pl.collide(a, b)
                except pl.PliantError:
                    pass
            a.update(vertices)
            assert np.array_equal(pl.collide(a, b).faces, expected)
    """, *POLICIES)


@pytest.mark.formulas
@pytest.mark.parametrize("value", [1, 0, "no", None, 1.0])
def test_flags_are_true_or_false(value):
    a, b = pl.Body(ROWS, CORNERS), pl.Body(ROWS, CORNERS)
    with pytest.raises(TypeError, match="copy: expected True or False"):
        a.update(ROWS, copy=value)
    with pytest.raises(TypeError, match="first: expected True or False"):
        pl.collide(a, b, first=value)
    a.update(ROWS, copy=np.False_)
    assert pl.collide(a, b, first=np.True_)


@pytest.mark.formulas
def test_faces_must_come_from_somewhere():
    empty = SimpleNamespace(vertices=ROWS)
    for mesh in (ROWS, np.array(ROWS), empty, SimpleNamespace(faces=CORNERS), SimpleNamespace(vertices=ROWS, faces=None), None):
        with pytest.raises(TypeError, match="faces") as refusal:
            pl.Body(mesh)
        assert type(mesh).__name__ in str(refusal.value)


@pytest.mark.formulas
def test_bodies_collide_with_other_bodies_only():
    a, b = pl.Body(ROWS, CORNERS), pl.Body(ROWS, CORNERS)
    before = answer(a, b)
    with pytest.raises(ValueError, match="self_collide"):
        pl.collide(a, a)
    for name, arguments in (("a", (ROWS, b)), ("b", (a, np.array(ROWS))),
                             ("b", (a, None)), ("b", (a, pl.Body)), ("b", (a,)), ("a", ("a", "b"))):
        with pytest.raises(TypeError, match=f"^{name}: expected a Body"):
            pl.collide(*arguments)
    assert answer(a, b) == before


@pytest.mark.formulas
def test_queries_take_options_by_name_only():
    with pytest.raises(TypeError):
        pl.collide(pl.Body(ROWS, CORNERS), pl.Body(ROWS, CORNERS), True)
    with pytest.raises(TypeError):
        pl.Body(ROWS, CORNERS, "aabb")


def test_more_faces_than_a_tree_can_link_are_refused(monkeypatch):
    monkeypatch.setattr(validate, "MAX_FACES", 3)
    pl.Body(np.eye(3), [[0, 1, 2]] * 2)
    with pytest.raises(pl.MeshError, match="faces: 3 are too many for one body; at most 2"):
        pl.Body(np.eye(3), [[0, 1, 2]] * 3)
