"""Faces that share a vertex, on the CPU: the loop of `query/collide/self_collide.py`, which needs no tree."""
import numpy as np

from pliant.query.collide.self_collide import adjacent_loop
from pliant.query.collide.two_bodies import face_bits
from pliant.query.scheduler import run_loop, workspace


def adjacent_pairs(subject, first):
    """(keys f << 32 | g, pairs tested, how many exactly)."""
    with workspace() as work:
        loop = adjacent_loop(work, subject, first)
        if loop is None:
            return np.empty(0, np.int64), 0, 0
        keys, stats, _ = run_loop(loop, work)
    index_bits = face_bits(subject)
    return (keys >> index_bits) << 32 | keys & ((1 << index_bits) - 1), stats.n_p, stats.n_exact
