"""Which faces does a frustum, or any other set of planes, leave? View frustum culling, exactly decided face by face.

A plane a x + b y + c z + d >= 0 keeps a side. A face is left out if one plane has all its corners strictly on the other side, and nothing
else: faces that pass a corner of the frustum outside of it are kept, as is usual (Assarsson and Möller 2000). Signs are those of real
numbers on the float64 vertices (`geometry/halfspace.py`).

A tree is searched from its root with the planes that still count, as bits. Of a node all lanes are compared with one plane at a time: what
is wholly outside is dropped, what is wholly inside need not be compared with that plane any more, and where no plane is left, the faces of
all leaves below are taken without looking. Families say how far they reach along a plane's normal, `span` from their `middle`, and no more.

FRAME. In the coordinates of a body's volumes, p = (v − origin) · scale, a plane is n · p + h, n over a power of two so that |n_k| < 2. With
e = 2**-24 and R = reach · scale >= |p_k|: rounding n and h to float32 moves n · p + h by less than e (6 R + |h|), rounding p, where it is a
corner in a leaf, by 6 e R, and working it out by e (24 R + 3 |h|): at most 36 e (R + |h|) < SLACK (R + |h|). What rounds on the way in
float64 is a share of all terms, which is added, and so is what rounds where a transform puts vertices. A plane of which nothing can be
told so (numbers that overflow) is BLIND: then exact tests decide about all.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core import validate, validate_views
from pliant.core.jit import helper, kernel, silent
from pliant.core.simd import bits, first, greatest, magnitude, ones
from pliant.core.soa import lanes, row
from pliant.core.stack import integers
from pliant.core.threads import Reading
from pliant.geometry.halfspace import side_exact, side_filter
from pliant.geometry.predicates import UNSURE
from pliant.geometry.ray_triangle import scaled
from pliant.motion.rigid import LEAST, placed, rounding
from pliant.query.traverse import BUDGET, DONE, fetch, freshen, freshen_leaf
from pliant.results import Stats, Visible
from pliant.volume.protocol import NEARLY, middle, span

SLACK, FAR_AWAY, TINIEST = 2.0**-18, 2.0**-48, 2.0**-120
BLIND = 2.0**90                                                         # beyond anything that volumes reach
CHUNK = 1 << 13                                                         # nodes of one call: about a millisecond
MOST_PLANES = 62                                                        # bits of one search
WORD = 32                                                               # faces of a number in which faces are marked
OUTSIDE = -1
NOT_PLACED = np.zeros(0)
LOOK = np.dtype([(name, np.int64) for name in ("position", "budget", "n_v", "n_p", "n_u", "n_x", "frame", "entry", "fill", "context")])


def visible(target: Any, frustum: ArrayLike | None = None, *, matrix: ArrayLike | None = None) -> Any:
    """The faces of a body, or of a scene, that are not wholly outside of any one plane of a frustum.

    frustum : (k, 4) rows a b c d, any k from 1 up: a x + b y + c z + d >= 0 is inside; of any length
    matrix : instead, a view-projection matrix (4, 4) as OpenGL has it: columns are multiplied, and −w <= x, y, z <= w is inside. The planes
        are the last row plus and minus the first, second and third (left, right, bottom, top, near, far), as float64 rounds them; one that
        has no normal, as the far plane of an infinite view, counts for nothing

    A face is left out if a plane has all three corners strictly outside, in real arithmetic on the float64 vertices: touching counts as
    visible. Of a body: (n,) int32 faces, sorted; of a scene: `Visible`.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 0, 0], [6, 0, 0], [5, 1, 0]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.visible(body, [[1, 0, 0, -2]]).tolist()
    [1]
    >>> pl.visible(body, [[-1, 0, 0, 5], [0, 1, 0, 0]]).tolist()
    [0, 1]
    """
    if (frustum is None) == (matrix is None):
        raise TypeError("visible: expected a frustum (k, 4), or a matrix (4, 4), and not both")
    planes = planes_of(validate_views.matrix("matrix", matrix)) if frustum is None else validate_views.planes("frustum", frustum)
    if hasattr(target, "members_with_faces"):
        bodies, numbers, _ = target.members_with_faces()
        with Reading(*(body.guard for body in bodies)):
            found = [faces_within(body, planes) for body in bodies]
        faces = np.concatenate([np.zeros(0, np.int32), *(faces for faces, _ in found)])
        owners = np.repeat(np.array(numbers, np.int64), [len(faces) for faces, _ in found])
        return Visible(owners, faces, Stats(*np.sum([Stats(), *(stats for _, stats in found)], axis=0).tolist()))
    validate.body("target", target)
    with Reading(target.guard):
        return faces_within(target, planes)[0]


def planes_of(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """(k, 4): the planes of a view-projection matrix, k = 6 unless some have no normal."""
    with np.errstate(over="ignore"):
        planes = np.stack([matrix[3] + sign * matrix[k] for k in range(3) for sign in (1.0, -1.0)])
    none = (planes[:, :3] == 0).all(axis=1)
    if not np.isfinite(planes).all() or (none & (planes[:, 3] < 0)).any() or none.all():
        raise ValueError(f"matrix: {matrix.tolist()} shows nothing: expected a view-projection matrix")
    return np.ascontiguousarray(planes[~none])


def faces_within(body: Any, planes: NDArray[np.float64]) -> tuple[NDArray[np.int32], Stats]:
    """(faces, Stats) of a body that nobody writes to; any number of planes."""
    found, stats = np.arange(len(body), dtype=np.int32), Stats()
    for k in range(0, len(planes), MOST_PLANES):
        some, more = search(body, planes[k:k + MOST_PLANES].reshape(-1)) if len(body) else (found, Stats())
        found, stats = some if k == 0 else np.intersect1d(found, some, assume_unique=True), stats.plus(more)
    return found, stats


def search(body, planes):
    """The same for at most MOST_PLANES, flat."""
    motion, m = body.motion, NOT_PLACED if body.placement is None else body.placement
    local = np.zeros(5 * (len(planes) // 4), np.float32)
    mask = bring(planes, motion.about, m, local)
    if mask == 0:
        return np.arange(len(body), dtype=np.int32), Stats()
    if mask == OUTSIDE:
        return np.zeros(0, np.int32), Stats()
    shape, query = body.shape_at(motion.scale), np.zeros(1, LOOK)
    state = query[0]
    state["n_u"] = shape.follow()
    tree = shape.tree
    stack, marks = np.zeros(2 * (tree.depth + 1) * tree.width, np.int64), np.zeros(len(body) // WORD + 1, np.int64)
    state["position"], stack[1] = 2, mask
    state["frame"], state["entry"], state["fill"], state["context"] = shape.frame, shape.entry, shape.fill, shape.context
    reason, ranges = BUDGET, shape.ranges()
    with silent():
        while reason == BUDGET:                                         # in between Ctrl-C is heard
            state["budget"] = CHUNK
            reason = look(shape.nodes, shape.leaves, tree.faces, ranges, motion.flat, m, planes, local, query, stack, marks)
    found = np.empty(count_marks(marks), np.int32)
    list_marks(marks, found)
    return found, Stats(*(int(state[name]) for name in Stats._fields))


@kernel
def bring(planes, place, m, local):
    """Set local (5 k,) to planes (4 k,), flat, as the volumes of a body see them: n, h and the slack of each. Bits of the planes that its
    box is not wholly inside of; OUTSIDE if it is wholly outside one. `m` (12,) or (0,) places it."""
    here, mask, is_placed = place[0], np.int64(0), len(m) > 0
    box, origin, scale = here["box"], here["origin"], here["scale"]
    reach, doubt = here["reach"] * scale, rounding(m, box) * scale if is_placed else 0.0
    grown = math.frexp(scale)[1] - 1
    for j in range(len(planes) // 4):
        a, b, c, d = planes[4 * j], planes[4 * j + 1], planes[4 * j + 2], planes[4 * j + 3]
        e = math.frexp(max(abs(a), max(abs(b), abs(c))))[1]
        a, b, c, h = scaled(a, -e), scaled(b, -e), scaled(c, -e), scaled(d, grown - e)       # in one step: a subnormal d / 2**e would round
        x, y, z, terms, far = a, b, c, abs(h), 0.0
        if is_placed:                                                   # n · (R v + t) + d = (Rᵀ n) · v + n · t + d
            p, q, r = m[3] * scale, m[7] * scale, m[11] * scale
            x, y, z = a * m[0] + b * m[4] + c * m[8], a * m[1] + b * m[5] + c * m[9], a * m[2] + b * m[6] + c * m[10]
            h, terms, far = h + (a * p + (b * q + c * r)), terms + (abs(a * p) + (abs(b * q) + abs(c * r))), abs(p) + (abs(q) + abs(r))
        p, q, r = origin[0] * scale, origin[1] * scale, origin[2] * scale
        h, far = h + (x * p + (y * q + z * r)), far + (abs(p) + (abs(q) + abs(r)))
        terms += 2 * (abs(p) + (abs(q) + abs(r)))                       # with all roundings of Rᵀ n
        slack = (reach + abs(h)) * SLACK + (terms + reach) * FAR_AWAY + 6 * doubt + far * LEAST + TINIEST
        if not (abs(h) < BLIND and slack < BLIND):                      # NaN is neither
            x, y, z, h, slack = 0.0, 0.0, 0.0, 0.0, BLIND
        local[5 * j], local[5 * j + 1], local[5 * j + 2] = x, y, z
        local[5 * j + 3], local[5 * j + 4] = h, slack * (1 + 2.0**-20)
        along, wide = h, 0.0
        for k in range(3):
            n = x if k == 0 else y if k == 1 else z
            low, high = box[k] * scale - origin[k] * scale, box[k + 4] * scale - origin[k] * scale
            along, wide = along + n * (0.5 * low + 0.5 * high), wide + abs(n) * (0.5 * high - 0.5 * low)
        if along + wide < -slack:
            return np.int64(OUTSIDE)
        if not along - wide >= slack:
            mask |= np.int64(1) << j
    return mask


@helper
def take(faces, begin, end, marks):
    """Mark all faces of these leaves."""
    for leaf in range(begin, end):
        for k in range(faces.shape[1]):
            face = np.int64(faces[leaf, k])
            if face < 0:
                break
            marks[face // WORD] |= np.int64(1) << (face % WORD)


@helper
def corner_side(leaves, leaf, c, i, flat, m, planes, j):
    """(The sign of corner c of triangle i of a leaf, 1 if that took more than the filter.)"""
    v = 3 * np.int64(leaves[leaf]["corner"][c, i])
    x, y, z = flat[v], flat[v + 1], flat[v + 2]
    if len(m) > 0:
        x, y, z = placed(m, 0, x, y, z), placed(m, 1, x, y, z), placed(m, 2, x, y, z)
    a, b, c, d = planes[4 * j], planes[4 * j + 1], planes[4 * j + 2], planes[4 * j + 3]
    side = side_filter(a, b, c, d, x, y, z)
    if side != UNSURE:
        return side, np.int64(0)
    return side_exact(a, b, c, d, x, y, z), np.int64(1)


@helper
def look_at_leaf(leaves, leaf, flat, m, planes, local, mask):
    """(Bits of the triangles of a leaf that none of these planes leaves out, how many signs took more than the filter.)"""
    some, hard = np.int64(leaves[leaf]["used"]), np.int64(0)
    while mask != 0 and some != 0:
        j, mask = first(mask), mask & (mask - 1)
        x, y, z, h, slack = local[5 * j], local[5 * j + 1], local[5 * j + 2], local[5 * j + 3], local[5 * j + 4]
        p = row(leaves, leaf, 0) * x + (row(leaves, leaf, 1) * y + (row(leaves, leaf, 2) * z + h))
        q = row(leaves, leaf, 3) * x + (row(leaves, leaf, 4) * y + (row(leaves, leaf, 5) * z + h))
        r = row(leaves, leaf, 6) * x + (row(leaves, leaf, 7) * y + (row(leaves, leaf, 8) * z + h))
        most = greatest(p, greatest(q, r))
        some &= ~bits(most < -slack)
        unsure = some & ~bits(most >= slack)
        while unsure != 0:
            i, unsure = first(unsure), unsure & (unsure - 1)
            c, side = 0, np.int64(-1)
            while c < 3 and side < 0:
                side, more = corner_side(leaves, leaf, c, i, flat, m, planes, j)
                c, hard = c + 1, hard + more
            if side < 0:
                some &= ~(np.int64(1) << i)
    return some, hard


@helper
def compare(nodes, i, local, mask, rest):
    """Bits of the lanes of node i that none of these planes leaves out; rest[k] becomes the planes that still count for lane k."""
    count, volumes = np.int64(nodes[i]["count"]), lanes(nodes, i)
    x, y, z = middle(volumes)
    some = (np.int64(1) << count) - 1
    for k in range(count):
        rest[k] = 0
    while mask != 0 and some != 0:
        j, mask = first(mask), mask & (mask - 1)
        a, b, c, h, slack = local[5 * j], local[5 * j + 1], local[5 * j + 2], local[5 * j + 3], local[5 * j + 4]
        p, q, r = x * a, y * b, z * c
        along = p + (q + (r + h))
        doubt = (magnitude(p) + (magnitude(q) + (magnitude(r) + abs(h)))) * NEARLY + slack
        some &= ~bits(along + span(volumes, a, b, c) < -doubt)
        still = some & ~bits(along - span(volumes, -a, -b, -c) >= doubt)
        while still != 0:
            k, still = first(still), still & (still - 1)
            rest[k] |= np.int64(1) << j
    return some


@kernel
def look(nodes, leaves, faces, ranges, flat, m, planes, local, query, stack, marks):
    """Go on with a search, whose state is in `query` (1,) and `stack`, pairs of a node and the planes that count for it: mark the faces
    that are kept. DONE, or BUDGET."""
    state, rest = query[0], integers(8)
    position, budget, n_v, n_p, n_u, n_x = state["position"], state["budget"], state["n_v"], state["n_p"], state["n_u"], state["n_x"]
    frame, entry, fill, context = state["frame"], state["entry"], state["fill"], state["context"]
    while position > 0 and budget > 0:
        budget, position = budget - 1, position - 2
        i, mask = stack[position], stack[position + 1]
        n_u += freshen(nodes, i, frame, entry, context)
        n_v += nodes[i]["count"]
        some = compare(nodes, i, local, mask, rest)
        while some != 0:
            k, some = first(some), some & (some - 1)
            child = np.int64(nodes[i]["child"][k])
            if rest[k] == 0:
                begin, end = (~child, ~child + 1) if child < 0 else (ranges[child, 0], ranges[child, 1])
                take(faces, begin, end, marks)
            elif child >= 0:
                fetch(nodes, leaves, child)
                stack[position], stack[position + 1] = child, rest[k]
                position += 2
            else:
                freshen_leaf(leaves, ~child, frame, fill, context)
                n_p += ones(np.int64(leaves[~child]["used"]))
                kept, hard = look_at_leaf(leaves, ~child, flat, m, planes, local, rest[k])
                n_x += hard
                while kept != 0:
                    t, kept = first(kept), kept & (kept - 1)
                    face = np.int64(leaves[~child]["face"][t])
                    marks[face // WORD] |= np.int64(1) << (face % WORD)
    state["position"], state["n_v"], state["n_p"], state["n_u"], state["n_x"] = position, n_v, n_p, n_u, n_x
    return DONE if position == 0 else BUDGET


@kernel
def count_marks(marks):
    """How many faces are marked."""
    n = np.int64(0)
    for word in marks:
        n += ones(word)
    return n


@kernel
def list_marks(marks, found):
    """The faces that are marked, in order."""
    n = 0
    for at in range(len(marks)):
        word = marks[at]
        while word != 0:
            k, word = first(word), word & (word - 1)
            found[n] = at * WORD + k
            n += 1
