"""Rays against the reference on meshes that Hypothesis thinks of: few faces, any corners, rays that mean to go through all of them."""

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

import naive_rays
import pliant as pl
from pliant.refit.policy import POLICIES
from ray_checks import assert_rays, assert_same
from strategies import extreme, lattice, mesh, options, positions
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
INF, TINIEST, MOST = np.inf, 5e-324, 1.7976931348623157e308


# --- strategies ----------------------------------------------------------------------------------------------------------------

@st.composite
def rays_at(draw, vertices, coordinate, most=4):
    """Up to `most` rays from anywhere: at a vertex, at the middle of two, along an edge, along an axis, or anywhere."""
    n = draw(st.integers(1, most))
    origins, directions = draw(positions(coordinate, n)), draw(positions(coordinate, n))
    corner = st.integers(0, len(vertices) - 1)
    for k in range(n):
        kind, i, j = draw(st.sampled_from(("any", "vertex", "middle", "edge", "axis", "from a vertex"))), draw(corner), draw(corner)
        with np.errstate(over="ignore"):
            if kind == "vertex":
                directions[k] = vertices[i] - origins[k]
            elif kind == "middle":
                directions[k] = (vertices[i] - origins[k]) + (vertices[j] - origins[k])
            elif kind == "edge":
                origins[k], directions[k] = 2 * vertices[i] - vertices[j], vertices[j] - vertices[i]
            elif kind == "axis":
                directions[k] = np.eye(3)[i % 3] * draw(st.sampled_from((1.0, -1.0, 0.5, 3.0)))
            elif kind == "from a vertex":
                origins[k] = vertices[i]
        for rows in (origins, directions):
            rows[k] = np.clip(np.nan_to_num(rows[k], posinf=MOST, neginf=-MOST), -MOST, MOST)
    return origins, directions


@st.composite
def asked(draw, coordinate, most=12):
    """A mesh and rays at it."""
    vertices, faces = draw(mesh(coordinate, most))
    return (vertices, faces), draw(rays_at(vertices, coordinate))


limit = st.one_of(st.sampled_from([0.0, -INF, INF, 1.0, 0.5, -1.0, np.nan, 1e300, TINIEST]), st.integers(-4, 4).map(float))


# --- properties ----------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
@often(300)
@given(asked(lattice), options)
def test_lattice_meshes(given_, kept):
    """Rays exactly through vertices and edges, in planes of faces, along edges, from vertices: all are common."""
    found = assert_rays(pl.Body(*given_[0], **kept), *given_[1])
    event("hit" if found.hit.any() else "miss")


def test_lattice_rays_are_of_all_kinds():
    """What the test above relies on: of a few examples many hit, miss, hit several faces at once, and lie in planes."""
    seen = {"hit": 0, "miss": 0, "several at one t": 0, "weight 0": 0}

    @settings(max_examples=100, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(asked(lattice))
    def look(given_):
        for origin, direction in zip(*given_[1], strict=True):
            hits = naive_rays.hits(*given_[0], origin, direction)
            seen["hit" if hits else "miss"] += 1
            seen["several at one t"] += len(hits) > len({hit.t for hit in hits})
            seen["weight 0"] += any(0 in (hit.u, hit.v, 1 - hit.u - hit.v) for hit in hits)

    look()
    assert min(seen.values()) > 10, seen


@often(200)
@given(asked(lattice, 6), st.lists(limit, min_size=4, max_size=4), st.lists(limit, min_size=4, max_size=4))
def test_any_limits(given_, low, high):
    mesh_, (origins, directions) = given_
    n = len(origins)
    assert_rays(pl.Body(*mesh_), origins, directions, np.array(low[:n]), np.array(high[:n]))
    assert_rays(pl.Body(*mesh_), origins, directions, low[0], high[0])


A_POINT = np.array([[2.0, TINIEST, 0.0]]), np.zeros((1, 3), np.int32)
A_FACE = np.array([[0, 0, 1.0], [MOST, TINIEST, 1.0], [-MOST, 1.0, TINIEST]]), np.array([[0, 1, 2]], np.int32)

A_TALL_FACE = np.array([[0, 0, 0], [1.0, 0, 0], [0, 0, 2.0**1000]]), np.array([[0, 1, 2]], np.int32)  # 2**-1024 beside it is no number


@often(300)
@given(asked(extreme), options)
@example((A_POINT, (np.zeros((1, 3)), A_POINT[0])), {})
@example((A_FACE, (np.zeros((1, 3)), np.array([[TINIEST, 0.0, MOST]]))), {})
@example((A_FACE, (np.full((1, 3), -MOST), np.full((1, 3), MOST))), {})
@example((A_TALL_FACE, (np.array([[0.0, 2.0**-23, 0.0]]), np.array([[0.0, -(2.0**-23), 2.0**1000]]))), {})
def test_any_finite_float64(given_, kept):
    assert_rays(pl.Body(*given_[0], **kept), *given_[1], -INF, INF)


@often(150)
@given(asked(lattice), st.tuples(*[st.integers(-(2**48), 2**48)] * 3), st.integers(-1000, 960))
def test_moves_and_sizes_that_are_exact_change_nothing(given_, offset, power):
    """Integers moved by integers, and numbers times a power of two, are the same question: the same faces, the same t within rounding."""
    (vertices, faces), (origins, directions) = given_
    offset = np.array(offset, float)
    moved = vertices + offset, origins + offset
    assert all(Fraction(x) - Fraction(o) == Fraction(v) for row, old in zip(moved[0].tolist(), vertices.tolist(), strict=True)
               for x, v, o in zip(row, old, offset.tolist(), strict=True))
    plain = pl.cast_all(pl.Body(vertices, faces), origins, directions, t_min=-INF)
    for body, start, way in ((pl.Body(moved[0], faces), moved[1], directions),
                             (pl.Body(vertices * 2.0**power, faces), origins * 2.0**power, directions * 2.0**power)):
        found = pl.cast_all(body, start, way, t_min=-INF)
        keys, right = (sorted(zip(each.ray.tolist(), each.face.tolist(), strict=True)) for each in (found, plain))
        assert keys == right
        assert_rays(body, start, way, -INF, INF)
    longer = pl.cast_all(pl.Body(vertices, faces), origins, directions * 2.0**-30, t_min=-INF)
    np.testing.assert_allclose(np.sort(longer.t), np.sort(plain.t) * 2.0**30, rtol=1e-12, atol=1e-4)


@often(100)
@given(asked(extreme, 6), options, options)
def test_options_give_the_same_to_the_bit(given_, one, other):
    first, second = (pl.cast_all(pl.Body(*given_[0], **kept), *given_[1], t_min=-INF) for kept in (one, other))
    assert_same(first, second)


@often(100)
@given(st.lists(mesh(lattice, 5), min_size=1, max_size=5), st.data())
def test_scenes(parts, data):
    """Several bodies, some of them gone again, some masked."""
    scene, masks = pl.Scene(), {}
    for part in parts:
        mask = data.draw(st.sampled_from([1, 2, 3, 0, 0xFFFFFFFF]))
        masks[scene.add(pl.Body(*part), mask=mask)] = mask
    for number in data.draw(st.sets(st.sampled_from(list(scene)), max_size=2)):
        scene.remove(number)
    vertices = np.vstack([vertices for vertices, _ in parts])
    origins, directions = data.draw(rays_at(vertices, lattice))
    masks = {number: masks[number] for number in scene}
    assert_rays(scene, origins, directions, mask=data.draw(st.sampled_from([None, 1, 2, 4, 0xFFFFFFFF])), masks=masks)


STEPS = ("update", "borrow", "some", "transform", "refuse", "ask")


@often(150)
@given(st.data(), mesh(lattice), options)
def test_any_order_of_updates_and_questions(data, first, kept):
    """A body that has been through updates of all kinds, and refused ones, answers as the reference does for where it is."""
    body, here = pl.Body(*first, **kept), first[0].copy()
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8)):
        if step in ("update", "borrow"):
            here = data.draw(positions(st.one_of(lattice, extreme) if step == "update" else lattice, len(here)))
            body.update(here, copy=step == "update")
            here = here.copy()
        elif step == "some":
            rows = data.draw(st.lists(st.integers(0, len(here) - 1), max_size=4, unique=True))
            here[rows] = data.draw(positions(lattice, len(rows)))
            body.update(here[rows], changed=rows)
        elif step == "transform":
            body.update(here % 16, transform=np.array([[0, -1, 0, 3], [1, 0, 0, -2], [0, 0, 1, 1.0]]))
            here = here % 16
        elif step == "refuse":
            with pytest.raises(pl.MeshError, match="finite"):
                body.update(np.full_like(here, np.nan))
        else:
            assert_rays(body, *data.draw(rays_at(body.vertices, lattice)))
    assert_rays(body, *data.draw(rays_at(body.vertices, lattice)))


@often(60)
@given(asked(lattice, 6), st.lists(st.integers(-200, 150), min_size=1, max_size=6), st.sampled_from(sorted(POLICIES)))
@example(((np.eye(3), np.array([[0, 1, 2]], np.int32)), (np.zeros((1, 3)), np.ones((1, 3)))), [0, -200, 150, 0], "lazy")
def test_growing_and_shrinking(given_, powers, kept):
    """A body goes through sizes; rays of its size, and rays that stay as they are."""
    (vertices, faces), (origins, directions) = given_
    body = pl.Body(vertices, faces, policy=kept)
    for power in powers:
        body.update(vertices * 10.0**power)
        assert_rays(body, origins * 10.0**power, directions)
        assert_rays(body, origins, directions)
