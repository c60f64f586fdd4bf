"""Many pairs of bodies, as scenes query them: in one call for all that can be batched (`narrow_phase.py`), one by one for the rest."""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.query.collide.batch_task import CollideTask
from pliant.query.collide.narrow_phase import batch_rows, batch_types, query_batch
from pliant.query.collide.pair_results import PairResults, concat_results, empty_results, wrap_pairs
from pliant.query.collide.self_collide import self_collide_validated
from pliant.query.collide.two_bodies import collide_validated
from pliant.query.options import EACH_PAIR, ManyOptions
from pliant.query.scheduler import time_is_up, workspace


def collide_pairs(bodies: list[Any], pairs: NDArray[np.int64], options: ManyOptions) -> PairResults:
    """The results of these pairs (p, 2) of indices into `bodies`; the same index twice: a body with itself."""
    parts, rows, batched = [], [], np.zeros(len(pairs), np.bool_)
    task = CollideTask(options.traversal.full_sat, options.first == EACH_PAIR, options.contacts)
    batches = [] if options.traversal.descend_larger else batch_rows(batch_types(bodies), pairs)
    for batch in batches:
        is_all = len(batch) == len(pairs)
        found = query_batch(bodies, pairs if is_all else pairs[batch], task, options.deadline)
        if found is not None and is_all:
            return found
        if found is not None:
            rows.append(batch)
            parts.append(found)
            batched[batch] = True
    single = np.flatnonzero(~batched)
    for k, row in enumerate(single.tolist()):
        if time_is_up(options.deadline):
            rows.append(single[k:])
            parts.append(empty_results(options.contacts, len(single) - k))
            break
        rows.append(single[k:k + 1])
        parts.append(collide_pair(*(bodies[i] for i in pairs[row].tolist()), options))
    return merge_results(parts, rows, options.contacts)


def merge_results(parts: list[PairResults], rows: list[NDArray[np.intp]], contacts: bool) -> PairResults:
    """Results of parts of a list of pairs, in the order of the list; `rows` has the rows of each part."""
    if len(parts) < 2:
        return parts[0] if parts else empty_results(contacts)
    return concat_results(parts).select(np.argsort(np.concatenate(rows)))


def collide_pair(a: Any, b: Any, options: ManyOptions) -> PairResults:
    """The results of two bodies, or of one with itself; none after the deadline."""
    if time_is_up(options.deadline):
        return empty_results(options.contacts, 1)
    first, contacts, end_time = bool(options.first), options.contacts, options.deadline
    with workspace() as space:
        return wrap_pairs(self_collide_validated(space, a, options.adjacent, first, contacts, end_time) if a is b else
                          collide_validated(space, a, b, first, contacts, options.traversal, end_time))
