"""The scenes of paper D: their bodies have the sizes of Table 1, deform in every frame, stay apart, and keep their motion at any size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from experiments.bitar2011 import scenes as bitar2011_scenes
from experiments.bitar2011.scenes import CABLE, FOLDING, HELMET, MODELS, PLATE, SCENES, TWISTING

pytestmark = pytest.mark.formulas

TABLE_1 = {PLATE: (100, 162, 62), TWISTING: (100, 162, 218), CABLE: (100, 180, 127), HELMET: (385, 710, 20), FOLDING: (100, 162, 29)}
LASTS = {"plate + twisting plate": 218, "cable + plate": 127, "helmet + folding sheet": 29, "helmet + cable": 127, "helmet + plate": 62}
EULER = {PLATE: 1, TWISTING: 1, CABLE: 0, HELMET: 1, FOLDING: 1}  # a disc, or a tube


def sides(faces):
    """All directed sides of triangles, (3 f, 2)."""
    return np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])


def assert_surface(faces, n, euler):
    """One oriented surface with a border, of which every vertex is used; no side has three triangles, nor two that look different ways."""
    assert faces.dtype == np.int32 and np.array_equal(np.unique(faces), np.arange(n))
    directed = sides(faces)
    assert len(np.unique(directed, axis=0)) == len(directed)
    assert n - len(np.unique(np.sort(directed, axis=1), axis=0)) + len(faces) == euler


def samples(vertices, faces):
    """Points of all triangles, and how far from the nearest of them a point of the surface can be."""
    cuts = round(140 / np.sqrt(len(faces)))
    i, j = np.meshgrid(range(cuts + 1), range(cuts + 1))
    inside = i + j <= cuts
    weights = np.stack([i[inside], j[inside], cuts - i[inside] - j[inside]], axis=1) / cuts
    longest = np.linalg.norm(vertices[faces] - np.roll(vertices[faces], 1, axis=1), axis=2).max()
    return np.einsum("wc,fcx->fwx", weights, vertices[faces]).reshape(-1, 3), longest / cuts / np.sqrt(3)


def bounds(pair, k):
    """The distance of two bodies lies between these."""
    (one, reach), (other, reach_too) = (samples(rows, each.faces) for rows, each in zip(pair.frame(k), pair.actors, strict=True))
    tree = cKDTree(one, balanced_tree=False, compact_nodes=False)  # many points are there twice
    some = tree.query(other[::25])[0].min()
    nearest = min(some, tree.query(other, distance_upper_bound=some)[0].min())
    return nearest - reach - reach_too, nearest


@pytest.mark.parametrize("name", MODELS)
def test_bodies_have_the_sizes_of_table_1(name):
    actor = bitar2011_scenes.actor(name)
    assert (len(actor.places), len(actor.faces), actor.model.frames) == TABLE_1[name]
    assert_surface(actor.faces, len(actor.places), EULER[name])


@pytest.mark.parametrize("name", MODELS)
def test_every_frame_is_another_shape_and_then_the_body_stays(name):
    """Vertices move in every frame, by little of the body's size; and distances between them change: bodies deform."""
    actor = bitar2011_scenes.actor(name)
    frames = np.array([actor.vertices(k) for k in range(actor.model.frames + 1)])
    steps = np.linalg.norm(np.diff(frames, axis=0), axis=2).max(axis=1)
    assert 1e-4 < steps.min() and steps.max() < 0.2 and np.isfinite(frames).all()
    lengths = np.linalg.norm(frames - frames[:, :1], axis=2)
    assert np.abs(np.diff(lengths, axis=0)).max(axis=1).min() > 1e-5
    assert np.array_equal(actor.vertices(500), frames[-1])
    corners = frames[:, actor.faces]
    areas = np.linalg.norm(np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0]), axis=2)
    assert areas.min() > 1e-4


@pytest.mark.parametrize("name", SCENES)
def test_scenes_last_as_long_as_the_longer_of_two(name):
    pair = bitar2011_scenes.scene(name)
    assert pair.frames == LASTS[name] == max(TABLE_1[each.model.name][2] for each in pair.actors)
    assert " + ".join(each.model.name for each in pair.actors) == name
    played = list(bitar2011_scenes.scene(name, 3).play())
    assert len(played) == 3
    for k, frame in enumerate(played, 1):
        assert all(np.array_equal(one, other) for one, other in zip(frame, pair.frame(k), strict=True))
    shorter = min(pair.actors, key=lambda each: each.model.frames)
    at = pair.actors.index(shorter)
    assert np.array_equal(pair.frame(pair.frames)[at], pair.frame(shorter.model.frames)[at])


@pytest.mark.parametrize("name", SCENES)
def test_bodies_are_close_and_never_touch(name):
    """Points on both, so dense that no place is far from one, tell the distance well enough."""
    pair = bitar2011_scenes.scene(name)
    told = [bounds(pair, k) for k in np.linspace(0, pair.frames, 8).round().astype(int)]
    assert min(low for low, _ in told) > 0 and min(high for _, high in told) < 0.2


@pytest.mark.parametrize("faces", [100, 2_000])
@pytest.mark.parametrize("name", SCENES)
def test_refined_bodies_do_not_touch_either(name, faces):
    pair = bitar2011_scenes.refined(bitar2011_scenes.scene(name), faces)
    assert all(0.7 * faces < len(each.faces) < 1.4 * faces for each in pair.actors)
    assert min(bounds(pair, k)[0] for k in np.linspace(0, pair.frames, 4).round().astype(int)) > 0


@given(st.sampled_from(list(MODELS)), st.integers(bitar2011_scenes.LEAST, 3_000))
def test_surfaces_of_any_size_are_whole(name, faces):
    pair = bitar2011_scenes.refined(bitar2011_scenes.alone(name), faces)
    (actor,) = pair.actors
    assert_surface(actor.faces, len(actor.places), EULER[name])
    assert abs(len(actor.faces) - faces) <= 4 * np.sqrt(faces) and (name != HELMET or len(actor.faces) == faces)


@pytest.mark.parametrize("name", MODELS)
def test_a_finer_surface_moves_in_the_same_way(name):
    """Vertices of a coarse mesh are near those of a fine one, in every frame."""
    coarse, fine = (bitar2011_scenes.refined(bitar2011_scenes.alone(name), faces) for faces in (MODELS[name].faces, 20_000))
    for k in (0, coarse.frames // 2, coarse.frames):
        assert cKDTree(fine.frame(k)[0]).query(coarse.frame(k)[0])[0].max() < 0.02


@pytest.mark.parametrize("faces", [49, 100.5, -1])
def test_other_numbers_of_triangles_are_refused(faces):
    with pytest.raises(ValueError, match="faces must be a whole number, 50 or more"):
        bitar2011_scenes.refined(bitar2011_scenes.alone(PLATE), faces)


def test_the_sheet_folds_over_itself():
    """At the end its far edge is above its near one, and the two halves do not touch."""
    (rows,) = bitar2011_scenes.alone(FOLDING).frame(29)
    places = bitar2011_scenes.actor(FOLDING).places
    near, far = rows[places[:, 0] == 0], rows[places[:, 0] == 1]
    assert np.abs(near[:, 0] - far[:, 0]).max() < 0.25 and (far[:, 2] - near[:, 2]).min() > 0.03
    halves = [rows[part] for part in (places[:, 0] < 0.3, places[:, 0] > 0.7)]
    assert cKDTree(halves[0]).query(halves[1])[0].min() > 0.05
