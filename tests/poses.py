"""Rigid matrices, how they place a body, and the comparison of placed bodies with the reference. A matrix is (4, 4) float64."""

from functools import lru_cache
from itertools import permutations, product

import numba
import numpy as np

import meshes
import naive
import pliant as pl
from pliant.query.options import DESCEND_MODES, SAT_MODES

# all that may change the work, and must not change the answer
WAYS = [pl.Traversal(sat, descend) for sat, descend in product(SAT_MODES, DESCEND_MODES)]
if numba.config.DISABLE_JIT:                                            # the first is what is asked without saying
    WAYS = WAYS[-1:]
MOST_LOOSE = 0.97e-5                                                    # just below what is refused


def matrix(turn=None, move=(0, 0, 0)):
    """From a rotation (3, 3) and a translation."""
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = np.eye(3) if turn is None else turn, move
    return made


def any_turn(rng):
    """Any rotation, all alike: a unit quaternion."""
    w, x, y, z = rng.standard_normal(4)
    return from_quaternion(w, x, y, z)


def from_quaternion(w, x, y, z):
    """The rotation of a quaternion of any length but 0."""
    w, x, y, z = np.array([w, x, y, z], np.float64) / np.linalg.norm([w, x, y, z])
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def quarters():
    """The 24 rotations that take axes to axes: nothing rounds."""
    signed = (np.eye(3)[list(order)] * signs for order in permutations(range(3)) for signs in product((1.0, -1.0), repeat=3))
    return [turn for turn in signed if np.linalg.det(turn) > 0]


def loosened(turn, rng, by=MOST_LOOSE):
    """A matrix near a rotation, whose columns are so far from perpendicular units: stretched, squeezed and sheared a little."""
    bend = rng.uniform(-1, 1, (3, 3))
    bend += bend.T
    for _ in range(3):                                                  # the size of the error is not quite proportional
        made = turn @ (np.eye(3) + bend)
        bend *= by / np.abs(made.T @ made - np.eye(3)).max()
    return turn @ (np.eye(3) + bend)


def float32(transform):
    """As a program that thinks in float32 would send it."""
    return transform.astype(np.float32)


def moved(transform, vertices):
    """Where vertices go, each product and sum rounded in the order that is promised."""
    m, (x, y, z) = np.asarray(transform, np.float64), np.asarray(vertices, np.float64).T
    return np.stack([m[k, 0] * x + (m[k, 1] * y + (m[k, 2] * z + m[k, 3])) for k in range(3)], 1)


@lru_cache(maxsize=1000)
def _right(*arrays):
    """The reference once for each pair of poses, which several options are tested with; arrays as bytes."""
    a, b = np.frombuffer(arrays[0]).reshape(-1, 3), np.frombuffer(arrays[2]).reshape(-1, 3)
    return naive.collide(a, np.frombuffer(arrays[1], np.int32).reshape(-1, 3), b, np.frombuffer(arrays[3], np.int32).reshape(-1, 3))


def assert_placed(a, b, right=None):
    """Bodies, some of them placed: in both orders and in all ways what the reference says of where their vertices are; the pairs."""
    right = _right(a.vertices.tobytes(), a.faces.tobytes(), b.vertices.tobytes(), b.faces.tobytes()) if right is None else right
    found = meshes.assert_right(a, b, right)
    swapped = pl.collide(b, a).faces
    for way in WAYS:
        np.testing.assert_array_equal(pl.collide(a, b, traversal=way).faces, found.faces, f"{way}")
        np.testing.assert_array_equal(pl.collide(b, a, traversal=way).faces, swapped, f"{way} swapped")
    return found


def as_free(body):
    """A body of the same options that was made where the placed one is."""
    o = body._options
    return pl.Body(body.vertices, body.faces, volume=o.volume_type.name, build=o.builder.name, arity=o.arity, leaf=o.leaf,
                   policy=o.policy.name)


def assert_as_free(a, b):
    """All that can be asked about two bodies is to the bit what free bodies of the same vertices answer; the pairs."""
    free_a, free_b = as_free(a), as_free(b)
    found = pl.collide(a, b, contacts=True)
    assert_same(found, pl.collide(free_a, free_b, contacts=True))
    assert_same(pl.collide(b, a, contacts=True), pl.collide(free_b, free_a, contacts=True))
    for way in WAYS:
        np.testing.assert_array_equal(pl.collide(a, b, traversal=way).faces, found.faces, f"{way}")
        first = pl.collide(a, b, traversal=way, first=True).faces
        assert len(first) == min(len(found), 1)
        assert not len(first) or (found.faces == first[0]).all(axis=1).any()
    return found


def assert_same(found, expected):
    """Pairs and contacts, to the last bit (but 0 is −0); counters may differ."""
    for name in ("faces", "segments", "normals", "depths", "coplanar"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
