"""Hybrid: the upper levels before a query, the rest on demand. Right pairs whatever the settings, and fewer volumes where little is met."""

from itertools import product
from types import MappingProxyType

import numba
import numpy as np
import pytest
from volume_checks import assert_true, lanes, shape_of, true_lanes

import meshes
import pliant as pl
from child import together
from pliant import shapes
from pliant.errors import FileError
from pliant.query import scheduler
from pliant.refit import vertex_spans
from pliant.refit.policy import Bvh
from pliant.tree.nodes import BUILDERS, WIDTH_OF_ARITY

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
SETTINGS = list(product((None, "half", 0, 1, 2, 64), ("node", "subtree", 1, 2, 3)))
TREES = list(product(WIDTH_OF_ARITY, (1, 3, 8)))
SPHERE, FACES = shapes.icosphere(1 if OFF else 4)


def hybrid(depth=None, below="node"):
    return {"name": "hybrid", "depth": depth, "below": below}


def needle(at):
    """A triangle that touches a unit sphere from outside, in one corner of it."""
    at = np.array(at) / np.linalg.norm(at)
    return pl.Body(np.stack([at * 0.9, at * 1.5 + [0, 0, 0.01], at * 1.5]), [[0, 1, 2]])


# --- the same pairs --------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("number", range(len(SETTINGS)), ids=lambda k: "{}-{}".format(*SETTINGS[k]))
def test_every_setting_gives_the_right_pairs(number, deforming):
    """On trees of every shape, by all builders in turn; with the JIT off on one for each setting."""
    frames, policy = list(deforming), hybrid(*SETTINGS[number])
    for at, (arity, leaf) in enumerate([TREES[number % len(TREES)]] if OFF else TREES):
        build = list(BUILDERS)[(number + at) % len(BUILDERS)]
        a, b = (pl.Body(frames[0][k], deforming.faces, policy=policy, build=build, arity=arity, leaf=leaf) for k in range(2))
        for first, second, right in frames[:2] if OFF else frames:
            a.update(first)
            b.update(second)
            meshes.assert_right(a, b, right)
            assert_true(a)


@pytest.mark.formulas
@pytest.mark.parametrize(("depth", "below"), [(None, "node"), ("half", "node"), (0, 2), (2, "subtree"), (1, 3), (64, "node")])
def test_what_is_stamped_is_true_after_partial_queries(depth, below):
    """Queries that reach little, from one side and another, several in a frame: whatever they leave behind may be trusted."""
    body, stale = pl.Body(SPHERE, FACES, policy=hybrid(depth, below), arity=2 if OFF else 4, leaf=2), 0
    plain = pl.Body(SPHERE, FACES, policy="bottom_up")
    for k, at in enumerate(np.random.default_rng(51).standard_normal((2 if OFF else 5, 3))):
        for each in (body, plain):
            each.update(SPHERE * [1 + 0.1 * k, 1, 1 - 0.1 * (k % 3)])
        for other in (needle(at * [1 + 0.1 * k, 1, 1 - 0.1 * (k % 3)]), needle([1, 0, 0]), needle([0, 1, 0])):
            assert pl.collide(body, other).faces.tolist() == pl.collide(plain, other).faces.tolist()
        assert_true(body)
        stale += true_lanes(body) < lanes(body)
    assert stale == 0 if depth == 64 else stale or OFF


@pytest.mark.formulas
def test_self_collision():
    """A tree against itself reaches everything."""
    crossing = meshes.joined(meshes.cube(), meshes.cube((0.5, 0.4, 0.3)))
    for depth, below in ((0, 2), (1, "subtree"), (None, "node")):
        body = pl.Body(*crossing, policy=hybrid(depth, below), arity=2, leaf=2)
        for shift in (0, 0.1):
            body.update(crossing[0] * (1 + shift))
            assert len(meshes.assert_right_self(body)) > 0
            assert_true(body)


# --- how many volumes ------------------------------------------------------------------------------------------------------------

def updated(policy, **tree):
    """(n_u of a query that touches a corner of the second frame, how many volumes there are, of how many levels)."""
    body, other = pl.Body(SPHERE, FACES, policy=policy, **tree), needle([1, 1, 1])
    pl.collide(body, other)
    body.update(SPHERE * 0.995)
    found = pl.collide(body, other)
    assert found
    assert found.stats.n_u == true_lanes(body)                          # each once
    return found.stats.n_u, lanes(body), shape_of(body).tree.depth


@pytest.mark.skipif(OFF, reason="too few volumes without kernels")
def test_a_touch_in_a_corner_sets_few_volumes():
    for tree in ({}, {"arity": 4, "leaf": 2}, {"arity": 2, "leaf": 1}):
        few, all_of_them, _ = updated("hybrid", **tree)
        assert updated("bottom_up", **tree)[0] == all_of_them
        assert all_of_them >= 5 * few


@pytest.mark.formulas
def test_the_settings_say_how_many():
    """From on demand to bottom-up; the more levels at once, the more volumes."""
    tree = {"arity": 2, "leaf": 2}
    lazy, bottom_up, levels = updated("lazy", **tree)[0], *updated("bottom_up", **tree)[1:]
    assert updated(hybrid(0), **tree)[0] == lazy < bottom_up
    for deep in (levels, levels + 1, 127):
        for below in ("node", "subtree", 2)[:1 if OFF else 3]:
            assert updated(hybrid(deep, below), **tree)[0] == bottom_up
    assert updated(hybrid(0, "subtree"), **tree)[0] == bottom_up        # the root is reached, and all is under it
    for below in ("node", 2):
        counts = [updated(hybrid(deep, below), **tree)[0] for deep in range(0, levels + 1, levels if OFF else 1)]
        assert counts[0] < counts[-1] == bottom_up
    assert lazy <= updated(hybrid(0, 2), **tree)[0] <= updated(hybrid(0, 3), **tree)[0] <= bottom_up
    assert updated(hybrid(1, 1), **tree) == updated(hybrid(1, "node"), **tree)
    assert updated(hybrid(levels // 2), **tree) == updated(hybrid("half"), **tree)


@pytest.mark.formulas
@pytest.mark.parametrize("arity", [2, 8])
def test_the_upper_levels_of_a_lopsided_tree_are_few_nodes(arity):
    """Boxes split at their centre, of triangles whose distances double: each split parts one from all others, so every level is a node."""
    count = 8 if OFF else 60
    triangle = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]])
    vertices = np.concatenate([triangle * 2.0**k + [2.0**k, 0, 0] for k in range(count)])
    body = pl.Body(vertices, np.arange(3 * count).reshape(-1, 3), policy="hybrid", build="centre", arity=arity, leaf=1)
    body.update(vertices + 1)
    shape = shape_of(body)
    shape.refit()
    levels = vertex_spans.levels_by_count(shape.tree_state.level_ends)
    upper = int((shape.tree_state.levels < levels).sum())
    assert shape.record["root_levels"][0] == levels
    assert 1 <= upper <= max(vertex_spans.UPPER_NODES * len(shape.nodes) ** 0.5, 1)
    assert len(shape.nodes) < 20 or upper < (shape.tree_state.levels < shape.tree.depth // 2).sum()


# --- threads ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize(("depth", "below"), [(None, "node"), (0, 2), (1, "subtree")])
def test_threads_that_make_the_same_nodes_true(depth, below, monkeypatch, set_threads):
    """Workers of one query, and queries of several threads, meet in stale nodes; nothing that they read is half done."""
    monkeypatch.setattr(scheduler, "CALL_BUDGET", 64)
    set_threads(2)
    scene = shapes.bumpy_pair(5120, 9)
    first, second = scene.frame(2)
    known = pl.collide(pl.Body(first, scene.faces), pl.Body(second, scene.faces)).faces
    assert len(known) > 200
    a, b = (pl.Body(scene.frame(0)[k], scene.faces, policy=hybrid(depth, below), arity=2, leaf=2) for k in range(2))

    def ask():
        np.testing.assert_array_equal(pl.collide(a, b).faces, known)

    for _ in range(10):
        a.update(first)
        b.update(second)
        together(*[ask] * 4)
        assert_true(a)


@pytest.mark.formulas
@pytest.mark.parametrize("policy", ["lazy", "hybrid"])
def test_ctrl_c_while_a_tree_is_prepared(policy, monkeypatch):
    """A loop must never be given an address that was not set."""
    body, other, original = pl.Body(SPHERE, FACES, policy=policy), needle([1, 1, 1]), Bvh.set_context
    expected = pl.collide(pl.Body(SPHERE, FACES, policy="bottom_up"), other).faces

    def stop(shape, **arrays):
        monkeypatch.setattr(Bvh, "set_context", original)
        raise KeyboardInterrupt

    monkeypatch.setattr(Bvh, "set_context", stop)
    with pytest.raises(KeyboardInterrupt):
        pl.collide(body, other)
    assert shape_of(body).tree_state is None or shape_of(body).entry
    np.testing.assert_array_equal(pl.collide(body, other).faces, expected)


# --- settings --------------------------------------------------------------------------------------------------------------------

REFUSED = [
    ({"name": "hybrid", "deep": 2}, ValueError, "'hybrid' has no option 'deep'; it has depth, below"),
    ({"name": "lazy", "depth": 2}, ValueError, "'lazy' has no option 'depth'; it has none"),
    ({"name": "bottom_up", "background": True}, ValueError, "'bottom_up' has no option"),
    ({"name": "auto", "background": 1}, TypeError, "policy: background: expected True or False"),
    (hybrid(-1), ValueError, "policy: depth"),
    (hybrid(128), ValueError, "policy: depth"),
    (hybrid(2.0), TypeError, "policy: depth"),
    (hybrid(True), TypeError, "policy: depth"),
    (hybrid("deep"), ValueError, "policy: depth"),
    (hybrid(1, 0), ValueError, "policy: below"),
    (hybrid(1, 128), ValueError, "policy: below"),
    (hybrid(1, "leaf"), ValueError, "policy: below: expected one of 'node', 'subtree'"),
    (hybrid(1, None), TypeError, "policy: below"),
    (hybrid(1, False), TypeError, "policy: below"),
    ({"depth": 2}, ValueError, "policy: expected one of .*'hybrid'.* got None"),
    ({}, ValueError, "policy: expected one of"),
    ({"name": "hybrids"}, ValueError, "policy: expected one of .*'hybrid'.* got 'hybrids'"),
    ({"name": ["hybrid"]}, ValueError, "policy: expected one of"),
    ("hybrids", ValueError, "policy: expected one of"),
    (None, ValueError, "policy: expected one of"),
    (3, ValueError, "policy: expected one of"),
    (["hybrid"], ValueError, "policy: expected one of"),
]


@pytest.mark.formulas
@pytest.mark.parametrize(("policy", "error", "message"), REFUSED, ids=lambda value: str(value) if isinstance(value, dict) else None)
def test_what_is_refused(policy, error, message):
    """By name, and in a line that can be read."""
    with pytest.raises(error, match=message) as caught:
        pl.Body(np.eye(3), [[0, 1, 2]], policy=policy)
    assert len(str(caught.value)) < 160


@pytest.mark.formulas
def test_tables_of_any_kind():
    """NumPy's integers count, settings not given have their defaults, and the table stays as it is."""
    table = {"name": "hybrid", "depth": np.int64(2)}
    body = pl.Body(np.eye(3), [[0, 1, 2]], policy=MappingProxyType(table))
    assert body._options.settings == {"depth": 2, "below": "node"}
    assert pl.Body(np.eye(3), [[0, 1, 2]], policy=table)._options.settings == body._options.settings
    assert table == {"name": "hybrid", "depth": 2}
    assert pl.Body(np.eye(3), [[0, 1, 2]], policy="hybrid")._options.settings == {"depth": None, "below": "node"}
    assert pl.Body(np.eye(3), [[0, 1, 2]], policy={"name": "lazy"})._options.policy.name == "lazy"


@pytest.mark.formulas
@pytest.mark.parametrize("policy", [hybrid(), hybrid(1, "subtree"), hybrid(0, 2), {"name": "auto", "background": True}, {"name": "lazy"}],
                         ids=str)
def test_a_saved_body_keeps_its_settings(policy, tmp_path):
    body = pl.Body(SPHERE, FACES, policy=policy, arity=2)
    body.save(tmp_path / "body.pliant")
    loaded = pl.Body.load(tmp_path / "body.pliant")
    assert loaded._options.policy.name == policy["name"]
    assert loaded._options.settings == body._options.settings
    for each in (body, loaded):
        each.update(SPHERE * 0.995)
    mine, its = (pl.collide(each, needle([1, 1, 1])) for each in (body, loaded))
    assert its.stats == mine.stats
    assert its.faces.tolist() == mine.faces.tolist()


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize("below", ["subtree", 2, 3])
def test_a_file_whose_subtrees_are_not_ranges(below, tmp_path):
    """Nodes level by level are a tree too, but not one that a refit of subtrees may trust: refused, or answered right."""
    scene, path = shapes.bumpy_pair(1280, 9), tmp_path / "body.pliant"
    pl.Body(scene.frame(3)[0], scene.faces, arity=2, leaf=2, policy=hybrid(2, below)).save(path)
    with np.load(path) as members:
        arrays = dict(members)
    child, count, order = arrays["child"], arrays["count"], [0]
    for i in order:
        order += [c for c in child[i, :count[i]].tolist() if c >= 0]
    renamed = np.argsort(order)
    child = child[order]
    arrays["child"] = np.where(child >= 0, renamed[np.maximum(child, 0)], child).astype(np.int32)
    arrays["count"] = count[order]
    with open(path, "wb") as file:
        np.savez(file, **arrays)
    try:
        loaded = pl.Body.load(path)
    except FileError:
        return
    other = pl.Body(scene.frame(3)[1], scene.faces)
    for k in (2, 3, 5):
        first, second = scene.frame(k)
        loaded.update(first)
        other.update(second)
        np.testing.assert_array_equal(pl.collide(loaded, other).faces, pl.collide(pl.Body(first, scene.faces), other).faces)
