"""Pictures show the nearest face of every pixel in its colour, and nothing where nothing is; files are written whole or not at all."""

import os
import sys

import numpy as np
import pytest

from pliant import shapes
from pliant.report import picture

pytestmark = pytest.mark.formulas

SIZE = 64
RED, BLUE, GREY = (0.9, 0.05, 0.05), (0.05, 0.1, 0.9), (0.6, 0.6, 0.6)
FRONT = picture.Viewpoint(azimuth=0.0, elevation=0.0)  # from +x: y to the right, z up
SQUARE = np.array([[0.0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]]), np.array([[0, 1, 2], [0, 2, 3]])


def moved(mesh, x, scale=1.0):
    return mesh[0] * scale + np.array([x, 0, 0]), mesh[1]


def is_red(image):
    pixels = image.astype(int)
    return pixels[..., 0] > 2 * np.maximum(pixels[..., 1], pixels[..., 2])


def is_blue(image):
    pixels = image.astype(int)
    return pixels[..., 2] > 2 * np.maximum(pixels[..., 0], pixels[..., 1])


def backdrop(size=SIZE):
    return picture.draw([], [], size)


def test_without_meshes_there_is_the_backdrop():
    image = backdrop()
    assert image.shape == (SIZE, SIZE, 3) and image.dtype == np.uint8
    assert image.min() > 150
    np.testing.assert_array_equal(picture.draw([([], [])], [GREY], SIZE), image)
    np.testing.assert_array_equal(picture.draw([(SQUARE[0], [])], [GREY], SIZE), image)


DEGENERATE = {
    "three equal corners": ([[0, 0, 0]], [[0, 0, 0]]),
    "all at one place": (np.zeros((4, 3)), [[0, 1, 2], [1, 2, 3]]),
    "a segment": ([[0, -1, 0], [0, 1, 0]], [[0, 1, 1]]),
    "three on a line": ([[0, -1, 0], [0, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
    "seen edge-on": ([[0, -1, 0], [0, 1, 0], [1, 0, 0]], [[0, 1, 2]]),
}


@pytest.mark.parametrize("mesh", DEGENERATE.values(), ids=DEGENERATE.keys())
def test_degenerate_faces_are_no_error(mesh):
    np.testing.assert_array_equal(picture.draw([mesh], [RED], SIZE, FRONT), backdrop())
    assert is_red(picture.draw([mesh, SQUARE], [BLUE, RED], SIZE, FRONT)).sum() > SIZE * SIZE // 2


def test_a_mesh_fills_the_picture_but_for_a_margin():
    image = picture.draw([SQUARE], [RED], SIZE, FRONT)
    rows, columns = np.nonzero(is_red(image))
    free = round(SIZE * picture.VIEW_MARGIN / (1 + 2 * picture.VIEW_MARGIN))
    assert abs(rows.min() - free) <= 1 and abs(columns.min() - free) <= 1
    assert abs(rows.max() - (SIZE - 1 - free)) <= 1 and abs(columns.max() - (SIZE - 1 - free)) <= 1
    outside = np.ones((SIZE, SIZE), bool)
    outside[free - 1:SIZE - free + 1, free - 1:SIZE - free + 1] = False
    np.testing.assert_array_equal(image[outside], backdrop()[outside])


def test_left_right_up_and_down():
    vertices, faces = SQUARE
    image = picture.draw([(vertices, faces[:1])], [RED], SIZE, FRONT)  # the corner y = 1, z = -1 and its two neighbours
    assert is_red(image[SIZE // 2:, SIZE // 2:]).mean() > 0.6
    assert is_red(image[:SIZE // 2, :SIZE // 2]).mean() < 0.1


def test_the_nearest_face_is_seen():
    """Whatever comes first in the list; ties go to the smallest index."""
    near, far = moved(SQUARE, 1.0, 0.5), moved(SQUARE, -1.0)
    for meshes, colours in (([near, far], [RED, BLUE]), ([far, near], [BLUE, RED])):
        image = picture.draw(meshes, colours, SIZE, FRONT)
        assert is_red(image[SIZE // 2 - 4:SIZE // 2 + 4, SIZE // 2 - 4:SIZE // 2 + 4]).all()
        assert is_blue(image[8:12, 8:12]).all()
    assert is_blue(picture.draw([SQUARE, SQUARE], [BLUE, RED], SIZE, FRONT)).sum() > SIZE * SIZE // 2
    from_behind = picture.Viewpoint(azimuth=180.0, elevation=0.0)
    assert not is_red(picture.draw([near, far], [RED, BLUE], SIZE, from_behind)).any()


def test_each_face_may_have_its_colour():
    vertices, faces = shapes.icosphere(2)
    colours = np.tile(GREY, (len(faces), 1))
    image = picture.draw([(vertices, faces)], [colours], SIZE)
    assert not is_red(image).any()
    colours[vertices[faces].mean(axis=1)[:, 2] > 0.5] = RED
    image = picture.draw([(vertices, faces)], [colours], SIZE)
    assert is_red(image[:SIZE // 3]).any() and not is_red(image[2 * SIZE // 3:]).any()


def test_a_see_through_face_lets_the_next_one_shine():
    near, far = moved(SQUARE, 1.0), moved(SQUARE, -1.0)
    solid = picture.draw([near, far], [(*GREY, 1.0), RED], SIZE, FRONT)
    clear = picture.draw([near, far], [(*GREY, 0.05), RED], SIZE, FRONT)
    middle = np.s_[SIZE // 4:3 * SIZE // 4, SIZE // 4:3 * SIZE // 4]
    assert not is_red(solid[middle]).any()
    assert is_red(clear[middle]).all()
    assert (clear[middle] != picture.draw([far], [RED], SIZE, FRONT)[middle]).any()


def test_a_view_may_be_closer():
    view = FRONT._replace(centre=(0.0, 0.9, 0.9), width=0.2)
    image = picture.draw([SQUARE], [RED], SIZE, view)
    assert is_red(image[SIZE // 2:, :SIZE // 2]).all()
    wide = picture.draw([SQUARE], [RED], SIZE, FRONT._replace(width=20.0))
    assert 20 < is_red(wide).sum() < 60


def test_vertices_without_faces_do_not_matter():
    vertices, faces = SQUARE
    stray = np.concatenate([vertices, [[0, 1e6, 0]]])
    np.testing.assert_array_equal(picture.draw([(stray, faces)], [RED], SIZE, FRONT), picture.draw([SQUARE], [RED], SIZE, FRONT))


def test_pictures_are_the_same_every_time_and_in_blocks(monkeypatch):
    sphere = shapes.icosphere(2)
    image = picture.draw([sphere], [GREY], SIZE)
    monkeypatch.setattr(picture, "FRAGMENT_BLOCK", 50)
    np.testing.assert_array_equal(picture.draw([sphere], [GREY], SIZE), image)


def test_every_mesh_needs_a_colour():
    with pytest.raises(ValueError, match="colours: 1 entries for 2 meshes"):
        picture.draw([SQUARE, SQUARE], [RED], SIZE)
    with pytest.raises(ValueError):
        picture.draw([SQUARE], [np.ones((3, 3))], SIZE)


def test_a_detail_goes_where_least_is_hidden():
    vertices, faces = SQUARE
    image = picture.draw([(vertices, faces[:1])], [RED], 120, FRONT)  # nothing in the upper left
    detail = np.zeros((30, 30, 3), np.uint8)
    framed = picture.insert_detail(image, detail)
    black = np.argwhere((framed == 0).all(axis=2))
    assert len(black) == 900 and black.max() < 60
    assert is_red(framed).sum() == is_red(image).sum()
    assert (image == picture.draw([(vertices, faces[:1])], [RED], 120, FRONT)).all()


# ------------------------------------------------------------------------------------------------ files

def test_a_saved_picture_is_read_again(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    image = picture.draw([SQUARE], [RED], SIZE, FRONT)
    path = picture.save_picture(tmp_path / "new" / "folder" / "picture.png", image)
    assert path == tmp_path / "new" / "folder" / "picture.png"
    with image_module.open(path) as found:
        np.testing.assert_array_equal(np.asarray(found), image)
    assert picture.save_picture(str(path), image[::-1]) == path
    assert os.listdir(path.parent) == ["picture.png"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, error):
    image_module = pytest.importorskip("PIL.Image")
    path = picture.save_picture(tmp_path / "picture.png", backdrop())
    before = path.read_bytes()

    def fail(self, target, *_, **__):
        with open(target, "wb") as file:
            file.write(b"half a picture")
        raise error

    monkeypatch.setattr(image_module.Image, "save", fail)
    with pytest.raises(type(error)):
        picture.save_picture(path, backdrop()[::-1])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["picture.png"]


def test_without_pillow_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"Pillow.*pip install 'pliant\[pictures\]'"):
        picture.save_picture(tmp_path / "picture.png", backdrop())
    assert os.listdir(tmp_path) == []
