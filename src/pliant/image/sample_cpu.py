"""Loops of `sample.py` on the CPU: threads share the rows of the screen, so that none changes what another one does."""
import threading
from functools import partial
from itertools import pairwise

import numpy as np

from pliant.core import threads as pool
from pliant.core.jit import kernel
from pliant.image.estimate import rays_through
from pliant.image.sample import COUNTED, MOST, collides, count_face, judge, list_face, peel_face, starts_on, wanted

CHUNK = 1 << 14                                                         # faces between looks at Ctrl-C
LOTS = 1 << 21                                                          # pixels that these may cover


@kernel
def count(screen, faces, first_b, slack, slack_z, size, low, high, begin, end, counts):
    for f in range(begin, end):
        count_face(screen, faces, f, first_b, slack, slack_z, size, low, high, counts)


@kernel
def lay_out(counts, itself, begins, on):
    """Where the list of each pixel begins, and how long it is; pixels with too many faces are on. (Length of all lists, the most faces
    over one pixel)."""
    total, deepest = np.int64(0), np.int64(0)
    for p in range(len(counts)):
        n = wanted(counts[p], itself)
        deepest = max(deepest, (counts[p] & COUNTED) + (counts[p] >> 32))
        on[p] = n > MOST
        begins[p] = total
        total += n if n <= MOST else 0
    begins[len(counts)] = total
    return total, deepest


@kernel
def fill(screen, faces, first_b, slack, slack_z, size, low, high, begin, end, begins, counts, listed):
    for f in range(begin, end):
        list_face(screen, faces, f, first_b, slack, slack_z, size, low, high, begins, counts, listed)


@kernel
def look(faces, first_b, itself, begin, end, begins, listed, on):
    """Put on the pixels begin … end in which something may collide."""
    for p in range(begin, end):
        if begins[p + 1] - begins[p] > 1 and collides(faces, first_b, itself, begins[p], begins[p + 1], listed):
            on[p] = 1


@kernel
def peel(screen, faces, slack, slack_z, size, low, high, begin, end, counting, counts, fronts, backs, next_fronts, next_backs):
    for f in range(begin, end):
        peel_face(screen, faces, f, slack, slack_z, size, low, high, counting, counts, fronts, backs, next_fronts, next_backs)


@kernel
def start_rays(closed, counts, on):
    """Put on the rays whose number of fragments says so. (Fragments, most of them on one ray)."""
    total, deepest = np.int64(0), np.int64(0)
    for p in range(len(counts)):
        total, deepest = total + counts[p], max(deepest, counts[p])
        on[p] = starts_on(counts[p], closed)
    return total, deepest


@kernel
def judge_rays(screen, faces, first_b, itself, slack, slack_z, begin, end, done, ends, closed, counts, fronts, backs, next_fronts,
               next_backs, on):
    for p in range(begin, end):
        if counts[p] > ends * done and on[p] == 0:
            on[p] = judge(screen, faces, first_b, itself, slack, slack_z, p, done, ends, closed, counts, fronts, backs, next_fronts,
                          next_backs)


@kernel
def end_rays(counts, layers, mark, on):
    """Of rays with more fragments than were peeled off, which nothing has put on: put them on, or count what is dropped."""
    dropped = np.int64(0)
    for p in range(len(counts)):
        if counts[p] > layers and on[p] == 0:
            on[p] = mark
            dropped += 0 if mark else counts[p] - layers
    return dropped


@kernel
def tally_rays(screen, faces, keys, slack, slack_z, size, margin, on, tally):
    """Count the pairs by the rays through both faces."""
    for k in range(len(keys)):
        tally[rays_through(screen, faces, keys[k], slack, slack_z, size, margin, on)] += 1


def over_rows(size, faces, area, work):
    """`work(low, high, begin, end)` for all rows and faces: rows by thread, faces in chunks; each covers `area` pixels on average."""
    cancel, step = threading.Event(), max(min(CHUNK, int(LOTS / max(area, 1.0))), 1)

    def share(low, high):
        for begin in range(0, faces, step):
            if cancel.is_set():
                return
            work(low, high, begin, min(begin + step, faces))

    n = min(pool.threads(), size) if faces > CHUNK >> 3 else 1
    cuts = [size * k // n for k in range(n + 1)]
    if n > 1:
        pool.run([partial(share, *rows) for rows in pairwise(cuts)], cancel)
    else:
        share(0, size)
