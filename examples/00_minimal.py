"""Two bodies
==========

The shortest complete program: make two bodies, move one of them, and find the intersecting faces.
"""
import numpy as np

import pliant as pl

vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])

a = pl.Body(vertices, faces)
b = pl.Body(vertices + 5, faces)
assert not pl.collide(a, b)                     # far apart

b.update(vertices + 0.2)                        # every frame: new positions, then query
pairs = pl.collide(a, b)
print(pairs.faces)                              # (m, 2): a face of a, a face of b
assert pairs.faces.tolist() == [[3, 0], [3, 1], [3, 2]]
