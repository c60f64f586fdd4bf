"""Active: what the last queries came to follows before the next one, the rest when a query comes to it. Right pairs, and few volumes."""

import numba
import numpy as np
import pytest
from volume_checks import assert_true, lanes, shape_of, true_lanes

import meshes
import pliant as pl
from pliant import shapes
from pliant.refit import front_tracking, lazy
from pliant.refit.policy import LAST_FRAME
from pliant.tree.nodes import WIDTH_OF_ARITY
from siblings import VOLUMES

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
SPHERE, FACES = shapes.icosphere(1 if OFF else 3)


def needle(at):
    """A triangle that touches a unit sphere from outside, in one corner of it."""
    at = np.array(at) / np.linalg.norm(at)
    return pl.Body(np.stack([at * 0.8, at * 1.5 + [0, 0, 0.01], at * 1.5]), [[0, 1, 2]])


def ahead(body):
    """(Volumes set before a query, the nodes that this has made ready)."""
    shape = shape_of(body)
    count = shape.refit()
    return count, set(np.flatnonzero(shape.ready == shape.frame).tolist())


def visited(body):
    """The nodes that queries of the frame came to."""
    shape = shape_of(body)
    return set(np.flatnonzero(shape.nodes["stamp"] == shape.frame).tolist())


@pytest.mark.formulas
@pytest.mark.parametrize("arity", WIDTH_OF_ARITY)
def test_what_queries_came_to_follows_before_the_next(arity):
    """And nothing else; what no query comes to any more is left again, and what one comes to newly waits for it, once."""
    body, plain = (pl.Body(SPHERE, FACES, policy=name, arity=arity, leaf=2) for name in ("active", "bottom_up"))
    one, other, near = needle([1, 0.3, 0.2]), needle([-1, -0.2, 0.1]), []
    for each in (one, other):                                           # so that theirs are set
        pl.collide(plain, each)
    assert pl.collide(body, one).stats.n_u == true_lanes(body)
    for asked in ([one], [other], [other], [one, other], [], [one]):
        came = visited(body)
        for each in (body, plain):
            each.update(plain.vertices * 0.99999)
        count, ready = ahead(body)
        tree = shape_of(body).tree
        assert ready == came
        assert count == tree.count[sorted(ready)].sum()
        before = sum(pl.collide(body, each).stats.n_u for each in asked)
        assert before == tree.count[sorted(visited(body) - ready)].sum()
        near.append(before > 0)
        for each in asked:
            np.testing.assert_array_equal(pl.collide(body, each).faces, pl.collide(plain, each).faces)
        assert_true(body)
    assert near == [False, True, False, True, False, True]


@pytest.mark.formulas
def test_a_lane_is_made_from_its_child_if_that_was():
    """Merged where the child is active, from vertices where it is not: spheres tell the two apart."""
    body = pl.Body(SPHERE, FACES, volume="sphere", policy="active", leaf=1)
    shape, merged, fitted = shape_of(body), 0, 0
    shape.refit()
    came = {0}
    for i in range(len(shape.nodes)):                                   # children come after parents
        came.update(int(child) for child in shape.tree.child[i, :shape.tree.count[i]:2] if i in came and child >= 0)
    shape.nodes["stamp"][sorted(came)] = shape.frame                    # as if queries had come there
    body.update(SPHERE * [1, 0.9, 0.8])
    ready = ahead(body)[1]
    assert ready == came
    plain, _ = shape.tree.allocate(shape.options.volume_type)
    lazy.refit_each_node(plain, shape.points, *shape.tree_state, np.int32(0))
    for i in ready:
        for k in range(shape.tree.count[i]):
            child, mine = int(shape.tree.child[i, k]), shape.nodes["lanes"]["radius"][i, k]
            if child in ready:
                assert mine == shape.nodes["bounds"]["radius"][child]
                merged += 1
            elif child >= 0:
                assert mine == plain["lanes"]["radius"][i, k]
                fitted += 1
    assert merged and fitted


@pytest.mark.formulas
@pytest.mark.parametrize("volume", VOLUMES if OFF else ["aabb"])
def test_pairs_are_right(volume):
    """While bodies pass through each other, and while single vertices move."""
    ball, faces = shapes.icosphere(0 if OFF else 2)
    a, b = (pl.Body(ball, faces, volume=volume, policy="active", leaf=2) for _ in range(2))
    rng, now = np.random.default_rng(85), ball.copy()
    for k in range(2 if OFF else 8):
        b.update(ball * [1, 0.8, 1] + [1.8 - 0.3 * k, 0.1, 0])
        some = rng.choice(len(now), 3, replace=False)
        now[some] *= 1 + 0.2 * rng.random((3, 1))
        a.update(now[some], changed=some)
        meshes.assert_right(a, b)
    assert shape_of(a).paths is None


@pytest.mark.formulas
@pytest.mark.parametrize("late", [False, True])
def test_an_interrupted_refit_starts_afresh(late, monkeypatch):
    body, other, real = pl.Body(SPHERE, FACES, policy="active", leaf=2), needle([1, 0.3, 0.2]), front_tracking.refit_front
    pl.collide(body, other)

    def stop(*args):
        monkeypatch.setattr(front_tracking, "refit_front", real)
        if late:
            real(*args)
        raise KeyboardInterrupt
    body.update(SPHERE * 0.99)
    monkeypatch.setattr(front_tracking, "refit_front", stop)
    with pytest.raises(KeyboardInterrupt):
        pl.collide(body, other)
    assert shape_of(body).tree_state is None
    found = pl.collide(body, other)
    assert found
    np.testing.assert_array_equal(found.faces, pl.collide(pl.Body(SPHERE * 0.99, FACES), other).faces)
    assert_true(body)


@pytest.mark.formulas
def test_frames_that_begin_again():
    """What was ready for a frame of long ago is not ready for one of the same number."""
    body, other = pl.Body(SPHERE, FACES, policy="active", leaf=2), needle([1, 0.3, 0.2])
    for _ in range(3):                                                  # frames 1 to 3, then the last ones, then 0 to 2
        body.update(SPHERE)
        pl.collide(body, other)
    shape_of(body).frame = LAST_FRAME - 1
    for k in range(5):
        body.update(SPHERE * (1 - k / 100))
        found = pl.collide(body, other)
        assert 0 < found.stats.n_u <= lanes(body)
        np.testing.assert_array_equal(found.faces, pl.collide(pl.Body(SPHERE * (1 - k / 100), FACES), other).faces)
        assert_true(body)
    assert shape_of(body).frame == 3


def test_it_has_no_options():
    with pytest.raises(ValueError, match="'active' has no option 'depth'; it has none"):
        pl.Body(SPHERE, FACES, policy={"name": "active", "depth": 1})
