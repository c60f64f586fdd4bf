"""Single queries of continuous collision from Python: answers, arguments, errors."""

import numpy as np
import pytest

import pliant as pl
from moving_features import EDGE_EDGE, VERTEX_FACE, known_queries


def split(kind, starts, ends):
    """(query, its four arrays) for (n, 4, 3) starts and ends."""
    if kind == VERTEX_FACE:
        return pl.ccd_point_triangle, (starts[:, 0], ends[:, 0], starts[:, 1:], ends[:, 1:])
    return pl.ccd_edge_edge, (starts[:, :2], ends[:, :2], starts[:, 2:], ends[:, 2:])


@pytest.mark.parametrize("kind", [VERTEX_FACE, EDGE_EDGE])
def test_known_answers(kind):
    starts, ends, numerators, denominators = known_queries(np.random.default_rng(kind), 2000, kind)
    query, arrays = split(kind, starts, ends)
    hits, times = query(*arrays)
    assert hits.dtype == np.bool_ and times.dtype == np.float64 and hits.shape == times.shape == (2000,)
    assert (hits == (denominators > 0)).all() and (np.isfinite(times) == hits).all()
    late = times[hits] - numerators[hits] / denominators[hits]
    assert late.max() <= 2.0**-52 and late.min() > -(2.0**-40)
    assert (times[hits & (numerators == 0)] == 0).all()
    for threads in (1, 2):
        with pl.core.threads.use_threads(threads):
            assert (query(*arrays)[1] == times).all()
    one = query(*(array[:1] for array in arrays))
    assert one[0].shape == (1,) and one[1][0] == times[0]


@pytest.mark.parametrize("kind", [VERTEX_FACE, EDGE_EDGE])
def test_min_distance(kind):
    starts, ends, _, denominators = known_queries(np.random.default_rng(kind), 500, kind)
    query, arrays = split(kind, starts, ends)
    hits, times = query(*arrays)
    extent = np.ptp(np.concatenate([starts, ends], axis=1), axis=1).max(axis=1)
    for distance in (extent.max(), extent.min() * 1e-3, 5e-324):
        near, early = query(*arrays, min_distance=distance)
        assert near[hits].all() and (early[hits] <= times[hits] + 2.0**-40).all()
        assert (denominators[~near] == 0).all()
    assert query(*arrays, min_distance=extent.max() * 10)[1].tolist() == [0.0] * 500


def test_distances_known_by_construction():
    """A point passes a triangle, an edge and a corner at a distance; edges pass each other."""
    triangle = np.array([[[0, 0, 0], [4, 0, 0], [0, 4, 0]]], float)
    for start, end, least in (([-5, 1, 2], [7, 1, 2], 2.0), ([1, -3, -6], [1, -3, 6], 3.0), ([-3, -9, 4], [-3, 9, 4], 5.0)):
        points = np.array([start], float), np.array([end], float)
        for distance, expected in ((least * (1 - 1e-8), False), (least, True), (least * (1 + 1e-12), True), (least / 2, False)):
            hits, times = pl.ccd_point_triangle(*points, triangle, triangle, min_distance=distance)
            assert hits.tolist() == [expected], (start, distance)
    edge = np.array([[[-1, 0, 0], [1, 0, 0]]], float)
    other, end = np.array([[[0, -1, 3], [0, 1, 3]]], float), np.array([[[0, -1, -1], [0, 1, -1]]], float)
    hits, times = pl.ccd_edge_edge(edge, edge, other, end, min_distance=1.0)
    assert hits.tolist() == [True] and 0.5 - 1e-8 < times[0] <= 0.5


def test_empty_arrays():
    for empty in ([], np.zeros((0, 3))):
        triangles = [] if isinstance(empty, list) else np.zeros((0, 3, 3))
        hits, times = pl.ccd_point_triangle(empty, empty, triangles, triangles)
        assert hits.shape == times.shape == (0,) and hits.dtype == np.bool_
    hits, times = pl.ccd_edge_edge([], [], [], [], min_distance=1.0)
    assert len(hits) == len(times) == 0


def test_arguments_stay_and_layouts_do_not_matter():
    starts, ends, _, _ = known_queries(np.random.default_rng(5), 64, VERTEX_FACE)
    query, arrays = split(VERTEX_FACE, starts, ends)
    copies = [array.copy() for array in arrays]
    times = query(*arrays)[1]
    assert all((array == copy).all() for array, copy in zip(arrays, copies, strict=True))
    assert (query(*(np.asfortranarray(array) for array in arrays))[1] == times).all()
    assert (query(*(array.astype(">f8") for array in arrays))[1] == times).all()
    assert (query(*(array.tolist() for array in arrays))[1] == times).all()


POINTS, TRIANGLES, EDGES = np.zeros((3, 3)), np.zeros((3, 3, 3)), np.zeros((3, 2, 3))
WRONG = POINTS.copy()
WRONG[1, 2] = np.nan


@pytest.mark.parametrize(("arguments", "message"), [
    ((np.zeros((3, 2)), POINTS, TRIANGLES, TRIANGLES), r"point0: expected shape \(n, 3\), got \(3, 2\)"),
    ((POINTS, POINTS[:2], TRIANGLES, TRIANGLES), "point1: expected 3 rows, as many as point0 has, got 2"),
    ((POINTS, POINTS, TRIANGLES[0], TRIANGLES), r"triangle0: expected shape \(n, 3, 3\), got \(3, 3\)"),
    ((POINTS, POINTS, TRIANGLES, EDGES), r"triangle1: expected shape \(n, 3, 3\), got \(3, 2, 3\)"),
    ((POINTS, WRONG, TRIANGLES, TRIANGLES), r"point1: row 1 is \[0.0, 0.0, nan\], not finite"),
    ((POINTS, POINTS, TRIANGLES, TRIANGLES + np.inf), "triangle1: row 0 is .*inf.*, not finite"),
    ((["a"], POINTS, TRIANGLES, TRIANGLES), "point0: expected numbers"),
    ((POINTS.astype(complex), POINTS, TRIANGLES, TRIANGLES), "point0: expected numbers, got dtype complex128"),
    ((np.full((3, 3), 2**60), POINTS, TRIANGLES, TRIANGLES), "point0: row 0 is .*; integers beyond"),
    ((POINTS, POINTS, TRIANGLES, TRIANGLES, -1.0), "min_distance: expected a finite number from 0.0 up, got -1.0"),
    ((POINTS, POINTS, TRIANGLES, TRIANGLES, np.nan), "min_distance: expected a finite number"),
    ((POINTS, POINTS, TRIANGLES, TRIANGLES, np.inf), "min_distance: expected a finite number"),
    ((POINTS, POINTS, TRIANGLES, TRIANGLES, "1"), "min_distance: expected a number, got str"),
])
def test_wrong_arguments(arguments, message):
    with pytest.raises(pl.PliantError, match=message):
        pl.ccd_point_triangle(*arguments)


def test_wrong_edges():
    with pytest.raises(pl.ArgumentError, match=r"b1: expected shape \(n, 2, 3\), got \(3, 3\)"):
        pl.ccd_edge_edge(EDGES, EDGES, EDGES, POINTS)
