"""Where arrays are is told by what they offer, without a GPU; trees refuse those on one; what is missing to use one is said."""

import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import pliant as pl
from capsules import Exported
from child import python
from pliant.core import device, dlpack
from pliant.core.device import device_of, is_device_array, report_out_of_memory, require_cuda

pytestmark = pytest.mark.formulas

ROWS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
CORNERS = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


class Unread:
    """On a GPU, whatever it offers: reading it as if it were on the host would be an error."""

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("was read")


class WithInterface(Unread):
    __cuda_array_interface__ = {"shape": (4, 3), "typestr": "<f8", "data": (0, False), "version": 3}  # noqa: RUF012


class WithPack(Unread):
    """As JAX: DLPack alone."""

    def __init__(self, kind=dlpack.CUDA, number=0):
        self.place = kind, number

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **about):
        raise AssertionError("was read")


class WithGradient(WithPack):
    """As Torch, where gradients are asked for: the interface raises when it is looked at."""

    requires_grad = True

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")


class Awkward:
    """Raises for whatever it is asked."""

    def __getattr__(self, name):
        raise RuntimeError(name)


ON_GPU = {"interface": WithInterface(), "DLPack": WithPack(), "managed": WithPack(dlpack.CUDA_MANAGED), "gradient": WithGradient()}
ON_HOST = {
    "array": ROWS, "list": ROWS.tolist(), "nothing": None, "number": 3.0, "text": "cuda", "row": ROWS[0], "scalar": ROWS[0, 0],
    "memory": memoryview(ROWS), "class": WithPack, "DLPack": Exported(64, (2, 3), "f8"), "pinned": WithPack(dlpack.CUDA_HOST),
    "AMD": WithPack(10), "awkward": Awkward(),
}


@pytest.mark.parametrize("value", ON_GPU.values(), ids=ON_GPU.keys())
def test_arrays_on_a_gpu_are_known(value):
    assert is_device_array(value)


@pytest.mark.parametrize("value", ON_HOST.values(), ids=ON_HOST.keys())
def test_everything_else_is_on_the_host(value):
    assert not is_device_array(value)
    assert device_of(("a", value)) == "cpu"


def test_one_place_for_all():
    assert device_of() == "cpu"
    assert device_of(("a", ROWS), ("b", ROWS.tolist())) == "cpu"
    assert device_of(("a", WithPack(number=2)), ("b", WithGradient(dlpack.CUDA_MANAGED, 2))) == 2
    numbas = SimpleNamespace(gpu_data=SimpleNamespace(context=SimpleNamespace(device=SimpleNamespace(id=3))),
                             __cuda_array_interface__=WithInterface.__cuda_array_interface__)
    assert device_of(("a", WithPack(number=3)), ("b", numbas)) == 3


@pytest.mark.parametrize(("a", "b", "words"), [
    (ROWS, WithPack(), ["a is on the host", "b is on GPU 0", ".get()", ".cpu()"]),
    (WithPack(number=1), ROWS, ["a is on GPU 1", "b is on the host", "cuda:1", "cupy.cuda.Device(1)"]),
    (WithPack(number=1), WithPack(number=4), ["a is on GPU 1", "b is on GPU 4", "bring b over", "to the other GPU", "cuda:1"]),
])
def test_two_places_are_refused(a, b, words):
    with pytest.raises(pl.DeviceError) as refusal:
        device_of(("a", a), ("its faces", a), ("b", b))
    message = str(refusal.value)
    assert [word for word in words if word not in message] == [], message


# --- trees -------------------------------------------------------------------------------------------------------------------

def body():
    return pl.Body(ROWS, CORNERS)


def blended():
    return pl.Body.blended(ROWS, CORNERS, np.eye(4)[:, :2] + np.eye(4)[:, 2:])


# argument -> what is asked with an array on a GPU
ASKED = {
    "vertices": lambda x: pl.Body(x, CORNERS),
    "vertices of an object": lambda x: pl.Body(SimpleNamespace(vertices=x, faces=CORNERS)),
    "vertices of an update": lambda x: body().update(x),
    "vertices, borrowed": lambda x: body().update(x, copy=False),
    "vertices, rigid": lambda x: pl.Body.rigid(x, CORNERS),
    "faces": lambda x: pl.Body(ROWS, x),
    "targets": lambda x: pl.Body.morph(x, CORNERS),
    "targets[1]": lambda x: pl.Body.morph([ROWS, x], CORNERS),
    "vertices, blended": lambda x: pl.Body.blended(x, CORNERS, np.ones((4, 1))),
    "weights": lambda x: pl.Body.blended(ROWS, CORNERS, x),
    "weights of an update": lambda x: pl.Body.morph([ROWS, ROWS], CORNERS).update(x),
    "maps": lambda x: blended().update(x),
    "transform": lambda x: pl.Body.rigid(ROWS, CORNERS).update(x),
    "changed": lambda x: body().update(ROWS[:1], changed=x),
    "origins": lambda x: pl.cast(body(), x, [0, 0, 1]),
    "points": lambda x: pl.closest(body(), x),
    "points, inside": lambda x: pl.inside(body(), x),
    "b, of two": lambda x: pl.collide(body(), (x, CORNERS)),
    "body, the faces": lambda x: pl.self_collide((ROWS, x)),
    "a, an object": lambda x: pl.distance(SimpleNamespace(vertices=x, faces=CORNERS), body()),
    "b, alone": lambda x: pl.within(body(), x, 1.0),
    "body": lambda x: pl.Scene([(x, CORNERS)]),
}


@pytest.mark.parametrize("value", [ON_GPU["interface"], ON_GPU["DLPack"], ON_GPU["gradient"]], ids=["interface", "DLPack", "gradient"])
@pytest.mark.parametrize("what", ASKED)
def test_trees_refuse_arrays_on_a_gpu(what, value):
    with pytest.raises(TypeError) as refusal:
        ASKED[what](value)
    message = str(refusal.value)
    assert message.startswith(what.partition(" ")[0].rstrip(",") + ": "), message
    assert [word for word in ("GPU", "host", ".get()", ".cpu()", 'engine="image"') if word not in message] == [], message


def test_queries_on_the_host_leave_cuda_alone():
    python("""
        import sys
        import numpy as np
        import pliant as pl
        rows, faces = np.random.default_rng(1).random((9, 3)), np.arange(9).reshape(3, 3)
        a, b = pl.Body(rows, faces), pl.Body(rows + 0.1, faces)
        a.update(rows.astype(np.float32))
        pl.collide(a, b)
        assert "numba" in sys.modules
        assert not [name for name in sys.modules if name.startswith(("numba.cuda", "numba_cuda"))]
    """)


# --- what is missing ---------------------------------------------------------------------------------------------------------

@pytest.fixture
def cuda(monkeypatch):
    """`numba.cuda` with everything there; a test takes away what it wants."""
    fake = SimpleNamespace(cuda_error=lambda: None, is_available=lambda: True, gpus=["GPU 0", "GPU 1"],
                           current_context=lambda: SimpleNamespace(get_memory_info=lambda: (3 << 20, 16 << 20)))
    monkeypatch.setattr(device, "_cuda", None)
    monkeypatch.setattr(numba, "cuda", fake, raising=False)
    monkeypatch.setitem(sys.modules, "numba.cuda", fake)
    return fake


def refusal(words):
    with pytest.raises(pl.DeviceError) as found:
        require_cuda()
    message = str(found.value)
    assert isinstance(found.value, RuntimeError) and [word for word in words if word not in message] == [], message


def test_a_gpu_is_found_once(cuda):
    assert require_cuda() is cuda
    cuda.is_available = None
    assert require_cuda() is cuda


def test_a_forked_process_is_told(cuda, monkeypatch):
    """CUDA says nothing of use there."""
    require_cuda()
    monkeypatch.setattr(device, "_cuda_process", -1)
    refusal(["forked", "spawn"])


def test_no_driver(cuda):
    cuda.cuda_error = lambda: "\nCUDA driver library cannot be found.\nIf you are sure …\n"
    refusal(["CUDA driver library cannot be found. If you are sure …", "driver", 'pip install "pliant[cuda]"', 'device="cpu"'])


def test_no_gpu(cuda):
    cuda.gpus = []
    refusal(["no GPU", "CUDA_VISIBLE_DEVICES"])


def test_no_compiler(cuda):
    cuda.is_available = lambda: False
    refusal(["compiler", 'pip install "pliant[cuda]"'])


def test_no_module(cuda, monkeypatch):
    monkeypatch.delattr(numba, "cuda")
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    refusal(["numba.cuda cannot be imported", 'pip install "pliant[cuda]"'])


def test_a_gpu_by_its_number(cuda):
    assert device.device_context(1) == "GPU 1"
    for number in (-1, 2):
        with pytest.raises(pl.DeviceError, match=f"from 0 to 1, got {number}"):
            device.device_context(number)


def test_memory_that_is_not_there(cuda):
    with pytest.raises(pl.DeviceMemoryError) as found, report_out_of_memory("layers", 24 << 20):
        raise RuntimeError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
    message = str(found.value)
    assert isinstance(found.value, MemoryError)
    assert [word for word in ("layers", "24.0 MiB", "3.0 MiB of 16.0 MiB", "resolution", "faces") if word not in message] == [], message
    assert "cuMemAlloc" in str(found.value.__cause__)


@pytest.mark.parametrize("error", [RuntimeError("[700] CUDA_ERROR_ILLEGAL_ADDRESS"), ValueError("x"), KeyboardInterrupt()])
def test_other_errors_pass(cuda, error):
    with pytest.raises(type(error)) as found, report_out_of_memory("layers", 1):
        raise error
    assert found.value is error
    with report_out_of_memory("layers", 1):
        pass


@pytest.mark.parametrize("count", [0, 1, 127, 128, 129, 16384, 16385, 10**6])
def test_grids_have_a_thread_for_everything(count):
    blocks, threads = device.launch_grid(count)
    assert blocks >= 1 and blocks * threads >= count
    assert device.is_simulated() or (blocks >= device.MIN_BLOCKS and (blocks - 1) * threads < max(count, device.MIN_BLOCKS * threads))
