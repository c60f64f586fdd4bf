"""Convex: volumes of a blended body from its maps, without its vertices (Steinemann, Otaduy and Gross 2008, 4 and 5).

Of every lane it is known, once and for all, which maps move the vertices under it, between which limits their weights lie, and a box at
rest around those that each moves. Along the directions of a k-DOP that bounds where the vertices are (`motion/weight_bounds.py`), in time linear
in the number of these maps, whatever the number of vertices. A node that a query reaches is made true so, once a frame. Vertices are
placed, and triangles made of them, for leaves that a query reaches.

    bound    "eq12", the paper's closed form; "greedy", the solution of the linear programme: a little tighter, and dearer
    boxes    "own": a box for each map around the vertices that it moves, where these are clearly smaller than one around all; "aabb",
             "obb": always one for all, along the axes or turned, as in the paper. To bound what a map does to a box around everything is
             to bound what it would do to vertices that it does not move: near the root these are nearly all
    leaves   "bound": as all other lanes; "exact": from their vertices, all leaves of a node at once, as in the paper

Families that are no k-DOPs get the volume around the box (`around` of the protocol).
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import jit, validate
from pliant.core.dispatch import generic
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, invoke, pointer
from pliant.core.jit import helper, kernel
from pliant.core.simd import narrow, quad
from pliant.core.soa import aligned, lane, put_lane, put_row, stamp, whole
from pliant.core.stack import put_lanes, singles
from pliant.motion.blended import STAMP, Skin, blend_vertex
from pliant.motion.weight_bounds import BOUNDS, bound, limits_dtypes, slack
from pliant.motion.weight_ranges import desk_for, put_shares, survey
from pliant.refit import front_tracking, lazy
from pliant.refit.fitted import fit_nodes
from pliant.refit.leaf_fill import CONTEXT, came_to_ready, fill, kept_of, node_of, stamp_for
from pliant.refit.policy import Policy
from pliant.refit.refit_node import settle, volume_of
from pliant.tree.nodes import LEAF_DTYPE, node_dtype
from pliant.volume.aabb import Box
from pliant.volume.kdop import KDop14, KDop18, KDop26
from pliant.volume.protocol import FAMILIES, HOWS, around
from pliant.volume.slabs import DIAGONALS, EDGES

AXES = ["lopoo", "loopo", "looop"]
BOXES, LEAVES = ("own", "aabb", "obb"), ("exact", "bound")
SLABS = {Box: AXES, KDop14: AXES + DIAGONALS[::2], KDop18: AXES + EDGES[::2], KDop26: AXES + DIAGONALS[::2] + EDGES[::2]}
SMALLER = 0.9                                                           # of the sides of boxes around all: then a map is worth its own
SIGNS = {"p": 1, "m": -1, "o": 0}
BENT = np.dtype([(name, np.int64) for name in (
    "shares", "which", "begins", "n_shares", "hulls", "starts", "n_hulls", "rests", "planes", "norms", "n_planes", "n_norms", "empty",
    "turned", "how", "exact",
    "names", "rest", "skin_begins", "skin_which", "skin_weights", "columns", "stamps", "flat", "n_weights", "n_columns", "moment",
    "vertices", "rows", "leaf_begins", "n_vertices")] + [("origin", np.float64, (4,)), ("scale", np.float64), ("size", np.float64),
                                                  ("doubt", np.float64)])


class Limits(NamedTuple):
    """What nodes know of the maps: `shares` of node i from begins[i] to begins[i + 1], of the maps `which`; hulls from starts[i] on, as
    many or one for all; `rests` (n,); the 1-norms (D,) of directions and planes (m · D · 4,), the rows of maps along them; a node of
    nothing."""
    shares: np.ndarray
    which: np.ndarray
    begins: np.ndarray
    hulls: np.ndarray
    starts: np.ndarray
    rests: np.ndarray
    norms: np.ndarray
    planes: np.ndarray
    empty: np.ndarray


class Kept(NamedTuple):
    """What a shape keeps with its tree: directions (D, 3), the rows of the vertices of its leaves, and `about` (1,), what entries read."""
    limits: Limits
    ways: np.ndarray
    rows: np.ndarray
    about: np.ndarray


# --- one node --------------------------------------------------------------------------------------------------------------------

@generic("like")
def seat(like, nodes, i, d, low, high, room):
    """Take in the ends of all lanes of node i along direction d."""


@generic("like")
def seated(like, nodes, i, room):
    """All directions have been seated: set the lanes of node i."""


def _seat(like, nodes, i, d, low, high, room):
    put_row(nodes, i, d if d < 3 else 2 * d, low)                       # fields of a k-DOP: those of a box, then ends of slabs, in twos
    put_row(nodes, i, d + 3 if d < 3 else 2 * d + 1, high)


def _seated(like, nodes, i, room):
    pass


def _seat_apart(like, nodes, i, d, low, high, room):
    put_lanes(room, 8 * d, low)
    put_lanes(room, 8 * (d + 3), high)


def _around(like, nodes, i, room):
    for k in range(nodes[i]["count"]):
        low = narrow(quad(np.float64(room[k]), np.float64(room[k + 8]), np.float64(room[k + 16]), 0.0))
        high = narrow(quad(np.float64(room[k + 24]), np.float64(room[k + 32]), np.float64(room[k + 40]), 0.0))
        put_lane(nodes, i, k, around(like, low, high))


for _volume in dict.fromkeys(family.volume for family in FAMILIES.values()):
    seat.on(_volume)(_seat if _volume in SLABS else _seat_apart)
    seated.on(_volume)(_seated if _volume in SLABS else _around)


@kernel
def bend_node(nodes, leaves, i, kept, limits, more, points, vertices, begins, fill_leaf, context, frame, stamp_after):
    """Set node i: lanes in `kept` from the nodes under them, which are true, leaves from their vertices if `exact`, the others by their
    limits; of the record `more` also `turned` and `how`, as in the module, the largest `size` of a bound, and the `doubt` of vertices.
    How many lanes."""
    begin, end, like, room = limits.begins[i], limits.begins[i + 1], whole(nodes, i), singles(48)
    if begin < end and kept != (np.int64(1) << nodes[i]["count"]) - 1:
        loose, at = slack(end - begin, more["size"]) + 2 * more["doubt"], limits.starts[i]
        step = np.int64(limits.starts[i + 1] - at > 1)
        for d in range(len(limits.norms)):
            low, high = bound(limits.shares, limits.which, begin, end, limits.hulls, at, step, limits.rests, i, limits.planes,
                              len(limits.norms), np.int64(d), more["turned"], more["how"])
            out = np.float32(loose * limits.norms[d])
            seat(like, nodes, i, np.int64(d), low - out, high + out, room)
        seated(like, nodes, i, room)
    for k in range(nodes[i]["count"]):
        child = np.int64(nodes[i]["child"][k])
        if child < 0 and more["exact"] != 0:
            if stamp(leaves, ~child) != frame:
                invoke(fill_leaf, context, ~child)
            put_lane(nodes, i, k, volume_of(like, points, vertices, np.int64(begins[~child]), np.int64(begins[~child + 1])))
        elif kept >> k & 1:
            put_lane(nodes, i, k, whole(nodes, child))
    for k in range(nodes[i]["count"], len(nodes[i]["child"])):
        put_lane(nodes, i, k, lane(limits.empty, np.int64(0), k))
    return settle(nodes, i, stamp_after)


@kernel
def fill_bent(leaves, i, skin, rows, begins, frame):
    """Set the vertices of leaf i, which are in these rows of the skin, then its triangles."""
    for at in range(begins[i], begins[i + 1]):
        blend_vertex(skin, np.int64(rows[at]))
    return fill(leaves, i, skin.points, frame)


# --- entries -------------------------------------------------------------------------------------------------------------------

@cache
def node_entry(volume, width):
    """(address, what keeps it alive) of `bend_node` for nodes of this class and width."""
    node, (share, hull, rest) = node_dtype(volume, width), limits_dtypes(width)

    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        more = array_at(pointer(about["blend"]), 1, BENT)[0]
        n = about["n_nodes"]
        nodes, leaves = array_at(pointer(about["nodes"]), n, node), array_at(pointer(about["leaves"]), about["n_leaves"], LEAF_DTYPE)
        if came_to_ready(i, nodes, array_at(pointer(about["ready"]), about["n_nodes"], np.int32), np.int32(about["frame"])):
            return np.int64(0)
        limits = Limits(array_at(pointer(more["shares"]), more["n_shares"], share),
                        array_at(pointer(more["which"]), more["n_shares"], np.int32),
                        array_at(pointer(more["begins"]), n + 1, np.int64), array_at(pointer(more["hulls"]), more["n_hulls"], hull),
                        array_at(pointer(more["starts"]), n + 1, np.int64), array_at(pointer(more["rests"]), n, rest),
                        array_at(pointer(more["norms"]), more["n_norms"], np.float64),
                        array_at(pointer(more["planes"]), more["n_planes"], np.float32), array_at(pointer(more["empty"]), 1, node))
        vertices = array_at(pointer(more["vertices"]), more["n_vertices"], np.int32)
        begins = array_at(pointer(more["leaf_begins"]), about["n_leaves"] + 1, np.int32)
        points = array_at(pointer(about["points"]), about["n_points"], np.float32)
        frame = np.int32(about["frame"])
        return bend_node(nodes, leaves, node_of(i), kept_of(i), limits, more, points, vertices, begins, about["fill"], context, frame,
                         stamp_for(i, nodes, frame))

    def enter_python(context, i):
        shape = CONTEXTS[context]
        if came_to_ready(i, shape.nodes, shape.ready, shape.frame):
            return 0
        return bend_node(shape.nodes, shape.leaves, node_of(i), kept_of(i), shape.kept.limits, shape.kept.about[0], shape.points,
                         shape.tree.vertices, shape.tree.begins, shape.fill, context, shape.frame, stamp_for(i, shape.nodes, shape.frame))

    return address_of(enter_python if jit.DISABLED else enter)


@cache
def leaf_entry():
    """(address, what keeps it alive) of `fill_bent`."""
    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        more = array_at(pointer(about["blend"]), 1, BENT)[0]
        leaves = array_at(pointer(about["leaves"]), about["n_leaves"], LEAF_DTYPE)
        rows = array_at(pointer(more["rows"]), more["n_vertices"], np.int32)
        begins, n = array_at(pointer(more["leaf_begins"]), about["n_leaves"] + 1, np.int32), about["n_points"] // 4
        skin = Skin(array_at(pointer(more["names"]), n, np.int32), array_at(pointer(more["rest"]), 3 * n, np.float64),
                    array_at(pointer(more["skin_begins"]), n + 1, np.int64),
                    array_at(pointer(more["skin_which"]), more["n_weights"], np.int32),
                    array_at(pointer(more["skin_weights"]), more["n_weights"], np.float64),
                    array_at(pointer(more["columns"]), more["n_columns"], np.float64), array_at(pointer(more["stamps"]), n, STAMP),
                    array_at(pointer(more["flat"]), 3 * n, np.float64), array_at(pointer(about["points"]), 4 * n, np.float32),
                    more["origin"], more["scale"], np.int32(more["moment"]))
        return np.int64(fill_bent(leaves, i, skin, rows, begins, np.int32(about["frame"])))

    def enter_python(context, i):
        shape = CONTEXTS[context]
        return fill_bent(shape.leaves, i, shape.motion.whole_skin(), shape.kept.rows, shape.tree.begins, shape.frame)

    return address_of(enter_python if jit.DISABLED else enter)


# --- the limits ----------------------------------------------------------------------------------------------------------------

@kernel
def list_shares(child, count, spans, order, begins, which, weights, local, axes, backs, exact, own, counts, limits, boxes, sums, met,
                seen, slots, firsts, starts, maps, shares, hulls, rests):
    """Of every lane, but leaves where these are `exact`, what maps have of its vertices; how many shares there are. Without room for maps
    it fills firsts (n + 1,) and starts (n + 1,), which say where the shares and hulls of a node begin, and thereby whether it has one for
    each map; with room it reads them, and fills maps, shares, hulls and rests. `seen` (m,) is −1 at first."""
    total, n_hulls, filling = 0, 0, len(maps) > 0
    for i in range(len(child)):
        firsts[i], mine, common, n = total, 0.0, 0.0, 0
        at = starts[i]
        step = np.int64(starts[i + 1] - at > 1)
        for k in range(count[i]):
            if child[i, k] < 0 and exact:
                continue
            n = survey(order, spans[i, k, 0], spans[i, k, 1], begins, which, weights, local, axes[i, k], counts, limits, boxes, sums, met)
            for e in range(n):
                j = np.int64(met[e])
                if seen[j] != i:
                    seen[j], slots[j] = i, total
                    if filling:
                        maps[total] = j
                    total += 1
                mine, common = mine + extent(boxes[j]), common + extent(boxes[len(boxes) - 1])
            if filling:
                put_shares(met, n, slots, limits, boxes, sums, backs[i, k], shares, hulls, at - step * firsts[i], step, rests, i, k)
        if not filling:
            starts[i] = n_hulls
            n_hulls += total - firsts[i] if own and mine < SMALLER * common else min(total - firsts[i], 1)
    firsts[len(child)] = total
    if not filling:
        starts[len(child)] = n_hulls
    return total


@helper
def extent(box):
    """The sides of a box, together."""
    return (box[3] - box[0]) + (box[4] - box[1]) + (box[5] - box[2])


def axes_of(shape, boxes):
    """(n, W, 3, 3) twice: the axes of each lane's box at rest, rows that give a place along them, and columns that lead back."""
    tree, motion = shape.tree, shape.motion
    one = np.broadcast_to(np.eye(3), (*tree.child.shape, 3, 3))
    if boxes != "obb":
        return one, one
    family = FAMILIES["obb"]
    nodes, _ = tree.records(family)
    rows = aligned((motion.count, 4), np.float32)
    rows[:, :3] = motion.local[motion.rows]
    fit_nodes(HOWS["best"], nodes, shape.ranges(), tree.vertices, tree.begins, rows.reshape(-1), np.int32(0))
    rows = np.stack([nodes["lanes"][f"r{k}{c}"] for k in range(3) for c in range(3)], axis=-1).astype(np.float64)
    backs = np.where(np.arange(tree.width)[None, :, None, None] < tree.count[:, None, None, None],
                     rows.reshape(*tree.child.shape, 3, 3), np.eye(3)).swapaxes(-1, -2)
    return np.linalg.inv(backs), np.ascontiguousarray(backs)


def ways_of(volume):
    """(D, 3): the directions along which volumes of this class have ends."""
    return np.array([[SIGNS[sign] for sign in name[2:]] for name in SLABS.get(volume, AXES)], np.float64)


def prepare(shape, settings):
    """On a new tree: what is known of every lane for good."""
    motion, tree, volume = shape.motion, shape.tree, shape.options.family.volume
    rows = motion.rows[tree.vertices]
    spans, ways = lazy.spans_of(tree, motion.count), ways_of(volume)
    axes, backs = axes_of(shape, settings["boxes"])
    exact, own, m = settings["leaves"] == "exact", settings["boxes"] == "own", motion.n_maps
    n, room, order = len(tree.child), desk_for(m), motion.rows[spans.order]
    share, hull, rest = limits_dtypes(tree.width)
    begins, starts, slots, rests = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.zeros(m, np.int64), aligned(n, rest)

    def listed(maps, shares, hulls):
        return list_shares(tree.child, tree.count, spans.spans, order, *motion.skin, motion.local, axes, backs, exact, own, *room,
                           np.full(m, -1), slots, begins, starts, maps, shares, hulls, rests)

    total = listed(np.zeros(0, np.int32), aligned(0, share), aligned(0, hull))
    which, shares, hulls = np.zeros(total, np.int32), aligned(total, share), aligned(int(starts[n]), hull)
    if total:
        listed(which, shares, hulls)
    empty, norms = aligned(1, node_dtype(volume, tree.width)), np.abs(ways).sum(axis=1)
    for name, value in zip(volume._fields, shape.options.family.empty, strict=True):
        empty["lanes"][name] = value
    planes = motion.planes if len(ways) == 3 else aligned(4 * len(ways) * m, np.float32)
    limits = Limits(shares, which, begins, hulls, starts, rests, norms, planes, empty)
    about = np.zeros(1, BENT)
    more = about[0]
    begins_of_skin, maps_of_skin, weights_of_skin = motion.skin
    arrays = {"shares": shares, "which": which, "begins": begins, "hulls": hulls, "starts": starts, "rests": rests, "planes": planes,
              "norms": norms, "empty": empty, "names": motion.names, "rest": motion.rest, "skin_begins": begins_of_skin,
              "skin_which": maps_of_skin, "skin_weights": weights_of_skin, "columns": motion.columns, "stamps": motion.stamps,
              "flat": motion.flat, "rows": rows, "vertices": tree.vertices, "leaf_begins": tree.begins}
    for name, array in arrays.items():
        more[name] = array.ctypes.data
    more["n_shares"], more["n_planes"], more["n_norms"], more["n_weights"] = total, len(planes), len(norms), len(maps_of_skin)
    more["n_columns"], more["n_vertices"], more["n_hulls"] = len(motion.columns), len(tree.vertices), len(hulls)
    more["turned"], more["how"], more["exact"] = settings["boxes"] == "obb", BOUNDS[settings["bound"]], exact
    shape.kept = Kept(limits, ways, rows, about)
    shape.know(blend=about, entry=node_entry(volume, tree.width)[0], fill=leaf_entry()[0])


def follow(shape):
    """Say where the maps are; the rest on demand."""
    motion = shape.motion
    if shape.kept is None:
        prepare(shape, shape.options.settings)
    kept, more = shape.kept, shape.kept.about[0]
    if len(kept.ways) > 3:
        kept.limits.planes.reshape(-1, len(kept.ways), 4)[:] = np.einsum("dk,mkc->mdc", kept.ways, motion.planes.reshape(-1, 3, 4))
    more["origin"], more["scale"], more["moment"] = motion.origin, motion.scale, motion.frame
    more["size"], more["doubt"] = motion.size, motion.doubt
    if shape.options.settings["front"]:
        front_tracking.advance(shape)


CONVEX = Policy("convex", follow, {"bound": ("eq12", validate.one_of(BOUNDS)), "boxes": ("own", validate.one_of(BOXES)),
                                    "leaves": ("bound", validate.one_of(LEAVES)), "front": front_tracking.OPTION}, motion="blended")
