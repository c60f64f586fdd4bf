"""`self_collide` gives what the reference gives on folds, flat and smooth sheets, surfaces that are none, and in all sizes."""

import numba
import numpy as np
import pytest

import meshes
import naive
import pliant as pl
from pliant import shapes

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
TINIEST, MOST = 5e-324, 1.7976931348623157e308
NONE = np.zeros((0, 2), np.int32)


# --- folds ---------------------------------------------------------------------------------------------------------------------

CLOTH = shapes.sheet(3, 3) if OFF else shapes.sheet(8, 8)
CREASES = {
    "in the middle": lambda v: np.column_stack([np.abs(v[:, 0] - 0.5), v[:, 1], v[:, 2]]),
    "off the middle": lambda v: np.column_stack([np.abs(v[:, 0] - 0.4), v[:, 1], v[:, 2]]),
    "along the diagonal": lambda v: np.column_stack([np.maximum(v[:, 0], v[:, 1]), np.minimum(v[:, 0], v[:, 1]), v[:, 2]]),
    "across the diagonal": lambda v: np.column_stack([np.minimum(v[:, 0], 1 - v[:, 1]), np.minimum(v[:, 1], 1 - v[:, 0]), v[:, 2]]),
    "half of it onto the diagonal": lambda v: np.column_stack([np.maximum(v[:, 0], 1 - v[:, 1]), v[:, 1], v[:, 2]]),
    "twice": lambda v: np.column_stack([np.abs(v[:, 0] - 0.5), np.abs(v[:, 1] - 0.5), v[:, 2]]),
    "a hair's breadth apart": lambda v: np.column_stack([np.abs(v[:, 0] - 0.5), v[:, 1], TINIEST * (v[:, 0] > 0.5)]),
    "nearly": lambda v: np.column_stack([np.abs(v[:, 0] - 0.5), v[:, 1], 1e-17 * np.abs(v[:, 0] - 0.5) * (v[:, 0] > 0.5)]),
    "at a right angle": lambda v: np.column_stack([np.minimum(v[:, 0], 0.5), v[:, 1], np.maximum(v[:, 0] - 0.5, 0)]),
}


@pytest.mark.formulas
@pytest.mark.parametrize("tilt", [False, True], ids=["aligned", "tilted"])
@pytest.mark.parametrize("name", CREASES)
def test_folded_cloth(name, tilt, kept):
    """From flat to folded and back, by update. A fold off the vertices bends faces along an edge of theirs, and is as exact."""
    body = pl.Body(*CLOTH, **kept)
    vertices = CREASES[name](CLOTH[0])
    body.update(vertices @ meshes.rotation((1, 2, 3), 0.7).T if tilt else vertices)
    found = meshes.assert_right_self(body)
    if name == "at a right angle":
        assert len(found) == 0
    elif not tilt and name not in ("a hair's breadth apart", "nearly"):
        assert len(found) > 5
    body.update(CLOTH[0])
    meshes.assert_right_self(body, NONE)


def test_an_accordion(kept):
    """Pleats that come ever closer, and lie on each other in the end."""
    vertices, faces = shapes.sheet(8, 3)
    body, column = pl.Body(vertices, faces, **kept), np.round(vertices[:, 0] * 8)
    for step in (1.0, 1e-3, 1e-9, 1e-16, TINIEST, 0.0):
        body.update(np.column_stack([step * column, vertices[:, 1], column % 2]))
        assert bool(meshes.assert_right_self(body)) == (step == 0.0)
        body.update(np.column_stack([step * column, vertices[:, 1], column % 2]) @ meshes.rotation((1, 2, 3), 0.7).T)
        meshes.assert_right_self(body)


def test_a_rolled_sheet(kept):
    """Rolled up inside itself it is free; as a tube its borders touch; a little more and it passes through itself."""
    vertices, faces = shapes.sheet(16, 3)
    body = pl.Body(vertices, faces, **kept)
    for times, shrink, meets in ((0.9, 0.0, False), (1.7, 0.4, False), (1.0, 0.0, True), (1.3, 0.0, True)):
        angle, radius = 2 * np.pi * times * vertices[:, 0], 1 - shrink * vertices[:, 0]
        rolled = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), vertices[:, 1]])
        if times == 1.0:
            rolled[16::17] = rolled[::17]
        body.update(rolled)
        assert bool(meshes.assert_right_self(body)) == meets


# --- smooth --------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_flat_sheets_need_no_exact_arithmetic(kept):
    """Neighbours in one plane are what a mesh is made of: filters settle them all."""
    vertices, faces = shapes.sheet(4, 4) if OFF else shapes.sheet(24, 24)
    rng = np.random.default_rng(66)
    body = pl.Body(vertices, faces, **kept)
    for turn in range(2 if OFF else 40):
        frame = vertices if turn == 0 else vertices @ np.linalg.qr(rng.standard_normal((3, 3)))[0] + rng.standard_normal(3) * (turn % 4)
        body.update(frame * 10.0 ** rng.integers(-3, 4) if turn % 3 == 2 else frame)
        found = pl.self_collide(body)
        assert len(found) == 0
        assert found.stats.n_exact == 0


@pytest.mark.parametrize("plane", range(3))
def test_flat_sheets_along_axes(plane, kept):
    vertices, faces = shapes.sheet(12, 12)
    body = pl.Body(np.roll(vertices, plane, axis=1), faces, **kept)
    found = meshes.assert_right_self(body, NONE)
    assert found.stats.n_exact == 0


def test_curved_sheets_and_closed_surfaces(kept):
    vertices, faces = shapes.sheet(30, 30)
    x, y, _ = vertices.T
    waves = np.column_stack([x, y, 0.1 * np.sin(9 * x) * np.cos(7 * y)])
    directions, triangles = shapes.icosphere(4)
    for rows, corners in ((waves, faces), (shapes.bumpy(directions, 0.7), triangles), (shapes.bumpy(directions, 3.1, 0.2), triangles)):
        found = meshes.assert_right_self(pl.Body(rows, corners, **kept), NONE)
        assert found.stats.n_exact == 0


@pytest.mark.formulas
def test_small_closed_surfaces():
    tetrahedron = np.vstack([np.zeros(3), np.eye(3)]), [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    for vertices, faces in (shapes.icosphere(0), meshes.cube(), tetrahedron):
        assert len(naive.self_collide(vertices, faces)) == 0
        meshes.assert_right_self(pl.Body(vertices, faces), NONE)


# --- surfaces that are none ------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("pages", [2, 3, 7, 12])
def test_a_book(pages, kept):
    """Many faces at one edge: free, until a page lies on another."""
    angle = 2 * np.pi * np.arange(pages) / pages
    spine = np.array([[0.0, 0, 0], [0, 0, 1]])
    faces = np.column_stack([np.arange(pages) % 2, 1 - np.arange(pages) % 2, 2 + np.arange(pages)])
    body = pl.Body(np.vstack([spine, np.column_stack([np.cos(angle), np.sin(angle), 0.3 + 0 * angle])]), faces, **kept)
    meshes.assert_right_self(body, NONE)
    shut = np.vstack([spine, np.column_stack([np.ones(pages), np.zeros(pages), np.linspace(-1, 2, pages)])])
    body.update(shut)
    assert len(meshes.assert_right_self(body)) == pages * (pages - 1) // 2
    shut[3, 0] = -1
    body.update(shut)
    assert len(meshes.assert_right_self(body)) == (pages - 1) * (pages - 2) // 2


@pytest.mark.formulas
def test_surfaces_that_touch_in_a_vertex(kept):
    """Two cones tip to tip are free; one inside the other, or one through the other, at a common tip."""
    n = 5
    rim = meshes.ring(n, True, 1.0, -0.5)
    faces = meshes.fan(rim, True)[1]
    both = np.vstack([faces, np.where(faces > 0, faces + n, 0)])
    for other, meets in ((-rim, False), (rim * [0.5, 0.5, 1], False), (rim * [1, 0.3, 1] + [0.4, 0, 0], True), (rim, True), (2 * rim, True),
                         (rim * [1, 1, 1.5], False)):
        body = pl.Body(np.vstack([np.zeros(3), rim, other]), both, **kept)
        assert bool(meshes.assert_right_self(body)) == meets
        body.update(body.vertices @ meshes.rotation((1, 2, 3), 0.7).T + 0.1)
        meshes.assert_right_self(body)


@pytest.mark.formulas
@pytest.mark.parametrize("twists", [1, 2, 3])
def test_a_twisted_band(twists, kept):
    """A Möbius band has no consistent orientation; that of its faces is not asked for."""
    n = 8 if OFF else 24
    turn = 2 * np.pi * np.arange(n) / n
    across = 0.3 * np.stack([np.cos(turn / 2 * twists), np.sin(turn / 2 * twists)], 1)[:, None] * np.array([1, -1])[:, None]
    radius = 1 + across[..., 0]
    vertices = np.stack([radius * np.cos(turn)[:, None], radius * np.sin(turn)[:, None], across[..., 1]], 2).reshape(-1, 3)
    left, right, ahead, beside = 2 * np.arange(n), 2 * np.arange(n) + 1, 2 * np.arange(n) + 2, 2 * np.arange(n) + 3
    ahead[-1], beside[-1] = (0, 1) if twists % 2 == 0 else (1, 0)
    faces = np.vstack([np.column_stack([left, right, ahead]), np.column_stack([right, ahead, beside])])
    found = meshes.assert_right_self(pl.Body(vertices, faces, **kept))
    assert len(found) == 0 or OFF
    faces[::3] = faces[::3, ::-1]
    meshes.assert_right_self(pl.Body(vertices, faces, **kept), found.faces)


# --- sizes ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", meshes.SIZES)
def test_places_and_sizes(name, kept):
    """A sphere that passes through itself, and one that is crumpled, elsewhere and in another size, rounded as it comes."""
    offset, size = meshes.SIZES[name]
    directions, faces = shapes.icosphere(1)
    body = pl.Body(directions * size + offset, faces, **kept)
    crumple = np.random.default_rng(67).standard_normal(directions.shape)
    for vertices in (meshes.pinched(directions, 1.5), directions + 0.4 * crumple):
        body.update(vertices * size + offset)
        assert len(meshes.assert_right_self(body)) > 0


@pytest.mark.formulas
def test_from_end_to_end_of_float64(kept):
    wide = np.array([[0, 0, 0], [MOST, -MOST, 0], [MOST, MOST, 0], [-MOST, MOST, 0], [-MOST, -MOST, 0], [MOST, 0, TINIEST],
                     [0, MOST, MOST]])
    faces = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [0, 5, 6], [1, 2, 6], [3, 4, 6], [5, 6, 6]]
    assert len(meshes.assert_right_self(pl.Body(wide, faces, **kept))) > 0
    meshes.assert_right_self(pl.Body(np.sign(wide) * TINIEST, faces, **kept))
