"""mode="sampled", the paper's way: what fine rays find, what coarse ones miss and how many pairs they say it is, passes, open surfaces."""

import numpy as np
import pytest

import meshes
import pliant as pl
from pliant import shapes
from pliant.core.jit import DISABLED as OFF
from pliant.image.api import query
from pliant.image.options import CheckedOptions

FRAMES = shapes.bumpy_pair(1_280, 9)


def pair(k):
    a, b = FRAMES.frame(k)
    return (a, FRAMES.faces), (b, FRAMES.faces)


def sampled(a, b=None, **options):
    if b is None:
        return pl.self_collide(a, engine="image", mode="sampled", **options)
    return pl.collide(a, b, engine="image", mode="sampled", **options)


def missed(found, right):
    """How many pairs are missing; what is found is right."""
    lost = {tuple(row) for row in right.faces.tolist()} - {tuple(row) for row in found.faces.tolist()}
    assert len(right) == len(found) + len(lost)
    return len(lost)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_fine_rays_find_all_pairs_of_closed_bodies(k):
    a, b = pair(k)
    right = pl.collide(a, b, engine="image")
    assert len(right) > 100
    for direction in (None, (1, 2, 3)):
        found = sampled(a, b, resolution=256, direction=direction)
        assert missed(found, right) == 0
        assert found.image.missed < 0.01 * len(right)
        assert (found.image.size, found.image.passes) == (256, -(-found.image.depth // 2))
        assert found.image.depth % 2 == 0 and found.image.fragments % 2 == 0
        swapped = sampled(b, a, resolution=256, direction=direction)
        assert sorted(swapped.faces[:, ::-1].tolist()) == found.faces.tolist()


def cloud(n, size, shift):
    """Closed bodies of four faces, all over a cube of size 1."""
    at = np.random.default_rng(5).uniform(0, 1, (n, 1, 3)) + size * np.array(shift)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]) + 4 * np.arange(n)[:, None, None]
    return (size * np.vstack([np.zeros(3), np.eye(3)]) + at).reshape(-1, 3), faces.reshape(-1, 3)


def test_coarse_rays_miss_some_and_say_how_many():
    """Bodies that a ray seldom meets. The estimate is no more than a hint, but where pairs are missed it is no small one, and where rays
    are fine it is next to nothing."""
    a, b = cloud(300, 0.02, (0, 0, 0)), cloud(300, 0.02, (0.15, 0.2, 0.1))
    right = pl.collide(a, b, engine="image")
    assert len(right) > 800
    for resolution in (8, 16, 64, 128):
        found = sampled(a, b, resolution=resolution)
        lost = missed(found, right)
        assert lost > 50
        assert found.image.missed > lost / 3
    for resolution in (256, 512):
        found = sampled(a, b, resolution=resolution)
        assert missed(found, right) <= 0.01 * len(right)
        assert found.image.missed <= 0.01 * len(right)


@pytest.mark.formulas
def test_boxes_that_cross():
    """A cube through which a thinner and longer one goes: few faces, any resolution that has a ray through both."""
    a = meshes.cube()
    b = (meshes.cube()[0] * [3, 0.4, 0.4] + [-1, 0.3, 0.3], meshes.cube()[1])
    right = pl.collide(a, b, engine="image", resolution=8)
    assert len(right) > 4
    for direction in (None, (1, 2, 3)):
        found = sampled(a, b, resolution=8, direction=direction)
        assert missed(found, right) == 0
        assert found.image.rays > 0


@pytest.mark.formulas
def test_bodies_apart_have_no_rays():
    """Fronts and backs take turns on every ray, though the boxes of the bodies overlap; conservative rays are fatter."""
    directions, faces = shapes.icosphere(0 if OFF else 2)
    a, b = (directions, faces), (directions + [1.3, 1.3, 0.9], faces)
    found = sampled(a, b, resolution=7 if OFF else 100)
    assert (len(found), found.image.rays, found.image.packed, found.image.tests, found.image.missed) == (0, 0, 0, 0, 0.0)
    assert found.image.fragments > 0
    assert len(pl.collide(a, b, engine="image", resolution=7)) == 0


def test_passes_and_what_becomes_of_the_rest():
    a, b = pair(3)
    right = pl.collide(a, b, engine="image")
    whole = sampled(a, b, resolution=200)
    needed = whole.image.passes
    assert needed > 2
    for passes in range(1, needed + 2):
        marked, dropped = (sampled(a, b, resolution=200, passes=passes, rest=rest) for rest in ("mark", "drop"))
        assert marked.image.passes == dropped.image.passes == min(passes, needed)
        assert missed(marked, right) == 0
        assert missed(dropped, right) >= (len(right) if passes == 1 else 0)
        assert dropped.image.rays <= whole.image.rays <= marked.image.rays
    assert np.array_equal(dropped.faces, whole.faces)


def test_one_end_finds_what_two_do_in_twice_the_passes():
    a, b = pair(3)
    one, two = (query({"a": a, "b": b}, False, False, True, CheckedOptions(200, "sampled", ends=ends)) for ends in (1, 2))
    assert np.array_equal(one.faces, two.faces) and len(two)
    assert (one.image.rays, one.image.passes) == (two.image.rays, one.image.depth)
    assert two.image.passes == -(-two.image.depth // 2)


def test_a_closed_body_with_itself():
    """Two dents that have passed through each other."""
    directions, faces = shapes.icosphere(3)
    for amount in (0.5, 1.5):
        a = meshes.pinched(directions, amount), faces
        right = pl.self_collide(a, engine="image")
        assert missed(sampled(a, resolution=300), right) == 0
        assert bool(right) == (amount > 1)


def test_open_surfaces():
    """A sheet that crosses another, and a folded one: facings say nothing there, nearness does. Rays must not run along either."""
    vertices, faces = shapes.sheet(12, 12)
    other = vertices[:, [0, 2, 1]] * [1, 1, 0.7] + [0.1, 0.4, -0.31]
    a, b = (vertices, faces), (other + 0.05 * np.sin(5 * other[:, [1, 2, 0]]), faces)
    right = pl.collide(a, b, engine="image")
    assert len(right) > 20
    for direction in ((1, 2, 3), (0.1, 1, 1), (-1, 1, 1)):
        assert missed(sampled(a, b, resolution=300, direction=direction), right) == 0
    folded = np.column_stack([np.abs(vertices[:, 0] - 0.4), vertices[:, 1], (vertices[:, 0] - 0.4) * (vertices[:, 1] - 0.55)]), faces
    right = pl.self_collide(folded, engine="image")
    assert len(right) > 5
    assert missed(sampled(folded, resolution=300, direction=(0.1, 0.2, 1)), right) == 0


def test_whether_surfaces_are_closed_may_be_said():
    """By default it is looked up. Closed ones may be treated as open: nearness finds nearly the same, on fewer rays. An open one, said
    to be closed, has an odd number of fragments on its rays, which puts them on."""
    a, b = pair(2)
    looked_up, said, as_open = (sampled(a, b, resolution=256, closed=closed) for closed in (None, True, False))
    assert np.array_equal(looked_up.faces, said.faces) and looked_up.image == said.image
    assert missed(as_open, said) <= 0.01 * len(said) and as_open.image.rays < said.image.rays / 2
    opened = a[0], a[1][1:]
    assert sampled(opened, b, resolution=64).image == sampled(opened, b, resolution=64, closed=False).image
    sheet = shapes.sheet(3, 3)
    level = sheet[0] + [0, 0, 0.5], sheet[1]
    one = meshes.joined(sheet, (sheet[0] + [0, 0, 1], sheet[1]))
    assert sampled(one, level, resolution=9, direction=(0, 0, 1)).image.rays == 0
    assert sampled(one, level, resolution=9, direction=(0, 0, 1), closed=True).image.rays == 81


@pytest.mark.parametrize("resolution", [1, 2, 3, 7])
def test_tiny_screens(resolution):
    a, b = pair(3)
    found = sampled(a, b, resolution=resolution)
    missed(found, pl.collide(a, b, engine="image"))
    assert found.image.size == resolution and found.image.rays <= resolution**2


def test_first_and_contacts():
    a, b = pair(3)
    whole = sampled(a, b, resolution=64, contacts=True)
    one = sampled(a, b, resolution=64, first=True)
    assert len(one) == 1 and one.faces.tolist()[0] in whole.faces.tolist()
    assert whole.segments.shape == (len(whole), 2, 3)


def test_seconds_by_pass_are_taken_if_asked_for():
    a, b = pair(3)
    clocked = query({"a": a, "b": b}, False, False, True, CheckedOptions(mode="sampled", resolution=64), timed=True)
    assert min(clocked.image.seconds) > 0
    assert sampled(a, b, resolution=64).image.seconds == (0.0,) * 5
