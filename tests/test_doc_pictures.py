"""The pictures of the documentation are those that docs/pictures.py draws, and what they show is still what the library answers."""

import re

import numpy as np
import pytest

from doc_scripts import DOCS, script

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
