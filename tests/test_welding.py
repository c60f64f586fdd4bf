"""Weld maps: vertices are one if they are together in all shapes and follow the same maps. The reference compares all pairs."""

import numpy as np
import pytest
from scipy import sparse

import pliant as pl
from pliant.core import validate_weld
from pliant.errors import ArgumentTypeError, MeshError
from pliant.welding import count_welded, has_welded, make_weld_map, split_welds


def naive_map(shapes, weights=None):
    """The lowest vertex that is equal to each, by comparing it with all before it."""
    count = len(shapes[0])
    equal = np.ones((count, count), bool)
    for rows in [*shapes, *([] if weights is None else [weights])]:
        equal &= (rows[:, None] == rows[None]).all(axis=2)
    return equal.argmax(axis=1)


@pytest.mark.parametrize("seed", range(20))
def test_equal_rows_in_all_shapes_are_one(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 60))
    shapes = [rng.integers(0, 2, (count, 3)).astype(float) for _ in range(1 + seed % 4)]
    found = make_weld_map(0.0, shapes, count)
    assert found.dtype == np.int32 and found.tolist() == (naive_map(shapes).tolist() if count else [])
    assert count_welded(found) == count - len(set(found.tolist())) and has_welded(found) == (count_welded(found) > 0)


@pytest.mark.parametrize("seed", range(20))
def test_vertices_of_other_weights_are_not_one(seed):
    rng = np.random.default_rng(seed)
    count, maps = int(rng.integers(1, 50)), int(rng.integers(1, 6))
    rest, weights = rng.integers(0, 2, (count, 3)).astype(float), rng.integers(0, 3, (count, maps)).astype(float)
    skin = sparse.csr_array(weights)
    found = make_weld_map(0.0, [rest], count, (skin.indptr, skin.indices, skin.data))
    assert found.tolist() == naive_map([rest], weights).tolist()
    for row in range(count):  # entries of a row in any order
        part = slice(skin.indptr[row], skin.indptr[row + 1])
        skin.indices[part], skin.data[part] = skin.indices[part][::-1].copy(), skin.data[part][::-1].copy()
    assert make_weld_map(0.0, [rest], count, (skin.indptr, skin.indices, skin.data)).tolist() == found.tolist()


def test_a_tolerance_holds_in_every_shape():
    first = np.array([[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0], [5, 0, 0]], float)
    later = np.array([[0, 0, 0], [0.1, 0, 0], [3, 0, 0], [5, 0, 0]], float)
    assert make_weld_map(0.15, [first], 4).tolist() == [0, 0, 0, 3]
    assert make_weld_map(0.15, [first, later], 4).tolist() == [0, 0, 2, 3]
    assert split_welds(np.zeros(4, np.int32), later, 0.15).tolist() == [0, 0, 2, 3]


def test_a_map_of_the_user_is_taken_as_it_is():
    corners, faces = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], float), [[0, 1, 2], [3, 5, 4]]
    body = pl.Body(corners, faces, weld=[0, 1, 2, 1, 2, 5])
    assert len(pl.self_collide(body)) == 0 and len(pl.self_collide(pl.Body(corners, faces))) == 1
    for wrong, kind, message in (([0, 1, 2, 1, 2], MeshError, r"expected shape \(6,\)"), ([0, 1, 2, 5, 2, 5], MeshError, "row 3 is 5"),
                                 ([0, 1, 2, 1, 2, -1], MeshError, "row 5 is -1"), ([0.0] * 6, ArgumentTypeError, "array of float64")):
        with pytest.raises(kind, match=message):
            pl.Body(corners, faces, weld=wrong)
    assert [validate_weld.weld("weld", given) for given in (False, True, 0.5)] == [None, 0.0, 0.5]


BOOK = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0]], float)
PAGES = [[0, 2, 1], [2, 3, 1], [6, 7, 4], [4, 7, 5]]  # the spine twice: vertices 0 1 and 6 7
OPEN = BOOK.copy()
OPEN[4:6] = [[0, 0, 1], [0, 1, 1]]


def test_pages_of_a_morphing_book_part_and_its_spine_does_not():
    body = pl.Body.morph([BOOK, OPEN], PAGES, weld=True)
    assert body._weld_map.tolist() == [0, 1, 2, 3, 4, 5, 0, 1]
    body.update([0.0, 1.0])
    assert np.array_equal(body.vertices, OPEN) and len(pl.self_collide(body)) == 0
    base = pl.Body.morph([OPEN - BOOK], PAGES, base=BOOK, relative=True, weld=True)
    assert base._weld_map.tolist() == body._weld_map.tolist()


def test_pages_of_a_skinned_book_part_and_its_spine_does_not():
    weights = np.zeros((8, 2))
    weights[[0, 1, 2, 3, 6, 7], 0] = weights[[4, 5], 1] = 1.0
    body = pl.Body.blended(BOOK, PAGES, weights, weld=True)
    assert body._weld_map.tolist() == [0, 1, 2, 3, 4, 5, 0, 1]
    stays, turns = np.eye(4), np.array([[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]], float)
    body.update([stays, turns])
    assert np.array_equal(body.vertices, OPEN) and len(pl.self_collide(body)) == 0
