"""Maps that move vertices: positions to the bit, what is refused and leaves everything as it was, what Ctrl-C and forks leave behind."""

from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from test_morph import stop_once

import blends
import meshes
import pliant as pl
from child import python
from pliant import shapes
from pliant.errors import MeshError
from pliant.motion import blended as motion
from pliant.refit import convex, front_tracking, lazy
from pliant.refit.policy import Bvh
from poses import matrix
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
BALL, FACES = shapes.icosphere(0 if OFF else 1)
POLICIES = (*blends.CONVEX, "bottom_up", "lazy", "active")
TURN = matrix(meshes.rotation([1, 0, 0], 0.4), (0.1, 0.2, -0.1))
WEIGHTS = blends.near(BALL, 3)
BENT = blends.maps(3, np.random.default_rng(3))


def others():
    return pl.Body(BALL * 0.9 + [0.5, 0.2, 0.1], FACES)


def blended(**options):
    return pl.Body.blended(BALL, FACES, WEIGHTS, **options)


def assert_as_free(body):
    """Where its vertices say it is, there it is found."""
    np.testing.assert_array_equal(pl.collide(body, others()).faces, pl.collide(pl.Body(body.vertices, FACES), others()).faces)


# --- positions -------------------------------------------------------------------------------------------------------------------

finite = st.floats(-1e150, 1e150)
odd = st.one_of(finite, st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 2.0**-1030, 1.0, 1 / 3, 1e15, -1e15 - 0.125]))
parts = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.0, 1.0, 0.5, 1 / 3, 5e-324, 1e-200]))


@often(120, 20)
@given(st.lists(odd, min_size=9, max_size=9), st.integers(1, 4).flatmap(lambda m: st.tuples(
    st.lists(parts, min_size=3 * m, max_size=3 * m), st.lists(odd, min_size=12 * m, max_size=12 * m))), st.sampled_from(["auto", "lazy"]))
@example([5e-324] * 9, ([0.5, 0.5] * 3, [0.5] * 24), "auto")            # 0: each product is rounded
def test_positions_are_the_sum_that_is_documented(rest, skin, policy):
    """Maps in ascending order, then columns, each product and sum rounded; maps of weight 0 have no part in it."""
    rest, weights, moved = np.array(rest).reshape(3, 3), np.array(skin[0]).reshape(3, -1), np.array(skin[1]).reshape(-1, 3, 4)
    weights[weights.sum(axis=1) < 1e-3, 0] = 1
    for _ in range(2):
        weights = weights / weights.sum(axis=1, keepdims=True)
    body = pl.Body.blended(rest, [[0, 1, 2]], weights, maps=moved, policy=policy)
    np.testing.assert_array_equal(body._motion.file_skin[2], weights[weights != 0])
    assert body.vertices.tobytes() == blends.where(rest, weights, moved).tobytes()


@pytest.mark.parametrize("place", [1e12] if OFF else [0, 1e12])
@pytest.mark.parametrize("count", [1, 40] if OFF else [1, 2, 5, 40])
def test_leaves_have_the_same_positions(count, place):
    """What a query works out is what `vertices` gives, in float64 and in float32."""
    weights, moved = blends.near(BALL, count, most=count), blends.maps(count, np.random.default_rng(count))
    first, second = (pl.Body.blended(BALL + place, FACES, weights, leaf=2) for _ in range(2))
    for body in (first, second):
        body.update(moved)
    expected = second.vertices
    assert expected.tobytes() == blends.where(BALL + place, weights, moved).tobytes()
    pl.collide(first, pl.Body(expected, FACES))
    assert (first._motion.stamps["stamp"] == first._motion.frame).all()
    assert first._motion.flat.tobytes() == expected.tobytes()
    assert first._motion.points.tobytes() == second._motion.points.tobytes()
    assert first.vertices.tobytes() == expected.tobytes()


def twice(weights):
    """Every weight as two entries of a list."""
    rows, columns = np.nonzero(weights)
    halves = weights[rows, columns] / 2
    return sparse.coo_array((np.tile(halves, 2), (np.tile(rows, 2), np.tile(columns, 2))), shape=weights.shape)


def rows_twice(weights):
    """The same, as rows that name a map again."""
    listed = sparse.csr_array(weights)
    begins, which, parts = listed.indptr, listed.indices, listed.data
    rows = [slice(*ends) for ends in pairwise(begins)]
    return sparse.csr_array((np.concatenate([np.tile(parts[row] / 2, 2) for row in rows]),
                             np.concatenate([np.tile(which[row], 2) for row in rows]), 2 * begins), shape=weights.shape)


KINDS = {"array": np.array, "list": np.ndarray.tolist, "csr": sparse.csr_array, "csc": sparse.csc_array, "coo": sparse.coo_array,
         "matrix": sparse.csr_matrix, "lil": sparse.lil_array, "dok": sparse.dok_array, "dia": sparse.dia_array, "bsr": sparse.bsr_array,
         "given twice": twice, "rows given twice": rows_twice, "float32": lambda w: w.astype(np.float32),
         "columns": np.asfortranarray, "given twice, float32": lambda w: twice(w).astype(np.float32),
         "sparse float32": lambda w: sparse.csc_array(w, dtype=np.float32)}


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_all_kinds(kind):
    """Weights with few bits, so that all kinds are the same numbers; what the caller has stays as it was."""
    weights = np.random.default_rng(4).multinomial(8, [0.2, 0.1, 0.6, 0.1], len(BALL)) / 8
    given_weights = KINDS[kind](weights)
    body = pl.Body.blended(BALL, FACES, given_weights)
    body.update(blends.maps(4, np.random.default_rng(5)))
    assert body.vertices.tobytes() == blends.where(BALL, weights, body._motion.controls).tobytes()
    np.testing.assert_array_equal(given_weights.toarray() if sparse.issparse(given_weights) else given_weights, weights)


def test_weights_of_whole_numbers_and_sums_that_are_nearly_one():
    """One map each; and what is 1 but for roundings is taken as it is, what is near it made 1, once."""
    one_each = np.eye(3, dtype=np.int64)[np.arange(len(BALL)) % 3]
    for weights in (one_each, one_each.astype(np.uint8), sparse.coo_array(one_each)):
        assert pl.Body.blended(BALL, FACES, weights, maps=BENT).vertices.tobytes() == blends.where(BALL, one_each, BENT).tobytes()
    off = WEIGHTS * np.linspace(1 - 9e-6, 1 + 9e-6, len(BALL))[:, None]
    body = pl.Body.blended(BALL, FACES, off, maps=BENT)
    np.testing.assert_allclose(body.vertices, blends.where(BALL, WEIGHTS, BENT), rtol=0, atol=1e-14)
    again = pl.Body.blended(BALL, FACES, sparse.csr_array(body._motion.file_skin[::-1][:1] + body._motion.file_skin[1::-1]), maps=BENT)
    assert again.vertices.tobytes() == body.vertices.tobytes()


def test_one_map_of_weight_one():
    """Scaling, shear, a mirror image, nothing left: what `rigid` refuses."""
    body = pl.Body.blended(BALL, FACES, np.ones((len(BALL), 1)))
    for turn in (np.diag([2.0, 3, 0.5]), np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]), np.diag([-1.0, 1, 1]), np.zeros((3, 3))):
        moved = matrix(turn, (0.1, 0.2, 0))
        body.update([moved])
        assert body.vertices.tobytes() == blends.where(BALL, np.ones((len(BALL), 1)), [moved[:3]]).tobytes()
        assert_as_free(body)


def test_maps_of_all_kinds_and_where_a_body_starts():
    """(m, 3, 4) or (m, 4, 4), lists, float32, whole numbers, any layout; copied; at rest where none are given."""
    np.testing.assert_array_equal(blended().vertices, blends.where(BALL, WEIGHTS, np.tile(np.eye(3, 4), (3, 1, 1))))
    body, square = blended(maps=BENT), np.tile(np.eye(4), (3, 1, 1))
    square[:, :3] = BENT
    expected = blends.where(BALL, WEIGHTS, BENT).tobytes()
    assert body.vertices.tobytes() == expected
    for each in (square, BENT.tolist(), np.asfortranarray(BENT), square[:, ::-1][:, ::-1]):
        body.update(np.tile(np.eye(3, 4, dtype=int) * 2, (3, 1, 1)))
        np.testing.assert_allclose(body.vertices, BALL * 2, atol=1e-14)
        body.update(each)
        assert body.vertices.tobytes() == expected
    rough = BENT.astype(np.float32)
    body.update(rough)
    assert body.vertices.tobytes() == blends.where(BALL, WEIGHTS, rough.astype(np.float64)).tobytes()
    for copy in (True, False):
        mine = BENT.copy()
        body.update(mine, copy=copy)
        mine[:] = np.nan                                                # maps are copied whatever is asked for
        assert body.vertices.tobytes() == expected
        body.update(transform=np.eye(4))
        assert_as_free(body)


def test_transforms():
    """With maps, alone, and gone with the next maps."""
    body, free = blended(), pl.Body(BALL, FACES)
    for moved, transform in ((BENT, TURN), (None, matrix(move=(1, 0, 0))), (BENT * 0.5, None), (None, TURN)):
        body.update(moved, transform=transform)
        free.update(None if moved is None else blends.where(BALL, WEIGHTS, moved), transform=transform)
        assert body.vertices.tobytes() == free.vertices.tobytes()
        np.testing.assert_array_equal(body.transform, free.transform)
        np.testing.assert_array_equal(pl.collide(body, others()).faces, pl.collide(free, others()).faces)


def test_bodies_without_vertices_or_faces():
    for n, m in ((0, 0), (0, 2), (2, 2)):
        body = pl.Body.blended(np.zeros((n, 3)), [], np.eye(n, m))
        body.update(blends.maps(m, np.random.default_rng(0)))
        body.update(transform=TURN)
        assert body.vertices.shape == (n, 3)
        assert not pl.collide(body, others()) and not pl.collide(others(), body) and not pl.self_collide(body)
        assert not pl.Scene([body, others()]).collide()


def test_what_a_body_says():
    body = blended(maps=BENT)
    assert "3 maps" in repr(body) and "'convex'" in repr(body) and body.policy_log == [] and body.key_pose is None
    assert (body.bounds[0] <= body.vertices.min(axis=0)).all() and (body.vertices.max(axis=0) <= body.bounds[1]).all()


# --- refusals --------------------------------------------------------------------------------------------------------------------

def changed(row, place, value, rows=3):
    made = np.tile(np.eye(4), (3, 1, 1))[:, :rows]
    made[(row, *place)] = value
    return made


REFUSED = [
    (BENT[:2], MeshError, r"maps: expected shape \(3, 4, 4\) or \(3, 3, 4\), a matrix for each column of the weights, got \(2, 3, 4\)"),
    (BENT[:, :, :3], MeshError, r"maps: expected shape .* got \(3, 3, 3\)"),
    (BENT[0], MeshError, "maps: expected shape"),
    ([0.5, 0.25, 0.25], MeshError, r"maps: expected shape .* got \(3,\)"),  # weights, as of a morphing body
    (BALL, MeshError, "maps: expected shape"),
    (1.0, MeshError, "maps: expected shape"),
    (changed(1, (0, 0), np.nan), MeshError, r"maps: row 1 is .*nan.*, not finite"),
    (changed(2, (2, 3), -np.inf), MeshError, r"maps: row 2 is .*-inf.*, not finite"),
    (changed(1, (3, 3), 2.0, 4), MeshError, r"maps: row 1 is \[0.0, 0.0, 0.0, 2.0\], but the last row of a matrix must be 0 0 0 1"),
    (changed(0, (3, 1), 1e-3, 4), MeshError, "maps: row 0 is .*, but the last row"),
    (changed(2, (0, 0), 1e307), MeshError, "maps: row 2, .*1e.307.*, puts vertices beyond the largest numbers"),
    (changed(1, (1, 3), -1.7e308), MeshError, "maps: row 1, .*, puts vertices beyond"),
    (np.full((3, 3, 4), "a"), TypeError, "maps: expected numbers"),
    (np.ones((3, 3, 4)) * 1j, TypeError, "maps: expected"),
    (np.ones((3, 3, 4), bool), TypeError, "maps: expected"),
]


@pytest.mark.parametrize(("bad", "error", "message"), REFUSED, ids=range(len(REFUSED)))
def test_maps_that_are_refused(bad, error, message):
    """They are named, and the body is as it was."""
    body = pl.Body.blended(BALL * 10, FACES, WEIGHTS)
    body.update(BENT, transform=TURN)
    before, found, moves = body.vertices.tobytes(), pl.collide(body, others()).faces.tolist(), body._version
    for options in ({}, {"transform": np.eye(4)}, {"copy": False}):
        with pytest.raises(error, match=message):
            body.update(bad, **options)
        assert body.vertices.tobytes() == before and body._version == moves
    assert pl.collide(body, others()).faces.tolist() == found


def test_updates_that_are_refused():
    body = blended(maps=BENT)
    before = body.vertices.tobytes()
    for call, error, message in ((lambda: body.update(BENT, changed=[0, 1]), TypeError, "a blended body takes maps alone"),
                                 (body.update, TypeError, "expected maps, a transform or both"),
                                 (lambda: body.update(BENT, transform=np.zeros((4, 4))), MeshError, "transform"),
                                 (lambda: body.update(BENT * 1e306, transform=matrix(move=[1.797e308, 0, 0])), MeshError, "transform"),
                                 (lambda: body.update(BENT, key_pose=0), TypeError, "key"),
                                 (lambda: body.update(BENT, copy=1), TypeError, "copy")):
        with pytest.raises(error, match=message):
            call()
        assert body.vertices.tobytes() == before


def unsound(kind, part, value):
    """A sparse array, one number of which was overwritten: SciPy believes it."""
    made = {"csr": sparse.csr_array, "csc": sparse.csc_array, "coo": sparse.coo_array, "bsr": sparse.bsr_array}[kind](WEIGHTS)
    (made.coords[0] if part == "row" else getattr(made, part))[1] = value
    return made


def with_entry(value, column=2):
    made = WEIGHTS.copy()
    made[4, column] = value
    return made


BAD = [
    ({"weights": with_entry(-0.25)}, MeshError, "weights: row 4 has -0.25 in column 2, expected to be finite and not negative"),
    ({"weights": sparse.csc_array(with_entry(np.nan))}, MeshError, "weights: row 4 has nan in column 2"),
    ({"weights": with_entry(np.inf)}, MeshError, "weights: row 4 has inf in column 2"),
    ({"weights": WEIGHTS * 1.001}, MeshError, r"weights: row 0 has a sum of 1.00.*, expected 1; divide by it \(\d+ rows are bad"),
    ({"weights": WEIGHTS * (np.arange(len(BALL)) != 3)[:, None]}, MeshError, "weights: row 3 has a sum of 0.0"),
    ({"weights": np.full((len(BALL), 3), 1e308)}, MeshError, "weights: row 0 has a sum of inf"),
    ({"weights": WEIGHTS[1:]}, MeshError, r"weights: expected shape \(\d+, m\), a row for each vertex, .*got \(\d+, 3\)"),
    ({"weights": WEIGHTS[:, :0]}, MeshError, "weights: expected shape"),
    ({"weights": sparse.csr_array((len(BALL), 0))}, MeshError, "weights: expected shape"),
    ({"weights": WEIGHTS[:, 0]}, MeshError, "weights: expected shape"),
    ({"weights": sparse.coo_array(WEIGHTS[:, 0])}, MeshError, r"weights: expected shape \(\d+, m\), a row for each vertex"),
    ({"weights": None}, TypeError, "weights: expected numbers"),
    ({"weights": WEIGHTS > 0.5}, TypeError, "weights: expected numbers, got dtype bool"),
    ({"weights": sparse.csr_array(WEIGHTS > 0.5)}, TypeError, "weights: expected real numbers, got dtype bool"),
    ({"weights": sparse.csr_array(WEIGHTS * 1j)}, TypeError, "weights: expected real numbers, got dtype complex128"),
    ({"weights": unsound("csr", "indices", 10**6)}, MeshError, "weights: not a sound sparse array"),
    ({"weights": unsound("csr", "indptr", 10**6)}, MeshError, "weights: not a sound sparse array"),
    ({"weights": unsound("csc", "indices", 10**6)}, MeshError, "weights: not a sound sparse array"),
    ({"weights": unsound("csc", "indptr", -5)}, MeshError, "weights: not a sound sparse array"),
    ({"weights": unsound("coo", "row", 10**6)}, MeshError, "weights: not a sound sparse array"),
    ({"weights": unsound("coo", "row", -1)}, MeshError, "weights: not a sound sparse array"),
    ({"weights": unsound("bsr", "indices", 10**6)}, MeshError, "weights: not a sound sparse array"),
    ({"rest": np.where(BALL == BALL[3], np.nan, BALL)}, MeshError, r"row \d+ is .*nan.*not finite"),
    ({"rest": BALL * 1.7e308}, MeshError, r"rest: row \d+ is .*, expected sizes below 1.12e.307"),
    ({"rest": BALL[:, :2]}, MeshError, r"expected shape \(n, 3\)"),
    ({"faces": [[0, 1, 99]]}, MeshError, "faces: row 0"),
    ({"maps": BENT[:2]}, MeshError, "maps: expected shape"),
    ({"maps": BENT * np.nan}, MeshError, r"maps: row 0 is .*nan.*, not finite \(3 rows are bad"),
    ({"origin": [0, 0]}, MeshError, "origin"),
    ({"origin": [0, -1.7e308, 0]}, MeshError, "origin: row 0 is .*, expected sizes below"),
    ({"weld": -1}, ValueError, "weld"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD, ids=[f"{next(iter(bad))}-{k}" for k, (bad, *_) in enumerate(BAD)])
def test_bodies_that_are_refused(bad, error, message):
    """In a line that can be read, however large the mesh."""
    with pytest.raises(error, match=message) as caught:
        pl.Body.blended(**{"rest": BALL, "faces": FACES, "weights": WEIGHTS, **bad})
    assert len(str(caught.value)) < 350


# --- Ctrl-C and forks ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("policy", POLICIES[:1] if OFF else POLICIES, ids=str)
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"), [(motion.Blended, "_set_state"),
                                             (motion.Blended, "update"), (Bvh, "invalidate")][::3 if OFF else 1])
def test_an_interrupted_update_leaves_a_body_whole(owner, name, late, policy, monkeypatch):
    """Its vertices, volumes, what it remembers of them and what scenes do belong together: the old ones, or the new ones."""
    body, other = blended(policy=policy), others()
    scene, gone = pl.Scene([body, other]), blends.maps(3, np.random.default_rng(9)) + np.eye(1, 4, 3)
    body.update(BENT, transform=TURN)
    states = [blended(maps=maps) for maps in (BENT, gone)]
    for each in states:
        each.update(transform=TURN)
    scene.collide()
    assert body.vertices.tobytes() == states[0].vertices.tobytes()
    stop_once(monkeypatch, owner, name, late)
    with pytest.raises(KeyboardInterrupt):
        body.update(gone, transform=TURN)
    which = [state.vertices.tobytes() for state in states].index(body.vertices.tobytes())
    expected = pl.collide(states[which], other).faces
    np.testing.assert_array_equal(pl.collide(body, other).faces, expected)
    np.testing.assert_array_equal(scene.collide().faces, expected)
    body.update(gone, transform=TURN)
    np.testing.assert_array_equal(scene.collide().faces, pl.collide(states[1], other).faces)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"),
                         [(convex, "prepare_bvh"), (convex, "list_ranges"), (convex, "node_entry"), (lazy, "vertex_spans"),
                                             (front_tracking, "refit_front"), (front_tracking, "advance_front")][::4 if OFF else 1])
def test_an_interrupted_question_can_be_asked_again(owner, name, late, monkeypatch):
    body, other = blended(policy=blends.FRONT), others()
    for k, moved in enumerate((BENT, BENT * 0.9)):
        body.update(moved)
        if owner is front_tracking and name == "refit_front" and k == 0:
            pl.collide(body, other)                                     # it has a front from now on
            continue
        stop_once(monkeypatch, owner, name, late)
        try:
            pl.collide(body, other)
            assert k == 1 and owner is not front_tracking               # what is prepared once is not asked for again
        except KeyboardInterrupt:
            assert k == 0 or owner is front_tracking
        monkeypatch.undo()
        assert_as_free(body)


@pytest.mark.skipif(OFF or not hasattr(__import__("os"), "fork"), reason="needs kernels and forks")
def test_a_forked_child_goes_on():
    python("""
        import os
        import numpy as np
        import pliant as pl
        from pliant import shapes

        ball, faces = shapes.icosphere(1)
        skin = np.stack([0.5 + 0.5 * ball[:, 0], 0.5 - 0.5 * ball[:, 0]], axis=1)
        body, other = pl.Body.blended(ball, faces, skin), pl.Body(ball + [1, 0.2, 0.1], faces)
        pl.collide(body, other)
        body.update([np.eye(3, 4) * 1.2, np.eye(3, 4)])

        def ask(size):
            body.update([np.eye(3, 4) * size, np.eye(3, 4)])
            found = pl.collide(body, other).faces
            assert len(found) and np.array_equal(found, pl.collide(pl.Body(body.vertices, faces), other).faces)

        child = os.fork()
        ask(1.5 if child == 0 else 0.8)
        if child == 0:
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """)


def test_computed_vertices_are_counted():
    """None after an update, some after a query that reaches a part of the body, all after reading them."""
    body, other = pl.Body.blended(BALL, FACES, WEIGHTS, leaf=2), pl.Body(BALL + [1.5, 0, 0], FACES)
    body.update(np.tile(np.eye(3, 4), (WEIGHTS.shape[1], 1, 1)))
    assert body.n_computed == 0 and other.n_computed == len(BALL)
    assert len(pl.collide(body, other)) and 0 < body.n_computed < len(BALL)
    assert len(body.vertices) == body.n_computed == len(BALL)
    body = pl.Body.morph([BALL, BALL + 1], FACES)
    body.update([0.5, 0.5])
    assert body.n_computed is None
    assert len(body.vertices) == body.n_computed
