"""Loops of `sample.py` on the CPU: threads share the rows of the screen, so that none changes what another one does."""
import threading
from functools import partial
from itertools import pairwise

import numpy as np

from pliant.core import threads as pool
from pliant.core.jit import kernel
from pliant.image.estimate import shared_rays
from pliant.image.sample import COUNT_MASK, MAX_LISTED, any_overlap, count_face, list_face, listed_count, odd_count, peel_face, update_ray

FACE_CHUNK = 1 << 14                                                    # faces between looks at Ctrl-C
MAX_CHUNK_PIXELS = 1 << 21                                              # pixels that these may cover


@kernel
def count_faces(screen, faces, first_b, error_xy, error_z, size, low, high, begin, end, counts):
    for f in range(begin, end):
        count_face(screen, faces, f, first_b, error_xy, error_z, size, low, high, counts)


@kernel
def layout_lists(counts, is_self, begins, active):
    """Where the list of each pixel begins, and how long it is; pixels with too many faces are on. (Length of all lists, the most faces
    over one pixel)."""
    total, deepest = np.int64(0), np.int64(0)
    for p in range(len(counts)):
        n = listed_count(counts[p], is_self)
        deepest = max(deepest, (counts[p] & COUNT_MASK) + (counts[p] >> 32))
        active[p] = n > MAX_LISTED
        begins[p] = total
        total += n if n <= MAX_LISTED else 0
    begins[len(counts)] = total
    return total, deepest


@kernel
def list_faces(screen, faces, first_b, error_xy, error_z, size, low, high, begin, end, begins, counts, fragments):
    for f in range(begin, end):
        list_face(screen, faces, f, first_b, error_xy, error_z, size, low, high, begins, counts, fragments)


@kernel
def test_pixels(faces, first_b, is_self, begin, end, begins, fragments, active):
    """Put on the pixels begin … end in which something may collide."""
    for p in range(begin, end):
        if begins[p + 1] - begins[p] > 1 and any_overlap(faces, first_b, is_self, begins[p], begins[p + 1], fragments):
            active[p] = 1


@kernel
def peel_faces(screen, faces, error_xy, error_z, size, low, high, begin, end, counting, counts, fronts, backs, next_fronts, next_backs):
    for f in range(begin, end):
        peel_face(screen, faces, f, error_xy, error_z, size, low, high, counting, counts, fronts, backs, next_fronts, next_backs)


@kernel
def start_rays(closed, counts, active):
    """Put on the rays whose number of fragments says so. (Fragments, most of them on one ray)."""
    total, deepest = np.int64(0), np.int64(0)
    for p in range(len(counts)):
        total, deepest = total + counts[p], max(deepest, counts[p])
        active[p] = odd_count(counts[p], closed)
    return total, deepest


@kernel
def update_rays(screen, faces, first_b, is_self, error_xy, error_z, begin, end, passes_done, ends, closed, counts, fronts, backs,
                next_fronts,
                next_backs, active):
    for p in range(begin, end):
        if counts[p] > ends * passes_done and active[p] == 0:
            active[p] = update_ray(screen, faces, first_b, is_self, error_xy, error_z, p, passes_done, ends, closed, counts, fronts, backs,
                                   next_fronts,
                                   next_backs)


@kernel
def finish_rays(counts, layers, mark, active):
    """Of rays with more fragments than were peeled off, which nothing has put on: put them on, or count what is dropped."""
    dropped = np.int64(0)
    for p in range(len(counts)):
        if counts[p] > layers and active[p] == 0:
            active[p] = mark
            dropped += 0 if mark else counts[p] - layers
    return dropped


@kernel
def count_shared_rays(screen, faces, keys, error_xy, error_z, size, margin, active, histogram):
    """Count the pairs by the rays through both faces."""
    for k in range(len(keys)):
        histogram[shared_rays(screen, faces, keys[k], error_xy, error_z, size, margin, active)] += 1


def for_row_blocks(size, faces, area, run_block):
    """`work(low, high, begin, end)` for all rows and faces: rows by thread, faces in chunks; each covers `area` pixels on average."""
    cancel, step = threading.Event(), max(min(FACE_CHUNK, int(MAX_CHUNK_PIXELS / max(area, 1.0))), 1)

    def run_rows(low, high):
        for begin in range(0, faces, step):
            if cancel.is_set():
                return
            run_block(low, high, begin, min(begin + step, faces))

    n = min(pool.threads(), size) if faces > FACE_CHUNK >> 3 else 1
    cuts = [size * k // n for k in range(n + 1)]
    if n > 1:
        pool.run_jobs([partial(run_rows, *rows) for rows in pairwise(cuts)], cancel)
    else:
        run_rows(0, size)
