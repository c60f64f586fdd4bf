"""No direction parts features that touch, however close to a miss; most features that are apart are parted."""

import numpy as np
import pytest

from pliant.query.continuous import direction_filter
from pliant.tree.features import MovingEdge, MovingPoint, MovingTriangle

pytestmark = pytest.mark.formulas
N = 4000


def touching(kind, size, seed):
    """(start, end) (N, 4, 3) float64 of features that touch at some time, in [−1, 1]; and the same 32-bit rows as the filter gets them."""
    rng = np.random.default_rng(seed)
    center = rng.uniform(-0.9, 0.9, (N, 1, 3))
    start, end = (center + size * rng.uniform(-1, 1, (N, 4, 3)) for _ in range(2))
    time = rng.choice([0.0, 0.25, 0.5, 1.0], (N, 1))
    place = start * (1 - time[..., None]) + end * time[..., None]
    weights = rng.dirichlet([0.3] * 3, N) if kind == 0 else np.stack([*rng.uniform(0, 1, (2, N))], 1)
    if kind == 0:
        gap = np.einsum("nk,nkj->nj", weights, place[:, 1:]) - place[:, 0]
    else:
        s, t = weights[:, :1], weights[:, 1:]
        gap = place[:, 2] * (1 - t) + place[:, 3] * t - place[:, 0] * (1 - s) - place[:, 1] * s
    moved = slice(0, 1) if kind == 0 else slice(0, 2)                   # the first feature is moved onto the second
    start[:, moved] += gap[:, None]
    end[:, moved] += gap[:, None]
    return start, end


def records(kind, start, end):
    """The features in lanes of float32."""
    rows = [np.float32(points[:, k, axis]) for points in (start, end) for k in range(4) for axis in range(3)]
    none = [np.zeros(len(start), np.float32)] * 6
    if kind == 0:
        return MovingPoint(*none, *rows[:3], *rows[12:15], none[0]), MovingTriangle(*none, *rows[3:12], *rows[15:24], *none[:3])
    return MovingEdge(*none, *rows[:6], *rows[12:18], *none[:2]), MovingEdge(*none, *rows[6:12], *rows[18:24], *none[:2])


def parted(kind, start, end, margin=0.0):
    """Which features the filter parts."""
    first, second = records(kind, start, end)
    names = ("vertex_face_parted", "vertex_face_parted_across") if kind == 0 else ("edges_parted", "edges_parted_across")
    with np.errstate(all="ignore"):
        return np.any([getattr(direction_filter, name)(first, second, np.float32(margin)) for name in names], axis=0)


@pytest.mark.parametrize("size", [1e-1, 1e-3, 1e-6, 1e-12, 0.0])
@pytest.mark.parametrize("kind", [0, 1])
def test_features_that_touch_are_not_parted(kind, size):
    assert not parted(kind, *touching(kind, size, seed=7)).any()


@pytest.mark.parametrize("margin", [0.3, 1e-2, 1e-5])
@pytest.mark.parametrize("kind", [0, 1])
def test_features_within_the_margin_are_not_parted(kind, margin):
    start, end = touching(kind, 1e-3, seed=8)
    away = np.random.default_rng(9).normal(size=(N, 1, 3))
    away *= 0.999 * margin / np.linalg.norm(away, axis=2, keepdims=True)
    first = slice(0, 1) if kind == 0 else slice(0, 2)
    start[:, first] += away
    end[:, first] += away
    assert not parted(kind, start, end, margin).any()


@pytest.mark.parametrize("kind", [0, 1])
def test_features_that_are_apart_are_parted(kind):
    start, end = touching(kind, 1e-2, seed=10)
    first = slice(0, 1) if kind == 0 else slice(0, 2)
    start[:, first] += [0.05, 0.03, 0.02]
    end[:, first] += [0.05, 0.03, 0.02]
    assert parted(kind, start, end).mean() > 0.95
    assert parted(kind, start, end, 0.01).mean() > 0.9


@pytest.mark.parametrize("kind", [0, 1])
def test_what_is_beyond_the_frame_is_not_parted(kind):
    """Coordinates there are infinite: nothing is known of them."""
    start, end = touching(kind, 1e-2, seed=11)
    for k in range(4):
        far = start.copy()
        far[:, k, k % 3] = np.inf
        assert not parted(kind, far, end).any()
