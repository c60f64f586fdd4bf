"""Pass 5, intersection testing (paper G, section 7): sweep and prune over what is left, then triangles by their real coordinates.

The sweep goes along x, in strips of rows: things are sorted by strip and by the pixel in which they begin, which counting does in one go;
each is compared with those behind it as far as its own right end. A thing lies in all strips that its box touches, and a pair is found in
the strip in which the higher one of the two lows is.
"""
import math

import numpy as np

from pliant.core.atomic import atomic_add
from pliant.core.jit import helper
from pliant.image.cover import pixel_at
from pliant.image.separate import BOX_SIZE, FAR, HIGH, LEFT, LOW, NEAR, RIGHT
from pliant.volume.aabb import Box

MAX_STRIP_BITS = 12
INDEX_MASK = 0xFFFFFFFF


def strip_bits_for(height):
    """How many rows, as a power of two, a strip has for boxes of this mean height."""
    return min(max(math.ceil(math.log2(max(height, 1.0))), 0) + 1, MAX_STRIP_BITS)


def strip_count(size, strip_bits):
    """How many strips there are."""
    return ((size - 1) >> strip_bits) + 1


@helper
def count_in_strips(boxes, i, size, strip_bits, counts):
    """Count thing i where it begins, in each of its strips."""
    at = BOX_SIZE * i
    column = pixel_at(boxes[at + LEFT], size)
    for row in range(pixel_at(boxes[at + LOW], size) >> strip_bits, (pixel_at(boxes[at + HIGH], size) >> strip_bits) + 1):
        atomic_add(counts, row * size + column, np.int32(1))


@helper
def list_in_strips(boxes, i, size, strip_bits, begins, counts, order, sorted_boxes, stride):
    """Put thing i into the order, in each of its strips, as strip << 32 | i, and its box along with it: side k at k · stride."""
    at = BOX_SIZE * i
    column = pixel_at(boxes[at + LEFT], size)
    for row in range(pixel_at(boxes[at + LOW], size) >> strip_bits, (pixel_at(boxes[at + HIGH], size) >> strip_bits) + 1):
        cell = row * size + column
        slot = np.int64(begins[cell] + atomic_add(counts, cell, np.int32(-1)) - 1)
        order[slot] = (np.int64(row) << 32) | i
        for k in range(BOX_SIZE):
            sorted_boxes[stride * k + slot] = boxes[at + k]


@helper
def sweep_end(sorted_boxes, stride, begins, size, at, row):
    """Where in the order those end that the thing at `at` must be compared with."""
    return np.int64(begins[row * size + pixel_at(sorted_boxes[stride * RIGHT + at], size) + 1])


@helper
def box_at(sorted_boxes, stride, p):
    """The box of a thing in the order."""
    return Box(sorted_boxes[stride * LEFT + p], sorted_boxes[stride * LOW + p], sorted_boxes[stride * NEAR + p],
               sorted_boxes[stride * RIGHT + p], sorted_boxes[stride * HIGH + p], sorted_boxes[stride * FAR + p])


@helper
def owns_pair(sorted_boxes, stride, p, q, row, strip_bits, size):
    """Is it the strip in which two things are found?"""
    return pixel_at(max(sorted_boxes[stride * LOW + p], sorted_boxes[stride * LOW + q]), size) >> strip_bits == row


@helper
def copy_corners(vertices, faces, f, shift, t, at):
    """Put the corners of face f, whose part begins with vertex `shift`, at t[at : at + 9]."""
    for c in range(3):
        v = 3 * (np.int64(faces[3 * f + c]) - shift)
        for k in range(3):
            t[at + 3 * c + k] = np.float64(vertices[v + k])
