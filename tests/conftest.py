"""Fixtures that every folder of tests shares. Options come from the registries: a family, builder or policy that registers is tested.

This file also puts `tests/` on the path, so that `import naive` works in the folders below it.
"""

from itertools import product

import numba
import numpy as np
import pytest

import naive
import pliant
import pliant.body
from pliant import shapes
from pliant.refit.policy import POLICIES
from pliant.tree.nodes import BUILDERS, WIDTHS
from pliant.volume.protocol import FAMILIES

LEAVES = (1, 2, 4, 8)
TREES = ({"arity": 8, "leaf": 8}, {"arity": 2, "leaf": 1}, {"arity": 4, "leaf": 3})


def _named(option):
    return "-".join(str(value) for value in option.values())


def _products(**choices):
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


ALL = _products(volume=list(FAMILIES), build=list(BUILDERS), policy=list(POLICIES), arity=list(WIDTHS), leaf=list(LEAVES))


@pytest.fixture(params=ALL, ids=_named)
def options(request):
    """Keywords of `Body`: every family × builder × policy × arity × leaf size."""
    return dict(request.param)


@pytest.fixture(params=range(len(ALL)), ids=lambda k: _named(ALL[k]))
def two_options(request):
    """Keywords for two bodies that differ in as much as there is to choose from; every option is once the first and once the second."""
    n = len(ALL)
    step = next((step for step in range(n // 2 + 1, n) if np.gcd(step, n) == 1), 0)
    return dict(ALL[request.param]), dict(ALL[(request.param * step + 1) % n if step else request.param])


@pytest.fixture(params=_products(build=list(BUILDERS), arity=list(WIDTHS), leaf=list(LEAVES)), ids=_named)
def builds(request):
    """Keywords of `Body` that shape the tree."""
    return dict(request.param)


def _unlike():
    """Every family, builder and policy at least once, on unlike trees."""
    choices = list(FAMILIES), list(BUILDERS), list(POLICIES), TREES
    for k in range(max(map(len, choices))):
        family, builder, policy, tree = (choice[k % len(choice)] for choice in choices)
        yield {"volume": family, "build": builder, "policy": policy, **tree}


@pytest.fixture(params=list(_unlike()), ids=_named)
def kept(request):
    """Keywords of `Body`, a few unlike ones: for tests of hard meshes."""
    return dict(request.param)


@pytest.fixture(params=list(POLICIES))
def policy(request):
    """The name of every policy."""
    return request.param


@pytest.fixture(params=list(FAMILIES))
def family(request):
    """Every family of volumes."""
    return FAMILIES[request.param]


@pytest.fixture
def set_threads():
    """`pliant.set_threads`, taken back afterwards."""
    yield pliant.set_threads
    pliant.set_threads(None)


class Deforming:
    """Two bumpy spheres of 320 faces (20 with the JIT off) that pass through each other; the right answers are worked out once."""

    frames = (0, 2, 3, 5, 8)

    def __init__(self):
        scene = shapes.bumpy_pair(320, 9)
        directions, faces = shapes.icosphere(0)
        self.scene = scene._replace(directions=directions, faces=faces) if numba.config.DISABLE_JIT else scene
        self.faces, self._answers = self.scene.faces, {}

    def __iter__(self):
        for k in self.frames:
            a, b = self.scene.frame(k)
            if k not in self._answers:
                self._answers[k] = naive.collide(a, self.faces, b, self.faces)
            yield a, b, self._answers[k]


@pytest.fixture(scope="session")
def deforming():
    """Frames (vertices of a, vertices of b, right pairs) of a small scene in which the bodies are apart, then meet, then are apart."""
    scene = Deforming()
    counts = [len(answer) for _, _, answer in scene]
    assert 0 in counts
    assert max(counts) > len(scene.faces) / 4
    return scene
