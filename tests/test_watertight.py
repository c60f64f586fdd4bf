"""The count of rays that slip out of closed meshes, small: none do, and where there is a hole, some do."""

import numba
import numpy as np
import pytest

from benchmarks import watertight
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
