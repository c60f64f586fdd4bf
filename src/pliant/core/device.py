"""The device of arrays, and access to a GPU: the only import of `numba.cuda` on the host side.

Arrays of other libraries are recognised by their protocols, the CUDA array interface or DLPack, never by their class: none of these
libraries is imported. `numba.cuda` is imported only when a GPU is requested, which saves 0.2 s otherwise. In Numba's simulator
(NUMBA_ENABLE_CUDASIM=1), where kernels are plain Python, its arrays count as arrays on GPU 0.
"""
import os
from contextlib import contextmanager

import numpy as np

from pliant.core.dlpack import CUDA, CUDA_MANAGED
from pliant.errors import ArgumentTypeError, DeviceError, DeviceMemoryError

HOST = "cpu"
COPY_TO_HOST_HINT = "CuPy: .get(), Torch: .cpu(), JAX: jax.device_get, Numba: .copy_to_host()"
INSTALL_HINT = 'pip install "pliant[cuda]"'
BLOCK_SIZE = 128                                                        # threads of a block
MIN_BLOCKS = 128                                                        # idle blocks cost nothing, and Numba warns of fewer
SIMULATED_BLOCK_SIZE = 8                                                # each is a thread of Python
_cuda = _cuda_process = None


# --- arrays ------------------------------------------------------------------------------------------------------------------

def is_device_array(value):
    """Is this an array in the memory of a GPU? False for anything that is no array. Needs no GPU."""
    return not isinstance(value,
                          np.ndarray) and (is_simulated_array(value) or _device_number(value) is not None
                                           or cuda_array_interface(value) is not None)


def check_on_host(name, value):
    """Refuse an array in the memory of a GPU; NumPy would refuse it with a less helpful message, or silently copy it."""
    if is_device_array(value):
        raise ArgumentTypeError(f"{name}: this array is on a GPU, and BVHs are on the host: copy it to the host ({COPY_TO_HOST_HINT}), or "
                                'use engine="image", which reads it on the GPU')


def cuda_array_interface(value):
    """The CUDA array interface of a value, or None."""
    try:
        found = getattr(value, "__cuda_array_interface__", None)
    except Exception:                                                   # Torch with requires_grad; JAX arrays on several GPUs
        return None
    return found if isinstance(found, dict) else None


def is_simulated_array(value):
    """Is this an array of Numba's simulator? Otherwise it looks like a NumPy array."""
    return type(value).__module__.startswith("numba.cuda.simulator")


def _device_number(value):
    """DLPack's number of the GPU that holds the value; None if it is on the host or unknown."""
    try:
        kind, number = map(int, value.__dlpack_device__())
    except Exception:                                                   # no array, or one that cannot be exported
        return None
    return number if kind in (CUDA, CUDA_MANAGED) else None


def device_of(*named):
    """The device of all of these (name, value): "cpu", or the number of a GPU. Arrays on two devices are refused."""
    first = None
    for name, value in named:
        location = _location(value)
        if first is None:
            first = name, location
        elif location != first[1]:
            raise DeviceError(f"{first[0]} is on {_location_name(first[1])}, but {name} is on {_location_name(location)}: "
                              f"a query has all of its arrays in one place; bring {name} over first ({_move_hint(location, first[1])})")
    return HOST if first is None else first[1]


def _location(value):
    if not is_device_array(value):
        return HOST
    if is_simulated_array(value):
        return 0
    number = _device_number(value)
    if number is not None:
        return number
    context = getattr(getattr(value, "gpu_data", None), "context", None)  # Numba's own
    if context is not None:
        return context.device.id
    return current_device()                                             # the CUDA array interface does not name the GPU


def _location_name(location):
    return "the host" if location == HOST else f"GPU {location}"


def _move_hint(source, target):
    if target == HOST:
        return COPY_TO_HOST_HINT
    where = "to the GPU" if source == HOST else "to the other GPU"
    return f'{where}: with cupy.cuda.Device({target}): cupy.asarray(…), Torch: .to("cuda:{target}"), Numba: cuda.to_device'


# --- the GPU -----------------------------------------------------------------------------------------------------------------

def require_cuda():
    """The module `numba.cuda`, initialised; `DeviceError` says what is missing."""
    global _cuda, _cuda_process
    if _cuda is not None:
        if _cuda_process != os.getpid():
            raise DeviceError("device: this process was forked from one that worked on the GPU, and CUDA does not follow; start it anew "
                              '(multiprocessing.get_context("spawn"))')
        return _cuda
    try:
        from numba import cuda
    except Exception as error:                                          # an import of mismatched packages may raise anything
        raise DeviceError(f"device: numba.cuda cannot be imported ({type(error).__name__}: {error}); {INSTALL_HINT}") from error
    problem = cuda.cuda_error()
    if problem is not None:
        raise DeviceError(f'device: no GPU can be used here, the CUDA driver says: {" ".join(str(problem).split())} An NVIDIA GPU and its '
                          f'driver are needed, and {INSTALL_HINT}; device="cpu" does without')
    if not len(cuda.gpus):
        raise DeviceError('device: the CUDA driver finds no GPU; is CUDA_VISIBLE_DEVICES set to nothing? device="cpu" does without')
    if not cuda.is_available():
        raise DeviceError(f"device: there is a GPU, but no compiler for it (NVVM); {INSTALL_HINT}")
    _cuda, _cuda_process = cuda, os.getpid()
    return cuda


def is_simulated():
    """Do GPU kernels run as plain Python, in Numba's simulator?"""
    from numba import config
    return bool(config.ENABLE_CUDASIM)


def current_device():
    """The number of the current GPU."""
    cuda = require_cuda()
    return 0 if is_simulated() else cuda.get_current_device().id


def device_context(number):
    """A context in which kernels run on this GPU."""
    gpus = require_cuda().gpus
    if not 0 <= number < len(gpus):
        raise DeviceError(f"device: expected a GPU from 0 to {len(gpus) - 1}, got {number}")
    return gpus[number]


def launch_grid(count):
    """(blocks, threads) for a kernel with at least `count` threads."""
    if is_simulated():
        return max(1, -(-count // SIMULATED_BLOCK_SIZE)), SIMULATED_BLOCK_SIZE
    return max(MIN_BLOCKS, -(-count // BLOCK_SIZE)), BLOCK_SIZE


@contextmanager
def report_out_of_memory(what, n_bytes):
    """Turn a failed allocation within into a `DeviceMemoryError` which says that `what` needed `n_bytes`."""
    try:
        yield
    except Exception as error:
        if "CUDA_ERROR_OUT_OF_MEMORY" not in str(error):
            raise
        free, total = require_cuda().current_context().get_memory_info()
        raise DeviceMemoryError(f"{what}: {_size(n_bytes)} of memory on the GPU are needed, {_size(free)} of {_size(total)} are free; a "
                                "lower resolution or fewer faces need less") from error


def _size(count):
    return f"{count / 2**20:,.1f} MiB"
