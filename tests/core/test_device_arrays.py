"""Arrays on a GPU come in as they are wherever that will do, are copied there where not, and are refused as those on the host are."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pliant as pl
from capsules import Interfaced, described, exported
from pliant.core import device, device_arrays, validate
from pliant.core.device import require_cuda
from pliant.core.device_arrays import FACES, VERTICES, to_device_array
from trials import often

pytestmark = pytest.mark.cuda

ROWS = np.arange(15.0).reshape(5, 3) / 8
CORNERS = np.array([[0, 1, 2], [4, 3, 2], [1, 1, 4], [0, 4, 0]], np.int32)
PRODUCERS = {"interface": Interfaced, "DLPack": exported, "older DLPack": lambda array: exported(array, versioned=False),
             "Numba": lambda array: array}
TYPES = [(VERTICES, "f2"), (VERTICES, "i4"), (VERTICES, "?"), (VERTICES, "c8"), (FACES, "f4"), (FACES, "?")]
NOT_FINITE = [{}, {3: np.nan}, {0: [1, -np.inf, 0], 4: np.nan}, {4: [0.5, 0.5, np.inf]}, {1: np.inf, 2: np.inf, 3: np.nan}]


@pytest.fixture(params=PRODUCERS.values(), ids=PRODUCERS.keys())
def producer(request):
    return request.param


def sent(array):
    return require_cuda().to_device(np.ascontiguousarray(array))


def address(array):
    return described(array)["data"][0]


def test_arrays_of_the_device_are_known(producer):
    array = producer(sent(ROWS))
    assert device.is_device_array(array)
    assert device.device_of(("a", array), ("b", sent(CORNERS))) == 0
    with pytest.raises(pl.DeviceError, match="a is on GPU 0, but b is on the host"):
        device.device_of(("a", array), ("b", ROWS))


@pytest.mark.parametrize(("array", "kind"), [(ROWS, VERTICES), (np.float32(ROWS), VERTICES), (CORNERS, FACES)], ids=["f8", "f4", "i4"])
def test_what_lies_well_is_not_copied(producer, array, kind):
    there = sent(array)
    view = to_device_array("x", producer(there), kind)
    assert address(view) == address(there)
    assert view.dtype == array.dtype
    np.testing.assert_array_equal(view.copy_to_host(), array)


def test_one_row_may_have_any_strides():
    """There is no next row: producers write what they like."""
    there = sent(ROWS[:1])
    assert address(to_device_array("x", Interfaced(there, strides=(7, 8)), VERTICES)) == address(there)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i8", "u1", "u2", "u4", "u8"])
def test_other_integers_are_copied(producer, dtype):
    found = to_device_array("faces", producer(sent(CORNERS.astype(dtype))), FACES)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found.copy_to_host(), CORNERS)


@often(30, share=2)
@given(st.sampled_from(["f4", "f8"]), st.integers(1, 7), st.sampled_from([1, 2, 3, -2]), st.integers(1, 3), st.booleans(), st.booleans())
def test_strides_are_copied(dtype, count, row_step, column_step, transposed, packed):
    """Every so many rows and columns, in either order, forwards or backwards."""
    whole = np.arange(count * abs(row_step) * 3 * column_step, dtype=dtype)
    whole = whole.reshape(3 * column_step, -1) if transposed else whole.reshape(-1, 3 * column_step)
    part = (whole.T if transposed else whole)[::row_step, ::column_step]
    there = sent(whole)
    start = address(there) + part.ctypes.data - whole.ctypes.data
    value = Interfaced(there, shape=part.shape, strides=part.strides, data=(start, False))
    found = to_device_array("x", exported(value) if packed else value, VERTICES)
    np.testing.assert_array_equal(found.copy_to_host(), part)
    assert (address(found) == start) == part.flags.c_contiguous


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.zeros((0, 3), np.float32), np.zeros(0), np.zeros(0, np.int64)])
def test_nothing_is_something(producer, array):
    rows = device_arrays.vertices("a", producer(sent(array)))
    assert tuple(rows.shape) == (0, 3) and rows.dtype == (array.dtype if array.dtype.kind == "f" else np.float64)
    if array.dtype.kind == "i":
        corners = device_arrays.faces("a", producer(sent(array)), 0)
        assert tuple(corners.shape) == (0, 3) and corners.dtype == np.int32


@pytest.mark.parametrize("kind", [VERTICES, FACES])
@pytest.mark.parametrize("shape", [(12,), (4, 2), (4, 4), (1, 4, 3), (3, 4), (0, 4)])
def test_shapes_are_refused_as_on_the_host(producer, kind, shape):
    array = np.zeros(shape, np.float64 if kind == VERTICES else np.int32)
    with pytest.raises(pl.MeshError) as there:
        to_device_array("x", producer(sent(array)), kind)
    with pytest.raises(pl.MeshError) as here:
        validate.positions("x", array) if kind == VERTICES else validate.faces("x", array, 9)
    assert str(there.value) == str(here.value)


@pytest.mark.parametrize(("kind", "dtype"), TYPES)
def test_types_are_refused(producer, kind, dtype):
    with pytest.raises(TypeError, match=rf"^x: expected .* got dtype {np.dtype(dtype)}"):
        to_device_array("x", producer(sent(np.zeros((4, 3), dtype))), kind)


def test_what_cannot_be_taken_is_refused():
    there = sent(ROWS)
    refused = {
        "asks for gradients.*detach": SimpleNamespace(requires_grad=True, __cuda_array_interface__=described(there)),
        "masked": Interfaced(there, mask=Interfaced(there)),
        "multiples of their size": Interfaced(there, data=(address(there) + 4, False), shape=(4, 3)),
        "size, 8 bytes": Interfaced(there, shape=(3, 3), strides=(28, 8)),
        "got dtype >f8": Interfaced(there, typestr=">f8"),
        "expected an array on a GPU.*got list": ROWS.tolist(),
        "cannot be taken over by DLPack: elements of 16 bits, bfloat16": exported(sent(np.zeros((4, 3), "f2")), code=4),
    }
    for words, value in refused.items():
        with pytest.raises(TypeError, match=f"^x: .*{words}"):
            to_device_array("x", value, VERTICES)


def test_memory_is_kept_and_given_back():
    made = exported(sent(ROWS))
    view = to_device_array("x", made, VERTICES)
    assert made.asked == [(1, (1, 0))]
    gc.collect()
    assert made.given_back == 0
    np.testing.assert_array_equal(view.copy_to_host(), ROWS)
    del view
    gc.collect()
    assert made.given_back == 1


def test_a_copy_keeps_nothing():
    made = exported(sent(CORNERS.astype(np.int64)))
    found = to_device_array("x", made, FACES)
    gc.collect()
    assert made.given_back == 1
    np.testing.assert_array_equal(found.copy_to_host(), CORNERS)


# --- what is in them ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("bad", NOT_FINITE)
def test_vertices_are_refused_as_on_the_host(producer, dtype, bad):
    rows = ROWS.astype(dtype)
    for row, value in bad.items():
        rows[row] = value
    said = [refusal(lambda: device_arrays.vertices("a", producer(sent(rows)))), refusal(lambda: validate.check_finite("a", rows))]
    assert said[0] == said[1]
    assert bool(said[0]) == bool(bad)


@pytest.mark.parametrize("dtype", ["i4", "i8", "u8"])
@pytest.mark.parametrize("bad", [{}, {2: [0, 5, 1]}, {0: [0, -1, 2], 3: [9, 9, 9]}, {1: [2**32, 0, 1]}, {3: [2**31, 2**31 + 1, 2**63 - 1]}])
def test_faces_are_refused_as_on_the_host(producer, dtype, bad):
    """Also where an index would wrap into the range, and with the number that the caller gave."""
    corners = CORNERS.astype(np.int64)
    for row, value in bad.items():
        corners[row] = value
    corners = corners.astype(dtype)
    said = [refusal(lambda: device_arrays.faces("a", producer(sent(corners)), 5)), refusal(lambda: validate.faces("a", corners, 5))]
    assert said[0] == said[1]


def refusal(ask):
    try:
        ask()
    except pl.MeshError as error:
        return str(error)
    return ""


def test_the_memory_of_a_gpu_ends(monkeypatch):
    """Where the copy has no room, what was wanted is said, under the name of the argument."""
    view = sent(CORNERS.astype(np.int64))

    def full(*about):
        raise RuntimeError("[CUresult.CUDA_ERROR_OUT_OF_MEMORY] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")

    monkeypatch.setattr(require_cuda(), "device_array", full)
    with pytest.raises(pl.DeviceMemoryError, match=r"^faces: 0\.0 MiB of memory on the GPU are needed"):
        device_arrays._copy_as("faces", view, np.dtype(np.int32))
