"""What kernels share runs on a GPU too: formulas to the bit, filters that never say the wrong sign, functions chosen by type."""

import numpy as np
import pytest

from pliant.core.device import launch_grid, require_cuda
from pliant.core.simd import fabs
from pliant.geometry.predicates import UNSURE, orient2d, orient3d
from pliant.volume.aabb import Box
from pliant.volume.protocol import inflate, overlap

pytestmark = pytest.mark.cuda

ODD = [0.0, -0.0, 1.5, -2.25, 1e30, -1e-30, 0.1]


def answer(kernel, width, dtype, *arrays):
    """What the kernel writes for each row of the arrays."""
    out = require_cuda().to_device(np.zeros((len(arrays[0]), width), dtype))
    kernel[launch_grid(len(arrays[0]))](*map(require_cuda().to_device, arrays), out)
    return out.copy_to_host()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_formulas_are_the_hosts_to_the_bit(dtype):
    """Products of neighbours of 1 less 1: made one with the sum they would not be 0."""
    import kernels_cuda

    rng, step = np.random.default_rng(1), np.finfo(dtype).eps
    x, y, z = (np.concatenate([rng.normal(size=40), rng.permutation(ODD), [last]]).astype(dtype)
               for last in (1 + step, 1 - step, -1))
    found = answer(kernels_cuda.formulas, 6, dtype, x, y, z)
    expected = np.stack([x * y + z, np.minimum(x, y), np.maximum(x, y), np.abs(x), np.where(x < y, y, z), np.sqrt(np.abs(z))], axis=1)
    np.testing.assert_array_equal(found, expected)
    assert found[-1, 0] == 0
    assert found.dtype == dtype


def test_filters_say_the_sign_or_nothing():
    """Points near one plane, some of them in it: a GPU rounds less often, so that other signs are unsure, but none is wrong."""
    import kernels_cuda

    rng = np.random.default_rng(2)
    points = rng.integers(-4, 5, (60, 4, 3)) * 0.1
    points[:20, 3] = points[:20, :3].mean(axis=1)
    points[20:30, 3] += 1e-16
    flat = np.ascontiguousarray(points.reshape(-1, 12))
    found = answer(kernels_cuda.signs, 2, np.int64, flat)
    exact = np.array([[orient3d(t, 0, 3, 6, 9), orient2d(t[0], t[1], t[3], t[4], t[6], t[7])] for t in flat])
    assert ((found == exact) | (found == UNSURE)).all()
    assert {-1, 1, UNSURE} <= set(found[:, 0].tolist()) and {-1, 1} <= set(found[:, 1].tolist())


def test_functions_are_chosen_by_type():
    import kernels_cuda

    rng = np.random.default_rng(3)
    low = rng.random((30, 2, 3))
    rows = np.concatenate([low, low + 0.3 * rng.random((30, 2, 3))], axis=2).reshape(30, 12).astype(np.float32)
    pairs = [(Box(*row[:6]), Box(*row[6:])) for row in rows]
    expected = np.array([[overlap(a, b), overlap(inflate(a, fabs(a.lox)), b), 1] for a, b in pairs])
    assert 0 < expected[:, 0].sum() < expected[:, 1].sum() < 30
    np.testing.assert_array_equal(answer(kernels_cuda.boxes, 3, np.int64, rows), expected)
