"""What the user gets of each pair of features that was found: closest points, weights, normals, vertices and faces.

It is worked out for results only, after the traversal. Pairs are rows of kinds and features; the four points of a pair are taken at a time
of the motion, 0 for bodies that stand still.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, ignore_float_errors, kernel
from pliant.core.stack import stack_float64
from pliant.geometry.feature_distance import (
    CLOSEST_BITS,
    DISTANCE,
    EDGE_PAIR_KIND,
    FEATURE_BUFFER_SIZE,
    ON_EDGE,
    ON_FACE,
    PAIR_WEIGHTS,
    feature_distance,
)
from pliant.query.continuous.feature_pairs import EDGE_EDGE, FACE_VERTEX, VERTEX_FACE

TOUCHING = 2.0**-30                                                     # of the size of a pair: nearer than that, a gap has no direction


class Measured(NamedTuple):
    """A row for each pair: `distances` (m,), `points` (m, 2, 3), `weights` (m, 4), `normals` (m, 3), `closest` (m, 2), `vertices`
    (m, 4)."""
    distances: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    normals: np.ndarray
    closest: np.ndarray
    vertices: np.ndarray


@helper
def point_at(start, end, v, time, t, at):
    """t[at : at + 3] = vertex v at a time."""
    for k in range(3):
        x, y = start[3 * v + k], end[3 * v + k]
        t[at + k] = x if time == 0.0 else y if time == 1.0 else x * (1.0 - time) + y * time


@helper
def set_unit(x, y, z, out):
    """out[0 : 3] = the direction of a vector; False if it has none."""
    largest = max(abs(x), max(abs(y), abs(z)))
    if not (largest > 0.0 and largest < np.inf):
        return False
    x, y, z = x / largest, y / largest, z / largest
    length = np.sqrt(x * x + y * y + z * z)
    out[0], out[1], out[2] = x / length, y / length, z / length
    return True


@helper
def set_cross(t, p, q, r, s, scale, out):
    """out[0 : 3] = the direction across the ways from p to q and from r to s, points of a buffer."""
    ax, ay, az = (t[q] - t[p]) * scale, (t[q + 1] - t[p + 1]) * scale, (t[q + 2] - t[p + 2]) * scale
    bx, by, bz = (t[s] - t[r]) * scale, (t[s + 1] - t[r + 1]) * scale, (t[s + 2] - t[r + 2]) * scale
    return set_unit(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx, out)


@helper
def set_normal(t, kind, on, direction, approach, size, normal):
    """The normal of a pair at these points: the direction of the gap, or, where the features touch, across both. `approach`: the motion of
    the second feature towards the first, which then has the sign."""
    scale = 1.0 / size if size > 0.0 else 1.0
    done = t[DISTANCE] > TOUCHING * size and set_unit(direction[0], direction[1], direction[2], normal)
    if done:
        return
    if kind == EDGE_PAIR_KIND:
        done = on == (ON_EDGE | ON_EDGE << CLOSEST_BITS) and set_cross(t, 0, 3, 6, 9, scale, normal)
    else:
        done = on >> CLOSEST_BITS == ON_FACE and set_cross(t, 3, 6, 3, 9, scale, normal)
    if not done:
        done = set_unit(-approach[0], -approach[1], -approach[2], normal)
    if not done:
        done = set_unit(direction[0], direction[1], direction[2], normal)
    if not done:
        done = set_cross(t, 0, 3, 6, 9, scale, normal) if kind == EDGE_PAIR_KIND else set_cross(t, 3, 6, 3, 9, scale, normal)
    if not done:
        normal[0], normal[1], normal[2] = 0.0, 0.0, 0.0
        return
    along = approach[0] * normal[0] + approach[1] * normal[1] + approach[2] * normal[2]
    if along == 0.0:
        along = -(direction[0] * normal[0] + direction[1] * normal[1] + direction[2] * normal[2])
    if along > 0.0:
        normal[0], normal[1], normal[2] = -normal[0], -normal[1], -normal[2]


@kernel
def measure_pairs(kinds, features, side_a, side_b, times, measured):
    """Fill the rows of `measured`. The first feature of a pair is one of side a, the second of side b."""
    t, direction, approach, ids = stack_float64(FEATURE_BUFFER_SIZE), stack_float64(3), stack_float64(3), stack_float64(4)
    for row in range(len(kinds)):
        kind, time, i, j = np.int64(kinds[row]), times[row], np.int64(features[row, 0]), np.int64(features[row, 1])
        swapped = kind == FACE_VERTEX                                   # the buffer has the vertex first
        if kind == EDGE_EDGE:
            ids[0], ids[1], ids[2], ids[3] = side_a.edges[i, 0], side_a.edges[i, 1], side_b.edges[j, 0], side_b.edges[j, 1]
        elif kind == VERTEX_FACE:
            ids[0], ids[1], ids[2], ids[3] = i, side_b.faces[j, 0], side_b.faces[j, 1], side_b.faces[j, 2]
        else:
            ids[0], ids[1], ids[2], ids[3] = j, side_a.faces[i, 0], side_a.faces[i, 1], side_a.faces[i, 2]
        size = 0.0
        for p in range(4):
            v, of_a = np.int64(ids[p]), (p < 2 if kind == EDGE_EDGE else (p == 0) != swapped)
            if of_a:
                point_at(side_a.start, side_a.end, v, time, t, 3 * p)
            else:
                point_at(side_b.start, side_b.end, v, time, t, 3 * p)
            for k in range(3):
                size = max(size, abs(t[3 * p + k] - t[k]))
        stage_kind = EDGE_PAIR_KIND if kind == EDGE_EDGE else 0
        on = feature_distance(t, stage_kind, False) & ((1 << 2 * CLOSEST_BITS) - 1)
        sign = -1.0 if swapped else 1.0                                 # from the first feature of the pair to the second
        for k in range(3):
            gap, motion = 0.0, 0.0
            for p in range(4):
                weight, v, of_a = t[PAIR_WEIGHTS + p], np.int64(ids[p]), (p < 2 if kind == EDGE_EDGE else (p == 0) != swapped)
                gap += weight * (t[3 * p + k] - t[k])
                if of_a:
                    motion += weight * (side_a.end[3 * v + k] - side_a.start[3 * v + k])
                else:
                    motion += weight * (side_b.end[3 * v + k] - side_b.start[3 * v + k])
            direction[k], approach[k] = sign * gap, sign * motion
        set_normal(t, stage_kind, on, direction, approach, size, measured.normals[row])
        measured.distances[row] = t[DISTANCE]
        for k in range(3):
            first = last = 0.0
            for p in range(4):
                if (kind == EDGE_EDGE and p < 2) or (kind != EDGE_EDGE and p == 0):
                    first -= t[PAIR_WEIGHTS + p] * t[3 * p + k]
                else:
                    last += t[PAIR_WEIGHTS + p] * t[3 * p + k]
            if t[DISTANCE] == 0.0:
                last = first
            measured.points[row, 1 if swapped else 0, k], measured.points[row, 0 if swapped else 1, k] = first, last
        for p in range(4):
            q = (p + 3) % 4 if swapped else p                           # where the vertex comes last
            measured.weights[row, q], measured.vertices[row, q] = sign * t[PAIR_WEIGHTS + p] + 0.0, np.int32(ids[p])
        first_on, last_on = on & ((1 << CLOSEST_BITS) - 1), on >> CLOSEST_BITS
        measured.closest[row, 0], measured.closest[row, 1] = last_on if swapped else first_on, first_on if swapped else last_on


def measure(kinds, features, sides, times):
    """The Measured of these pairs; `sides` may be None if there are none."""
    m = len(kinds)
    measured = Measured(np.empty(m), np.empty((m, 2, 3)), np.empty((m, 4)), np.empty((m, 3)), np.empty((m, 2), np.int8),
                        np.empty((m, 4), np.int32))
    if m:
        with ignore_float_errors():
            measure_pairs(kinds, features, *sides, times, measured)
    return measured


def owners(kinds, features, features_a, features_b):
    """(m, 2) int32: for each feature the face that owns it."""
    faces = np.array(features, np.int32)
    for column, found, vertex_kind, in ((0, features_a, VERTEX_FACE), (1, features_b, FACE_VERTEX)):
        is_vertex, is_edge = kinds == vertex_kind, kinds == EDGE_EDGE
        faces[is_vertex, column] = found.vertex_owners[features[is_vertex, column]]
        faces[is_edge, column] = found.edge_owners[features[is_edge, column]]
    return faces
