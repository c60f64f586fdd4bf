"""Lists of the vertices under each lane, in which blocks of consecutive vertices stand for those that fill them."""

from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from volume_checks import assert_true, shape_of

import meshes
import pliant as pl
from pliant import shapes
from pliant.motion.free import BLOCK, Free, block_row, equal_blocks
from pliant.refit.vertex_spans import MAX_BLOCK, aligned_blocks, vertex_spans
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
DIRECTIONS, FACES = shapes.icosphere(2 if OFF else 4)


def assert_blocks(motion):
    """Each block has the extremes of its rows, to the bit but for the sign of zero."""
    rows = motion.points_and_blocks.reshape(-1, 4)[:, :3]
    np.testing.assert_array_equal(rows[:motion.count], motion.points.reshape(-1, 4)[:, :3])
    assert motion.blocks[0] == 0 and motion.blocks[-1] == motion.count and (np.diff(motion.blocks) > 0).all()
    for b, (begin, end) in enumerate(pairwise(motion.blocks.tolist())):
        block, at = rows[begin:end], block_row(motion.count, b)
        np.testing.assert_array_equal(rows[at:at + 2], [block.min(axis=0), block.max(axis=0)])


# --- boxes of blocks -------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@often(300)
@given(st.integers(1, 3 * BLOCK + 1), st.integers(0, 2**31), st.floats(-300, 300), st.booleans())
def test_blocks_have_the_box_of_their_vertices(n, seed, exponent, copy):
    """After updates of all vertices and of some, near and far, as the origin moves and the scale changes."""
    rng = np.random.default_rng(seed)
    motion = Free(rng.standard_normal((n, 3)))
    assert_blocks(motion)
    cuts = np.unique(rng.integers(1, n, rng.integers(0, len(motion.blocks)))) if n > 1 else []
    suggested = np.array([0, *cuts, n])
    assert np.array_equal(motion.use_blocks(suggested), suggested) == (len(suggested) <= len(equal_blocks(n)))
    size = 2.0 ** np.round(exponent / 3)
    motion.update(rng.standard_normal((n, 3)) * size + size * rng.integers(-9, 9), copy)
    assert_blocks(motion)
    some = rng.integers(0, n, rng.integers(1, 9))
    motion.update_some(rng.standard_normal((len(some), 3)) * size, some)
    assert_blocks(motion)
    motion.restore()
    assert_blocks(motion)


@pytest.mark.formulas
def test_a_refused_update_leaves_the_blocks():
    motion = Free(DIRECTIONS)
    rows = DIRECTIONS * 2
    rows[-1, 2] = np.nan
    with pytest.raises(pl.MeshError):
        motion.update(rows)
    assert_blocks(motion)


@pytest.mark.formulas
def test_blocks_that_nobody_reads_are_made_when_somebody_does():
    motion = Free(DIRECTIONS)
    motion.update_some(np.array([[7.0, 8.0, 9.0]]), np.array([3]))
    motion.use_blocks()
    assert_blocks(motion)


# --- lists -----------------------------------------------------------------------------------------------------------------------

def rows_of(spans, i, k, n, begins=None):
    """(the vertices of a lane, how many rows are read for them)."""
    order = np.unique(spans.order[spans.spans[i, k, 0]:spans.spans[i, k, 1]])
    blocks = (order[order >= n] - n) // 2
    assert len(blocks) == 2 * len(np.unique(blocks))                    # both corners
    inside = [np.arange(begins[b], begins[b + 1]) for b in np.unique(blocks)]
    return np.sort(np.concatenate([order[order < n], *inside])), len(order)


@pytest.mark.formulas
@pytest.mark.parametrize("ordered", [False, True], ids=["as given", "ordered"])
def test_blocks_stand_for_exactly_their_vertices(ordered):
    """Every lane names the same vertices with blocks and without them, and ordered vertices take few rows."""
    mesh = pl.reorder_vertices(DIRECTIONS, FACES) if ordered else (DIRECTIONS, FACES)
    body = pl.Body(mesh[0], mesh[1], arity=8, leaf=2)
    tree, n, least = shape_of(body).tree, len(DIRECTIONS), {}
    plain = vertex_spans(tree, n)
    for name, begins in (("equal", equal_blocks(n)), ("aligned", aligned_blocks(tree, n))):
        blocked, saved = vertex_spans(tree, n, begins), []
        for i in range(len(tree.child)):
            for k in range(tree.count[i]):
                alone, many = rows_of(plain, i, k, n)
                np.testing.assert_array_equal(rows_of(blocked, i, k, n, begins)[0], alone)
                saved.append(rows_of(blocked, i, k, n, begins)[1] / many)
        assert max(saved) <= 1 and (not ordered or OFF or saved[0] < 0.3)
        assert (blocked.spans % 4 == 0).all()
        least[name] = len(blocked.order)
    assert not ordered or OFF or least["aligned"] < least["equal"]


@pytest.mark.formulas
def test_aligned_blocks_are_short():
    """A lane of many vertices gets several blocks; together they are all vertices, those too that no face names."""
    strip = np.array([[k, k % 2, 0.1 * k] for k in range(700)], np.float64)
    tree = shape_of(pl.Body(strip, [[k, k + 1, k + 2] for k in range(0, 600)], arity=2)).tree
    begins = aligned_blocks(tree, len(strip))
    assert begins[0] == 0 and begins[-1] == len(strip)
    assert 0 < np.diff(begins).min() and np.diff(begins).max() <= MAX_BLOCK


@pytest.mark.formulas
@pytest.mark.parametrize("policy", ["hybrid", "lazy", "active"])
def test_volumes_are_those_without_blocks(policy):
    """To the bit, after updates of all vertices and of some."""
    mesh, rng = pl.reorder_vertices(*shapes.icosphere(3 if OFF else 4)), np.random.default_rng(5)  # fewer vertices fill no block
    body, plain = (pl.Body(mesh.vertices, mesh.faces, policy=policy, leaf=2) for _ in range(2))
    for each in (body, plain):
        shape_of(each).has_blocks = each is body
    other = pl.Body(*meshes.cube((0.6, 0.2, 0.1), 0.7))
    for k in range(3):
        rows, some = shapes.bumpy(mesh.vertices, 0.4 * k), rng.integers(0, len(mesh.vertices), 5)
        for each in (body, plain):
            each.update(rows)
            pl.collide(each, other)
            each.update(rows[some] * 1.1, changed=some)
            assert pl.collide(each, other)
        assert_true(body)
        one, two = shape_of(body), shape_of(plain)
        fresh = one.nodes["stamp"] == one.frame
        np.testing.assert_array_equal(one.nodes["lanes"][fresh], two.nodes["lanes"][fresh])
        assert fresh.any() and (one.nodes["stamp"] == two.nodes["stamp"]).all()
    used = shape_of(body).tree_state.order.max() >= len(mesh.vertices), shape_of(plain).tree_state.order.max() >= len(mesh.vertices)
    assert used == (True, False)


@pytest.mark.formulas
@often(100)
@given(st.integers(0, 2**31))
def test_any_mesh(seed):
    """Random faces over few vertices, some of which no face names, some faces degenerate."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 3 * BLOCK))
    faces = np.sort(rng.integers(0, n, (int(rng.integers(1, 4 * n)), 3)), axis=0)
    tree = shape_of(pl.Body(rng.standard_normal((n, 3)), faces, leaf=1)).tree
    plain = vertex_spans(tree, n)
    for begins in (equal_blocks(n), aligned_blocks(tree, n)):
        blocked = vertex_spans(tree, n, begins)
        for i in range(len(tree.child)):
            for k in range(tree.count[i]):
                np.testing.assert_array_equal(rows_of(blocked, i, k, n, begins)[0], rows_of(plain, i, k, n)[0])
