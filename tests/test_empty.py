"""Bodies without faces or vertices are ordinary: they answer, and their answers are empty."""

import numpy as np
import pytest

import pliant as pl
from pliant.errors import MeshError

pytestmark = pytest.mark.formulas

ROWS = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
EMPTY = {
    "empty lists": ([], []),
    "empty arrays": (np.empty((0, 3)), np.empty((0, 3), np.int64)),
    "empty float faces": (np.empty((0, 3)), np.empty((0, 3))),
    "one empty dimension": (np.empty(0), np.empty(0, np.int32)),
    "vertices alone": (ROWS, []),
    "far vertices alone": (np.array(ROWS) * 1e300, []),
}


@pytest.mark.parametrize(("vertices", "faces"), EMPTY.values(), ids=EMPTY.keys())
def test_answers_are_empty(vertices, faces, policy):
    nothing, other = pl.Body(vertices, faces, policy=policy), pl.Body(ROWS, [[0, 1, 2]])
    assert len(nothing) == 0
    assert nothing.faces.shape == (0, 3) and nothing.faces.dtype == np.int32
    assert nothing.vertices.shape == (len(vertices), 3) and nothing.vertices.dtype == np.float64
    for a, b in ((nothing, other), (other, nothing), (nothing, pl.Body(vertices, faces))):
        for first in (False, True):
            pairs = pl.collide(a, b, first=first)
            assert pairs.faces.shape == (0, 2) and pairs.faces.dtype == np.int32
            assert not pairs and len(pairs) == 0
            assert pairs.stats == pl.Stats(0, 0, 0, 0)


@pytest.mark.parametrize(("vertices", "faces"), EMPTY.values(), ids=EMPTY.keys())
def test_updates_are_checked_all_the_same(vertices, faces):
    body = pl.Body(vertices, faces)
    body.update(vertices)
    with pytest.raises(MeshError, match=f"expected {len(vertices)} rows"):
        body.update(np.zeros((7, 3)))
    if len(vertices):
        with pytest.raises(MeshError, match="row 1"):
            body.update([[0, 0, 0], [0, 0, np.inf], [0, 0, 0]])
        body.update(np.array(ROWS) + 5)
        assert body.vertices.tolist() == (np.array(ROWS) + 5).tolist()
    assert len(pl.collide(body, pl.Body(ROWS, [[0, 1, 2]]))) == 0


def test_faces_need_vertices():
    with pytest.raises(MeshError, match=r"row 0 is \[0, 0, 0\]"):
        pl.Body([], [[0, 0, 0]])


def test_a_representation_says_what_it_is():
    assert repr(pl.Body([], [])).startswith("Body(0 vertices, 0 faces")
    assert "3 vertices, 1 faces" in repr(pl.Body(ROWS, [[0, 1, 2]], arity=4))
    assert "arity=4" in repr(pl.Body(ROWS, [[0, 1, 2]], arity=4))
