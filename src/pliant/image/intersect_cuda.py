"""Pass 5 on CUDA: the sweep, and the filters of the exact tests; what these leave open goes to the host. Then faces that share a vertex."""
import numpy as np
from numba import float64, int64

import pliant.core.atomic_cuda  # noqa: F401
from pliant.core.cooperative_cuda import TILE, add_block_sum, cuda, device_function, scan_counts
from pliant.geometry.adjacent_faces import adjacent_overlap_filter
from pliant.geometry.triangle_overlap import UNRESOLVED, overlap_filter
from pliant.image.intersect import INDEX_MASK, box_at, copy_corners, owns_pair, sweep_end
from pliant.image.kernel_args import (
    N_ADJACENT_PAIRS,
    N_BOX_TESTS,
    N_CANDIDATE_FACES,
    N_CANDIDATES,
    N_ENTRIES,
    N_INCIDENT,
    N_NONADJACENT,
    N_PACKED,
    N_PAIRS,
    N_UNRESOLVED,
)
from pliant.image.sample import is_tested
from pliant.volume.protocol import overlap


@device_function
def store_result(answer, key, keys, capacity, unresolved, max_unresolved, counters):
    """A pair that meets, or that is unresolved, goes to the others of its kind, as long as there is room."""
    if answer == UNRESOLVED:
        k = cuda.atomic.add(counters, N_UNRESOLVED, 1)
        if k < max_unresolved:
            unresolved[k] = key
    elif answer & 1:
        k = cuda.atomic.add(counters, N_PAIRS, 1)
        if k < capacity:
            keys[k] = key


@device_function
def intersect_faces(faces, vertices, in_filter_range, packed_faces, sorted_boxes, size, strip_bits, first_b, is_self, begins, order,
                    max_entries, candidates, max_candidates, in_candidate, keys, unresolved,
                    max_unresolved, counters):
    """Sweep over as many things as there was room for in the order, and test the candidates, `most` of them at most."""
    grid, tile, t = cuda.cg.this_grid(), cuda.shared.array(TILE, int64), cuda.local.array(18, float64)
    thread, n_threads, box_tests = cuda.grid(1), cuda.gridsize(1), np.int64(0)
    for at in range(thread, counters[N_ENTRIES] if counters[N_ENTRIES] <= max_entries else 0, n_threads):
        i, row = order[at] & INDEX_MASK, order[at] >> 32
        box, end = box_at(sorted_boxes, max_entries, at), sweep_end(sorted_boxes, max_entries, begins, size, at, row)
        box_tests += end - at - 1
        for other in range(at + 1, end):
            if overlap(box, box_at(sorted_boxes, max_entries, other)) and owns_pair(sorted_boxes, max_entries, at, other, row, strip_bits,
                                                                                    size):
                j = order[other] & INDEX_MASK
                f, g = np.int64(packed_faces[i]), np.int64(packed_faces[j])
                if is_tested(faces, f, g, first_b, is_self):
                    in_candidate[i] = in_candidate[j] = 1
                    k = cuda.atomic.add(counters, N_CANDIDATES, 1)
                    if k < max_candidates:
                        candidates[k] = (min(f, g) << 32) | max(f, g)
    add_block_sum(box_tests, tile, counters, N_BOX_TESTS)
    grid.sync()
    for k in range(thread, min(counters[N_CANDIDATES], max_candidates), n_threads):
        f, g = candidates[k] >> 32, candidates[k] & INDEX_MASK
        copy_corners(vertices, faces, f, 0, t, 0)
        copy_corners(vertices, faces, g, 0, t, 9)
        store_result(overlap_filter(t, 0, 9) if in_filter_range else UNRESOLVED, candidates[k], keys, max_candidates, unresolved,
                     max_unresolved, counters)
    n_candidate_faces = np.int64(0)
    for i in range(thread, counters[N_PACKED], n_threads):
        n_candidate_faces += np.int64(in_candidate[i] != 0)
    add_block_sum(n_candidate_faces, tile, counters, N_CANDIDATE_FACES)


@device_function
def is_first_corner(faces, f, c):
    """Is corner c of face f none that it has named before?"""
    v = faces[f, c]
    return (c == 0 or v != faces[f, 0]) and (c < 2 or v != faces[f, 1])


@device_function
def test_adjacent(faces, n, vertices, n_vertices, in_filter_range, counts, begins, incident_faces, incident_vertices, keys, max_pairs,
                  unresolved, max_unresolved, sums, counters):
    """Faces around each vertex, and for each of them those after it: do they meet in more than what they share?"""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    thread, n_threads = cuda.grid(1), cuda.gridsize(1)
    if thread == 0:
        counters[N_NONADJACENT] = min(counters[N_PAIRS], max_pairs)
    for v in range(thread, n_vertices, n_threads):
        counts[v] = 0
    grid.sync()
    for f in range(thread, n, n_threads):
        for c in range(3):
            if is_first_corner(faces, f, c):
                cuda.atomic.add(counts, faces[f, c], 1)
    scan_counts(counts, n_vertices, begins, sums, tile, counters, N_INCIDENT)
    for f in range(thread, n, n_threads):
        for c in range(3):
            if is_first_corner(faces, f, c):
                v = faces[f, c]
                at = begins[v] + cuda.atomic.add(counts, v, -1) - 1
                incident_faces[at], incident_vertices[at] = f, v
    grid.sync()
    pairs = np.int64(0)
    for at in range(thread, counters[N_INCIDENT], n_threads):
        v, f = np.int64(incident_vertices[at]), np.int64(incident_faces[at])
        end = begins[v + 1]
        pairs += end - at - 1
        for k in range(at + 1, end):
            g = np.int64(incident_faces[k])
            answer = adjacent_overlap_filter(vertices, faces, f, g, v) if in_filter_range else UNRESOLVED
            store_result(answer, (min(f, g) << 32) | max(f, g), keys, max_pairs, unresolved, max_unresolved, counters)
    add_block_sum(pairs, tile, counters, N_ADJACENT_PAIRS)
