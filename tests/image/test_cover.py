"""Which pixels a face covers: all that the true face touches, at all depths it has there; and centres, without gaps and doubles."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from screens import bound, clipped, flat, pixel_of

from pliant import shapes
from pliant.core.jit import ignore_float_errors
from pliant.geometry.triangle_overlap import Triangle
from pliant.image.cover import (
    corners_of,
    depth_interval,
    edge_side,
    extent_of,
    fixed_point,
    in_window,
    pixel_at,
    row_span,
    slopes_of,
    tie_side,
)
from pliant.image.sample import DEPTH_STEPS, MAX_KEY, MIN_KEY, depths_overlap, pack_fragment
from pliant.image.sample_cpu import peel_faces
from pliant.image.screen import DEPTH, MAX_COORDINATE
from trials import often

pytestmark = pytest.mark.formulas
SIZE = 5
NOTHING = np.float32(2.0**-100)


# --- all of a face --------------------------------------------------------------------------------------------------------------

quarters = st.integers(-4, 4 * SIZE + 4).map(lambda k: k / 4)
window = st.floats(-1, SIZE + 1, width=32)
powers = st.builds(lambda m, e: float(np.float32(np.clip(m * 2.0**e, -MAX_COORDINATE, MAX_COORDINATE))), st.floats(-2, 2, width=32),
                   st.integers(-20, 100))
seen_at = st.one_of(quarters, window, powers)
seen_deep = st.one_of(st.integers(-1, 4).map(lambda k: k * DEPTH / 4), st.floats(-10, DEPTH + 10, width=32), powers)
signs = st.sampled_from([-1, 0, 1])


@st.composite
def faces(draw):
    """(corners as they are seen (3, 3) float32, true ones as fractions, slack, slack_z): errors are as large as they may be, and what
    is seen at the end of the world may be far behind it."""
    kind = draw(st.sampled_from(["any", "sliver", "point", "small", "through"]))
    seen = np.array([[draw(seen_at), draw(seen_at), draw(seen_deep)] for _ in range(3)], np.float32)
    if kind == "sliver":
        seen[2] = seen[0] + np.float32(draw(st.integers(0, 8)) / 8) * (seen[1] - seen[0])
        seen[2, draw(st.integers(0, 1))] += np.float32(2.0 ** draw(st.integers(-20, 0)))
    elif kind == "point":
        seen[1:] = seen[0]
    elif kind == "small":
        seen[1:] = seen[0] + np.float32(2.0**-6) * np.sign(seen[1:])
    elif kind == "through":                                             # opposite corners: huge faces seldom come by otherwise
        seen[1] = np.float32(SIZE) / 2 - np.float32(2.0 ** draw(st.integers(-30, 30))) * seen[0]
    seen = np.clip(seen, -np.float32(MAX_COORDINATE), np.float32(MAX_COORDINATE))
    margin, slack_z = (np.float32(2.0 ** draw(st.sampled_from([-100, -100, -40, -20, -4, 4]))) for _ in range(2))
    true = [tuple(true_of(x, sign, beyond, slack_z if k == 2 else margin) for k, (x, sign, beyond) in enumerate(
        zip(row, draw(st.tuples(signs, signs, signs)), draw(st.tuples(*[st.integers(0, 60)] * 3)), strict=True))) for row in seen.tolist()]
    return seen, true, margin, slack_z


def true_of(x, sign, beyond, margin):
    if abs(x) == MAX_COORDINATE:
        return Fraction(x) * 2**beyond
    return Fraction(x) + sign * bound(x, margin)


def opposite(x, y, z, beyond):
    """A face along a line through the window whose first corner was brought back from beyond the end of the world."""
    seen = np.array([[x, y, z], [-x / 2**20, -y / 2**20, z], [-x / 2**20, -y / 2**20, 0]], np.float32)
    true = [tuple(map(Fraction, row)) for row in seen.tolist()]
    true[0] = true[0][0] * 2**beyond, true[0][1], true[0][2]
    true[1:] = [(-true[0][0] / 2**20, -true[0][1] / 2**20, corner[2]) for corner in true[1:]]
    seen[1:, 0] = float(true[1][0])
    return seen, true, NOTHING, NOTHING


def wide(size, height):
    """A face of so many pixels that rises gently: in the window it is half-way up."""
    seen = np.array([[size, 0, 512 + height], [-size, size, 512 - height], [-size, -size, 512 - height]], np.float32)
    return seen, [tuple(map(Fraction, row)) for row in seen.tolist()], NOTHING, NOTHING


@often(400, share=10)
@given(faces())
@example(opposite(MAX_COORDINATE, 2.0**89, 512.0, 8))
@example(wide(2.0**64, 2.0**12))
@example(wide(2.0**66, 2.0**8))
@example(wide(2.0**30, 2.0**12))
def test_a_face_is_listed_wherever_it_is(face):
    """In every pixel that the true face touches within the window, with all depths that it has there."""
    seen, true, margin, slack_z = face
    t = Triangle(*seen.ravel())
    with ignore_float_errors(), np.errstate(all="ignore"):
        box = extent_of(t, margin, slack_z)
        slopes = slopes_of(t, box)
    part = clipped(clipped(clipped(true, 2, 0, int(DEPTH)), 0, 0, SIZE), 1, 0, SIZE)
    assert in_window(box, SIZE) or not part
    for y in range(SIZE) if part else ():
        row = clipped(part, 1, y, y + 1)
        if not row:
            continue
        assert pixel_at(box.low, SIZE) <= y <= pixel_at(box.high, SIZE)
        with np.errstate(all="ignore"):
            first, last = row_span(t, box, y, SIZE)
        assert 0 <= first <= pixel_of(min(p[0] for p in row), SIZE)
        assert SIZE > last >= pixel_of(max(p[0] for p in row), SIZE)
        for x in range(first, last + 1):
            heights = [p[2] for p in clipped(row, 0, x, x + 1)]
            if heights:
                with np.errstate(all="ignore"):
                    near, far = map(float, depth_interval(slopes, box, x, y))
                assert near <= min(heights) and max(heights) <= far


def test_spans_are_no_wider_than_they_must_be():
    """A line up the diagonal covers the diagonal and what is beside it; a level face has the depth it has."""
    t = Triangle(*np.array([[0.5, 0.5, 8], [63.5, 63.5, 8], [62.5, 63.5, 8]], np.float32).ravel())
    box = extent_of(t, NOTHING, NOTHING)
    slopes = slopes_of(t, box)
    for y in range(64):
        first, last = row_span(t, box, y, 64)
        assert y - 2 <= first <= y <= last <= y + 1
        near, far = depth_interval(slopes, box, first, y)
        assert 7.99 < near <= 8 <= far < 8.01
    t = Triangle(*np.array([[0, 0, 0], [64, 0, 64], [0, 64, 0]], np.float32).ravel())
    box = extent_of(t, NOTHING, NOTHING)
    for x in range(60):
        near, far = depth_interval(slopes_of(t, box), box, x, 2)
        assert x - 0.1 < near <= x < x + 1 <= far < x + 1.1


@often(200, share=4)
@given(st.lists(st.tuples(st.floats(-10, DEPTH + 10, width=32), st.floats(0, 20, width=32)), min_size=2, max_size=2),
       st.tuples(st.integers(0, 2**30 - 1), st.integers(0, 2**30 - 1)))
def test_fragments_that_overlap_are_seen_to(given_depths, names):
    (a, rise_a), (b, rise_b) = given_depths
    p = pack_fragment(np.float32(a), np.float32(a + rise_a), names[0])
    q = pack_fragment(np.float32(b), np.float32(b + rise_b), names[1])
    assert (p & (2**30 - 1), q & (2**30 - 1)) == names and min(p, q) >= 0
    if max(a, b) <= min(np.float32(a + rise_a), np.float32(b + rise_b)):
        assert depths_overlap(p, q) and depths_overlap(q, p)
    apart = max(a, b, 0) - max(min(a + rise_a, b + rise_b), 0)
    if apart > 2.1 / float(DEPTH_STEPS) and max(a, b) < DEPTH - 1:
        assert not depths_overlap(p, q)


# --- centres --------------------------------------------------------------------------------------------------------------------

positions = st.one_of(st.integers(-2, 2 * SIZE + 2).map(lambda k: k / 2), st.integers(-256, 256 * (SIZE + 1)).map(lambda k: k / 256),
                      st.floats(-3, SIZE + 3, width=32), st.sampled_from([-2.0**40, 2.0**40, 2.0**90]))


def covered(vertices, corners, size=SIZE, depth=None):
    """(fronts, backs) (size, size): how many faces over each centre turn right, and left."""
    vertices = np.asarray(vertices, np.float32)
    screen = np.zeros((len(vertices), 4), np.float32)
    screen[:, :2], screen[:, 2] = vertices, 0 if depth is None else depth
    corners = np.asarray(corners, np.int32).reshape(-1, 3)
    turns = []
    for a, b, c in vertices[corners]:
        (ax, ay), (bx, by), (cx, cy) = (map(int, map(fixed_point, p)) for p in (a, b, c))
        turns.append(np.sign((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)))
    found = []
    for turn in (-1, 1):
        counts = np.zeros(size * size, np.int64)
        fronts, backs = np.full(size * size, MIN_KEY), np.full(size * size, MAX_KEY)
        some = corners[np.array(turns) == turn].reshape(-1)
        with np.errstate(all="ignore"):
            peel_faces(screen.reshape(-1), some, NOTHING, NOTHING, size, 0, size, 0, len(some) // 3, True, counts, fronts, backs,
                       backs.copy(),
                       fronts.copy())
        found.append(counts.reshape(size, size))
    return found


@often(200, share=20)
@given(st.lists(st.tuples(positions, positions), min_size=12, max_size=12), st.sampled_from(["tetrahedron", "octahedron", "icosahedron"]))
def test_every_ray_meets_as_many_fronts_as_backs(vertices, name):
    """Of closed surfaces, wherever their vertices are: no gap and no double at any edge or vertex."""
    closed = {"tetrahedron": [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
              "octahedron": [[4, 0, 1], [4, 1, 2], [4, 2, 3], [4, 3, 0], [5, 1, 0], [5, 2, 1], [5, 3, 2], [5, 0, 3]],
              "icosahedron": shapes.icosphere(0)[1]}
    fronts, backs = covered(vertices, closed[name])
    np.testing.assert_array_equal(fronts, backs)


@often(200, share=10)
@given(st.lists(st.tuples(positions, positions), min_size=5, max_size=5))
def test_a_surface_cut_another_way_covers_the_same(vertices):
    """A quadrangle cut along either diagonal, or into four at any point."""
    ways = [[0, 1, 2], [0, 2, 3]], [[0, 1, 3], [1, 2, 3]], [[4, 0, 1], [4, 1, 2], [4, 2, 3], [4, 3, 0]]
    first, *others = (np.subtract(*covered(vertices, faces)) for faces in ways)
    for other in others:
        np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize("shift", [0.0, 0.5, 0.25, 1 / 512])
def test_a_flat_sheet_covers_every_centre_once(shift):
    """Vertices, edges and diagonals lie on centres."""
    vertices, faces = shapes.sheet(4, 4)
    fronts, backs = covered((2 * SIZE * vertices[:, :2] - 2 + shift), faces)
    np.testing.assert_array_equal(fronts + backs, np.ones((SIZE, SIZE)))
    assert not fronts.any() or not backs.any()


@often(200, share=4)
@given(st.lists(st.integers(-9, 9), min_size=6, max_size=6))
def test_sides_of_a_line(numbers):
    """Exchanged ends exchange sides, and only a line that is none has no side; what lies on it is moved as by (ε, ε²)."""
    ax, ay, bx, by, px, py = numbers
    found = edge_side(ax, ay, bx, by, px, py)
    assert found == -edge_side(bx, by, ax, ay, px, py)
    assert (found == 0) == ((ax, ay) == (bx, by)) and tie_side(ax, ay, ax, ay) == 0
    tiny = Fraction(1, 10**6)
    turn = (bx - ax) * (py + tiny**2 - ay) - (by - ay) * (px + tiny - ax)
    assert found == (turn > 0) - (turn < 0)


def test_coordinates_in_fine_steps():
    assert [int(fixed_point(np.float32(x))) for x in (0, 1, -1, 0.5, 1 / 256)] == [0, 256, -256, 128, 1]
    assert abs(int(fixed_point(np.float32(2.0**100)))) == abs(int(fixed_point(np.float32(-(2.0**100))))) == 2**29
    for x in np.random.default_rng(3).uniform(-9, 9, 99).astype(np.float32):
        assert abs(int(fixed_point(x)) - 256 * float(x)) <= 0.5
        assert pixel_at(x, SIZE) == min(max(floor(x), 0), SIZE - 1)


def test_corners_are_those_of_the_face():
    screen, faces = flat(np.arange(18).reshape(2, 3, 3))
    assert list(corners_of(screen, faces, 1)) == list(range(9, 18))
