"""Libraries that a crafted file may crash run in a process apart: its end is a `FileError`, and the caller goes on.

HDF5 and USD are large libraries in C and C++. A file that was damaged on purpose may end the process that they run in, keep it busy for
ever or take all of its memory. `SubprocessClient` starts a process that serves the methods of one class (`subprocess_server.py`). It is
started as a new interpreter and never forked, since the caller may have threads.

Invariant: what comes back is believed no more than a file is: lengths are limited, arrays hold numbers only. A process that answers
anything else is ended. This is no sandbox: the process has all rights of the caller.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.io.limits import printable, refuse
from pliant.io.subprocess_server import EXIT_CPU_LIMIT, EXIT_WALL_LIMIT, FORWARDED_ERRORS, HELLO

MAX_HEADER = 1 << 26  # bytes: the head of an answer holds names and notes, and paths of 10,000 layers
MAX_ARRAYS, MAX_ARRAY_BYTES = 16, 1 << 36  # of an answer; an array that HDF5 unfolds may be larger than its file
DTYPE_PATTERN = re.compile(r"[<>|][iuf](1|2|4|8|16)")
MAX_AXES = 3
MAX_START_OUTPUT = 1 << 16  # bytes that an interpreter may print as it starts
MAX_PROCESSES = 32  # processes at a time, some 40 MB each; the one that was asked longest ago makes room for another
EXIT_SECONDS = 2.0  # seconds in which a process that closed its output ends
START_SECONDS = 60.0  # seconds by the clock in which a process starts: what is no interpreter would be waited for in vain

# The search path is the caller's, without the working folder, in which a hostile file may have a module beside it.
SERVER_CODE = "import sys; sys.path[:] = sys.argv[3:]; from pliant.io.subprocess_server import serve; serve(*sys.argv[1:3])"
PACKAGE_PATH = str(Path(pliant.__file__).resolve().parents[1])
# One thread: limits of time and memory are the same on every machine then, and matrices of 4 × 4 need no more.
# Files that the caller has open for writing can be read, as they could be in its own process.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "PXR_WORK_THREAD_LIMIT": "1", "HDF5_USE_FILE_LOCKING": "FALSE"}
EXTERNAL_EXITS = {EXIT_WALL_LIMIT, *(-getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGHUP") if hasattr(signal, name))}


class _ProcessEnded(Exception):
    """A process has ended, or is of no use any more. `status`: how it has ended; None if it had to be made to."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class SubprocessClient:
    """An object of a class in a process of its own, made with arguments that JSON can say. The process starts with the first request.

    Several threads may ask; one is answered at a time. A process that has ended, by a crash, by Ctrl-C or because this one was forked, is
    replaced at the next request, so the service must answer each from its arguments alone. What ends it from outside, such as lack of
    memory or having been stopped for long, may be over: such a request is tried once more.
    """

    def __init__(self, module: str, name: str, *arguments: Any) -> None:
        self._service, self._arguments = (module, name), arguments
        self._folder = _working_folder()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: weakref.finalize[[subprocess.Popen[bytes], float], SubprocessClient] | None = None
        self._last_request = 0.0  # when, by the clock
        with _clients_lock:
            _CLIENTS.add(self)

    def request(self, path: Path, method: str, *arguments: Any) -> tuple[Any, list[NDArray[Any]]]:
        """What a method answers: a value, and arrays. `path`: the file that it reads, which errors name."""
        with self._lock:
            self._last_request = time.monotonic()
            return self._request_or_retry(path, method, arguments, retry=True)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop(0)

    def _request_or_retry(self, path: Path, method: str, arguments: tuple[Any, ...], retry: bool) -> tuple[Any, list[NDArray[Any]]]:
        try:
            if self._process is None:
                self._stop_idle_clients()
                self._start(path)
                self._exchange("", self._arguments)
            return self._exchange(method, arguments)
        except _ProcessEnded as end:
            if retry and end.status in EXTERNAL_EXITS:
                return self._request_or_retry(path, method, arguments, retry=False)
            raise refuse(path, _exit_message(end.status)) from None

    def _stop_idle_clients(self) -> None:
        """End processes that were asked longest ago, unless they are at work."""
        with _clients_lock:
            running = [each for each in _CLIENTS if each is not self and each._process is not None]
        for each in sorted(running, key=lambda each: each._last_request)[: max(0, len(running) + 1 - MAX_PROCESSES)]:
            if each._lock.acquire(blocking=False):
                try:
                    each._stop(0)
                finally:
                    each._lock.release()

    def _start(self, path: Path) -> None:
        interpreter = os.environ.get("PLIANT_PYTHON") or ("" if getattr(sys, "frozen", False) else sys.executable)
        if not interpreter:
            raise refuse(path, "a Python interpreter is needed to read it in a process of its own; PLIANT_PYTHON may name one")
        command = [interpreter, "-P", "-c", SERVER_CODE, *self._service, *filter(None, sys.path), PACKAGE_PATH]
        try:
            self._process = process = subprocess.Popen(
                command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self._folder,
                env={**os.environ, **ENVIRONMENT}, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )  # fmt: skip
            self._finalizer = weakref.finalize(self, _end_process, process, 0)
            _await_hello(process)
        except Exception as error:
            self._stop(0)
            raise refuse(path, f"no process can be started to read it: {error}") from None
        except BaseException:
            self._stop(0)
            raise

    def _exchange(self, method: str, arguments: tuple[Any, ...]) -> tuple[Any, list[NDArray[Any]]]:
        """Send a request and receive its answer. Unless both are whole, the process is of no use any more."""
        line = json.dumps([method, arguments]).encode("ascii") + b"\n"
        process = self._process
        assert process is not None
        try:
            _send(process, line)
            head, arrays = _receive(process)
            error = _server_error(head) if "error" in head else None
        except MemoryError:
            self._stop(0)
            raise
        except Exception:  # the other process has ended, or it is not what it was
            raise _ProcessEnded(self._stop(EXIT_SECONDS)) from None
        except BaseException:
            self._stop(0)
            raise
        if error is not None:
            if not method:  # there is no service
                self._stop(0)
            raise error
        return head.get("value"), arrays

    def _stop(self, grace: float) -> int | None:
        """The status of the process, which is ended if it has not ended after so many seconds; None for one that was."""
        process, end = self._process, self._finalizer
        self._process = self._finalizer = None
        if end is not None:
            end.detach()
        return None if process is None else _end_process(process, grace)

    def _detach(self) -> None:
        """In a process that was forked: the other one belongs to the process that has started it, and so do its pipes."""
        process, end = self._process, self._finalizer
        self._lock, self._process, self._finalizer = threading.Lock(), None, None
        if process is not None and end is not None:
            end.detach()
            process.returncode = 0  # not to be waited for
            _close(process)


_CLIENTS: weakref.WeakSet[SubprocessClient] = weakref.WeakSet()
_clients_lock = threading.Lock()  # of the set


def _detach_all() -> None:
    global _clients_lock
    _clients_lock = threading.Lock()
    for each in list(_CLIENTS):
        each._detach()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_detach_all)


def _working_folder() -> str | None:
    """What names of files are relative to, also for a process that is started later; None if that folder is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _end_process(process: subprocess.Popen[bytes], grace: float) -> int | None:
    """Close the pipes and wait for the end; what has not ended then is ended. It has nothing to save."""
    _close(process)
    if grace:
        try:
            return process.wait(grace)
        except subprocess.TimeoutExpired:
            pass
    process.kill()
    process.wait()
    return None


def _exit_message(status: int | None) -> str:
    """What is wrong with a file that has ended a process with this status."""
    if status == EXIT_WALL_LIMIT:
        return "cannot be read: the library that reads it neither answers nor works"
    if status in EXTERNAL_EXITS and status is not None:
        return f"the process that read it was ended from outside (signal {-status}), perhaps because there is not enough memory"
    if not status:
        found = "makes the library that reads it answer nonsense"
    elif status == EXIT_CPU_LIMIT:
        found = "keeps the library that reads it busy without end"
    else:
        found = f"ends the library that reads it ({f'signal {-status}' if status < 0 else f'status {status}'})"
    return f"{found}; the file is damaged, or made to do harm"


def _await_hello(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process says that it is there. Anything may be printed before that, but not for ever."""
    timer = threading.Timer(START_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    try:
        output = b""
        while not output.endswith(HELLO):
            if len(output) > MAX_START_OUTPUT:
                raise ValueError("it prints without end")
            output += _receive_bytes(process, 1)
        _receive(process)
    finally:
        timer.cancel()


def _send(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    if process.poll() is not None:  # writing to nobody would end a caller who has SIGPIPE as scripts like it
        raise EOFError("it has ended")
    rest = memoryview(line)
    while rest:
        rest = rest[process.stdin.write(rest) :]


def _receive(process: subprocess.Popen[bytes]) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The head of an answer and its arrays; an EOFError, ValueError or the like where there is none."""
    (length,) = struct.unpack("<Q", _receive_bytes(process, 8))
    if length > MAX_HEADER:
        raise ValueError(f"a head of {length} bytes")
    head = json.loads(_receive_bytes(process, length))
    if len(head["arrays"]) > MAX_ARRAYS:
        raise ValueError(f"{len(head['arrays'])} arrays")
    return head, [_receive_array(process, kind, shape) for kind, shape in head["arrays"]]


def _receive_array(process: subprocess.Popen[bytes], kind: str, shape: list[int]) -> NDArray[Any]:
    if not DTYPE_PATTERN.fullmatch(kind) or len(shape) > MAX_AXES or not all(type(rows) is int and rows >= 0 for rows in shape):
        raise ValueError(f"an array of {kind!r} and shape {shape!r}")
    dtype, count = np.dtype(kind), math.prod(shape)
    if count * dtype.itemsize > MAX_ARRAY_BYTES:
        raise ValueError(f"an array of {count} numbers")
    values = np.empty(shape, dtype)
    _receive_into(process, values.reshape(-1).view(np.uint8).data)
    return values


def _receive_bytes(process: subprocess.Popen[bytes], length: int) -> bytes:
    content = bytearray(length)
    _receive_into(process, memoryview(content))
    return bytes(content)


def _receive_into(process: subprocess.Popen[bytes], rest: memoryview) -> None:
    """Read as many bytes as there is room for; the end is an EOFError."""
    stream: Any = process.stdout
    while len(rest):
        count = stream.readinto(rest)
        if not count:
            raise EOFError("its output has ended")
        rest = rest[count:]


def _server_error(head: dict[str, Any]) -> Exception:
    """The error that the service has raised. Text of the other process is shown as that of a file is."""
    kinds: dict[str, type[Exception]] = {kind.__name__: kind for kind in (*FORWARDED_ERRORS, RuntimeError)}
    kind, text = kinds[head["error"]], head["text"]
    if not isinstance(text, str):
        raise TypeError(f"a text that is {type(text).__name__}")
    return kind(printable(text))
