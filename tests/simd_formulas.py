"""Formulas of volumes in kernels: on the lanes of node records, W at once. What tests of all families are made of.

A kernel is compiled once for each family and width, and kept; files of tests share them.
"""

import numba
import numpy as np

from pliant.core.jit import kernel
from pliant.core.simd import extract, movemask
from pliant.core.soa import lane, lanes, load_bounds, put_bounds, put_lanes
from pliant.volume.protocol import (
    Ray,
    RigidTransform,
    Translation,
    blend,
    inflate,
    merge,
    overlap,
    ray_interval,
    sat_cross_axes,
    separation,
    size,
    transform_volume,
)

OFF = bool(numba.config.DISABLE_JIT)
REPEATS = 3 if OFF else 16
SCALES = (2.0**-140, 2.0**-20, 1.0, 2.0**36)                            # from float32's subnormals to the most that a body brings


@kernel
def meet(nodes, i, j):
    return movemask(overlap(lanes(nodes, i), load_bounds(nodes, j)))


@kernel
def meet_lanes(nodes, i, j):
    return movemask(overlap(lanes(nodes, i), lanes(nodes, j)))


@kernel
def set_separation(nodes, i, j, out):
    value = separation(lanes(nodes, i), load_bounds(nodes, j))
    for k in range(len(out)):
        out[k] = extract(value, k)


@kernel
def set_sizes(nodes, i, out):
    value = size(lanes(nodes, i))
    for k in range(len(out)):
        out[k] = extract(value, k)


@kernel
def set_pierced(nodes, i, ray, near, far):
    enter, leave = ray_interval(lanes(nodes, i), Ray(ray[0], ray[1], ray[2], ray[3], ray[4], ray[5], ray[6], ray[7], np.float32(0)))
    for k in range(len(near)):
        near[k], far[k] = extract(enter, k), extract(leave, k)


@kernel
def set_merged(nodes, i):
    put_bounds(nodes, i, merge(lanes(nodes, i)))


@kernel
def set_inflated(nodes, i, j, distance):
    put_lanes(nodes, i, inflate(lanes(nodes, j), distance))


@kernel
def set_carried(nodes, i, j, x, y, z, margin):
    put_lanes(nodes, i, transform_volume(lanes(nodes, j), Translation(x, y, z, margin)))


@kernel
def meet_turned(nodes, i, j, k, w):
    """(Which lanes of record i meet lane k of record j, seen from another frame; which of them a finer test parts from it.)"""
    way = RigidTransform(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13])
    turned = transform_volume(lane(nodes, j, k), way)
    return movemask(overlap(lanes(nodes, i), turned)), movemask(sat_cross_axes(lanes(nodes, i), turned))


@kernel
def set_blended(nodes, i, j, o, s, t):
    put_lanes(nodes, i, blend(lanes(nodes, j), lanes(nodes, o), s, t))
