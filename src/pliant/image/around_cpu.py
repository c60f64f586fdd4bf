"""Faces that share a vertex, on the CPU: the loop of `query/collide/self_collide.py`, which needs no tree."""
import numpy as np

from pliant.query.collide.self_collide import start_around
from pliant.query.collide.two_bodies import bits_for
from pliant.query.scheduler import collect, workspace


def around(subject, first):
    """(keys f << 32 | g, pairs tested, how many exactly)."""
    with workspace() as work:
        loop = start_around(work, subject, first)
        if loop is None:
            return np.empty(0, np.int64), 0, 0
        keys, stats, _ = collect(loop, work)
    low = bits_for(subject)
    return (keys >> low) << 32 | keys & ((1 << low) - 1), stats.n_p, stats.n_x
