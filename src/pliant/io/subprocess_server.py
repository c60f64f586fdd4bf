"""The other side of `subprocess_client.py`: a process that reads files with a library which a crafted file may crash, and answers one
request at a time.

A request is a line of JSON, [method, arguments]; the first one makes the service. An answer is the length of its head (8 bytes, little
endian), the head, which is JSON, and the bytes of the arrays that the head lists. Nothing here imports Numba or bodies, so that the process
starts quickly.

Invariant: a request ends, by an answer or by the end of the process. Time and memory are limited in proportion to the files that are read.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import math
import os
import signal
import struct
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, FileError, MissingExtraError

if sys.platform != "win32":  # where time is limited by the clock alone, and memory is not
    import resource

Response = tuple[Any, Sequence[NDArray[Any]]]  # what JSON can say, and arrays of numbers

# Processor time, since that is the same on a busy machine. Honest files take 0.01 s for a megabyte (USD, binary or text, ten frames), and
# 0.25 s where HDF5 has it in 100,000 compressed chunks: far below these limits. A small file that keeps a library busy is given up in 5 s.
BASE_SECONDS, SECONDS_PER_BYTE = 4.0, 2e-6  # of a request; and more for each byte that is read
START_SECONDS = 60.0  # until libraries are loaded, which has nothing to do with a file; from a slow disk it takes long
WALL_PER_CPU = 10.0  # seconds by the clock for one of processor time, before a process that waits and does nothing is given up

BASE_MEMORY = 1 << 29  # bytes of address space beyond what the libraries have taken when they are loaded, whatever is read

# These arrive as what they are, the first that fits; all others as RuntimeError.
FORWARDED_ERRORS = (FileError, ArgumentError, MissingExtraError, ImportError, MemoryError, ValueError)
MAX_ERROR_TEXT = 10_000  # characters of an error
EXIT_BROKEN = 3  # exit status of a process that cannot serve
EXIT_CPU_LIMIT, EXIT_WALL_LIMIT = -getattr(signal, "SIGXCPU", 0) or None, -getattr(signal, "SIGALRM", 0) or 1  # of one that time has ended
HELLO = b"\0pliant, apart\n"  # before the first answer: whatever an interpreter prints as it starts is not meant

_base_memory: int | None = None  # bytes of address space when libraries had been loaded; None before that
_serving = False


def allow_resources(size: int, memory_factor: int, base_memory: int = BASE_MEMORY) -> None:
    """From now on this request may take time and memory for so many bytes of files: `base_memory` bytes of memory and `memory_factor`
    times the size. Does nothing in a process that does not serve."""
    if _serving:
        _limit_memory(base_memory + memory_factor * size)
        _limit_time(BASE_SECONDS + SECONDS_PER_BYTE * size)


def _limit_time(seconds: float) -> None:
    """End the process when it has used so much time, counted from now."""
    _limit_wall_time(min(WALL_PER_CPU * seconds, 1e6))
    if sys.platform != "win32":
        used = resource.getrusage(resource.RUSAGE_SELF)
        _set_rlimit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + seconds))


def _limit_wall_time(seconds: float) -> None:
    """End the process after so much time by the clock; 0 for never. Neither way needs the interpreter, which a library may have stopped."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)
    elif seconds:
        faulthandler.dump_traceback_later(seconds, exit=True)  # a thread, which takes a hundred times as long to set up
    else:
        faulthandler.cancel_dump_traceback_later()


def _limit_memory(extra: int) -> None:
    """Refuse to take so many bytes more than libraries had taken at the first call. Only Linux says how much that was."""
    global _base_memory
    if sys.platform == "linux":
        if _base_memory is None:
            with open("/proc/self/statm", encoding="ascii") as file:
                _base_memory = int(file.read().split()[0]) * resource.getpagesize()
        _set_rlimit(resource.RLIMIT_AS, _base_memory + extra)


def _set_rlimit(kind: int, limit: int) -> None:
    """Set a limit that can be raised again, within the one that somebody has set for all processes."""
    if sys.platform != "win32":
        hard = resource.getrlimit(kind)[1]
        with contextlib.suppress(ValueError, OSError):  # some systems have limits that cannot be set
            resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def serve(module: str, name: str) -> None:
    """Answer requests to an object of this class until the input ends, which it does when the other process ends, however it does."""
    global _serving
    status = EXIT_BROKEN
    try:
        requests, answers = _channels()
        _reset_signals()
        _serving = True
        _limit_time(START_SECONDS)
        _serve_requests(requests, answers, getattr(import_module(module), name))
        status = 0
    finally:
        os._exit(status)  # without destructors of libraries, whose state may be corrupt


def _channels() -> tuple[BinaryIO, BinaryIO]:
    """Requests and answers. What libraries print goes nowhere, and they have nothing to read from."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    return requests, answers


def _reset_signals() -> None:
    """Die as is expected: at no Ctrl-C, which is for the other process; without a core file, or a dialogue that waits for somebody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":  # the signals that end a request count, whatever the other process does with its own
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _set_rlimit(resource.RLIMIT_CORE, 1)  # not 0: Linux calls programs that collect core files unless the limit is 1
    if sys.platform == "win32":
        import msvcrt

        msvcrt.SetErrorMode(msvcrt.SEM_FAILCRITICALERRORS | msvcrt.SEM_NOGPFAULTERRORBOX)


def _serve_requests(requests: BinaryIO, answers: BinaryIO, make_service: Any) -> None:
    """All requests. The first answer, before any of them, says that the process is there."""
    service: Any = None
    answers.write(HELLO)
    _send(answers, {"arrays": []}, ())
    for line in requests:
        method, arguments = json.loads(line)
        arrays: Sequence[NDArray[Any]] = ()
        try:
            if service is None:
                service, value = make_service(*arguments), None
                if _base_memory is None:
                    _limit_memory(BASE_MEMORY)
            else:
                _limit_time(BASE_SECONDS)
                value, arrays = getattr(service, method)(*arguments)
            arrays = [np.ascontiguousarray(array) for array in arrays]
            head = {"value": value, "arrays": [(array.dtype.str, array.shape) for array in arrays]}
        except Exception as error:  # hostile content makes libraries raise almost anything
            kind = next((each.__name__ for each in FORWARDED_ERRORS if isinstance(error, each)), RuntimeError.__name__)
            head, arrays = {"error": kind, "text": (str(error) or type(error).__name__)[:MAX_ERROR_TEXT], "arrays": []}, ()
        _limit_wall_time(0)  # whoever has asked may take the answer late, and ask again much later
        _send(answers, head, arrays)


def _send(answers: BinaryIO, head: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    content = json.dumps(head).encode("ascii")
    answers.write(struct.pack("<Q", len(content)) + content)
    for array in arrays:
        answers.write(array.reshape(-1).view(np.uint8).data)
    answers.flush()
