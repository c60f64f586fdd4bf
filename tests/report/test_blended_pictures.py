"""The picture of docs/blended.md is what its script draws: a body that is pulled, and swings past its shape when it is let go."""

import numpy as np
import pytest

from doc_scripts import DOCS, script


@pytest.fixture(scope="module")
def pictures():
    with script("blended_pictures") as module:
        yield module


def test_the_picture_is_there_and_on_its_page(pictures):
    path = pictures.IMAGES / "blended.png"
    assert 1_000 < path.stat().st_size < 120_000
    assert "(images/blended.png)" in (DOCS / "blended.md").read_text(encoding="utf-8")


def test_what_is_drawn_is_what_is_told(pictures):
    """At rest vertices are as modelled; the arm is pulled far to the right, swings back past the middle, and what is held stays."""
    shown = pictures.moments(4)
    rest, maps = shown.seen[0]
    np.testing.assert_allclose(pictures.blended(shown.weights, maps, shown.vertices), shown.vertices, atol=1e-9)
    right = [(positions - rest)[shown.pulled, 0].mean() for positions, _ in shown.seen]
    assert right[1] > 0.3 and right[2] < 0
    assert all((positions[shown.held] == rest[shown.held]).all() for positions, _ in shown.seen)
    image = np.asarray(pictures.side_by_side(shown)).astype(int)
    assert image.shape == (pictures.SIDE + pictures.FOOT, 3 * pictures.SIDE, 3)
    columns = [np.nonzero(panel[..., 0] > 1.3 * np.maximum(panel[..., 1], panel[..., 2]))[1] for panel in np.split(image, 3, axis=1)]
    assert min(map(len, columns)) > 20
    assert columns[1].mean() > columns[0].mean() + 40 and columns[2].mean() < columns[1].mean() - 40
