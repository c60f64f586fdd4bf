"""Onto the screen: which way the rays go, which window they fill, and where vertices are seen there, with a bound of the error.

A vertex p is seen at (R (p − c) − low) · scale, with lines of R across the rays (x, y) and along them (z), and c any vertex: in x and y a
pixel is 1, in z the window is DEPTH deep. All points that can matter are in the window: of two parts, where their boxes overlap; of one,
its box. Along an axis R only changes the order of coordinates.

ERRORS. Coordinates on the screen are float32: half a unit in the last place, 2**-24 of their size. What comes before is float64: a quarter
of p − c, so that nothing overflows, R times that, and the scale; together below the margin. Lines of R need not be unit vectors to the last
bit: the same R holds for all, and an affine map keeps common points common. So the true coordinate of what is seen at x is off by at most
RELATIVE_ERROR |x| + margin, where RELATIVE_ERROR leaves room for what comes after.
"""
import math
from typing import NamedTuple

import numpy as np

from pliant.core.atomic import atomic_add
from pliant.core.jit import helper

DEPTH = 1024.0                                                          # of the window, in units of z
PRESCALE = 0.25
RELATIVE_ERROR = np.float32(2.0**-21)
MAX_COORDINATE = 2.0**100                                               # coordinates end there: differences and products stay finite
MAX_SCALE = 2.0**1000
SURVEY_CELLS = 32                                                       # a side, where layers of surface are counted
PARTIAL_SUMS = 32                                                       # in which sums are kept: threads that add to one place wait
N_LAYER_CELLS, SURVEY_SIZE = 3 * SURVEY_CELLS * SURVEY_CELLS, 3 * SURVEY_CELLS * SURVEY_CELLS + 9 * PARTIAL_SUMS
SURVEY_BITS = 14                                                        # 2**SURVEY_BITS faces, or up to twice as many, are surveyed
STRIDE = 4                                                              # numbers of a vertex on the screen: x, y, z and nothing
ROTATION, CENTRE, LOW, SCALE, FRAME_SIZE = 0, 9, 12, 15, 18             # where they are in a frame
AXIS_ROTATIONS = np.array([[[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]],
                          np.float64)

IDENTITY_ROTATION = AXIS_ROTATIONS[2]


class Viewport(NamedTuple):
    """A window of `size` pixels a side: `frame` (FRAME,) float64 holds R, c, low and scale as above; the margin in x and y, and in z."""
    frame: np.ndarray
    error_xy: np.float32
    error_z: np.float32
    size: int


# --- steps -----------------------------------------------------------------------------------------------------------------------

@helper
def view_coord(vertices, v, frame, k):
    """Coordinate k of R (p − c) / 4."""
    x = PRESCALE * vertices[3 * v] - PRESCALE * frame[CENTRE]
    y = PRESCALE * vertices[3 * v + 1] - PRESCALE * frame[CENTRE + 1]
    z = PRESCALE * vertices[3 * v + 2] - PRESCALE * frame[CENTRE + 2]
    return frame[ROTATION + 3 * k] * x + frame[ROTATION + 3 * k + 1] * y + frame[ROTATION + 3 * k + 2] * z


@helper
def project_vertex(vertices, v, frame, screen, at):
    """Put vertex v on the screen, at `at`."""
    for k in range(3):
        x = (view_coord(vertices, v, frame, k) - frame[LOW + k]) * frame[SCALE + k]
        screen[at + k] = np.float32(min(max(x, -MAX_COORDINATE), MAX_COORDINATE))


@helper
def clamp_to_cells(x, low, scale):
    """A coordinate in cells, no farther than the border."""
    return min(max((x - low) * scale, 0.0), float(SURVEY_CELLS))


@helper
def cell_of(x):
    return int(min(x, SURVEY_CELLS - 1.0))


@helper
def survey_face(vertices, faces, f, shift, weight, frame, layers, base):
    """Count face f, `weight` times, as seen along each axis; low and scale of the frame are in cells of the window. To the layers of
    surface in the cells of its box it adds its area, spread evenly; after all layers come the sums of width × height, of width + height,
    and of 1, over the faces in the window, for each axis. All from layers[base] on."""
    i, j, k = np.int64(faces[3 * f] - shift), np.int64(faces[3 * f + 1] - shift), np.int64(faces[3 * f + 2] - shift)
    for axis in range(3):
        e, g = (axis + 1) % 3, (axis + 2) % 3
        ax, bx, cx = view_coord(vertices, i, frame, e), view_coord(vertices, j, frame, e), view_coord(vertices, k, frame, e)
        ay, by, cy = view_coord(vertices, i, frame, g), view_coord(vertices, j, frame, g), view_coord(vertices, k, frame, g)
        p, q, s, t = frame[LOW + e], frame[LOW + g], frame[SCALE + e], frame[SCALE + g]
        if ((max(ax, max(bx, cx)) - p) * s < 0.0 or (min(ax, min(bx, cx)) - p) * s > SURVEY_CELLS
                or (max(ay, max(by, cy)) - q) * t < 0.0 or (min(ay, min(by, cy)) - q) * t > SURVEY_CELLS):
            continue
        area = 0.5 * abs((bx - ax) * s * ((cy - ay) * t) - (by - ay) * t * ((cx - ax) * s))
        left, right = clamp_to_cells(min(ax, min(bx, cx)), p, s), clamp_to_cells(max(ax, max(bx, cx)), p, s)
        low, high = clamp_to_cells(min(ay, min(by, cy)), q, t), clamp_to_cells(max(ay, max(by, cy)), q, t)
        at = base + N_LAYER_CELLS + 9 * (f // weight % PARTIAL_SUMS) + 3 * axis
        atomic_add(layers, at, np.float32(weight * (right - left) * (high - low)))
        atomic_add(layers, at + 1, np.float32(weight * (right - left + high - low)))
        atomic_add(layers, at + 2, np.float32(weight))
        first, last, lowest, highest = cell_of(left), cell_of(right), cell_of(low), cell_of(high)
        area_per_cell = np.float32(weight * min(area / ((last - first + 1) * (highest - lowest + 1)), 1.0))
        if area_per_cell > 0.0:
            for y in range(lowest, highest + 1):
                for x in range(first, last + 1):
                    atomic_add(layers, base + (axis * SURVEY_CELLS + y) * SURVEY_CELLS + x, area_per_cell)


# --- views -----------------------------------------------------------------------------------------------------------------------

def frame_of(rotation, centre, low=0.0, scale=1.0):
    """All of a frame in one array."""
    return np.concatenate([np.reshape(rotation, 9), centre, np.broadcast_to(low, 3), np.broadcast_to(scale, 3)])


def rotation_to(direction):
    """(3, 3): lines x, y, z of a frame whose z goes along the direction."""
    z = direction / np.abs(direction).max()
    z = z / math.sqrt(float(z @ z))
    x = np.zeros(3)
    x[int(np.abs(z).argmin())] = 1.0
    x = x - z * float(x @ z)
    x = x / math.sqrt(float(x @ x))
    return np.array([x, np.cross(z, x), z])


def position_error(boxes):
    """How far from the truth coordinates R (p − c) within these boxes can be, twice over."""
    return float((2.0**-48 * np.abs(boxes).max(axis=(0, 1))).sum() + 2.0**-1070)


def common_box(boxes):
    """(2, 3): where parts with these boxes (m, 2, 3), one or two of them, can meet; None if they cannot. Once turned, parts that touch may
    seem to be apart by as much as the doubt."""
    low, high = boxes[:, 0].max(0), boxes[:, 1].min(0)
    with np.errstate(over="ignore"):
        return np.sort([low, high], axis=0) if (low - high <= position_error(boxes)).all() else None


def scale_to(box, pixels):
    """What brings the sides of a box to so many pixels; 0 where it is flat."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(box[1] > box[0], np.minimum(pixels / (box[1] - box[0]), MAX_SCALE), 0.0)


def viewport_of(rotation, centre, boxes, size, deep):
    """The Viewport where parts with these boxes of R (p − c), (m, 2, 3), can intersect; None if they cannot. `deep`: all that the rays
    meet on their way, before and after, is in the window; without it facings would not take turns."""
    box = common_box(boxes)
    if box is None:
        return None
    if deep:
        box[0, 2], box[1, 2] = boxes[:, 0, 2].min(), boxes[:, 1, 2].max()
    scale = scale_to(box, np.array([size, size, DEPTH]))
    with np.errstate(over="ignore"):
        error_xy = np.minimum(scale * position_error(boxes), MAX_COORDINATE) + 2.0**-100
    return Viewport(frame_of(rotation, centre, box[0], scale), np.float32(1.01 * error_xy[:2].max()), np.float32(1.01 * error_xy[2]), size)


class Survey(NamedTuple):
    """Of a window seen along an axis: which; sums over the faces in it of width × height and of width + height, in sides of the window; how
    many there are."""
    axis: int
    area_sum: float
    extent_sum: float
    faces: float

    def fragments(self, size):
        """About how many fragments faces have, on a screen of this size."""
        return self.area_sum * size * size + self.extent_sum * size + self.faces


def read_survey(values, axis):
    """What `survey_face` has counted, for an axis; for None, for that along which the deepest cell has the fewest layers of surface."""
    layers, sums = values[:N_LAYER_CELLS].reshape(3, -1), values[N_LAYER_CELLS:SURVEY_SIZE].reshape(PARTIAL_SUMS, 3, 3).sum(0, np.float64)
    if axis is None:
        axis = int(np.lexsort((layers.sum(1), layers.max(1)))[0])
    return Survey(axis, sums[axis, 0] / SURVEY_CELLS**2, sums[axis, 1] / SURVEY_CELLS, sums[axis, 2])


def survey_step(count):
    """Of so many faces one is enough to survey them all."""
    return max(count >> SURVEY_BITS, 1)
