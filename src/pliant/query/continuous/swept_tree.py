"""Boxes of a body that moves: what a traversal of features needs, made new for each query from the vertices at both ends of the motion.

Every vertex moves on a straight line from its place at the start to that at the end. A SWEPT BOX is a box at the start and one at the end;
at any time between, what moves is in the mean of both. Two of them are apart if one side of one is beyond the other's at both ends: along
an axis the gap is linear in time. That is more than the boxes around whole motions tell: two bodies that fall together are apart at once.

The topology is that of the body's BVH, the volumes are boxes whatever the body's are. All coordinates are float32, relative to the center
of the FRAME, a box of half the size 1; beyond 2 they are infinite, in boxes of nodes 2. All this is monotone and the same for both bodies:
what is beyond after it was beyond before, so comparisons need no error bound. Where the frame is the part that both bodies share, nearly
nothing outside is filled in, and inside resolution is the best. Distances between finite coordinates are at most 2**-22 longer than real
ones.
"""
from typing import Any, NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import maximum, movemask, reduce_max, reduce_min
from pliant.core.soa import (
    aligned_zeros,
    bounds_dtype,
    field_lanes,
    lanes,
    lanes_dtype,
    load_bounds,
    packed_dtype,
    put_bounds,
    put_lane,
    record_class,
)
from pliant.tree.features import IDS, MovingEdge, MovingPoint, MovingTriangle
from pliant.tree.nodes import INT32, LEAF_WIDTH, node_dtype
from pliant.volume.protocol import fields, size, transform_volume

ZERO, INF = np.float32(0), np.float32(np.inf)
EMPTY, CLAMP = np.float32(8), np.float32(2)                             # an empty box is from EMPTY to −EMPTY: apart from all others
ROUNDING = 2.0**-22                                                     # of distances in the frame, by rounding of coordinates
KEY_MASK = (1 << 24) - 1                                                # of indices: as many as float32 has exactly
MAX_FLOAT64 = np.finfo(np.float64).max
ROW = 8                                                                 # float32 of a vertex: xyz at the start and the end, and two more

SweptBox = NamedTuple("SweptBox", fields("lox0 loy0 loz0 hix0 hiy0 hiz0 lox1 loy1 loz1 hix1 hiy1 hiz1"))
Bounds = NamedTuple("Bounds", fields("lox loy loz hix hiy hiz"))
Bounds.__doc__ = """A box around a whole motion."""
SweptBox.__doc__ = """A box at the start (0) and at the end (1) of a motion."""


class Fixed(NamedTuple):
    """From one body's frame to another's where both are the same."""
    kind: int = 0


for _class in (SweptBox, MovingPoint, MovingEdge, MovingTriangle):
    record_class(_class)


def group_dtype(cls):
    """The record of eight features of a class: `used` has a bit for each lane that is not empty."""
    return packed_dtype([("lanes", lanes_dtype(cls, LEAF_WIDTH)), ("ids", IDS), ("used", INT32)])


POINT_GROUP, EDGE_GROUP = group_dtype(MovingPoint), group_dtype(MovingEdge)
MOVING_LEAF = packed_dtype([("lanes", lanes_dtype(MovingTriangle, LEAF_WIDTH)), ("bounds", bounds_dtype(SweptBox)), ("ids", IDS),
                            ("used", INT32), ("stamp", INT32)])


@transform_volume.register(SweptBox, Fixed)
def _(a, transform):
    return a


@size.register(SweptBox)
def _(a):
    return maximum(a.hix0 - a.lox0, maximum(a.hiy0 - a.loy0, a.hiz0 - a.loz0))


@helper
def merge_lanes(a):
    """The swept box around all lanes."""
    return SweptBox(reduce_min(a.lox0), reduce_min(a.loy0), reduce_min(a.loz0), reduce_max(a.hix0), reduce_max(a.hiy0), reduce_max(a.hiz0),
                    reduce_min(a.lox1), reduce_min(a.loy1), reduce_min(a.loz1), reduce_max(a.hix1), reduce_max(a.hiy1), reduce_max(a.hiz1))


@helper
def motion_bounds(box, margin):
    """The box around a whole motion, inflated."""
    return Bounds(min(box.lox0, box.lox1) - margin, min(box.loy0, box.loy1) - margin, min(box.loz0, box.loz1) - margin,
                  max(box.hix0, box.hix1) + margin, max(box.hiy0, box.hiy1) + margin, max(box.hiz0, box.hiz1) + margin)


@helper
def inflated(a, margin):
    """The box of a feature, inflated."""
    return Bounds(a.lox - margin, a.loy - margin, a.loz - margin, a.hix + margin, a.hiy + margin, a.hiz + margin)


@helper
def bounds_meet(groups, g, box):
    """Bits of the features of a group whose boxes meet a box: the first fields of their records."""
    x = (field_lanes(groups, g, 0) <= box.hix) & (field_lanes(groups, g, 3) >= box.lox)
    y = (field_lanes(groups, g, 1) <= box.hiy) & (field_lanes(groups, g, 4) >= box.loy)
    z = (field_lanes(groups, g, 2) <= box.hiz) & (field_lanes(groups, g, 5) >= box.loz)
    return movemask(x & (y & z))


# --- filling ---------------------------------------------------------------------------------------------------------------------------

@kernel
def sweep_bounds(start, end, vertices, out):
    """out (6,) = low and high corner of a box around these vertices at both ends; inverted if there are none."""
    for k in range(3):
        low, high = np.inf, -np.inf
        for i in range(len(vertices)):
            x, y = start[3 * vertices[i] + k], end[3 * vertices[i] + k]
            low, high = min(low, min(x, y)), max(high, max(x, y))
        out[k], out[k + 3] = low, high


@kernel
def fill_points(start, end, frame, points):
    """points = rows of the vertices at both ends in the frame (4,), its center and its scale."""
    scale = frame[3]
    for v in range(len(start) // 3):
        for k in range(3):
            x, y = np.float32((start[3 * v + k] - frame[k]) * scale), np.float32((end[3 * v + k] - frame[k]) * scale)
            points[ROW * v + k] = x if abs(x) < CLAMP else INF if x > ZERO else -INF
            points[ROW * v + 3 + k] = y if abs(y) < CLAMP else INF if y > ZERO else -INF


@helper
def vertices_box(points, vertices, begin, end):
    """The swept box of vertices[begin : end]."""
    at = ROW * np.int64(vertices[begin])
    ax = bx = points[at]
    ay = by = points[at + 1]
    az = bz = points[at + 2]
    cx = dx = points[at + 3]
    cy = dy = points[at + 4]
    cz = dz = points[at + 5]
    for i in range(begin + 1, end):
        at = ROW * np.int64(vertices[i])
        ax, ay, az = min(ax, points[at]), min(ay, points[at + 1]), min(az, points[at + 2])
        bx, by, bz = max(bx, points[at]), max(by, points[at + 1]), max(bz, points[at + 2])
        cx, cy, cz = min(cx, points[at + 3]), min(cy, points[at + 4]), min(cz, points[at + 5])
        dx, dy, dz = max(dx, points[at + 3]), max(dy, points[at + 4]), max(dz, points[at + 5])
    return SweptBox(clamp(ax), clamp(ay), clamp(az), clamp(bx), clamp(by), clamp(bz),
                    clamp(cx), clamp(cy), clamp(cz), clamp(dx), clamp(dy), clamp(dz))


@helper
def clamp(x):
    """An infinite coordinate becomes one that boxes can be compared by."""
    return min(max(x, -CLAMP), CLAMP)


@helper
def key_of(v):
    """The low bits of an index."""
    return np.float32(np.int64(v) & KEY_MASK)


@helper
def outside_frame(box, half):
    """Is the box outside the frame during the whole motion? `half` (3,): half sizes of the part of the frame that counts."""
    return ((min(box.lox0, box.lox1) > half[0]) | (max(box.hix0, box.hix1) < -half[0])
            | (min(box.loy0, box.loy1) > half[1]) | (max(box.hiy0, box.hiy1) < -half[1])
            | (min(box.loz0, box.loz1) > half[2]) | (max(box.hiz0, box.hiz1) < -half[2]))


@kernel
def fill_nodes(nodes, leaves, vertices, begins, slots, points, half):
    """The boxes of all nodes and leaves, children first; how many leaves are in the frame: `used` of these is −1, of others 0."""
    n = 0
    for i in range(len(leaves)):
        box = vertices_box(points, vertices, np.int64(begins[i]), np.int64(begins[i + 1]))
        put_bounds(leaves, i, box)
        put_lane(nodes, np.int64(slots[i, 0]), np.int64(slots[i, 1]), box)
        leaves[i]["used"] = 0 if outside_frame(box, half) else -1
        n += np.int64(leaves[i]["used"] != 0)
    for i in range(len(nodes) - 1, -1, -1):
        for k in range(nodes[i]["count"]):
            child = np.int64(nodes[i]["child"][k])
            if child >= 0:
                put_lane(nodes, i, k, load_bounds(nodes, child))
        put_bounds(nodes, i, merge_lanes(lanes(nodes, i)))
    return n


@helper
def low_of(points, a, b, k):
    """The least coordinate k of two points during the motion."""
    return min(min(points[a + k], points[a + 3 + k]), min(points[b + k], points[b + 3 + k]))


@helper
def high_of(points, a, b, k):
    """The greatest coordinate k of two points during the motion."""
    return max(max(points[a + k], points[a + 3 + k]), max(points[b + k], points[b + 3 + k]))


@helper
def moving_point(points, v):
    at = ROW * np.int64(v)
    return MovingPoint(min(points[at], points[at + 3]), min(points[at + 1], points[at + 4]), min(points[at + 2], points[at + 5]),
                       max(points[at], points[at + 3]), max(points[at + 1], points[at + 4]), max(points[at + 2], points[at + 5]),
                       points[at], points[at + 1], points[at + 2], points[at + 3], points[at + 4], points[at + 5], key_of(v))


@helper
def moving_edge(points, v, w):
    a, b = ROW * np.int64(v), ROW * np.int64(w)
    return MovingEdge(low_of(points, a, b, 0), low_of(points, a, b, 1), low_of(points, a, b, 2),
                      high_of(points, a, b, 0), high_of(points, a, b, 1), high_of(points, a, b, 2),
                      points[a], points[a + 1], points[a + 2], points[b], points[b + 1], points[b + 2],
                      points[a + 3], points[a + 4], points[a + 5], points[b + 3], points[b + 4], points[b + 5], key_of(v), key_of(w))


@helper
def moving_triangle(points, u, v, w):
    a, b, c = ROW * np.int64(u), ROW * np.int64(v), ROW * np.int64(w)
    return MovingTriangle(min(low_of(points, a, b, 0), low_of(points, c, c, 0)), min(low_of(points, a, b, 1), low_of(points, c, c, 1)),
                          min(low_of(points, a, b, 2), low_of(points, c, c, 2)),
                          max(high_of(points, a, b, 0), high_of(points, c, c, 0)), max(high_of(points, a, b, 1), high_of(points, c, c, 1)),
                          max(high_of(points, a, b, 2), high_of(points, c, c, 2)),
                          points[a], points[a + 1], points[a + 2], points[b], points[b + 1], points[b + 2],
                          points[c], points[c + 1], points[c + 2], points[a + 3], points[a + 4], points[a + 5],
                          points[b + 3], points[b + 4], points[b + 5], points[c + 3], points[c + 4], points[c + 5],
                          key_of(u), key_of(v), key_of(w))


@kernel
def fill_leaves(leaves, faces, corners, points):
    """The faces of the leaves that are in the frame."""
    for i in range(len(leaves)):
        if leaves[i]["used"] == 0:
            continue
        used = 0
        for k in range(LEAF_WIDTH):
            put_lane(leaves, i, k, moving_triangle(points, corners[i, 0, k], corners[i, 1, k], corners[i, 2, k]))
            leaves[i]["ids"][k] = faces[i, k]
            used |= (faces[i, k] >= 0) << k
        leaves[i]["used"] = used


@kernel
def fill_vertex_groups(leaves, begins, ids, groups, points):
    """The vertices that the leaves in the frame own."""
    for i in range(len(leaves)):
        if leaves[i]["used"] == 0:
            continue
        for g in range(begins[i], begins[i + 1]):
            used = 0
            for k in range(LEAF_WIDTH):
                used |= (ids[g, k] >= 0) << k
                put_lane(groups, g, k, moving_point(points, ids[g, k] if ids[g, k] >= 0 else ids[g, 0]))
                groups[g]["ids"][k] = ids[g, k]
            groups[g]["used"] = used


@kernel
def fill_edge_groups(leaves, begins, ids, edges, groups, points):
    """The edges that the leaves in the frame own."""
    for i in range(len(leaves)):
        if leaves[i]["used"] == 0:
            continue
        for g in range(begins[i], begins[i + 1]):
            used = 0
            for k in range(LEAF_WIDTH):
                used |= (ids[g, k] >= 0) << k
                e = ids[g, k] if ids[g, k] >= 0 else ids[g, 0]
                put_lane(groups, g, k, moving_edge(points, edges[e, 0], edges[e, 1]))
                groups[g]["ids"][k] = ids[g, k]
            groups[g]["used"] = used


# --- one body --------------------------------------------------------------------------------------------------------------------------

class MovingBody(NamedTuple):
    """A body of a query, and its world vertices at both ends, flat."""
    body: Any
    start: np.ndarray
    end: np.ndarray


class FeatureSide(NamedTuple):
    """What the leaf stage reads of one body: groups of vertices and edges; faces (f, 3), edges (e, 2); vertices at both ends, flat."""
    vertex_begins: np.ndarray
    vertex_groups: np.ndarray
    edge_begins: np.ndarray
    edge_groups: np.ndarray
    faces: np.ndarray
    edges: np.ndarray
    start: np.ndarray
    end: np.ndarray


class SweptTree(NamedTuple):
    """Nodes, leaves and features of one body in a frame."""
    tree: Any
    nodes: np.ndarray
    leaves: np.ndarray
    side: FeatureSide
    arrays: Any


def bounds_of(moving):
    """(6,): the box around the faces of a moving body at both ends."""
    out = np.empty(6)
    sweep_bounds(moving.start, moving.end, moving.body._mesh_features().used_vertices, out)
    return out


def frame_around(low, high):
    """((4,) center and scale, (3,) half sizes in the frame) of the frame that has a box in it; corners may be infinite or huge."""
    low, high = np.clip(low, -MAX_FLOAT64, MAX_FLOAT64), np.clip(high, -MAX_FLOAT64, MAX_FLOAT64)
    center = 0.5 * low + 0.5 * high
    half = np.maximum(high - center, center - low)
    exponent = int(np.frexp(half.max())[1]) if half.max() > 0 else -1000
    scale = float(np.ldexp(1.0, min(-exponent, 1000)))
    with np.errstate(over="ignore"):
        halves = np.minimum(half * scale * (1 + 2.0**-20) + 2.0**-20, CLAMP).astype(np.float32)
    return np.array([*center, scale]), halves


def swept_tree(moving, frame, halves):
    """The SweptTree of a moving body."""
    body = moving.body
    tree, features, groups = body._feature_tree()
    points, nodes, leaves, vertex_groups, edge_groups = arrays = take_arrays(body, tree, groups)
    fill_points(moving.start, moving.end, frame, points)
    if fill_nodes(nodes, leaves, tree.vertices, tree.begins, tree.slots, points, halves):
        fill_vertex_groups(leaves, groups.vertex_begins, groups.vertex_ids, vertex_groups, points)
        fill_edge_groups(leaves, groups.edge_begins, groups.edge_ids, features.edges, edge_groups, points)
        fill_leaves(leaves, tree.faces, tree.corners, points)
    side = FeatureSide(groups.vertex_begins, vertex_groups, groups.edge_begins, edge_groups, body._welded_faces, features.edges,
                       moving.start, moving.end)
    return SweptTree(tree, nodes, leaves, side, arrays)


def take_arrays(body, tree, groups):
    """(points, nodes, leaves, vertex groups, edge groups) of a tree: those of the last query, if nobody has them, since new memory takes
    longer than filling it (6 ms of 10, 100,352 triangles)."""
    idle = body._swept_arrays
    while idle:
        try:
            for_tree, arrays = idle.pop()
        except IndexError:                                              # another thread was first
            break
        if for_tree is tree:
            return arrays
    nodes, leaves = aligned_zeros(len(tree.child), node_dtype(SweptBox, tree.width)), aligned_zeros(len(tree.faces), MOVING_LEAF)
    for part in ("lanes", "bounds"):
        for name in SweptBox._fields:
            nodes[part][name] = EMPTY if name.startswith("lo") else -EMPTY
    nodes["child"], nodes["count"] = tree.child, tree.count
    return (np.empty(ROW * body._motion.count, np.float32), nodes, leaves, aligned_zeros(len(groups.vertex_ids), POINT_GROUP),
            aligned_zeros(len(groups.edge_ids), EDGE_GROUP))


def give_arrays_back(body, swept):
    """The query is done with the arrays of a tree."""
    body._swept_arrays.append((swept.tree, swept.arrays))
