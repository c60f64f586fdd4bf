"""Two bodies
==========

The shortest complete program: two bodies, one of them moves, which faces meet?
"""
import numpy as np

import pliant as pl

corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])

a = pl.Body(corners, faces)
b = pl.Body(corners + 5, faces)
assert not pl.collide(a, b)                     # far apart

b.update(corners + 0.2)                         # every frame: new positions, then ask
pairs = pl.collide(a, b)
print(pairs.faces)                              # (m, 2): a face of a, a face of b
assert pairs.faces.tolist() == [[3, 0], [3, 1], [3, 2]]
