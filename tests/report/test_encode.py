"""Frames to bytes and back, exactly; positions to a grid, as near as promised."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pliant.report.encode import (
    MARKS,
    NEW_STEPS,
    ZLIB_LEVEL,
    Decoder,
    Encoder,
    Frame,
    QuantizedBody,
    Quantizer,
    byte_planes,
    deflate,
    from_byte_planes,
)

WHOLE = {np.int16: st.integers(-(2**15), 2**15 - 1), np.int32: st.integers(-(2**31), 2**31 - 1)}


@pytest.mark.parametrize("kind", [np.int16, np.int32])
@given(data=st.data())
def test_planes_and_back(kind, data):
    values = data.draw(arrays.arrays(kind, st.integers(0, 20), elements=WHOLE[kind]))
    told = byte_planes(values)
    assert len(told) == values.nbytes and np.array_equal(from_byte_planes(told, len(values), kind), values)
    near = byte_planes(np.array([0, -1, 1, -2], kind))
    assert near[:4] == bytes([0, 1, 2, 3]) and not any(near[4:])


@st.composite
def frames(draw):
    """A few frames of two bodies: any grid, faces that change now and then, steps that do."""
    bodies, found = [None, None], []
    for place in range(draw(st.integers(1, 6))):
        pieces = []
        for body in range(2):
            last = bodies[body]
            count = len(last.grid[0]) if last and draw(st.booleans()) else draw(st.integers(0, 5))
            fresh = last is None or count != len(last.grid[0]) or draw(st.integers(0, 3)) == 0
            some = arrays.arrays(np.int32, st.tuples(st.integers(0, 4), st.just(3)), elements=st.integers(0, max(0, count - 1)))
            faces = draw(some) if fresh else last.faces
            stays = not fresh and draw(st.integers(0, 3)) == 0
            grid = last.grid.copy() if stays else draw(arrays.arrays(np.int16, (3, count), elements=WHOLE[np.int16]))
            marked = draw(st.tuples(*[st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=3)] * MARKS))
            step = draw(st.sampled_from([1.0, 0.5])) if fresh or not stays else last.step
            bodies[body] = QuantizedBody(grid, np.arange(3.0) + place, step, faces, [np.array(sorted(each), np.int32) for each in marked])
            pieces.append(bodies[body])
        found.append(Frame(place, pieces))
    return found


@given(frames(), st.integers(1, 3))
def test_frames_and_back(told, each):
    coder, decoder = Encoder(), Decoder(2)
    chunks = [b"".join(coder.frame(frame) for frame in told[k : k + each]) for k in range(0, len(told), each)]
    found = [frame for chunk in chunks for frame in decoder.frames(zlib.decompress(deflate(chunk)))]
    assert [frame.place for frame in found] == [frame.place for frame in told]
    for one, other in zip(told, found, strict=True):
        for mine, theirs in zip(one.pieces, other.pieces, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip((*mine[:4], *mine.marks), (*theirs[:4], *theirs.marks), strict=True))


def test_expected_motion_takes_few_bytes():
    """A body that turns evenly: what is left of the differences are roundings."""
    rows = np.random.default_rng(1).normal(size=(2_000, 3))
    faces, coder, grid, sizes = np.arange(1_998).reshape(-1, 3), Encoder(), Quantizer(), []
    for frame in range(4):
        c, s = np.cos(0.01 * frame), np.sin(0.01 * frame)
        piece = grid.quantize(rows @ [[c, s, 0], [-s, c, 0], [0, 0, 1]], faces, [np.empty(0, np.int32)] * MARKS)
        sizes.append(len(zlib.compress(coder.frame(Frame(frame, [piece])), ZLIB_LEVEL)))
    first, second, third, fourth = sizes
    assert third < second < first and fourth < 0.35 * 6 * 1_998


def test_a_grid_lasts_while_it_is_fine_enough():
    rows, grid = np.array([[-1.0, 0, 0], [1.0, 0.2, 0], [0, 0.1, 0.3]]), Quantizer()
    faces = np.array([[0, 1, 2]])
    steps = [grid.quantize(size * rows + 7.0 * size, faces, [faces[:0, 0]] * MARKS).step for size in (1.0, 2.0, 3.1, 0.75, 0.6, 0.5, 100.0)]
    assert steps == pytest.approx(np.array([1.0, 1.0, 1.0, 1.0, 0.6, 0.6, 100.0]) / NEW_STEPS)


def test_vertices_that_no_face_has_are_left_out():
    rows = np.array([[1e9, 0, 0], [0, 0, 0], [1.0, 0, 0], [9e9, 9e9, 9e9], [0, 1.0, 0]])
    piece = Quantizer().quantize(rows, np.array([[4, 2, 1]]), [np.array([0])] * MARKS)
    assert piece.faces.tolist() == [[2, 1, 0]] and piece.step == 0.5 / NEW_STEPS
    assert np.allclose((piece.zero[:, None] + piece.step * piece.grid).T, rows[[1, 2, 4]], atol=piece.step)
