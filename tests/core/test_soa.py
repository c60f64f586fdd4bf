"""What kernels read from and write to records is what NumPy sees in them: every field, every lane, and nothing beside it."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from pliant.core import soa
from pliant.core.jit import DISABLED, OPTIONS
from pliant.core.soa import (
    aligned_zeros,
    lane,
    lanes,
    load_bounds,
    packed_dtype,
    prefetch,
    publish,
    put_bounds,
    put_lane,
    put_lanes,
    record_class,
    stamp,
)

pytestmark = pytest.mark.formulas

INT32 = np.dtype(np.int32)


@record_class
class Egg(NamedTuple):
    """Three scalars under names of their own."""
    yolk: float
    white: float
    shell: float


@record_class
class Pot(NamedTuple):
    """Another class, of as many scalars."""
    depth: float
    mouth: float
    handle: float


def basket(width, n=5):
    """Records in which every byte is something else than 0."""
    dtype = packed_dtype([("lanes", soa.lanes_dtype(Egg, width)), ("bounds", soa.bounds_dtype(Pot)), ("count", INT32), ("stamp", INT32)])
    array = aligned_zeros(n, dtype)
    array.view(np.uint8)[:] = np.arange(array.nbytes) % 251 + 1
    for k, name in enumerate(Egg._fields):
        array["lanes"][name] = 100 * k + np.arange(n)[:, None] + np.arange(width) / 16
    for k, name in enumerate(Pot._fields):
        array["bounds"][name] = -100 * k - np.arange(n)
    array["stamp"] = np.arange(n) + 7
    return array


@njit(**OPTIONS)
def copy_lanes(source, i, target, j):
    put_lanes(target, j, lanes(source, i))


@njit(**OPTIONS)
def copy_lane(source, i, k, target, j, m):
    put_lane(target, j, m, lane(source, i, k))


@njit(**OPTIONS)
def copy_whole(source, i, target, j):
    put_bounds(target, j, load_bounds(source, i))


@njit(**OPTIONS)
def read_lane(source, i, k):
    return lane(source, i, k)


@njit(**OPTIONS)
def read_whole(source, i):
    return load_bounds(source, i)


@njit(**OPTIONS)
def write_pot(target, i, depth):
    put_bounds(target, i, Pot(depth, depth + 1, depth + 2))


@njit(**OPTIONS)
def write_egg(target, i):
    put_bounds(target, i, Egg(1.0, 2.0, 3.0))


@njit(**OPTIONS)
def pass_on(source, i, frame):
    prefetch(source, i)
    before = stamp(source, i)
    publish(source, i, np.int32(frame))
    return before


@pytest.fixture(params=[4, 8])
def width(request):
    return request.param


def test_lanes_are_read_and_written(width):
    source, target, expected = basket(width), basket(width), basket(width)
    for name in Egg._fields:
        expected["lanes"][name][1] = source["lanes"][name][3]
    copy_lanes(source, 3, target, 1)
    assert target.tobytes() == expected.tobytes()
    assert source.tobytes() == basket(width).tobytes()


def test_one_lane_is_read_and_written(width):
    source, target, expected = basket(width), basket(width), basket(width)
    for name in Egg._fields:
        expected["lanes"][name][0, width - 1] = source["lanes"][name][4, 2]
    copy_lane(source, 4, 2, target, 0, width - 1)
    assert target.tobytes() == expected.tobytes()


def test_the_whole_is_read_and_written(width):
    source, target, expected = basket(width), basket(width), basket(width)
    expected["bounds"][4] = source["bounds"][2]
    copy_whole(source, 2, target, 4)
    assert target.tobytes() == expected.tobytes()


def test_class_and_width_come_from_the_dtype(width):
    source = basket(width)
    egg, pot = read_lane(source, 2, 1), read_whole(source, 2)
    assert type(egg) is Egg and type(pot) is Pot
    assert egg == tuple(source["lanes"][name][2, 1] for name in Egg._fields)
    assert pot == tuple(source["bounds"][name][2] for name in Pot._fields)
    assert all(np.asarray(value).dtype == np.float32 for value in lanes(source, 0))
    if not DISABLED:
        assert {str(signature.return_type) for signature in read_lane.nopython_signatures} == {"Egg(float32 x 3)"}


def test_float64_is_rounded_into_a_record(width):
    target = basket(width)
    write_pot(target, 3, 0.1)
    assert target["bounds"][3].item() == tuple(np.float32([0.1, 1.1, 2.1]).tolist())
    assert target["bounds"][2] == basket(width)["bounds"][2]


@pytest.mark.skipif(DISABLED, reason="the classes are compared while a kernel is compiled")
def test_another_class_does_not_fit(width):
    with pytest.raises(TypeError, match="a Egg does not fit into a record of Pot"):
        write_egg(basket(width), 0)


def test_what_was_read_does_not_change(width):
    """A value is a copy, with the JIT off as in a register."""
    source = basket(width)
    before = lanes(source, 1)
    kept = [row.copy() for row in before]
    source["lanes"]["yolk"][1] = -1
    assert all((row == copy).all() for row, copy in zip(before, kept, strict=True))


def test_stamps(width):
    source, expected = basket(width), basket(width)
    expected["stamp"][3] = -2**31
    assert pass_on(source, 3, -2**31) == 10
    assert source.tobytes() == expected.tobytes()


def test_packed_fields_follow_each_other():
    dtype = packed_dtype([("a", np.dtype(np.float64)), ("b", INT32), ("c", np.dtype((np.int32, (3,))))])
    assert [dtype.fields[name][1] for name in "abc"] == [0, 8, 12]
    assert dtype.itemsize == 64
    assert packed_dtype([("a", np.dtype((np.uint8, (64,))))]).itemsize == 64
    assert packed_dtype([("a", np.dtype((np.uint8, (65,))))]).itemsize == 128
    assert packed_dtype([("a", INT32)], alignment=4).itemsize == 4


@pytest.mark.parametrize("shape", [0, 1, 7, (0, 3), (3, 5), 1001])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, packed_dtype([("a", INT32)])])
def test_aligned_arrays_are_zeros_on_a_line(shape, dtype):
    array = aligned_zeros(shape, dtype)
    assert array.shape == np.empty(shape).shape and array.dtype == np.dtype(dtype)
    assert array.size == 0 or array.ctypes.data % 64 == 0
    assert array.tobytes() == bytes(array.nbytes)
    assert array.flags.c_contiguous and array.flags.writeable


def test_two_classes_may_not_have_the_same_fields():
    """A record says by its field names what it holds."""
    with pytest.raises(TypeError, match="Twin and Egg have the same fields"):
        record_class(NamedTuple("Twin", [(name, float) for name in Egg._fields]))
    assert soa.RECORD_CLASSES[Egg._fields] is Egg
    assert record_class(Egg) is Egg
