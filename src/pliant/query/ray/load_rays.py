"""Rays of a query, as kernels load them: in batches, those of a picture in tiles.

Rays that come row by row are traced tile by tile, since the rays of a tile meet the same leaves. In memory the rows of a tile are far
apart; so all rows of a band of tiles are loaded in one stream (`begin_band`) before its first tile.
"""
import math
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import extract, fabs, load, load4, maximum, movemask, store4, transpose4x3, vector4
from pliant.core.soa import prefetch
from pliant.core.stack import stack_float64
from pliant.geometry.predicates import lanes_in_range
from pliant.geometry.ray_triangle import ldexp
from pliant.query.ray.leaf import ALL_HITS, BATCH, INV_STEP, SCALE, START_ERROR, STEP
from pliant.query.ray.transform import inverse_step, shears_of, start_error

TILE = 8                                                                # rays, whose square is BATCH
MAX_UNSCALED = 2.0**20
MIN_IMAGE, MIN_WIDTH, ROW_JUMP_RATIO = 1 << 13, 32, 8.0                 # rays that are looked at; in a row; steps between neighbours


class Rays(NamedTuple):
    """Flat origins and directions, limits and masks; those with a step of 0 are the same for all rays. If they are those of a picture,
    `width` says how many are in a row, a multiple of TILE, and they are taken in tiles; else it is 0."""
    origins: np.ndarray
    directions: np.ndarray
    t_min: np.ndarray
    t_max: np.ndarray
    masks: np.ndarray
    strides: np.ndarray                                                 # (5,) int64
    n: int
    width: int


class RayHits(NamedTuple):
    """What goes back: (n,), (n,), (n,), (2 n,)."""
    t: np.ndarray
    face: np.ndarray
    body: np.ndarray
    uv: np.ndarray


class RayTraits(NamedTuple):
    """Bits of the rays that can hit anything, that are in the range of the filters, and whose longest axis is x, and y."""
    valid: int
    in_filter_range: int
    x_dominant: int
    y_dominant: int


def image_width(origins, directions):
    """How many rays are in a row, if they look like those of a picture, row by row: neighbours go nearly the same way, but for the last of
    a row and the first of the next. 0: they do not. A guess: it changes the order of the work, nothing else."""
    with np.errstate(all="ignore"):
        rows = [flat.reshape(-1, 3)[:MIN_WIDTH + 1] for flat in (origins, directions) if len(flat) > 3]
        usual = np.median(sum(np.square(np.diff(some, axis=0)).sum(axis=1) for some in rows))
        width = row_width(origins, directions, MIN_IMAGE, ROW_JUMP_RATIO**2 * usual)
    return width if width > MIN_WIDTH and width % TILE == 0 else 0


@helper
def jump(flat, i):
    """The square of the way from row i to the next, of vectors; 0 if there is one for all."""
    total = 0.0
    for k in range(3 if len(flat) > 3 else 0):
        total += (flat[3 * i + 3 + k] - flat[3 * i + k]) ** 2
    return total


@kernel
def row_width(origins, directions, n, min_jump):
    """The width of the first n rays, if they jump by more than `min_jump` after each row of as many, three times or more, and nowhere else;
    else 0."""
    width = jumps = 0
    for i in range(n - 1):
        jumped = jump(origins, i) + jump(directions, i) > min_jump
        if jumped and width == 0:
            width = i + 1
        if jumped != (width > 0 and (i + 1) % width == 0):
            return 0
        jumps += jumped
    return width if jumps > 2 else 0


@helper
def tile_at(r, n, width):
    """(the first ray of the batch at r of a picture, the way from there to the next row): tiles from left to right, then the next TILE
    rows; the last rows as they come."""
    band = r // (TILE * width)
    if (band + 1) * TILE * width > n:
        return r, np.int64(TILE)
    return band * TILE * width + (r - band * TILE * width) // TILE, width


@helper
def ray_at(begin, stride, i):
    """Ray i of a batch. Of a tile, eight consecutive ones are four columns of two rows: closer together than a row of eight, so that a leaf
    meets fewer of these groups."""
    if stride == TILE:
        return begin + i
    return begin + (2 * (i >> 4) + (i >> 2 & 1)) * stride + (i >> 1 & 4) + (i & 3)


@helper
def prefetch_range(flat, begin, end):
    """Start loading flat[begin : end], one cache line after the other."""
    for i in range(begin, end, 8):
        prefetch(flat, i)


@helper
def begin_band(rays, results, begin, kind):
    """Load the next TILE rows of a picture, and write that their rays have hit nothing: all in one stream, as the rows of a tile are far
    apart, and each of them would be waited for (3 of 7 ms for 640 × 480 rays that miss)."""
    end = begin + TILE * rays.width
    if rays.strides[0] != 0:
        prefetch_range(rays.origins, 3 * begin, 3 * end)
    if rays.strides[1] != 0:
        prefetch_range(rays.directions, 3 * begin, 3 * end)
    if kind != ALL_HITS:
        results.t[begin:end] = np.inf
        results.face[begin:end] = -1
        results.body[begin:end] = -1
        results.uv[2 * begin:2 * end] = 0.0


@helper
def load_xyz(flat, i):
    """Lanes flat[i : i + 3], and one that is no one's: the next number, or the third again at the end."""
    if i + 4 <= len(flat):
        return load4(flat, i)
    return vector4(flat[i], flat[i + 1], flat[i + 2], flat[i + 2])


@helper
def put_xyz(world, row, j, a, b, c):
    """Write of the rays j, j + 1, … the rows number, number + 1, number + 2."""
    store4(world, row * BATCH + j, a)
    store4(world, (row + 1) * BATCH + j, b)
    store4(world, (row + 2) * BATCH + j, c)


@helper
def normalize_directions(world, j, x, y, z):
    """Write four directions of any size, over powers of two that make them at least 1 and less than 2 long, as the steps j, j + 1, …; the
    powers. So a parameter of a step is no larger than the way to where it leads, which is finite."""
    scale = stack_float64(4)
    for k in range(4):
        longest = max(abs(extract(x, k)), max(abs(extract(y, k)), abs(extract(z, k))))
        e = math.frexp(longest)[1] - 1 if 0.0 < longest < np.inf else 0
        world[STEP * BATCH + j + k] = ldexp(extract(x, k), -e)
        world[(STEP + 1) * BATCH + j + k] = ldexp(extract(y, k), -e)
        world[(STEP + 2) * BATCH + j + k] = ldexp(extract(z, k), -e)
        scale[k] = ldexp(1.0, e)
    return vector4(scale[0], scale[1], scale[2], scale[3])


@helper
def load_vectors4(flat, stride, p, q, r, s):
    """x, y and z of four rays, of which the last is s."""
    if stride * s + 4 <= len(flat):                                     # four loads; beyond the end are other people's numbers
        return transpose4x3(load4(flat, stride * p), load4(flat, stride * q), load4(flat, stride * r), load4(flat, stride * s))
    return transpose4x3(load_xyz(flat, stride * p), load_xyz(flat, stride * q), load_xyz(flat, stride * r), load_xyz(flat, stride * s))


@helper
def load_scalars4(flat, stride, p, q, r, s):
    return vector4(load(flat, stride * p), load(flat, stride * q), load(flat, stride * r), load(flat, stride * s))


@helper
def init_ray_state(rays, r, ray, world, j, traits):
    """Begin to look for what ray r hits, which is number j of the batch."""
    store4(ray["o"], 0, load_xyz(rays.origins, r * rays.strides[0]))
    store4(ray["d"], 0, load_xyz(rays.directions, r * rays.strides[1]))
    ray["t_min"], ray["best"] = load(rays.t_min, r * rays.strides[2]), load(rays.t_max, r * rays.strides[3])
    ray["mask"] = load(rays.masks, r * rays.strides[4])
    ray["ray"], ray["face"], ray["body"], ray["scale"] = r, -1, -1, world[SCALE * BATCH + j]
    x_dominant = traits.x_dominant >> j & 1
    ray["in_filter_range"], ray["axis"] = traits.in_filter_range >> j & 1, (1 - x_dominant) * (2 - (traits.y_dominant >> j & 1))


@helper
def load_rays4(rays, p, q, r, s, world, j):
    """Load the rays p, q, r, s, of which s is the last, as the numbers j, j + 1, … of the batch; their RayTraits."""
    x, y, z = load_vectors4(rays.origins, rays.strides[0], p, q, r, s)
    u, v, w = load_vectors4(rays.directions, rays.strides[1], p, q, r, s)
    near, far = load_scalars4(rays.t_min, rays.strides[2], p, q, r, s), load_scalars4(rays.t_max, rays.strides[3], p, q, r, s)
    longest = maximum(fabs(u), maximum(fabs(v), fabs(w)))
    finite = x * 0.0 + y * 0.0 + z * 0.0 + u * 0.0 + v * 0.0 + w * 0.0 >= 0.0  # else NaN
    valid, in_filter_range = movemask(finite & (longest > 0.0) & (near <= far)), movemask(
        lanes_in_range(x) & lanes_in_range(y) & lanes_in_range(z) & lanes_in_range(u) & lanes_in_range(v) & lanes_in_range(w))
    scale, steps = vector4(1.0, 1.0, 1.0, 1.0), (u, v, w)
    if movemask((longest >= 1 / MAX_UNSCALED) & (longest <= MAX_UNSCALED)) != 15:
        scale = normalize_directions(world, j, u, v, w)
        steps = load4(world, STEP * BATCH + j), load4(world, (STEP + 1) * BATCH + j), load4(world, (STEP + 2) * BATCH + j)
    else:
        put_xyz(world, STEP, j, u, v, w)
    put_xyz(world, 0, j, x, y, z)
    put_xyz(world, INV_STEP, j, inverse_step(steps[0], u), inverse_step(steps[1], v), inverse_step(steps[2], w))
    put_xyz(world, START_ERROR, j, start_error(x, y, z), near * scale, far * scale)
    store4(world, SCALE * BATCH + j, scale)
    shears = shears_of(steps[0], steps[1], steps[2])
    return RayTraits(valid, in_filter_range, shears.x_dominant, shears.y_dominant)


@helper
def load_batch(rays, begin, step, first, n, world):
    """Load n rays of a batch, from number `first` of it on; their RayTraits."""
    valid, in_filter_range, x_dominant, y_dominant = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for j in range(0, n, 4):
        i, last = first + j, first + n - 1
        some = load_rays4(rays, ray_at(begin, step, i), ray_at(begin, step, min(i + 1, last)), ray_at(begin, step, min(i + 2, last)),
                          ray_at(begin, step, min(i + 3, last)), world, j)
        valid |= (some.valid & ((np.int64(1) << min(n - j, 4)) - 1)) << j
        in_filter_range |= np.int64(some.in_filter_range) << j
        x_dominant |= np.int64(some.x_dominant) << j
        y_dominant |= np.int64(some.y_dominant) << j
    return RayTraits(valid, in_filter_range, x_dominant, y_dominant)
