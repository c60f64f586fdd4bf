"""The nearest faces of two bodies that are far apart, compared with their sizes.

Seen from so far away float32 volumes say nothing: the way between two bodies rounds by as much as they are large. But then nearly all faces
can be ruled out at once, in float64: those that are farther from the box of the other body than two faces are from each other. That
shrinks both boxes, so it is done a few times; what is left is compared two by two.
"""
import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.stack import floats
from pliant.geometry.predicates import point_fits
from pliant.geometry.triangle_distance import DISTANCE, POINTS, triangle_gap
from pliant.geometry.triangle_overlap import EXACT

FAR = 1 << 10                                                           # times the larger size
ROUNDS, PAIRS = 8, 1 << 18                                              # of ruling out; between looks at Ctrl-C, some 10 ms
SHORT = 1 - 2.0**-50                                                    # of a distance: more than what rounds
BEST = np.dtype([("distance", np.float64), ("ends", np.float64, (6,)), *((name, np.int64) for name in ("f", "g", "n_p", "n_x"))])


def far_apart(a, b):
    """Are two bodies farther apart than FAR times the larger is long? By their boxes."""
    low_a, high_a = ends_of(a)
    low_b, high_b = ends_of(b)
    gap = size = 0.0
    for k in range(3):
        gap = max(gap, low_a[k] - high_b[k], low_b[k] - high_a[k])
        size = max(size, high_a[k] - low_a[k], high_b[k] - low_b[k])
    return gap > FAR * size


def ends_of(body):
    """The low and high corner of a body's box, as lists: this is asked in every query."""
    box = body.motion.box.tolist() if body.placement is None else None
    return (box[:3], box[4:7]) if box is not None else body.box().tolist()


@helper
def between_boxes(a, i, b, j):
    """How far two boxes, low and high corner, are apart, at least."""
    x = max(a[i, 0] - b[j, 3], max(b[j, 0] - a[i, 3], 0.0))
    y = max(a[i, 1] - b[j, 4], max(b[j, 1] - a[i, 4], 0.0))
    z = max(a[i, 2] - b[j, 5], max(b[j, 2] - a[i, 5], 0.0))
    most = max(x, max(y, z))
    if not 0.0 < most < np.inf:
        return most
    x, y, z = x / most, y / most, z / most
    return most * np.sqrt(x * x + y * y + z * z) * SHORT


@kernel
def box_faces(flat, faces, boxes):
    """The boxes (f, 6) of all faces, and, last, the one around them."""
    last = len(faces)
    for k in range(3):
        boxes[last, k], boxes[last, k + 3] = np.inf, -np.inf
        for f in range(last):
            p, q, r = flat[3 * faces[f, 0] + k], flat[3 * faces[f, 1] + k], flat[3 * faces[f, 2] + k]
            boxes[f, k], boxes[f, k + 3] = min(p, min(q, r)), max(p, max(q, r))
            boxes[last, k], boxes[last, k + 3] = min(boxes[last, k], boxes[f, k]), max(boxes[last, k + 3], boxes[f, k + 3])


@kernel
def rule_out(boxes, some, n, others, best):
    """Of the faces some[:n] keep those that are near enough to the box around the others; how many. The box around the kept is put last."""
    last, left = len(boxes) - 1, 0
    low, high = floats(3), floats(3)
    for k in range(3):
        low[k], high[k] = np.inf, -np.inf
    for i in range(n):
        f = some[i]
        if between_boxes(boxes, f, others, len(others) - 1) <= best:
            some[left] = f
            left += 1
            for k in range(3):
                low[k], high[k] = min(low[k], boxes[f, k]), max(high[k], boxes[f, k + 3])
    for k in range(3):
        boxes[last, k], boxes[last, k + 3] = low[k], high[k]
    return left


@kernel
def nearest_face(boxes, others):
    """The face whose box is nearest to the box around the others."""
    best, found = np.inf, 0
    for f in range(len(boxes) - 1):
        far = between_boxes(boxes, f, others, len(others) - 1)
        if far < best:
            best, found = far, f
    return found


@kernel
def compare(flat_a, faces_a, boxes_a, some_a, begin, end, flat_b, faces_b, boxes_b, some_b, n_b, best):
    """The faces some_a[begin : end] with all of some_b[:n_b]; `best` (1,) is the nearest pair so far."""
    found, t = best[0], floats(26)
    ends = found["ends"]
    for i in range(begin, end):
        f = some_a[i]
        for j in range(n_b):
            g = some_b[j]
            if between_boxes(boxes_a, f, boxes_b, g) > found["distance"]:
                continue
            plain = True
            for c in range(3):
                v, w = 3 * np.int64(faces_a[f, c]), 3 * np.int64(faces_b[g, c])
                for k in range(3):
                    t[3 * c + k], t[9 + 3 * c + k] = flat_a[v + k], flat_b[w + k]
                plain &= point_fits(t, 3 * c) & point_fits(t, 9 + 3 * c)
            found["n_p"] += 1
            found["n_x"] += triangle_gap(t, np.int64(plain)) >= EXACT
            far = t[DISTANCE]
            if far < found["distance"] or (far == found["distance"] and (f < found["f"] or (f == found["f"] and g < found["g"]))):
                found["distance"], found["f"], found["g"] = far, f, g
                for k in range(6):
                    ends[k] = t[POINTS + k]


def nearest_faces(flat_a, faces_a, flat_b, faces_b):
    """(1,) BEST of two meshes that are apart."""
    sides = []
    for flat, faces in ((flat_a, faces_a), (flat_b, faces_b)):
        boxes = np.empty((len(faces) + 1, 6))
        box_faces(flat, faces, boxes)
        sides.append((flat, faces, boxes, np.arange(len(faces))))
    (_, _, boxes_a, some_a), (_, _, boxes_b, some_b) = sides
    best = np.zeros(1, BEST)
    best["distance"], best["f"], best["g"] = np.inf, len(faces_a), len(faces_b)
    first_a, first_b = np.array([nearest_face(boxes_a, boxes_b)]), np.array([nearest_face(boxes_b, boxes_a)])
    compare(flat_a, faces_a, boxes_a, first_a, 0, 1, flat_b, faces_b, boxes_b, first_b, 1, best)
    n_a, n_b = len(faces_a), len(faces_b)
    for _ in range(ROUNDS):
        before = n_a, n_b
        n_a = rule_out(boxes_a, some_a, n_a, boxes_b, best["distance"][0])
        n_b = rule_out(boxes_b, some_b, n_b, boxes_a, best["distance"][0])
        if (n_a, n_b) == before:
            break
    step = max(PAIRS // n_b, 1)
    for begin in range(0, n_a, step):
        compare(flat_a, faces_a, boxes_a, some_a, begin, min(begin + step, n_a), flat_b, faces_b, boxes_b, some_b, n_b, best)
    return best
