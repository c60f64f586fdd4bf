"""A cloth with itself
===================

A cloth folds through itself and opens again: every frame, which faces meet, along which curves, and how deep?
"""
import numpy as np

import pliant as pl
from pliant.shapes import folding_cloth

cloth = folding_cloth(2_000, frames=12)         # any vertices and faces will do
_, of_side, uses = np.unique(np.sort(cloth.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1),
                             axis=0, return_inverse=True, return_counts=True)
at_border = (uses == 1)[of_side].reshape(-1, 3).any(axis=1)             # faces with a side that no other face has

body, found = pl.Body(cloth.frame(0), cloth.faces), []
for k in range(cloth.frames):
    body.update(cloth.frame(k))
    pairs = pl.self_collide(body, contacts=True)
    lengths = np.linalg.norm(pairs.segments[:, 1] - pairs.segments[:, 0], axis=1)
    print(f"frame {k:2}: {len(pairs):3} pairs along {lengths.sum():.3f}, deepest {pairs.depths.max(initial=0.0):.4f}")
    found.append(len(pairs))

    # Where one segment ends the next one begins, to the bit: together they are curves, which are closed or end at the border of the cloth.
    _, place, times = np.unique(pairs.segments.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    loose = np.flatnonzero((times == 1)[place.ravel()]) // 2            # pairs with an end of their own
    assert times.max(initial=0) <= 2
    assert at_border[pairs.faces[loose]].any(axis=1).all()

assert found[:3] == [0, 0, 0] and found[-3:] == [0, 0, 0] and max(found) > 300
