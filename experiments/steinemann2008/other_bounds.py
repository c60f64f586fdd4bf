"""Other bounds of blended bodies, with which paper M compares its own, and its own again: in float64, directly from the formulas.

For the vertices under a node of a BVH these are known: the maps T_j that move them, the limits l_j, h_j of their weights, and an enclosing
box or ball at rest. From these:

    all          all D_j are bounded at once (5.1.2)
    corners      the n (n - 1) corners of the limited weights, one after the other (5.2.1), each from the sum of all l_j b_j
    eq12         the extreme corner (eq. 12)
    greedy       the solution of the linear programme: b in descending order, filled up to h
    spheres      deformations are summed (Adams, Keiser, Pauly, Guibas, Gross and Dutré 2005):
                 |v - c| <= r + Σ h_j (|u_j| + |∇u_j| · max |v0 - x_j|) about the centre c at rest
    moved        the same about a centre that moves with the mean of the limits: |v - c'| <= r + Σ ½ (h_j - l_j) |d_j| + h_j |∇u_j| r,
                 with d_j the displacement of the centre by map j

`runs.py` registers them beside the bounds of the library.
"""

import numpy as np

from experiments.steinemann2008.tightness import OTHERS, ROOTS, Job, Sets, Volumes, radii_of
from pliant.core.jit import helper, kernel

ALL, CORNERS, EQ12, GREEDY = range(4)
NAMES = {"all maps (5.1.2)": ALL, "corners (5.2.1)": CORNERS, "eq. 12, float64": EQ12, "greedy, float64": GREEDY}
SPHERES, MOVED = "summed spheres", "summed spheres that move"


@kernel
def survey(order, begin, end, begins, which, weights, rest, counts, limits, box, met):
    """For the vertices order[begin : end]: the maps that move them, in `met`, and their number; limits (m, 2) of their weights, and the
    box. All `counts` are 0, and left at 0."""
    n = 0
    for k in range(3):
        box[k], box[k + 3] = np.inf, -np.inf
    for at in range(begin, end):
        v = order[at]
        for k in range(3):
            box[k], box[k + 3] = min(box[k], rest[v, k]), max(box[k + 3], rest[v, k])
        for e in range(begins[v], begins[v + 1]):
            j = which[e]
            if counts[j] == 0:
                met[n], limits[j, 0], limits[j, 1] = j, weights[e], weights[e]
                n += 1
            counts[j] += 1
            limits[j, 0], limits[j, 1] = min(limits[j, 0], weights[e]), max(limits[j, 1], weights[e])
    for i in range(n):
        j = met[i]
        if counts[j] < end - begin:
            limits[j, 0] = 0.0
        counts[j] = 0
    return n


@helper
def farthest_along(maps, j, box, k, sign):
    """The extent of a box along axis k after map j."""
    middle, half = maps[j, k, 3], 0.0
    for c in range(3):
        middle += maps[j, k, c] * 0.5 * (box[c] + box[c + 3])
        half += abs(maps[j, k, c]) * 0.5 * (box[c + 3] - box[c])
    return sign * middle + half


@kernel
def extreme(b, met, n, limits, how):
    """The extent of the limited combinations of b (m,), for the n maps `met`."""
    first, second, fixed, lowest = -1, -1, 0.0, 0.0
    for i in range(n):
        j = met[i]
        fixed, lowest = fixed + limits[j, 0] * b[j], lowest + limits[j, 0]
        if first < 0 or b[j] > b[first]:
            first, second = j, first
        elif second < 0 or b[j] > b[second]:
            second = j
    if how == ALL or n == 1:
        return b[first]
    if how == EQ12:
        return fixed + (limits[first, 1] - limits[first, 0]) * b[first] + (1.0 - lowest - limits[first, 1] + limits[first, 0]) * b[second]
    most = -np.inf
    if how == CORNERS:
        for i in range(n):
            j = met[i]
            more = limits[j, 1] - limits[j, 0]
            for e in range(n):
                if e != i:
                    most = max(most, fixed + more * b[j] + (1.0 - lowest - more) * b[met[e]])
        return most
    left, above, total = 1.0 - lowest, np.inf, fixed
    while left > 0.0:  # the next largest b, until no weight is left
        most, room = -np.inf, 0.0
        for i in range(n):
            j = met[i]
            if b[j] < above:
                if b[j] > most:
                    most, room = b[j], 0.0
                if b[j] == most:
                    room += limits[j, 1] - limits[j, 0]
        if most == -np.inf:
            break
        total += min(room, left) * most
        left, above = left - room, most
    return total


@kernel
def bound_box(maps, box, met, n, limits, how, b, made):
    """The box (6,) that encloses a box at rest under the n maps `met`; `b` (m,) is scratch memory."""
    for k in range(3):
        for e in range(n):
            b[met[e]] = farthest_along(maps, met[e], box, k, 1.0)
        made[k + 3] = extreme(b, met, n, limits, how)
        for e in range(n):
            b[met[e]] = farthest_along(maps, met[e], box, k, -1.0)
        made[k] = -extreme(b, met, n, limits, how)


@kernel
def bound_boxes(sets, begins, which, weights, rest, maps, how, counts, limits, met, box, b, boxes):
    """Boxes (n, 6) of all sets, (order, spans)."""
    order, spans = sets
    for i in range(len(spans)):
        n = survey(order, spans[i, 0], spans[i, 1], begins, which, weights, rest, counts, limits, box, met)
        bound_box(maps, box, met, n, limits, how, b, boxes[i])


@kernel
def bound_spheres(sets, begins, which, weights, rest, maps, places, sizes, moves, counts, limits, met, box, spheres):
    """Spheres (n, 4) of all sets: centre and radius. `places` (m, 3): positions of nodes; `sizes` (m, 2): their displacements and
    gradients."""
    order, spans = sets
    for i in range(len(spans)):
        n = survey(order, spans[i, 0], spans[i, 1], begins, which, weights, rest, counts, limits, box, met)
        c = spheres[i]
        for k in range(3):
            c[k] = 0.5 * (box[k] + box[k + 3])
        radius = 0.0
        for at in range(spans[i, 0], spans[i, 1]):
            v = order[at]
            radius = max(radius, (rest[v, 0] - c[0]) ** 2 + (rest[v, 1] - c[1]) ** 2 + (rest[v, 2] - c[2]) ** 2)
        radius = reach = np.sqrt(radius)
        x, y, z = c[0], c[1], c[2]
        dx = dy = dz = 0.0
        total = 0.0
        for e in range(n):
            j = met[e]
            total += 0.5 * (limits[j, 0] + limits[j, 1])
        for e in range(n):
            j = met[e]
            low, high = limits[j, 0], limits[j, 1]
            if moves:
                ux = maps[j, 0, 0] * x + maps[j, 0, 1] * y + maps[j, 0, 2] * z + maps[j, 0, 3] - x
                uy = maps[j, 1, 0] * x + maps[j, 1, 1] * y + maps[j, 1, 2] * z + maps[j, 1, 3] - y
                uz = maps[j, 2, 0] * x + maps[j, 2, 1] * y + maps[j, 2, 2] * z + maps[j, 2, 3] - z
                middle = 0.5 * (low + high) / total  # wrong by the farther limit at most
                dx, dy, dz = dx + middle * ux, dy + middle * uy, dz + middle * uz
                radius += max(high - middle, middle - low) * np.sqrt(ux * ux + uy * uy + uz * uz) + high * sizes[j, 1] * reach
            else:
                far = 0.0
                for at in range(spans[i, 0], spans[i, 1]):
                    v = order[at]
                    far = max(far, (rest[v, 0] - places[j, 0]) ** 2 + (rest[v, 1] - places[j, 1]) ** 2 + (rest[v, 2] - places[j, 2]) ** 2)
                radius += high * (sizes[j, 0] + sizes[j, 1] * np.sqrt(far))
        c[0], c[1], c[2], c[3] = x + dx, y + dy, z + dz, radius


class Bounds:
    """The bounds of all sets of a body."""

    def __init__(self, body, sets):
        weights, m = body.weights.tocsr(), len(body.nodes)
        self.sets, self.rest = (sets.order.astype(np.int64), sets.spans.astype(np.int64)), np.ascontiguousarray(body.rest)
        self.skin = weights.indptr.astype(np.int64), weights.indices.astype(np.int64), weights.data.astype(np.float64)
        self.places = np.ascontiguousarray(body.nodes.positions)
        self.counts, self.limits, self.met, self.b = np.zeros(m, np.int64), np.zeros((m, 2)), np.zeros(m, np.int64), np.zeros(m)
        self.box, self.boxes, self.spheres = np.zeros(6), np.zeros((len(sets.spans), 6)), np.zeros((len(sets.spans), 4))

    def boxes_by(self, maps, how):
        """(n, 6): low and high corners."""
        bound_boxes(self.sets, *self.skin, self.rest, np.ascontiguousarray(maps), how, self.counts, self.limits, self.met, self.box, self.b,
                    self.boxes)  # fmt: skip
        return self.boxes

    def spheres_by(self, maps, moves):
        """(n, 4): centres and radii."""
        moved = np.einsum("mij,mj->mi", maps[:, :, :3], self.places) + maps[:, :, 3] - self.places
        sizes = np.stack([np.linalg.norm(moved, axis=1), np.linalg.norm(maps[:, :, :3] - np.eye(3), 2, axis=(1, 2))], axis=1)
        bound_spheres(self.sets, *self.skin, self.rest, np.ascontiguousarray(maps), self.places, sizes, moves, self.counts, self.limits,
                      self.met, self.box, self.spheres)  # fmt: skip
        return self.spheres


def boxes(how):
    """A bound of `experiments.steinemann2008.tightness`."""

    def of(body, sets):
        bounds = Bounds(body, sets)

        def volumes(maps):
            made = bounds.boxes_by(maps, how)
            return Volumes(made, radii_of(made))

        return volumes

    return of


def spheres(moves):
    """The same, for spheres."""

    def of(body, sets):
        bounds = Bounds(body, sets)

        def volumes(maps):
            made = bounds.spheres_by(maps, moves)
            centre, radius = made[:, :3], made[:, 3:]
            return Volumes(np.concatenate([centre - radius, centre + radius], axis=1), made[:, 3].copy())

        return volumes

    return of


def root(how):
    """The cost of the root alone: a function of the maps of a body."""

    def of(body):
        everyone = np.arange(len(body.rest), dtype=np.int32)
        one = Bounds(body, Sets(everyone, np.array([[0, len(everyone)]]), *np.zeros((3, 1), np.int64)))
        n = survey(one.sets[0], 0, len(everyone), *one.skin, one.rest, one.counts, one.limits, one.box, one.met)

        def do(maps):
            bound_box(maps, one.box, one.met, n, one.limits, how, one.b, one.boxes[0])

        return Job(lambda maps: None, do, lambda: one.boxes[0])

    return of


def register():
    """Add them to paper M's experiments."""
    OTHERS.update({name: boxes(how) for name, how in NAMES.items()} | {SPHERES: spheres(False), MOVED: spheres(True)})
    ROOTS.update({name: root(how) for name, how in NAMES.items()})
