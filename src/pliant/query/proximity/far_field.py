"""The nearest faces of two bodies that are far apart, compared with their sizes.

Seen from so far away float32 volumes say nothing: the way between two bodies rounds by as much as they are large. But then nearly all faces
can be ruled out at once, in float64: those that are farther from the box of the other body than two faces are from each other. That
shrinks both boxes, so it is done a few times; what is left is compared two by two.
"""
import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.stack import stack_float64
from pliant.geometry.predicates import point_in_range
from pliant.geometry.triangle_distance import DISTANCE, POINTS, triangle_triangle_distance
from pliant.geometry.triangle_overlap import EXACT

FAR_RATIO = 1 << 10                                                     # times the larger size
CULL_ROUNDS, PAIRS_PER_CHUNK = 8, 1 << 18                               # of ruling out; between looks at Ctrl-C, some 10 ms
ROUND_DOWN = 1 - 2.0**-50                                               # of a distance: more than what rounds
NEAREST_PAIR = np.dtype([("distance", np.float64), ("ends", np.float64, (6,)),
                         *((name, np.int64) for name in ("f", "g", "n_p", "n_exact"))])


def far_apart(a, b):
    """Are two bodies farther apart than FAR times the larger is long? By their boxes."""
    low_a, high_a = box_corners(a)
    low_b, high_b = box_corners(b)
    gap = size = 0.0
    for k in range(3):
        gap = max(gap, low_a[k] - high_b[k], low_b[k] - high_a[k])
        size = max(size, high_a[k] - low_a[k], high_b[k] - low_b[k])
    return gap > FAR_RATIO * size


def box_corners(body):
    """The low and high corner of a body's box, as lists: this is asked in every query."""
    box = body._motion.box.tolist() if body._matrix is None else None
    return (box[:3], box[4:7]) if box is not None else body._world_box().tolist()


@helper
def box_distance(a, i, b, j):
    """How far two boxes, low and high corner, are apart, at least."""
    x = max(a[i, 0] - b[j, 3], max(b[j, 0] - a[i, 3], 0.0))
    y = max(a[i, 1] - b[j, 4], max(b[j, 1] - a[i, 4], 0.0))
    z = max(a[i, 2] - b[j, 5], max(b[j, 2] - a[i, 5], 0.0))
    largest = max(x, max(y, z))
    if not 0.0 < largest < np.inf:
        return largest
    x, y, z = x / largest, y / largest, z / largest
    return largest * np.sqrt(x * x + y * y + z * z) * ROUND_DOWN


@kernel
def face_boxes(flat, faces, boxes):
    """The boxes (f, 6) of all faces, and, last, the one around them."""
    last = len(faces)
    for k in range(3):
        boxes[last, k], boxes[last, k + 3] = np.inf, -np.inf
        for f in range(last):
            p, q, r = flat[3 * faces[f, 0] + k], flat[3 * faces[f, 1] + k], flat[3 * faces[f, 2] + k]
            boxes[f, k], boxes[f, k + 3] = min(p, min(q, r)), max(p, max(q, r))
            boxes[last, k], boxes[last, k + 3] = min(boxes[last, k], boxes[f, k]), max(boxes[last, k + 3], boxes[f, k + 3])


@kernel
def cull_far_faces(boxes, candidates, n, others, best):
    """Of the faces some[:n] keep those that are near enough to the box around the others; how many. The box around the kept is put last."""
    last, n_candidates = len(boxes) - 1, 0
    low, high = stack_float64(3), stack_float64(3)
    for k in range(3):
        low[k], high[k] = np.inf, -np.inf
    for i in range(n):
        f = candidates[i]
        if box_distance(boxes, f, others, len(others) - 1) <= best:
            candidates[n_candidates] = f
            n_candidates += 1
            for k in range(3):
                low[k], high[k] = min(low[k], boxes[f, k]), max(high[k], boxes[f, k + 3])
    for k in range(3):
        boxes[last, k], boxes[last, k + 3] = low[k], high[k]
    return n_candidates


@kernel
def nearest_face(boxes, others):
    """The face whose box is nearest to the box around the others."""
    best, found = np.inf, 0
    for f in range(len(boxes) - 1):
        gap = box_distance(boxes, f, others, len(others) - 1)
        if gap < best:
            best, found = gap, f
    return found


@kernel
def measure_faces(flat_a, faces_a, boxes_a, candidates_a, begin, end, flat_b, faces_b, boxes_b, candidates_b, n_b, best):
    """The faces some_a[begin : end] with all of some_b[:n_b]; `best` (1,) is the nearest pair so far."""
    nearest, t = best[0], stack_float64(26)
    ends = nearest["ends"]
    for i in range(begin, end):
        f = candidates_a[i]
        for j in range(n_b):
            g = candidates_b[j]
            if box_distance(boxes_a, f, boxes_b, g) > nearest["distance"]:
                continue
            in_filter_range = True
            for c in range(3):
                v, w = 3 * np.int64(faces_a[f, c]), 3 * np.int64(faces_b[g, c])
                for k in range(3):
                    t[3 * c + k], t[9 + 3 * c + k] = flat_a[v + k], flat_b[w + k]
                in_filter_range &= point_in_range(t, 3 * c) & point_in_range(t, 9 + 3 * c)
            nearest["n_p"] += 1
            nearest["n_exact"] += triangle_triangle_distance(t, np.int64(in_filter_range)) >= EXACT
            distance = t[DISTANCE]
            if distance < nearest["distance"] or (distance == nearest["distance"]
                                                  and (f < nearest["f"] or (f == nearest["f"] and g < nearest["g"]))):
                nearest["distance"], nearest["f"], nearest["g"] = distance, f, g
                for k in range(6):
                    ends[k] = t[POINTS + k]


def nearest_faces(flat_a, faces_a, flat_b, faces_b):
    """(1,) BEST of two meshes that are apart."""
    sides = []
    for flat, faces in ((flat_a, faces_a), (flat_b, faces_b)):
        boxes = np.empty((len(faces) + 1, 6))
        face_boxes(flat, faces, boxes)
        sides.append((flat, faces, boxes, np.arange(len(faces))))
    (_, _, boxes_a, candidates_a), (_, _, boxes_b, candidates_b) = sides
    best = np.zeros(1, NEAREST_PAIR)
    best["distance"], best["f"], best["g"] = np.inf, len(faces_a), len(faces_b)
    first_a, first_b = np.array([nearest_face(boxes_a, boxes_b)]), np.array([nearest_face(boxes_b, boxes_a)])
    measure_faces(flat_a, faces_a, boxes_a, first_a, 0, 1, flat_b, faces_b, boxes_b, first_b, 1, best)
    n_a, n_b = len(faces_a), len(faces_b)
    for _ in range(CULL_ROUNDS):
        before = n_a, n_b
        n_a = cull_far_faces(boxes_a, candidates_a, n_a, boxes_b, best["distance"][0])
        n_b = cull_far_faces(boxes_b, candidates_b, n_b, boxes_a, best["distance"][0])
        if (n_a, n_b) == before:
            break
    step = max(PAIRS_PER_CHUNK // n_b, 1)
    for begin in range(0, n_a, step):
        measure_faces(flat_a, faces_a, boxes_a, candidates_a, begin, min(begin + step, n_a), flat_b, faces_b, boxes_b, candidates_b, n_b,
                      best)
    return best
