"""Onto the screen: what is seen is where it is, but for the errors that are allowed for, and what can matter is in the window."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from screens import bound, exactly, on_screen

import meshes
from pliant import shapes
from pliant.image.screen import (
    DEPTH,
    MAX_COORDINATE,
    N_LAYER_CELLS,
    PARTIAL_SUMS,
    RELATIVE_ERROR,
    STRIDE,
    SURVEY_BITS,
    SURVEY_CELLS,
    SURVEY_SIZE,
    common_box,
    position_error,
    read_survey,
    rotation_to,
    scale_to,
    survey_step,
)
from trials import often

pytestmark = pytest.mark.formulas
TINIEST, MOST = 5e-324, 1.7976931348623157e308
TRIANGLE = np.array([[0, 1, 2]])

lattice = st.integers(-3, 3).map(float)
extreme = st.one_of(
    lattice,
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([TINIEST, -TINIEST, 2.0**-1022, 2.0**1000, MOST, -MOST, 1 + 2.0**-52]),
    st.builds(lambda m, e: m * 2.0**e, st.integers(-3, 3), st.integers(-1060, 1020)),
)
directions = st.one_of(st.none(), st.tuples(*[st.integers(-3, 3)] * 3).filter(any),
                       st.tuples(*[st.floats(-1e300, 1e300)] * 3).filter(any))


def triangles(coordinate):
    return st.lists(st.tuples(*[coordinate] * 3), min_size=3, max_size=3).map(lambda rows: np.array(rows, np.float64))


@often(150)
@given(triangles(extreme), triangles(extreme), directions, st.sampled_from([1, 3, 8, 1024]))
@example(np.full((3, 3), MOST), np.full((3, 3), MOST), None, 8)
@example(np.diag([MOST] * 3) - MOST / 2, np.diag([-MOST] * 3) + MOST / 2, None, 8)
@example(np.eye(3), np.eye(3) + 1e17, (1, 1, 1), 8)
@example(np.diag([1.0, 1, 1]), np.array([[0, MOST, 0.99 * MOST], [0, 0, 0], [0, 0, 0]]), (0, 1, 1), 8)
def test_errors_on_the_screen_stay_in_their_bounds(a, b, direction, size):
    """With room for what comes after; what is farther away than FARTHEST is seen there, on the right side."""
    for parts in ((a, b), (a,)):
        loops = on_screen(*((part, TRIANGLE) for part in parts), size=size, direction=direction)
        if loops is None:
            continue
        view = loops.view
        assert 0 < view.error_xy < np.inf and 0 < view.error_z < np.inf
        for v, vertex in enumerate(np.vstack(parts)):
            for k, true in enumerate(exactly(view, vertex)):
                seen, margin = float(loops.screen[STRIDE * v + k]), view.error_z if k == 2 else view.error_xy
                if margin >= MAX_COORDINATE:                             # more than all that is seen: every face is everywhere
                    assert abs(seen) <= margin
                elif abs(seen) < MAX_COORDINATE:
                    assert abs(true - Fraction(seen)) <= bound(seen, margin)
                else:
                    assert true / Fraction(seen) > 1 - Fraction(1, 1000) or abs(true - Fraction(seen)) <= margin


@often(150)
@given(triangles(extreme), triangles(extreme), directions, st.booleans())
@example(np.array([[7.0, 0, 0], [0, 7, 0], [0, 0, 7]]), np.array([[3.0, 3, 1], [1, 3, 3], [3, 1, 3]]), (1, 1, 1), False)
@example(np.array([[0.0, 0, 0], [2, 1, -1], [-3, 0, 1]]), np.array([[9.0, -9, -9], [0, 0, 0], [-5, 2, 1]]), (1, 1, 3), False)
def test_what_both_parts_can_reach_is_in_the_window(a, b, direction, deep):
    """The corners of what their boxes, turned without rounding, have in common. Where the window is flat all is seen at 0."""
    loops = on_screen((a, TRIANGLE), (b, TRIANGLE), direction=direction, mode="sampled" if deep else "conservative", closed=True)
    turn = np.eye(3) if direction is None else rotation_to(np.array(direction, np.float64))
    rows = [[Fraction(x) for x in row] for row in turn.tolist()]
    away = [[tuple(sum(r * Fraction(x) for r, x in zip(row, p, strict=True)) for row in rows) for p in part.tolist()] for part in (a, b)]
    low = [max(min(p[k] for p in part) for part in away) for k in range(3)]
    high = [min(max(p[k] for p in part) for part in away) for k in range(3)]
    if any(one > other for one, other in zip(low, high, strict=True)):
        return
    assert loops is not None
    view = loops.view
    for corner in product(*zip(low, high, strict=True)):
        frame = [Fraction(x) for x in view.frame.tolist()]
        order = [row.index(1) for row in view.frame[:9].reshape(3, 3).tolist()] if direction is None else range(3)
        centre = [sum(r * c for r, c in zip(row, frame[9:12], strict=True)) for row in rows]
        for k, axis in enumerate(order):
            seen = ((corner[axis] - centre[axis]) / 4 - frame[12 + k]) * frame[15 + k]
            margin = Fraction(float(view.error_z if k == 2 else view.error_xy))
            if margin < MAX_COORDINATE:
                assert -margin <= seen <= (int(DEPTH) if k == 2 else view.size) * (1 + Fraction(float(RELATIVE_ERROR))) + margin


def test_parts_that_cannot_meet_have_no_window():
    a, b = meshes.cube(), meshes.cube((1.5, 0, 0))
    for direction in (None, (1, 0, 0), (1, 2, 3)):
        assert on_screen(a, b, direction=direction) is None
        assert on_screen(a, meshes.cube((1, 0, 0)), direction=direction) is not None


@pytest.mark.parametrize("direction", [(0, 0, 1), (0, -2, 0), (1, 1, 1), (1e-320, 3e-320, 0), (-1e308, 1e308, 1e308), (1, 1e-30, 0)])
def test_turned_lines_are_perpendicular_units(direction):
    turn = rotation_to(np.array(direction, np.float64))
    assert np.abs(turn @ turn.T - np.eye(3)).max() < 1e-15
    assert np.linalg.det(turn) > 0
    size = np.array(direction) / np.abs(direction).max()
    assert turn[2] @ size / np.linalg.norm(size) > 1 - 1e-15


def test_common_boxes():
    boxes = np.array([[[0.0, 0, 0], [2, 2, 2]], [[1.0, -1, 2], [3, 1, 4]]])
    assert common_box(boxes).tolist() == [[1, 0, 2], [2, 1, 2]]
    assert common_box(boxes[:1]).tolist() == boxes[0].tolist()
    boxes[1, 0, 2] = 2.25
    assert common_box(boxes) is None
    boxes[1, 0, 2] = 2 + 2.0**-51                                       # it may be a rounding
    assert common_box(boxes).tolist() == [[1, 0, 2], [2, 1, 2 + 2.0**-51]]
    assert position_error(boxes) == 9 * 2.0**-48
    assert 0 < position_error(np.zeros((1, 2, 3))) < position_error(np.full((2, 2, 3), MOST)) < np.inf
    assert scale_to(np.array([[0.0, 1, -MOST], [2, 1, MOST]]), 8).tolist() == [4, 0, 0]
    assert scale_to(np.array([[0.0], [TINIEST]]), 8).tolist() == [2.0**1000]


# --- which way ------------------------------------------------------------------------------------------------------------------

def counted(mesh):
    """What is counted of all faces over the box of the mesh."""
    return on_screen(mesh).inspect(np.eye(3))[2]


def test_layers_add_up_to_the_surface_that_is_seen():
    """Along each axis the area that a face shows, spread over its cells."""
    corners = np.array([[0, 0, 0], [4, 0, 1], [0, 3, 2.0]])
    values, box = counted((corners, TRIANGLE)), np.ptp(corners, axis=0)
    for axis, layers in enumerate(values[:N_LAYER_CELLS].reshape(3, -1)):
        u, v = (corners[1:] - corners[0])[:, [(axis + 1) % 3, (axis + 2) % 3]]
        shown = 0.5 * abs(u[0] * v[1] - u[1] * v[0]) / (box[(axis + 1) % 3] * box[(axis + 2) % 3])
        assert layers.sum() / SURVEY_CELLS**2 == pytest.approx(shown, rel=1e-4)


def test_sizes_of_faces_add_up():
    """Of width × height, width + height and 1, in sides of the window, over the faces of two parts in what these have in common."""
    faces = np.array([[[0, 0, 0], [4, 0, 1], [0, 3, 2.0]], [[2, 1, 1], [3, 1, 1], [3, 3, 2]], [[0, 0, 0], [0, 0, 0], [4, 3, 2]]])
    sides, whole = np.ptp(faces, axis=1), np.ptp(faces.reshape(-1, 3), axis=0)
    found = [read_survey(counted(meshes.soup(faces)), axis) for axis in range(3)]
    for axis, survey in enumerate(found):
        wide, high = ((sides / whole)[:, (axis + k) % 3] for k in (1, 2))
        assert survey.axis == axis and survey.faces == 3
        assert survey.area_sum == pytest.approx((wide * high).sum()) and survey.extent_sum == pytest.approx((wide + high).sum())
        assert survey.fragments(10) == pytest.approx(100 * survey.area_sum + 10 * survey.extent_sum + 3)
    beside = meshes.soup(faces + [4, 0, 0])
    assert read_survey(on_screen(meshes.soup(faces), beside).inspect(np.eye(3))[2], 0).faces == 6
    assert read_survey(on_screen(meshes.soup(faces[1:2]), meshes.soup(faces + [2, 0, 0])).inspect(np.eye(3))[2], 0).faces == 4


def test_some_of_many_faces_are_surveyed():
    assert [survey_step(count) for count in (0, 1, 1 << SURVEY_BITS, (2 << SURVEY_BITS) - 1, 2 << SURVEY_BITS, 5 << SURVEY_BITS)] == [
        1, 1, 1, 1, 2, 5]


@pytest.mark.parametrize("axis", range(3))
def test_rays_go_where_the_fewest_layers_are(axis):
    """Sheets in a pile are seen from the side."""
    pile = meshes.joined(*(((vertices + [0, 0, 0.1 * k])[:, np.roll(range(3), axis)], faces)
                           for k in range(5) for vertices, faces in [shapes.sheet(4, 4)]))
    turn = on_screen(pile).view.frame[:9].reshape(3, 3)
    through = int(np.flatnonzero(np.ptp(pile[0], axis=0) < 0.5)[0])
    assert turn[2].argmax() != through
    assert (sorted(turn.ravel().tolist()), round(np.linalg.det(turn))) == ([0] * 6 + [1] * 3, 1)


def test_the_axis_of_the_shallowest_cell():
    values = np.zeros(SURVEY_SIZE, np.float32)
    layers, sums = values[:N_LAYER_CELLS].reshape(3, -1), values[N_LAYER_CELLS:].reshape(PARTIAL_SUMS, 3, 3)
    layers[0, 5], layers[1, 3:9], layers[2, 7], sums[3, :, 2] = 9, 2, 3, (1, 2, 3)
    assert (read_survey(values, None).axis, read_survey(values, None).faces) == (1, 2)
    layers[2, 7] = 2
    assert (read_survey(values, None).axis, read_survey(values, None).faces) == (2, 3)
    assert read_survey(values, 0).faces == 1
