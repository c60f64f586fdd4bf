"""View frustum culling, by a frustum or any other set of planes, decided exactly face by face.

A plane a x + b y + c z + d >= 0 keeps a side. A face is culled if all its corners are strictly outside one plane, and for no other reason:
faces that pass outside a corner of the frustum are kept, as is usual (Assarsson and Möller 2000). Signs are those of real numbers on the
float64 vertices (`geometry/halfspace.py`).

The BVH is traversed from its root with a bit mask of active planes. All children of a node are compared with one plane at a time. A child
wholly outside is dropped; for a child wholly inside the plane becomes inactive. Where no plane is active, the faces of all leaves below are
taken without a test. Of a bounding-volume type only `center` and `support_value` along the plane's normal are used.

FRAME. In the coordinates of a body's volumes, p = (v − origin) · scale, a plane is n · p + h, n over a power of two so that |n_k| < 2. With
e = 2**-24 and R = reach · scale >= |p_k|: rounding n and h to float32 moves n · p + h by less than e (6 R + |h|), rounding p, where it is a
corner in a leaf, by 6 e R, and evaluating it by e (24 R + 3 |h|): at most 36 e (R + |h|) < PLANE_ERROR (R + |h|). The margin also includes
the float64 roundings, a share of all terms, and those of transformed vertices. A plane whose numbers overflow gets the margin UNBOUNDED:
then exact tests decide about all faces.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core import validate_views
from pliant.core.jit import helper, ignore_float_errors, kernel
from pliant.core.simd import ctz, fabs, maximum, movemask, popcount
from pliant.core.soa import field_lanes, lanes
from pliant.core.stack import stack_int64
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.geometry.halfspace import side_exact, side_filter
from pliant.geometry.predicates import UNSURE
from pliant.geometry.ray_triangle import ldexp
from pliant.motion.rigid import UNDERFLOW_BOUND, rounding_bound, transform_coordinate
from pliant.query.target import BodyGroup, QueryBody, check_body
from pliant.query.traverse import BUDGET_SPENT, DONE, prefetch_child, refresh_leaf, refresh_node
from pliant.results import Stats, VisibleFaces
from pliant.volume.protocol import REL_ERROR, center, support_value

PLANE_ERROR, FLOAT64_ERROR, UNDERFLOW_ERROR = 2.0**-18, 2.0**-48, 2.0**-120
UNBOUNDED = 2.0**90                                                     # above every coordinate of a volume
CALL_BUDGET = 1 << 13                                                   # nodes per call: about a millisecond
MAX_PLANES = 62                                                         # planes per traversal: bits of a mask
WORD_BITS = 32                                                          # faces marked in one integer
OUTSIDE = -1
NO_TRANSFORM = np.zeros(0)
CULL_STATE = np.dtype([(name, np.int64)
                       for name in ("position", "budget", "n_v", "n_p", "n_u", "n_exact", "frame", "entry", "fill", "context")])


def frustum_cull(target: QueryBody | BodyGroup, frustum: ArrayLike | None = None, *, matrix: ArrayLike | None = None) -> VisibleFaces:
    """View frustum culling: the faces of a body or a scene that are not entirely outside one plane of a frustum.

    Parameters
    ----------
    target : a `Body` or a `Scene`
    frustum : (k, 4) rows a b c d, any k from 1: points with a x + b y + c z + d >= 0 are inside; rows have any length
    matrix : instead, a view-projection matrix (4, 4) as in OpenGL: it multiplies columns, and −w <= x, y, z <= w is inside. The
        planes are the last row plus and minus the first, second and third row (left, right, bottom, top, near, far), rounded to
        float64; planes with normal 0, such as the far plane of an infinite view, are ignored

    A face is culled if all three corners are strictly outside the same plane, in real arithmetic on the float64 vertices: touching
    counts as visible.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 0, 0], [6, 0, 0], [5, 1, 0]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.frustum_cull(body, [[1, 0, 0, -2]]).face.tolist()
    [1]
    >>> pl.frustum_cull(body, [[-1, 0, 0, 5], [0, 1, 0, 0]]).face.tolist()
    [0, 1]
    """
    if (frustum is None) == (matrix is None):
        raise ArgumentTypeError("frustum_cull: expected either frustum=planes (k, 4) or matrix=view_projection (4, 4)")
    planes = matrix_planes(validate_views.matrix("matrix", matrix)) if frustum is None else validate_views.planes("frustum", frustum)
    if isinstance(target, BodyGroup):
        bodies, body_ids, _ = target._members_with_faces()
    else:
        check_body("target", target)
        bodies, body_ids = [target], [0]
    with ReadLock(*(body._guard for body in bodies)):
        found = [cull_faces(body, planes) for body in bodies]
    faces = np.concatenate([np.zeros(0, np.int32), *(faces for faces, _ in found)])
    owners = np.repeat(np.array(body_ids, np.int64), [len(faces) for faces, _ in found])
    return VisibleFaces(owners, faces, sum((stats for _, stats in found), Stats()))


def matrix_planes(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """(k, 4): the planes of a view-projection matrix, k = 6 unless some have no normal."""
    with np.errstate(over="ignore"):
        planes = np.stack([matrix[3] + sign * matrix[k] for k in range(3) for sign in (1.0, -1.0)])
    no_normal = (planes[:, :3] == 0).all(axis=1)
    if not np.isfinite(planes).all() or (no_normal & (planes[:, 3] < 0)).any() or no_normal.all():
        raise ArgumentError(f"matrix: {matrix.tolist()} shows nothing: expected a view-projection matrix")
    return np.ascontiguousarray(planes[~no_normal])


def cull_faces(body: Any, planes: NDArray[np.float64]) -> tuple[NDArray[np.int32], Stats]:
    """(faces, Stats) of a body that is locked for reading; any number of planes."""
    found, stats = np.arange(len(body), dtype=np.int32), Stats()
    for k in range(0, len(planes), MAX_PLANES):
        faces, more_stats = cull_by_planes(body, planes[k:k + MAX_PLANES].reshape(-1)) if len(body) else (found, Stats())
        found, stats = faces if k == 0 else np.intersect1d(found, faces, assume_unique=True), stats + more_stats
    return found, stats


def cull_by_planes(body, planes):
    """The same for at most MAX_PLANES planes, flat."""
    motion, m = body._motion, NO_TRANSFORM if body._matrix is None else body._matrix
    local = np.zeros(5 * (len(planes) // 4), np.float32)
    mask = to_local_planes(planes, motion.record, m, local)
    if mask == 0:
        return np.arange(len(body), dtype=np.int32), Stats()
    if mask == OUTSIDE:
        return np.zeros(0, np.int32), Stats()
    bvh, query = body._bvh_at(motion.scale), np.zeros(1, CULL_STATE)
    state = query[0]
    state["n_u"] = bvh.refit()
    tree = bvh.tree
    stack, marks = np.zeros(2 * (tree.depth + 1) * tree.width, np.int64), np.zeros(len(body) // WORD_BITS + 1, np.int64)
    state["position"], stack[1] = 2, mask
    state["frame"], state["entry"], state["fill"], state["context"] = bvh.frame, bvh.entry, bvh.fill, bvh.context
    reason, ranges = BUDGET_SPENT, bvh.ranges()
    with ignore_float_errors():
        while reason == BUDGET_SPENT:                                   # Ctrl-C is handled between calls
            state["budget"] = CALL_BUDGET
            reason = traverse_planes(bvh.nodes, bvh.leaves, tree.faces, ranges, motion.flat, m, planes, local, query, stack, marks)
    found = np.empty(count_marks(marks), np.int32)
    list_marks(marks, found)
    return found, Stats(*(int(state[name]) for name in Stats._fields))


@kernel
def to_local_planes(planes, motion_record, m, local):
    """Set local (5 k,) to planes (4 k,), flat, in the frame of a body's volumes: n, h and the margin of each. Returns bits of the planes
    that the body's box is not wholly inside of; OUTSIDE if it is wholly outside one. `m` (12,) or (0,) is the body's transform."""
    body_frame, mask, is_placed = motion_record[0], np.int64(0), len(m) > 0
    box, origin, scale = body_frame["box"], body_frame["origin"], body_frame["scale"]
    reach, error_bound = body_frame["reach"] * scale, rounding_bound(m, box) * scale if is_placed else 0.0
    scale_exponent = math.frexp(scale)[1] - 1
    for j in range(len(planes) // 4):
        a, b, c, d = planes[4 * j], planes[4 * j + 1], planes[4 * j + 2], planes[4 * j + 3]
        e = math.frexp(max(abs(a), max(abs(b), abs(c))))[1]
        a, b, c, h = ldexp(a, -e), ldexp(b, -e), ldexp(c, -e), ldexp(d, scale_exponent - e)  # in one step: a subnormal d / 2**e would round
        x, y, z, terms, offset_size = a, b, c, abs(h), 0.0
        if is_placed:                                                   # n · (R v + t) + d = (Rᵀ n) · v + n · t + d
            p, q, r = m[3] * scale, m[7] * scale, m[11] * scale
            x, y, z = a * m[0] + b * m[4] + c * m[8], a * m[1] + b * m[5] + c * m[9], a * m[2] + b * m[6] + c * m[10]
            h, terms = h + (a * p + (b * q + c * r)), terms + (abs(a * p) + (abs(b * q) + abs(c * r)))
            offset_size = abs(p) + (abs(q) + abs(r))
        p, q, r = origin[0] * scale, origin[1] * scale, origin[2] * scale
        h, offset_size = h + (x * p + (y * q + z * r)), offset_size + (abs(p) + (abs(q) + abs(r)))
        terms += 2 * (abs(p) + (abs(q) + abs(r)))                       # includes all roundings of Rᵀ n
        margin = ((reach + abs(h)) * PLANE_ERROR + (terms + reach) * FLOAT64_ERROR + 6 * error_bound
                  + offset_size * UNDERFLOW_BOUND + UNDERFLOW_ERROR)
        if not (abs(h) < UNBOUNDED and margin < UNBOUNDED):             # NaN is neither
            x, y, z, h, margin = 0.0, 0.0, 0.0, 0.0, UNBOUNDED
        local[5 * j], local[5 * j + 1], local[5 * j + 2] = x, y, z
        local[5 * j + 3], local[5 * j + 4] = h, margin * (1 + 2.0**-20)
        box_side, half_extent = h, 0.0
        for k in range(3):
            n = x if k == 0 else y if k == 1 else z
            low, high = box[k] * scale - origin[k] * scale, box[k + 4] * scale - origin[k] * scale
            box_side, half_extent = box_side + n * (0.5 * low + 0.5 * high), half_extent + abs(n) * (0.5 * high - 0.5 * low)
        if box_side + half_extent < -margin:
            return np.int64(OUTSIDE)
        if not box_side - half_extent >= margin:
            mask |= np.int64(1) << j
    return mask


@helper
def mark_leaves(faces, begin, end, marks):
    """Mark all faces of the leaves from `begin` to `end`."""
    for leaf in range(begin, end):
        for k in range(faces.shape[1]):
            face = np.int64(faces[leaf, k])
            if face < 0:
                break
            marks[face // WORD_BITS] |= np.int64(1) << (face % WORD_BITS)


@helper
def corner_side(leaves, leaf, c, i, flat, m, planes, j):
    """(sign of corner c of triangle i of a leaf relative to plane j, 1 if the filter did not decide it)"""
    v = 3 * np.int64(leaves[leaf]["corner"][c, i])
    x, y, z = flat[v], flat[v + 1], flat[v + 2]
    if len(m) > 0:
        x, y, z = transform_coordinate(m, 0, x, y, z), transform_coordinate(m, 1, x, y, z), transform_coordinate(m, 2, x, y, z)
    a, b, c, d = planes[4 * j], planes[4 * j + 1], planes[4 * j + 2], planes[4 * j + 3]
    side = side_filter(a, b, c, d, x, y, z)
    if side != UNSURE:
        return side, np.int64(0)
    return side_exact(a, b, c, d, x, y, z), np.int64(1)


@helper
def cull_leaf(leaves, leaf, flat, m, planes, local, mask):
    """(bits of the triangles of a leaf that none of these planes culls, how many signs the filter did not decide)"""
    kept_mask, n_exact = np.int64(leaves[leaf]["used"]), np.int64(0)
    while mask != 0 and kept_mask != 0:
        j, mask = ctz(mask), mask & (mask - 1)
        x, y, z, h, margin = local[5 * j], local[5 * j + 1], local[5 * j + 2], local[5 * j + 3], local[5 * j + 4]
        p = field_lanes(leaves, leaf, 0) * x + (field_lanes(leaves, leaf, 1) * y + (field_lanes(leaves, leaf, 2) * z + h))
        q = field_lanes(leaves, leaf, 3) * x + (field_lanes(leaves, leaf, 4) * y + (field_lanes(leaves, leaf, 5) * z + h))
        r = field_lanes(leaves, leaf, 6) * x + (field_lanes(leaves, leaf, 7) * y + (field_lanes(leaves, leaf, 8) * z + h))
        largest = maximum(p, maximum(q, r))
        kept_mask &= ~movemask(largest < -margin)
        unsure = kept_mask & ~movemask(largest >= margin)
        while unsure != 0:
            i, unsure = ctz(unsure), unsure & (unsure - 1)
            c, side = 0, np.int64(-1)
            while c < 3 and side < 0:
                side, is_exact = corner_side(leaves, leaf, c, i, flat, m, planes, j)
                c, n_exact = c + 1, n_exact + is_exact
            if side < 0:
                kept_mask &= ~(np.int64(1) << i)
    return kept_mask, n_exact


@helper
def cull_children(nodes, i, local, mask, plane_masks):
    """Bits of the children of node i that none of these planes culls; plane_masks[k] becomes the planes still active for child k."""
    count, volumes = np.int64(nodes[i]["count"]), lanes(nodes, i)
    x, y, z = center(volumes)
    kept_mask = (np.int64(1) << count) - 1
    for k in range(count):
        plane_masks[k] = 0
    while mask != 0 and kept_mask != 0:
        j, mask = ctz(mask), mask & (mask - 1)
        a, b, c, h, margin = local[5 * j], local[5 * j + 1], local[5 * j + 2], local[5 * j + 3], local[5 * j + 4]
        p, q, r = x * a, y * b, z * c
        center_side = p + (q + (r + h))
        error_bound = (fabs(p) + (fabs(q) + (fabs(r) + abs(h)))) * REL_ERROR + margin
        kept_mask &= ~movemask(center_side + support_value(volumes, a, b, c) < -error_bound)
        crossing = kept_mask & ~movemask(center_side - support_value(volumes, -a, -b, -c) >= error_bound)
        while crossing != 0:
            k, crossing = ctz(crossing), crossing & (crossing - 1)
            plane_masks[k] |= np.int64(1) << j
    return kept_mask


@kernel
def traverse_planes(nodes, leaves, faces, ranges, flat, m, planes, local, query, stack, marks):
    """Resume a traversal from `query` (1,) and `stack`, which holds pairs of a node and its active planes: mark the faces that are kept.
    Returns DONE or BUDGET_SPENT."""
    state, plane_masks = query[0], stack_int64(8)
    position, budget, n_v = state["position"], state["budget"], state["n_v"]
    n_p, n_u, n_exact = state["n_p"], state["n_u"], state["n_exact"]
    frame, entry, fill, context = state["frame"], state["entry"], state["fill"], state["context"]
    while position > 0 and budget > 0:
        budget, position = budget - 1, position - 2
        i, mask = stack[position], stack[position + 1]
        n_u += refresh_node(nodes, i, frame, entry, context)
        n_v += nodes[i]["count"]
        kept_mask = cull_children(nodes, i, local, mask, plane_masks)
        while kept_mask != 0:
            k, kept_mask = ctz(kept_mask), kept_mask & (kept_mask - 1)
            child = np.int64(nodes[i]["child"][k])
            if plane_masks[k] == 0:
                begin, end = (~child, ~child + 1) if child < 0 else (ranges[child, 0], ranges[child, 1])
                mark_leaves(faces, begin, end, marks)
            elif child >= 0:
                prefetch_child(nodes, leaves, child)
                stack[position], stack[position + 1] = child, plane_masks[k]
                position += 2
            else:
                refresh_leaf(leaves, ~child, frame, fill, context)
                n_p += popcount(np.int64(leaves[~child]["used"]))
                visible_mask, exact_signs = cull_leaf(leaves, ~child, flat, m, planes, local, plane_masks[k])
                n_exact += exact_signs
                while visible_mask != 0:
                    t, visible_mask = ctz(visible_mask), visible_mask & (visible_mask - 1)
                    face = np.int64(leaves[~child]["face"][t])
                    marks[face // WORD_BITS] |= np.int64(1) << (face % WORD_BITS)
    state["position"], state["n_v"], state["n_p"], state["n_u"], state["n_exact"] = position, n_v, n_p, n_u, n_exact
    return DONE if position == 0 else BUDGET_SPENT


@kernel
def count_marks(marks):
    """The number of marked faces."""
    n = np.int64(0)
    for word in marks:
        n += popcount(word)
    return n


@kernel
def list_marks(marks, found):
    """Write the marked faces to `found`, in order."""
    n = 0
    for at in range(len(marks)):
        word = marks[at]
        while word != 0:
            k, word = ctz(word), word & (word - 1)
            found[n] = at * WORD_BITS + k
            n += 1
