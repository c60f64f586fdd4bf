"""What tests of `auto` share: motions that wear a tree, and what a body says of it."""

import time
from itertools import count

import numba
import numpy as np
import pytest
from volume_checks import shape_of

import meshes
import pliant as pl
from pliant import shapes
from pliant.tree.quality import degradation

OFF = bool(numba.config.DISABLE_JIT)
SPHERE, FACES = shapes.icosphere(1 if OFF else 4)
CUBE = meshes.cube((-0.5, -0.5, -0.5))
slow = pytest.mark.skipif(OFF, reason="takes too long without kernels")
quiet = [pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")] if OFF else []



def until(done):
    """0, 1, 2 … until this is so, which must be soon."""
    deadline = time.monotonic() + 60
    for k in count():
        if done():
            return
        assert time.monotonic() < deadline
        yield k
        time.sleep(1e-3 if k > 20 else 0)


def reasons(body, policy):
    """Why a policy was chosen, each time."""
    return [choice.reason for choice in body.policy_log if choice.policy == policy]


def cost_ratio(body):
    """How many times as many volumes queries meet in a body's tree as in a new one."""
    made, shape = pl.Body(body.vertices, body.faces, policy="bottom_up"), shape_of(body)
    return degradation(shape.tree, shape_of(made).tree, shape.points)


def tried(body):
    """When trees were tried, or built."""
    return [choice.update for choice in body.policy_log if "times as many volumes" in choice.reason]


def flakes(n, seed=71):
    """n small triangles that share nothing: centres (n, 3), shapes (n, 3, 3), faces."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, 3)), rng.standard_normal((n, 3, 3)) * 0.02, np.arange(3 * n).reshape(-1, 3)


def vortex(n, speed):
    """Flakes that go around, the inner ones faster: whatever were neighbours part. (vertices of frame k, faces)"""
    centre, shape, faces = flakes(n)
    radius = np.hypot(centre[:, 0], centre[:, 1])

    def frame(k):
        c, s = np.cos(speed * k * (1 - radius)), np.sin(speed * k * (1 - radius))
        x, y, z = centre.T
        return (np.stack([c * x - s * y, s * x + c * y, z], 1)[:, None] + shape).reshape(-1, 3)
    return frame, faces


def scattered(n):
    """Flakes that are somewhere else in every frame. (vertices of frame k, faces)"""
    _, shape, faces = flakes(n)
    return lambda k: (np.random.default_rng(k).uniform(-1, 1, (n, 1, 3)) + shape).reshape(-1, 3), faces


def wrung(k):
    """A long sphere, more and more twisted."""
    x, y, z = SPHERE.T
    c, s = np.cos(0.04 * k * z), np.sin(0.04 * k * z)
    return np.column_stack([c * x - s * y, s * x + c * y, 4 * z])
