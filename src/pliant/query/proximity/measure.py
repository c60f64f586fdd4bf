"""The second step of queries for pairs within a tolerance: candidates are measured in float64, which decides.

`measure_pairs` is for two bodies. `measure_batch` is for the pairs of many: one entry (`core/function_pointer.py`) that knows bodies by the
addresses of their transforms, vertices and faces; its rows are shared among threads.
"""
from functools import cache

import numpy as np

from pliant.core import memory
from pliant.core import threads as pool
from pliant.core.function_pointer import address_of, array_at, as_pointer
from pliant.core.jit import kernel
from pliant.core.stack import stack_float64
from pliant.errors import TooManyPairsError
from pliant.geometry.predicates import point_in_range
from pliant.geometry.triangle_distance import DISTANCE, POINTS, triangle_triangle_distance
from pliant.geometry.triangle_overlap import EXACT
from pliant.motion.rigid import IDENTITY, transform_coordinate

PAIRS_PER_CHUNK = 1 << 11                                               # pairs between looks at Ctrl-C
MEMORY_CHECK_PAIRS = 1 << 16                                            # pairs for which asking how much memory there is takes longest
BYTES_PER_PAIR = 8 * (1 + 6) + 8                                        # of a pair and what is measured
# Addresses and lengths of the arrays of a batch: bodies as BODY_FIELDS, pairs of bodies, ends of their rows; rows; what is measured.
MEASURE_JOB = np.dtype([(name, np.int64) for name in (
    "bodies", "n_bodies", "body_pairs", "n_body_pairs", "ends", "faces", "n_rows", "distances", "points", "n_points", "exact")])
BODY_FIELDS = 5                                                         # transform, vertices, how many floats, faces, how many faces


@kernel
def measure_pairs(pairs, m_a, flat_a, faces_a, m_b, flat_b, faces_b, begin, end, distances, points, exact):
    """Distances (m,) and, if there is room for them, nearest points (m, 6) of the pairs from `begin` to `end`; exact (m,) bool: which of
    them took exact arithmetic."""
    t = stack_float64(26)
    for i in range(begin, end):
        in_filter_range = True
        for c in range(3):
            v, w = 3 * np.int64(faces_a[pairs[i, 0], c]), 3 * np.int64(faces_b[pairs[i, 1], c])
            for k in range(3):
                t[3 * c + k] = transform_coordinate(m_a, k, flat_a[v], flat_a[v + 1], flat_a[v + 2])
                t[9 + 3 * c + k] = transform_coordinate(m_b, k, flat_b[w], flat_b[w + 1], flat_b[w + 2])
            in_filter_range &= point_in_range(t, 3 * c) & point_in_range(t, 9 + 3 * c)
        exact[i] = triangle_triangle_distance(t, np.int64(in_filter_range)) >= EXACT
        distances[i] = t[DISTANCE]
        if len(points) > 0:
            for k in range(6):
                points[i, k] = t[POINTS + k]


def check_memory(m, tolerance):
    """Refuse m candidates if there is no memory for their distances."""
    if m > MEMORY_CHECK_PAIRS and not memory.fits_in_memory(BYTES_PER_PAIR * m):
        raise TooManyPairsError(f"{m:,} pairs may be within {tolerance}, and memory for their distances is not available; ask for less")


def matrix_of(body):
    """The transform (12,) of a body."""
    return IDENTITY if body._matrix is None else body._matrix


def measure_two(a, b, pairs, points):
    """(distances (m,), points (m, 6) or (0, 6), exact (m,)) of pairs of faces of two bodies."""
    m = len(pairs)
    out = np.empty(m), np.empty((m if points else 0, 6)), np.empty(m, np.bool_)
    bodies = [(matrix_of(body), body._motion.flat, body._welded_faces) for body in (a, b)]
    pool.map_chunks(m, PAIRS_PER_CHUNK, lambda begin, end: measure_pairs(pairs, *bodies[0], *bodies[1], begin, end, *out))
    return out


def measure_batch(bodies, body_pairs, ends, faces, points):
    """The same of the faces (m, 2) of many pairs (p, 2) of indices into `bodies`; the rows of pair k end at ends[k]."""
    m = len(faces)
    out = distances, nearest_points, exact = np.empty(m), np.empty((m if points else 0, 6)), np.empty(m, np.bool_)
    if m == 0:
        return out
    table = np.array([(matrix_of(body).ctypes.data, body._motion.flat.ctypes.data, len(body._motion.flat),
                       body._welded_faces.ctypes.data, len(body._welded_faces)) for body in bodies], np.int64)
    job = np.zeros(1, MEASURE_JOB)
    for name, array in (("bodies", table), ("body_pairs", body_pairs), ("ends", ends), ("faces", faces), ("distances", distances),
                        ("points", nearest_points), ("exact", exact)):
        job[name] = array.ctypes.data
    job["n_bodies"], job["n_body_pairs"], job["n_rows"], job["n_points"] = len(table), len(body_pairs), m, len(nearest_points)
    enter = measure_entry()
    pool.map_chunks(m, PAIRS_PER_CHUNK, lambda begin, end: enter(job.ctypes.data, begin))
    return out


@cache
def measure_entry():
    """The function (address of a MEASURE_JOB, first row) -> 0, for the chunk of rows from there on. It runs without the GIL."""
    def enter(address, begin):
        job = array_at(as_pointer(address), 1, MEASURE_JOB)[0]
        m, n_pairs = job["n_rows"], job["n_body_pairs"]
        bodies = array_at(as_pointer(job["bodies"]), (job["n_bodies"], BODY_FIELDS), np.int64)
        body_pairs = array_at(as_pointer(job["body_pairs"]), (n_pairs, 2), np.int64)
        ends = array_at(as_pointer(job["ends"]), n_pairs, np.int64)
        faces = array_at(as_pointer(job["faces"]), (m, 2), np.int32)
        distances, exact = array_at(as_pointer(job["distances"]), m, np.float64), array_at(as_pointer(job["exact"]), m, np.bool_)
        points = array_at(as_pointer(job["points"]), (job["n_points"], 6), np.float64)
        end, p, last = min(begin + PAIRS_PER_CHUNK, m), np.int64(0), n_pairs
        while p < last:                                                 # the first pair of bodies whose rows end after `begin`
            probe = (p + last) // 2
            if ends[probe] > begin:
                last = probe
            else:
                p = probe + 1
        while begin < end:
            i, j, stop = body_pairs[p, 0], body_pairs[p, 1], min(ends[p], end)
            m_a, m_b = array_at(as_pointer(bodies[i, 0]), 12, np.float64), array_at(as_pointer(bodies[j, 0]), 12, np.float64)
            flat_a = array_at(as_pointer(bodies[i, 1]), bodies[i, 2], np.float64)
            flat_b = array_at(as_pointer(bodies[j, 1]), bodies[j, 2], np.float64)
            faces_a = array_at(as_pointer(bodies[i, 3]), (bodies[i, 4], 3), np.int32)
            faces_b = array_at(as_pointer(bodies[j, 3]), (bodies[j, 4], 3), np.int32)
            if begin < stop:
                measure_pairs(faces, m_a, flat_a, faces_a, m_b, flat_b, faces_b, begin, stop, distances, points, exact)
            begin, p = stop, p + 1
        return np.int64(0)

    return address_of(enter)[1].ctypes
