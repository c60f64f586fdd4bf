"""Rigid placement: where a body's model coordinates are in the world.

A transform is 12 float64, the rows of (R | t). `transform_coordinate` is the definition of a position, everywhere: its roundings are part
of the answer, so that what a query works out for a few corners is to the bit what `body.vertices` gives for all.

Two placed bodies meet as if the second were moved into the model frame of the first by L = A⁻¹ B and d = A⁻¹ (t_b − t_a), and everything in
a tree stays as it is. Any invertible map keeps what meets what, so nothing here needs R to be a rotation to the last bit; how far it is
from one widens the volumes (`rotation_error`).
"""
import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.stack import stack_float64
from pliant.geometry.predicates import point_in_range

IDENTITY = np.eye(3, 4).reshape(-1)
UNDERFLOW_BOUND = 2.0**-1070                                            # above all that rounding does to the smallest numbers
TRANSFORM_ROUNDING = 2.0**-48                                           # of the largest numbers that a position is made of


@helper
def transform_coordinate(m, k, x, y, z):
    """Coordinate k of a point of the model, in the world."""
    return m[4 * k] * x + (m[4 * k + 1] * y + (m[4 * k + 2] * z + m[4 * k + 3]))


@kernel
def transform_vertices(m, vertices, out):
    """All vertices, flat; are they all in the range of the filters (`geometry/predicates.py`)?"""
    good = True
    for v in range(0, len(vertices), 3):
        x, y, z = vertices[v], vertices[v + 1], vertices[v + 2]
        out[v], out[v + 1] = transform_coordinate(m, 0, x, y, z), transform_coordinate(m, 1, x, y, z)
        out[v + 2] = transform_coordinate(m, 2, x, y, z)
        good &= point_in_range(out, v)
    return good


@kernel
def transform_corners(m, vertices, faces, pairs, column, out):
    """out (k, 9) = the placed corners of faces which[:, column]."""
    for i in range(len(pairs)):
        for c in range(3):
            v = 3 * np.int64(faces[pairs[i, column], c])
            x, y, z = vertices[v], vertices[v + 1], vertices[v + 2]
            for k in range(3):
                out[i, 3 * c + k] = transform_coordinate(m, k, x, y, z)


@helper
def max_abs(x, y, z):
    return max(abs(x), max(abs(y), abs(z)))


@kernel
def rounding_bound(m, box):
    """A bound of how far `transform_coordinate` may move a vertex in this box (8,) from where the real numbers put it."""
    largest = max_abs(m[3], m[7], m[11])
    for k in range(8):
        largest = max(largest, abs(box[k]))
    return TRANSFORM_ROUNDING * 8 * largest + UNDERFLOW_BOUND


@kernel
def world_bounds(m, box, out):
    """out (6,) = low and high corner of a placed box (8,), rounded outward."""
    for k in range(3):
        centre, half_size, largest = m[4 * k + 3], 0.0, abs(m[4 * k + 3])
        for j in range(3):
            entry, mid, half = m[4 * k + j], 0.5 * box[j] + 0.5 * box[j + 4], 0.5 * box[j + 4] - 0.5 * box[j]
            centre, half_size, largest = centre + entry * mid, half_size + abs(entry) * half, largest + abs(entry) * (abs(mid) + half)
        half_size += TRANSFORM_ROUNDING * largest + 2 * UNDERFLOW_BOUND
        out[k], out[k + 3] = centre - half_size, centre + half_size


@helper
def invert_rotation(m, out):
    """Entries of the inverse of the turn of m, a rotation or nearly so."""
    for k in range(3):
        p, q = 4 * ((k + 1) % 3), 4 * ((k + 2) % 3)
        for j in range(3):
            u, v = (j + 1) % 3, (j + 2) % 3
            out[4 * j + k] = m[p + u] * m[q + v] - m[p + v] * m[q + u]
    determinant = m[0] * out[0] + m[1] * out[4] + m[2] * out[8]
    for k in range(3):
        for j in range(3):
            out[4 * k + j] /= determinant


@kernel
def relative_transform(m_a, origin_a, reach_a, m_b, origin_b, reach_b, scale, b_to_a, a_to_b):
    """How model coordinates of b look from a, relative to their origins and times the scale: `b_to_a` (12,) and its inverse `a_to_b`
    (12,), as
    rows of (R | t). (How far an entry of their turns is from a rotation's; what is uncertain of a position in a's frame, times the scale.)
    A reach is the largest |x − origin|."""
    inverse_a = stack_float64(12)
    invert_rotation(m_a, inverse_a)
    rotation_error, largest = 0.0, reach_a + reach_b + max_abs(m_a[3], m_a[7], m_a[11]) + max_abs(m_b[3], m_b[7], m_b[11])
    largest += max_abs(origin_a[0], origin_a[1], origin_a[2]) + max_abs(origin_b[0], origin_b[1], origin_b[2])
    for k in range(3):
        for j in range(3):
            b_to_a[4 * k + j] = inverse_a[4 * k] * m_b[j] + inverse_a[4 * k + 1] * m_b[4 + j] + inverse_a[4 * k + 2] * m_b[8 + j]
    for k in range(3):
        rotated = b_to_a[4 * k] * origin_b[0] + b_to_a[4 * k + 1] * origin_b[1] + b_to_a[4 * k + 2] * origin_b[2]
        translation = inverse_a[4 * k] * (m_b[3] - m_a[3]) + inverse_a[4 * k + 1] * (m_b[7] - m_a[7]) + inverse_a[4 * k + 2] * (
            m_b[11] - m_a[11])
        b_to_a[4 * k + 3] = (rotated + translation - origin_a[k]) * scale
        for j in range(3):
            product = b_to_a[k] * b_to_a[j] + b_to_a[4 + k] * b_to_a[4 + j] + b_to_a[8 + k] * b_to_a[8 + j]
            rotation_error = max(rotation_error, abs(product - (1.0 if j == k else 0.0)))
    invert_rotation(b_to_a, a_to_b)
    for k in range(3):
        a_to_b[4 * k + 3] = -(a_to_b[4 * k] * b_to_a[3] + a_to_b[4 * k + 1] * b_to_a[7] + a_to_b[4 * k + 2] * b_to_a[11])
    return rotation_error, (TRANSFORM_ROUNDING * largest + UNDERFLOW_BOUND) * scale
