"""Polygons that Blender exported (`tests/fixtures/make_blender_polygons.py`): a default check finds what collides, and no more."""

from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.check.plan import CheckOptions
from pliant.check.run import Output, check_animation

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "blender"
SUFFIXES = ("obj", "ply", "usda", "stl")
#: The corners of the polygons of each shape: both caps, then walls.
CAPS = {"cylinder": 32, "gear": 192, "star": 18, "letter": 16, "saddle": 14}


def checked(path, folder):
    return check_animation(pl.read(path), CheckOptions(), Output(folder, report=False, plots=False))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", CAPS)
def test_solids_do_not_collide_with_themselves(name, suffix, tmp_path):
    found = checked(FOLDER / f"{name}.{suffix}", tmp_path)
    assert found.pairs == 0 and not found.summary["notes"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_bar_through_a_letter_is_found(suffix, tmp_path):
    """Four walls of the bar and three of the letter, each with each. Blender has triangulated those of the STL itself."""
    assert checked(FOLDER / f"crossing.{suffix}", tmp_path).pairs >= 12
    if suffix == "stl":
        return
    actor = pl.read(FOLDER / f"crossing.{suffix}").actors[0]
    with np.load(tmp_path / "pairs.npz") as file:
        polygons = actor.polygon_of_face[file["faces"]]
    assert ((polygons.min(axis=1) < 18) & (polygons.max(axis=1) >= 18)).all()  # the letter has 18 polygons, the bar the others
    rows = np.unique(np.sort(polygons, axis=1), axis=0)
    assert len(rows) == 12 and [len(np.unique(column)) for column in rows.T] == [3, 4]


@pytest.mark.parametrize("suffix", SUFFIXES[:3])
@pytest.mark.parametrize("name", CAPS)
def test_faces_know_their_polygons(name, suffix):
    actor = pl.read(FOLDER / f"{name}.{suffix}").actors[0]
    corners, vertices = CAPS[name], actor.at(0).vertices
    sizes = np.bincount(actor.polygon_of_face)
    assert actor.polygon_of_face.dtype == np.int32 and len(actor.polygon_of_face) == len(actor.at(0))
    assert sorted(sizes.tolist()) == [2] * corners + [corners - 2] * 2
    if name == "saddle":
        return
    normals = np.cross(*(vertices[actor.at(0).faces[:, k]] - vertices[actor.at(0).faces[:, 0]] for k in (1, 2)))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    for polygon in range(len(sizes)):  # triangles of a flat polygon look one way
        mine = normals[actor.polygon_of_face == polygon]
        assert (mine @ mine[0] > 0.99).all()
