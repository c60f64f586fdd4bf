"""Which pixels a face covers, and how deep it is there. Two ways to cover.

ALL of a face: every pixel that it touches anywhere, and the interval of depths it can have there. For that corners may be off by as much
as `screen.py` says, e in x and y and d in z: spans of rows and depths are widened so that they hold the true face. Pixels at the border
also hold what lies beyond it by such an error.

  Spans. In the row from y to y + 1 a face goes as far as its three edges do. An edge ab is at x(y) = a_x + (y − a_y) s, s = (b_x − a_x) /
  (b_y − a_y). Corners off by e turn it: if |b_y − a_y| >= 32 e, x(y) is off by less than 5 e (1 + |s|), rounding included; if it is less,
  the edge counts as a whole.
  Depths. The plane's slopes are g = −n_x / n_z and h = −n_y / n_z. With L the largest extent in x and y and Z in z, components of the
  normal are off by less than 10 e L (n_z) and 4 d L + 6 e Z. If n_z is larger than 16 times its error, the slopes are off by less than
  1.1 (4 d L + 6 e Z + 10 e L |g|) / n_z, and the depth at the middle of a pixel, at most L + 1.5 from a corner, by `error` below. A plane
  that is steeper says nothing, and the depths are those of the corners.

CENTRES of pixels, as rasterisers do, so that a closed surface has no gaps and no doubles: corners are rounded to 1/256 of a pixel, and the
side of an edge is exact in integers; a centre on an edge is moved a little to the right and, less, up. Every edge sees the same centres on
its two sides, whoever asks.
"""
import math
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.geometry.triangle_overlap import Triangle
from pliant.image.screen import DEPTH, MAX_COORDINATE, RELATIVE_ERROR, STRIDE

HALF, ONE, FOUR, MIN_NORMAL_RATIO, ROUNDING = np.float32(0.5), np.float32(1), np.float32(4), np.float32(160), np.float32(2.0**-20)
NARROW_WIDTH = np.float32(2)                                            # pixels: spans of narrower faces do not pay
PIXEL_REACH, MIN_RISE_RATIO, MAX_REACH, MAX_NORMAL = np.float32(1.5), np.float32(32), np.float32(2.0**20), np.float32(2.0**100)
CLAMPED_ERROR = RELATIVE_ERROR * np.float32(MAX_COORDINATE / 2)         # errors of corners that were brought back from beyond
SUBPIXELS, HALF_PIXEL = 256, 128                                        # steps of a pixel, and of half a pixel
MAX_FIXED_POINT = 2.0**29                                               # differences have 31 bits, and products 62


class Extent(NamedTuple):
    """Where a face can be, errors included, and these: e in x and y, d in z."""
    left: float
    low: float
    near: float
    right: float
    high: float
    far: float
    e: float
    d: float


class Slopes(NamedTuple):
    """Depth at (x, y): z + g (x − x₀) + h (y − y₀), `reach` more or less anywhere in the pixel around (x, y)."""
    x: float
    y: float
    z: float
    g: float
    h: float
    reach: float


@helper
def corners_of(screen, faces, f):
    """The corners of face f."""
    a, b, c = STRIDE * np.int64(faces[3 * f]), STRIDE * np.int64(faces[3 * f + 1]), STRIDE * np.int64(faces[3 * f + 2])
    return Triangle(screen[a], screen[a + 1], screen[a + 2], screen[b], screen[b + 1], screen[b + 2],
                    screen[c], screen[c + 1], screen[c + 2])


@helper
def max_abs(a, b, c):
    return max(abs(a), max(abs(b), abs(c)))


@helper
def extent_of(t, error_xy, error_z):
    """The Extent of a face."""
    e = RELATIVE_ERROR * max(max_abs(t.ax, t.bx, t.cx), max_abs(t.ay, t.by, t.cy)) + error_xy
    d = RELATIVE_ERROR * max_abs(t.az, t.bz, t.cz) + error_z
    return Extent(min(t.ax, min(t.bx, t.cx)) - e, min(t.ay, min(t.by, t.cy)) - e, min(t.az, min(t.bz, t.cz)) - d,
                  max(t.ax, max(t.bx, t.cx)) + e, max(t.ay, max(t.by, t.cy)) + e, max(t.az, max(t.bz, t.cz)) + d, e, d)


@helper
def in_window_xy(box, size):
    """May rays through the window meet it?"""
    return (box.right >= 0) & (box.left <= size) & (box.high >= 0) & (box.low <= size)


@helper
def in_window(box, size):
    """Is any of it in the window?"""
    return in_window_xy(box, size) & (box.far >= 0) & (box.near <= DEPTH)


@helper
def pixel_at(x, size):
    """The pixel that holds coordinate x; beyond the border, the one there."""
    return np.int64(min(max(x, np.float32(0)), np.float32(size - 1)))


# --- all of a face -----------------------------------------------------------------------------------------------------------------

@helper
def edge_span(ax, ay, bx, by, low, high, e, first, last):
    """(first, last) widened to the x of the edge ab between the heights low and high."""
    if max(ay, by) + e < low or min(ay, by) - e > high:
        return first, last
    left, right = min(ax, bx), max(ax, bx)
    rise = by - ay
    if abs(rise) >= MIN_RISE_RATIO * e:
        slope = (bx - ax) / rise
        error = FOUR * e * (ONE + abs(slope))
        p = ax + (min(max(low, min(ay, by)), max(ay, by)) - ay) * slope
        q = ax + (min(max(high, min(ay, by)), max(ay, by)) - ay) * slope
        left, right = max(left, min(p, q) - error), min(right, max(p, q) + error)
    return min(first, left - e), max(last, right + e)


@helper
def row_span(t, box, row, size):
    """The first and the last pixel of a row that the face touches, or so it may seem; last < first: none."""
    if box.right - box.left <= NARROW_WIDTH or box.e >= CLAMPED_ERROR:
        return pixel_at(box.left, size), pixel_at(box.right, size)
    first, last = np.float32(np.inf), np.float32(-np.inf)
    low, high = np.float32(row) - box.e, np.float32(row + 1) + box.e
    first, last = edge_span(t.ax, t.ay, t.bx, t.by, low, high, box.e, first, last)
    first, last = edge_span(t.bx, t.by, t.cx, t.cy, low, high, box.e, first, last)
    first, last = edge_span(t.cx, t.cy, t.ax, t.ay, low, high, box.e, first, last)
    if last < 0 or first > size or last < first:
        return np.int64(0), np.int64(-1)
    return pixel_at(first, size), pixel_at(last, size)


@helper
def slopes_of(t, box):
    """The Slopes of a face; an infinite `reach` where they say nothing."""
    ux, uy, uz, vx, vy, vz = t.bx - t.ax, t.by - t.ay, t.bz - t.az, t.cx - t.ax, t.cy - t.ay, t.cz - t.az
    size, height = max(box.right - box.left, box.high - box.low), box.far - box.near
    normal_z = ux * vy - uy * vx
    g, h, reach = np.float32(0), np.float32(0), np.float32(np.inf)
    if MIN_NORMAL_RATIO * box.e * size < abs(normal_z) <= MAX_NORMAL:
        g, h = (uz * vy - uy * vz) / normal_z, (ux * vz - uz * vx) / normal_z
        steep = abs(g) + abs(h)
        error = (np.float32(1.1) * (size + PIXEL_REACH) * (np.float32(8) * box.d * size + np.float32(12) * box.e * height
                                                           + np.float32(10) * box.e * size * steep) / abs(normal_z))
        reach = HALF * steep + error + np.float32(2) * (box.d + box.e * steep) + ROUNDING * steep
        if not reach <= MAX_REACH:
            g, h, reach = np.float32(0), np.float32(0), np.float32(np.inf)
    return Slopes(t.ax, t.ay, t.az, g, h, reach)


@helper
def plane_at(slopes, x, y):
    """The depth of the plane in the middle of the pixel (x, y)."""
    return slopes.z + slopes.g * (np.float32(x) + HALF - slopes.x) + slopes.h * (np.float32(y) + HALF - slopes.y)


@helper
def depth_interval(slopes, box, x, y):
    """The least and the largest depth of the face in the pixel (x, y)."""
    z = plane_at(slopes, x, y)
    return max(box.near, z - slopes.reach), min(box.far, z + slopes.reach)


# --- centres -----------------------------------------------------------------------------------------------------------------------

@helper
def fixed_point(x):
    """A coordinate in steps of 1/256 of a pixel."""
    return np.int64(math.floor(min(max(np.float64(x) * SUBPIXELS, -MAX_FIXED_POINT), MAX_FIXED_POINT) + 0.5))


@helper
def tie_side(ax, ay, bx, by):
    """On which side a centre on the line ab counts: 1 left, −1 right, 0 if there is no line."""
    dx, dy = bx - ax, by - ay
    return 1 if dy < 0 or (dy == 0 and dx > 0) else -1 if dy > 0 or dx < 0 else 0


@helper
def edge_side(ax, ay, bx, by, px, py):
    """1 if p lies left of the line ab, −1 if right; a point on it is moved a little."""
    cross = (bx - ax) * (py - ay) - (by - ay) * (px - ax)
    return 1 if cross > 0 else -1 if cross < 0 else tie_side(ax, ay, bx, by)

