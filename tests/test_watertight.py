"""The counts of rays that are decided wrongly where faces meet, small: none are, and where there is a hole, some are."""

from fractions import Fraction

import numba
import numpy as np
import pytest

import naive_rays
import pliant as pl
from benchmarks import exact_rays, watertight
from ray_checks import targets_on

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
SHELLS = {"cube": watertight.cube()} | watertight.round_shells(0 if OFF else 3)
RAYS = 1 if OFF else 20_000


@pytest.mark.parametrize("away", watertight.PLACES)
@pytest.mark.parametrize("name", SHELLS)
def test_no_ray_is_missed(name, away):
    told = []
    row = watertight.count(SHELLS[name], away, RAYS, np.random.default_rng(81), told.append)
    assert (row["missed"], row["examples"]) == (0, [])
    assert row["rays"] == sum(told) >= RAYS
    assert row["seconds"] > 0


def test_a_hole_is_noticed():
    """The count can fail: one side is gone, and rays through it are missed, others are not."""
    shell = watertight.cube()
    row = watertight.count(shell._replace(faces=shell.faces[2:]), 0.0, 1 if OFF else 2000, np.random.default_rng(82))
    assert 0 < row["missed"] < row["rays"]
    assert len(row["examples"]) == min(5, row["missed"])


@pytest.mark.parametrize("name", SHELLS)
def test_rays_are_what_they_are_said_to_be(name):
    """Meshes are closed; every batch has all vertices and edges; every origin is inside."""
    shell = SHELLS[name]
    edges, times = np.unique(np.sort(shell.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0, return_counts=True)
    assert (times == 2).all()
    assert len(shell.vertices) - len(edges) + len(shell.faces) == 2
    aims = targets_on(shell.vertices, shell.faces)[: len(shell.vertices) + len(edges)]
    origins, directions = next(watertight.batches(shell, shell.vertices, np.zeros(3), 1, np.random.default_rng(83)))
    assert len(origins) == len(directions) == 2 * len(aims)
    np.testing.assert_allclose(origins[: len(aims)] + directions[: len(aims)], aims, rtol=0, atol=1e-14)
    assert (np.linalg.norm(origins / shell.inside, axis=1) <= 1 + 1e-12).all()
    a, b, c = np.moveaxis(shell.vertices[shell.faces] / np.abs(shell.vertices).max(axis=0), 1, 0)
    planes = np.cross(b - a, c - a)
    reach = np.abs((planes * a).sum(axis=1)) / np.linalg.norm(planes, axis=1)
    if name != "arms":                                                  # convex, or nearly so: no plane of a face comes as near as that
        assert reach.min() > (shell.inside / np.abs(shell.vertices).max(axis=0)).max() / 2


def test_the_table():
    rows = [{"mesh": name} | watertight.count(SHELLS[name], 0.0, 1, np.random.default_rng(84)) for name in ("cube", "ball")]
    table = watertight.table_of(rows)
    assert table.row_count == 3
    assert [cell for cell in table.columns[4].cells] == ["0", "0", "0"]


# --- beside edges and vertices -----------------------------------------------------------------------------------------------------

def test_the_integer_reference_is_the_naive_one():
    """Every face that `naive_rays` says is hit, and no other, of rays beside edges and of others."""
    rng = np.random.default_rng(85)
    for name, vertices, faces in list(watertight.solids(rng))[::1 if not OFF else 12][:30]:
        origins, directions = watertight.beside(vertices, faces, rng)
        some = rng.integers(0, len(origins), 5)
        origins, directions = np.vstack([origins[some], rng.normal(size=(2, 3))]), np.vstack([directions[some], rng.normal(size=(2, 3))])
        found, _ = exact_rays.hits(vertices, faces, origins, directions)
        for k in range(len(origins)):
            right = [hit.face for hit in naive_rays.hits(vertices, faces, origins[k], directions[k], -np.inf, np.inf, every=True)]
            assert np.flatnonzero(found[k]).tolist() == right, name


def test_integers_are_exact():
    numbers = np.array([0.1, -3.0, 0.0, 5e-324, 2.0**60, -0.7])
    found = exact_rays.integers(numbers)
    assert [Fraction(int(n), int(found[3])) for n in found] == [Fraction(x) / Fraction(5e-324) for x in numbers.tolist()]


def test_lines_beside_edges_are_decided_exactly():
    """Among them are those whose sums of differences cancel: one ulp beside the rounded midpoint of an edge, along an axis."""
    rng, rays = np.random.default_rng(86), 0
    for name, vertices, faces in list(watertight.solids(rng))[::1 if not OFF else 25]:
        origins, directions = (rows[:4 if OFF else None] for rows in watertight.beside(vertices, faces, rng))
        wrong, *_ = watertight.wrong_rays(vertices, faces, origins, directions)
        assert wrong.tolist() == [], (name, vertices.tolist(), origins[wrong[:1]].tolist(), directions[wrong[:1]].tolist())
        rays += len(origins)
    assert OFF or rays > 40_000


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_ray_beside_the_midpoint_of_an_edge(axis, sign):
    """The origin is between the ends of an edge and one ulp off its midpoint: (q − o) + (r − o) cancels to a rounding error."""
    turn = np.roll(np.arange(3), axis)
    vertices = np.array([[0, -0.4, -0.9], [0, 0.1, 0.3], [0, -0.8, 0], [2, -0.15, -0.3]])[:, turn] * sign
    origin = np.array([-1, -0.15000000000000002, -0.30000000000000004])[turn] * sign
    found = pl.cast(pl.Body(vertices, watertight.TETRAHEDRON), [origin], [np.array([1.0, 0, 0])[turn] * sign])
    assert found.face.tolist() == [0]


def test_a_wrong_answer_is_noticed(monkeypatch):
    """The comparison can fail: an answer without its last hit differs."""
    _, vertices, faces = next(watertight.solids(np.random.default_rng(87)))
    origins, directions = (rows[:8] for rows in watertight.beside(vertices, faces, np.random.default_rng(88)))
    inside = vertices.mean(axis=0)
    origins, directions = np.vstack([origins, inside]), np.vstack([directions, [0.3, 0.2, 0.1]])
    whole, every = pl.cast_all, pl.cast_all(pl.Body(vertices, faces), origins, directions, t_min=-np.inf)
    monkeypatch.setattr(pl, "cast_all", lambda *given, **options: whole(given[0], given[1][:-1], given[2][:-1], **options))
    assert every.ray[-1] == len(origins) - 1
    assert watertight.wrong_rays(vertices, faces, origins, directions)[0].tolist() == [len(origins) - 1]


def test_the_table_of_lines():
    rows = watertight.count_beside(1, np.random.default_rng(89)) if not OFF else [
        {"mesh": "box"} | dict.fromkeys(("meshes", "rays", "hits", "wrong", "integers", "exact"), 1)]
    assert watertight.table_beside(rows).row_count == len(rows) + 1
