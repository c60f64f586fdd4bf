"""What capsules say is read as NumPy reads it, and their memory is given back exactly once, when the last reader is gone."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsules import Exported
from pliant.core import dlpack
from pliant.core.dlpack import Tensor
from trials import often

pytestmark = pytest.mark.formulas

DTYPES = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "c8", "c16", "?"]
STEPS = st.sampled_from([1, 2, 3, -1, -2])


@often(200, share=2)
@given(st.sampled_from(DTYPES), st.lists(st.integers(0, 6), max_size=4), st.data())
def test_numpys_capsules_say_what_numpy_says(dtype, shape, data):
    """Its own ones, of both layouts, of any strides."""
    array = np.zeros(shape, dtype)[(..., *(slice(None, None, data.draw(STEPS)) for _ in shape))]
    array = array.transpose(data.draw(st.permutations(range(len(shape)))))
    for form in ({}, {"max_version": (1, 0)}):
        tensor = Tensor(array.__dlpack__(**form))
        assert (tensor.address, tensor.shape, tensor.dtype, tensor.device) == (array.ctypes.data, array.shape, array.dtype, (dlpack.CPU, 0))
        assert tensor.strides == array.strides or array.size <= 1


@pytest.mark.parametrize("form", [{}, {"max_version": (1, 0)}], ids=["plain", "versioned"])
def test_an_array_is_kept_until_its_tensor_goes(form):
    array = np.arange(6.0)
    before = sys.getrefcount(array)
    capsule = array.__dlpack__(**form)
    kind = repr(capsule)
    first, capsule_alone = Tensor(capsule), sys.getrefcount(array)
    assert ("versioned" in kind) == bool(form)
    assert capsule_alone == before + 1
    del capsule
    assert sys.getrefcount(array) == before + 1
    del first
    assert sys.getrefcount(array) == before


@pytest.mark.parametrize("versioned", [False, True])
def test_memory_is_given_back_once(versioned):
    made = Exported(64, (2, 3), "f8", versioned=versioned)
    capsule = made.capsule()
    tensor = Tensor(capsule)
    assert (tensor.address, tensor.shape, tensor.strides) == (64, (2, 3), (24, 8))
    with pytest.raises(TypeError, match="read before"):
        Tensor(capsule)
    del capsule
    gc.collect()
    assert made.given_back == 0
    del tensor
    gc.collect()
    assert made.given_back == 1


def test_an_offset_counts():
    assert Tensor(Exported(4096, (3,), "f4", offset=8, strides=(16,)).capsule()).address == 4104
    assert Tensor(Exported(4096, (3,), "f4", offset=8, strides=(16,)).capsule()).strides == (16,)
    assert Tensor(Exported(0, (0, 3), "f4").capsule()).address == 0


@pytest.mark.parametrize(("options", "words"), [
    ({"code": 4, "dtype": "f2"}, "bfloat16"), ({"code": 3}, "opaque"), ({"code": 9}, "type 9"), ({"lanes": 4}, "4 at a time"),
    ({"code": 2, "dtype": "i1"}, "8 bits"),
])
def test_types_that_numpy_has_not_are_refused_and_given_back(options, words):
    made = Exported(64, (2,), **{"dtype": "f4", **options})
    with pytest.raises(TypeError, match=words):
        Tensor(made.capsule())
    gc.collect()
    assert made.given_back == 1


def test_other_versions_stay_with_their_capsule():
    made = Exported(64, (2,), "f4", major=2)
    capsule = made.capsule()
    for _ in range(2):
        with pytest.raises(TypeError, match=r"DLPack 2\.0"):
            Tensor(capsule)
    assert made.given_back == 0


@pytest.mark.parametrize("value", [None, 3, b"dltensor", np.zeros(3)])
def test_what_is_no_capsule_is_refused(value):
    with pytest.raises(TypeError, match="expected a DLPack capsule"):
        Tensor(value)


def test_the_newest_form_is_asked_for():
    class Old(Exported):
        def __dlpack__(self, stream=None):
            self.asked.append(stream)
            return self.capsule()

    new, old = Exported(64, (2,), "f4"), Old(64, (2,), "f4", versioned=False)
    assert dlpack.import_tensor(new).shape == dlpack.import_tensor(old).shape == (2,)
    dlpack.import_tensor(new, 1)
    dlpack.import_tensor(old, 1)
    assert new.asked == [(None, (1, 0)), (1, (1, 0))]
    assert old.asked == [None, 1]
