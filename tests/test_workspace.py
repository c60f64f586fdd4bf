"""What a query works in is made larger where trees are deep, and holds nothing that an earlier query has left behind."""

import pytest

import pliant as pl
from child import python
from integer_spheres import FACES, OTHER, SPHERE, answer
from pliant.core import jit
from pliant.query import scheduler

# Faces whose sizes grow from 2**-100 to 2**36: a tree of nine levels. Fresh memory may hold anything, so here it does: a loop that
# reads an entry it never wrote would leave all arrays, and end the process.
DEEP = """
    import numpy as np
    import pliant as pl
    from pliant.query import scheduler

    class Dirty:
        def __getattr__(self, name):
            return getattr(np, name)

        def empty(self, *arguments, **options):
            array = np.empty(*arguments, **options)
            array[...] = 0x0123456701234567
            return array

    scheduler.np = Dirty()
    size = 2.0 ** np.linspace(-100, 36, 400)[:, None, None]
    corners = size * np.array([[1, 0, 0], [1.2, 0.3, 0], [1, 0, 0.3]])
    vertices, faces = corners.reshape(-1, 3), np.arange(1200).reshape(-1, 3)
    a, b = pl.Body(vertices, faces, leaf=1), pl.Body(vertices, faces, leaf=1)
    tree = a._bvh.tree
    assert (2 * tree.depth + 2) * tree.width**2 > len(scheduler.Workspace().stack)
    found = pl.collide(a, b).faces
    flat = pl.Body(vertices, faces), pl.Body(vertices, faces)
    assert np.array_equal(found, pl.collide(*flat).faces)
    assert (found == found[:, ::-1]).all(axis=1).sum() == 400
"""


@pytest.mark.skipif(jit.DISABLED, reason="about kernels")
def test_deep_trees_get_a_stack_that_starts_at_the_roots():
    python(DEEP)


@pytest.mark.formulas
def test_workspaces_are_used_again(monkeypatch):
    a, b = pl.Body(SPHERE, FACES), pl.Body(OTHER, FACES)
    expected = answer(a, b)
    kept = len(scheduler._idle.workspaces)
    for _ in range(5):
        for work in scheduler._idle.workspaces:
            work._state[:] = 0xA5
            work.stack[:], work.keys[:] = -7, -7
        assert answer(a, b) == expected
    assert len(scheduler._idle.workspaces) == kept


@pytest.mark.formulas
def test_a_query_inside_a_query_has_a_workspace_of_its_own(monkeypatch):
    """As from a signal handler, which runs in the middle of another query of the same thread."""
    a, b = pl.Body(SPHERE, FACES), pl.Body(OTHER, FACES)
    expected, real, inner = answer(a, b), scheduler.copy_keys, []

    def finish(work, state):
        if not inner:
            inner.append(None)
            inner[0] = answer(a, b)
        return real(work, state)

    monkeypatch.setattr(scheduler, "copy_keys", finish)
    assert answer(a, b) == expected
    assert inner == [expected]
