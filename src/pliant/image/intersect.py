"""Pass 5, intersection testing (paper G, section 7): sweep and prune over what is left, then triangles by their real coordinates.

The sweep goes along x, in strips of rows: things are sorted by strip and by the pixel in which they begin, which counting does in one go;
each is compared with those behind it as far as its own right end. A thing lies in all strips that its box touches, and a pair is found in
the strip in which the higher one of the two lows is.
"""
import math

import numpy as np

from pliant.core.atomic import add
from pliant.core.jit import helper
from pliant.image.cover import pixel_at
from pliant.image.pack import FAR, HIGH, LEFT, LOW, NEAR, RIGHT, SIDES
from pliant.volume.aabb import Box

MOST_STRIP = 12
NAMES = 0xFFFFFFFF


def strip_for(height):
    """How many rows, as a power of two, a strip has for boxes of this mean height."""
    return min(max(math.ceil(math.log2(max(height, 1.0))), 0) + 1, MOST_STRIP)


def strips(size, strip):
    """How many strips there are."""
    return ((size - 1) >> strip) + 1


@helper
def count_in_strips(boxes, i, size, strip, counts):
    """Count thing i where it begins, in each of its strips."""
    at = SIDES * i
    column = pixel_at(boxes[at + LEFT], size)
    for row in range(pixel_at(boxes[at + LOW], size) >> strip, (pixel_at(boxes[at + HIGH], size) >> strip) + 1):
        add(counts, row * size + column, np.int32(1))


@helper
def list_in_strips(boxes, i, size, strip, begins, counts, order, lined, stride):
    """Put thing i into the order, in each of its strips, as strip << 32 | i, and its box along with it: side k at k · stride."""
    at = SIDES * i
    column = pixel_at(boxes[at + LEFT], size)
    for row in range(pixel_at(boxes[at + LOW], size) >> strip, (pixel_at(boxes[at + HIGH], size) >> strip) + 1):
        cell = row * size + column
        place = np.int64(begins[cell] + add(counts, cell, np.int32(-1)) - 1)
        order[place] = (np.int64(row) << 32) | i
        for k in range(SIDES):
            lined[stride * k + place] = boxes[at + k]


@helper
def reach_of(lined, stride, begins, size, at, row):
    """Where in the order those end that the thing at `at` must be compared with."""
    return np.int64(begins[row * size + pixel_at(lined[stride * RIGHT + at], size) + 1])


@helper
def box_at(lined, stride, p):
    """The box of a thing in the order."""
    return Box(lined[stride * LEFT + p], lined[stride * LOW + p], lined[stride * NEAR + p],
               lined[stride * RIGHT + p], lined[stride * HIGH + p], lined[stride * FAR + p])


@helper
def business(lined, stride, p, q, row, strip, size):
    """Is it the strip in which two things are found?"""
    return pixel_at(max(lined[stride * LOW + p], lined[stride * LOW + q]), size) >> strip == row


@helper
def copy_corners(vertices, faces, f, shift, t, at):
    """Put the corners of face f, whose part begins with vertex `shift`, at t[at : at + 9]."""
    for c in range(3):
        v = 3 * (np.int64(faces[3 * f + c]) - shift)
        for k in range(3):
            t[at + 3 * c + k] = np.float64(vertices[v + k])
