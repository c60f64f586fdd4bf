"""The pictures of the documentation are those that docs/pictures.py draws, and what they show is still what the library answers."""

import re

import numpy as np
import pytest

from doc_scripts import DOCS, script
from pliant import shapes

PAGE = (DOCS / "self-collision.md").read_text(encoding="utf-8")
STRIPS = ["share-none", "share-one", "share-two", "share-three", "weld", "contacts"]
BADGE = np.s_[14:52, 20:100]  # of a panel


@pytest.fixture(scope="module")
def pictures():
    with script("pictures") as module:
        yield module


def reddish(image):
    pixels = np.asarray(image).astype(int)
    return pixels[..., 0] > 2 * np.maximum(pixels[..., 1], pixels[..., 2])


def test_pictures_and_page_name_each_other(pictures):
    used = set(re.findall(r"\(images/([\w-]+)\.png\)", PAGE))
    assert used == {*pictures.STRIPS, "cloth"}
    assert list(pictures.STRIPS) == STRIPS


def test_pictures_are_there_and_small(pictures):
    for name in (*pictures.STRIPS, "cloth"):
        assert 1_000 < (pictures.IMAGES / f"{name}.png").stat().st_size < 120_000


@pytest.mark.parametrize("name", STRIPS)
def test_what_is_drawn_is_what_is_told(pictures, name):
    """The script asserts the answers; panels are red where the library says so, and nowhere else."""
    for panel in pictures.STRIPS[name]():
        image = panel.image(400, 400)
        assert image.size == (400, 400)
        assert bool(reddish(image).any()) == panel.collides
        assert reddish(np.asarray(image)[BADGE]).any() == panel.collides


def test_a_cloth_is_drawn(pictures):
    image = np.asarray(pictures.cloth())
    assert reddish(image[:, :800]).sum() > 1_000 and reddish(image[:, 850:]).sum() > 1_000


def test_a_falling_cloth_is_drawn(tmp_path):
    """Six frames of a folder as examples/15_falling_cloth.py writes it, with cloth and body in each."""
    flat, faces = shapes.sheet(8, 8)
    ball, sides = shapes.icosphere(2)
    np.savez(tmp_path / "cloth.npz", faces=faces, vertices=[flat + [0, 0, 2.0 - 0.1 * k] for k in range(11)])
    np.savez(tmp_path / "body.npz", faces=sides, vertices=11 * [0.4 * ball])
    with script("falling_cloth_pictures") as module:
        from PIL import Image

        module.main(tmp_path, tmp_path)
        image = np.asarray(Image.open(tmp_path / "falling-cloth.png").convert("RGB")).astype(int)
        assert image.shape == (2 * module.HEIGHT, 3 * module.SIDE, 3)
        panels = image.reshape(2, module.HEIGHT, 3, module.SIDE, 3).swapaxes(1, 2).reshape(6, -1, 3)
        for panel in panels:
            bluish, sandy = panel[:, 2] - panel[:, 0], panel[:, 0] - panel[:, 2]
            assert (bluish > 40).sum() > 500 and (sandy > 40).sum() > 500
        assert (module.IMAGES / "falling-cloth.png").stat().st_size < 120_000
