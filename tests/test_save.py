"""A saved body comes back as it was: positions to the bit, options, tree and answers. A file that is no such body is a `FileError`."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from integer_spheres import FACES, MOVED, OTHER, SPHERE, answer
from pliant.errors import FileError
from pliant.tree.nodes import BUILDERS

pytestmark = pytest.mark.formulas


@pytest.fixture
def path(tmp_path):
    return tmp_path / "body.pliant"


def parts(path):
    """What a file holds: its description and its arrays."""
    with np.load(path) as members:
        arrays = dict(members)
    return json.loads(arrays.pop("meta").tobytes()), arrays


def assemble(path, meta, arrays):
    with open(path, "wb") as file:
        np.savez(file, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)


# ------------------------------------------------------------------------------------------------ there and back

@pytest.mark.parametrize("shape", [{}, {"arity": 2, "leaf": 1}, {"arity": 4, "leaf": 3}])
def test_a_body_comes_back_as_it_was(path, policy, shape):
    body, other = pl.Body(SPHERE, FACES, policy=policy, **shape), pl.Body(OTHER, FACES)
    body.update(MOVED * (1 / 3))
    expected = answer(body, other)
    assert len(pl.collide(body, other)) > 5
    body.save(path)
    assert answer(body, other) == expected
    loaded = pl.Body.load(path)
    assert answer(loaded, other) == expected
    assert repr(loaded) == repr(body)
    body.update(SPHERE)
    loaded.update(SPHERE)
    assert answer(loaded, other) == answer(body, other)


def test_loading_builds_no_tree(path, monkeypatch):
    """The tree is the one that the first positions gave; the ones it is saved with would give another."""
    body = pl.Body(SPHERE, FACES)
    body.update(MOVED)
    body.save(path)

    def fail(*_):
        raise AssertionError("was built")

    for name, builder in BUILDERS.items():
        monkeypatch.setitem(BUILDERS, name, builder._replace(build=fail))
    loaded = pl.Body.load(path)
    for ours, theirs in zip(loaded._bvh.tree, body._bvh.tree, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("origin", [None, [0.1, -1e6, 3.0]])
def test_the_origin_comes_back(path, origin):
    pl.Body(SPHERE + 1e5, FACES, origin=origin).save(path)
    meta, _ = parts(path)
    assert meta["origin"] == origin
    loaded, made = pl.Body.load(path), pl.Body(SPHERE + 1e5, FACES, origin=origin)
    assert loaded._motion.fixed == (origin is not None)
    assert loaded._motion.origin.tobytes() == made._motion.origin.tobytes()


@pytest.mark.parametrize("factor", [5e-324, 1e-200, 1.0, 1e300], ids=str)
def test_every_finite_position_comes_back(path, factor):
    rows = SPHERE * factor
    rows[3] = [-0.0, 1.7976931348623157e308, 5e-324]
    pl.Body(rows, FACES).save(path)
    assert pl.Body.load(path).vertices.tobytes() == rows.tobytes()


@pytest.mark.parametrize("vertices", [[], [[1.0, 2.0, 3.0]]], ids=["nothing", "a vertex"])
def test_bodies_without_faces_come_back(path, vertices):
    pl.Body(vertices, [], arity=4).save(path)
    loaded = pl.Body.load(path)
    assert loaded.vertices.tolist() == vertices and len(loaded) == 0
    assert len(pl.collide(loaded, pl.Body(SPHERE, FACES))) == 0


def test_a_file_is_replaced_by_the_next(path):
    for rows in (SPHERE, MOVED):
        pl.Body(rows, FACES).save(str(path))
        assert pl.Body.load(str(path)).vertices.tobytes() == rows.tobytes()
    assert os.listdir(path.parent) == [path.name]


def test_folders_are_not_made(tmp_path):
    body = pl.Body(SPHERE, FACES)
    with pytest.raises(FileNotFoundError):
        body.save(tmp_path / "nowhere" / "body")
    with pytest.raises(FileNotFoundError):
        pl.Body.load(tmp_path / "body")
    assert os.listdir(tmp_path) == []


def test_saving_does_not_wait_for_queries_nor_keep_the_body(path, monkeypatch):
    """A disk that is full is reported, and the body goes on."""
    body, other = pl.Body(SPHERE, FACES), pl.Body(OTHER, FACES)
    before = answer(body, other)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space"):
        body.save(path)
    body.update(SPHERE)
    assert answer(body, other) == before


# ------------------------------------------------------------------------------------------------ what is refused

def set_meta(**changes):
    def change(meta, arrays):
        meta.update(changes)
    return change


def drop_meta(name):
    return lambda meta, arrays: meta.pop(name)


def set_item(name, at, value):
    def change(meta, arrays):
        arrays[name][at] = value
    return change


def set_array(name, make):
    def change(meta, arrays):
        arrays[name] = make(arrays[name])
    return change


def child_of_itself(meta, arrays):
    row, lane = np.argwhere(arrays["child"] > 0)[0]
    arrays["child"][row, lane] = row


def child_of_a_child(meta, arrays):
    """Two nodes that are each other's parents."""
    row, lane = np.argwhere(arrays["child"] > 0)[0]
    child = arrays["child"][row, lane]
    arrays["child"][child, 0] = row


def repeated_child(meta, arrays):
    (row, lane), (row2, lane2) = np.argwhere(arrays["child"] > 0)[:2]
    arrays["child"][row, lane] = arrays["child"][row2, lane2]


def repeated_leaf(meta, arrays):
    inner = [(i, k) for i in range(len(arrays["child"])) for k in range(arrays["count"][i]) if arrays["child"][i, k] < 0]
    arrays["child"][inner[0]] = arrays["child"][inner[1]]


def without_nodes(meta, arrays):
    arrays["child"], arrays["count"] = arrays["child"][:0], arrays["count"][:0]


def without_tree(meta, arrays):
    without_nodes(meta, arrays)
    arrays["leaf_faces"] = arrays["leaf_faces"][:0]


def a_chain(meta, arrays):
    """A tree as deep as it has nodes: a body of one face, below a thousand nodes of one child."""
    n = 1000
    arrays["faces"] = arrays["faces"][:1]
    arrays["child"] = np.zeros((n, 4), np.int32)
    arrays["child"][:, 0] = np.arange(1, n + 1)
    arrays["child"][-1, 0] = ~0
    arrays["count"] = np.ones(n, np.int32)
    arrays["leaf_faces"] = np.array([[0] + [-1] * 7], np.int32)


BAD = {
    "another format": set_meta(format="pliant body 1"),
    "no format": drop_meta("format"),
    "format of another type": set_meta(format=1),
    "unknown volume": set_meta(volume="ball"),
    "volume of another type": set_meta(volume=["aabb"]),
    "no policy": drop_meta("policy"),
    "unknown builder": set_meta(build="by hand"),
    "arity of 3": set_meta(arity=3),
    "another arity than the tree's": set_meta(arity=8),
    "fewer children than the tree has": set_meta(arity=2),
    "arity as a fraction": set_meta(arity=4.0),
    "huge arity": set_meta(arity=10**100),
    "leaf of 0": set_meta(leaf=0),
    "smaller leaves than the tree's": set_meta(leaf=1),
    "leaf as a truth value": set_meta(leaf=True),
    "origin of two": set_meta(origin=[0.0, 1.0]),
    "origin is text": set_meta(origin="here"),
    "origin is a table": set_meta(origin={"x": 0}),
    "origin is not finite": set_meta(origin=[0, float("inf"), 0]),
    "huge origin": set_meta(origin=[10**400, 0, 0]),
    "not a number": set_item("shapes", (0, 5, 1), np.nan),
    "infinite": set_item("shapes", (0, 41, 2), -np.inf),
    "four columns": set_array("shapes", lambda v: np.ones((1, v.shape[1], 4))),
    "vertices missing": set_array("shapes", lambda v: v[:, :-1]),
    "index out of range": set_item("faces", (7, 0), 42),
    "negative index": set_item("faces", (7, 0), -1),
    "the same as a later vertex": set_item("same", (3,), 5),
    "the same as a negative vertex": set_item("same", (3,), -1),
    "the same as one that is another": set_array("same", lambda same: np.array([0, 0, 1, *same[3:]], np.int32)),
    "the same, for fewer vertices": set_array("same", lambda same: same[:-1]),
    "a face more": set_array("faces", lambda f: np.concatenate([f, f[:1]])),
    "a face fewer": set_array("faces", lambda f: f[:-1]),
    "no faces but a tree": set_array("faces", lambda f: f[:0]),
    "child of itself": child_of_itself,
    "a cycle": child_of_a_child,
    "a node twice": repeated_child,
    "a leaf twice": repeated_leaf,
    "child out of range": set_item("child", (0, 0), 10_000),
    "leaf out of range": set_item("child", (0, 0), ~10_000),
    "least integer": set_item("child", (0, 0), -2**31),
    "no nodes": without_nodes,
    "no tree": without_tree,
    "too deep": a_chain,
    "children missing": set_item("count", 0, 0),
    "negative count": set_item("count", 0, -1),
    "too many children": set_item("count", 0, 5),
    "count too long": set_array("count", lambda c: np.append(c, np.int32(1))),
    "count of two dimensions": set_array("count", lambda c: c[:, None]),
    "other lanes": set_array("child", lambda c: np.ascontiguousarray(c[:, :2])),
    "short leaves": set_array("leaf_faces", lambda f: np.ascontiguousarray(f[:, :4])),
    "an empty leaf": set_item("leaf_faces", 0, -1),
    "a hole in a leaf": set_item("leaf_faces", (0, 0), -1),
    "a face in two leaves": lambda meta, arrays: arrays["leaf_faces"].__setitem__((0, 0), arrays["leaf_faces"][1, 0]),
    "face out of range": set_item("leaf_faces", (0, 0), 80),
    "a leaf more": set_array("leaf_faces", lambda f: np.concatenate([f, f[:1]])),
    "float32 vertices": set_array("shapes", lambda v: v.astype(np.float32)),
    "int64 faces": set_array("faces", lambda f: f.astype(np.int64)),
    "an array more": lambda meta, arrays: arrays.update(more=np.zeros(3)),
    "an array fewer": lambda meta, arrays: arrays.pop("count"),
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_other_content_is_refused(path, change):
    """Kernels trust a tree: what could send them out of an array or round in circles must not pass."""
    pl.Body(SPHERE, FACES, arity=4, leaf=3).save(path)
    meta, arrays = parts(path)
    assemble(path, meta, arrays)
    assert pl.Body.load(path).vertices.tobytes() == SPHERE.tobytes()
    change(meta, arrays)
    assemble(path, meta, arrays)
    with pytest.raises(FileError) as refusal:
        pl.Body.load(path)
    assert str(path) in str(refusal.value)


def test_another_tree_of_the_same_faces_is_taken(path):
    """Topology is the file's to choose: answers do not depend on it."""
    body, other = pl.Body(SPHERE, FACES, arity=4, leaf=8), pl.Body(OTHER, FACES)
    body.save(path)
    meta, arrays = parts(path)
    rng = np.random.default_rng(3)
    arrays["leaf_faces"] = np.full((10, 8), -1, np.int32)
    arrays["leaf_faces"][:, :] = rng.permutation(80).reshape(10, 8)
    arrays["child"] = np.array([[1, 2, 3, 0], [~0, ~1, ~2, ~3], [~4, ~5, ~6, 0], [~7, ~8, ~9, 0]], np.int32)
    arrays["count"] = np.array([3, 4, 3, 3], np.int32)
    assemble(path, meta, arrays)
    for name in ("bottom_up", "lazy"):
        assemble(path, {**meta, "policy": name}, arrays)
        assert answer(pl.Body.load(path), other) == answer(body, other)


def test_every_truncation_is_refused(path):
    pl.Body(SPHERE, FACES).save(path)
    data = path.read_bytes()
    for length in range(0, len(data), 61):
        path.write_bytes(data[:length])
        with pytest.raises(FileError):
            pl.Body.load(path)


def test_the_path_may_be_given_as_text(path):
    path.write_bytes(b"garbage")
    for each in (str(path), Path(path)):
        with pytest.raises(FileError, match=path.name):
            pl.Body.load(each)
