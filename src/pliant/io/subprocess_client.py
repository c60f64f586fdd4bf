"""Libraries that a crafted file may crash run in a process apart: its end is a `FileError`, and the caller goes on.

HDF5 and USD are large libraries in C and C++. A file that was damaged on purpose may end the process that they run in, keep it busy for
ever or take all of its memory. `Apart` starts a process that serves the methods of one class (`served`). It is started as a new interpreter
and never forked, since the caller may have threads.

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
from pliant.io.limits import plain, refuse
from pliant.io.subprocess_server import BUSY, HELLO, TOLD, WAITING

MOST_HEAD = 1 << 26  # bytes: the head of an answer holds names and notes, and paths of 10,000 layers
MOST_ARRAYS, MOST_BYTES = 16, 1 << 36  # of an answer; an array that HDF5 unfolds may be larger than its file
NUMBERS = re.compile(r"[<>|][iuf](1|2|4|8|16)")
MOST_AXES = 3
MOST_NOISE = 1 << 16  # bytes that an interpreter may print as it starts
MOST_LIVE = 32  # processes at a time, some 40 MB each; the one that was asked longest ago makes room for another
GRACE = 2.0  # seconds in which a process that closed its output ends
SOON = 60.0  # seconds by the clock in which a process starts: what is no interpreter would be waited for in vain

# The search path is the caller's, without the working folder, in which a hostile file may have a module beside it.
START = "import sys; sys.path[:] = sys.argv[3:]; from pliant.io.subprocess_server import serve; serve(*sys.argv[1:3])"
HOME = str(Path(pliant.__file__).resolve().parents[1])
# One thread: limits of time and memory are the same on every machine then, and matrices of 4 × 4 need no more.
# Files that the caller has open for writing can be read, as they could be in its own process.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "PXR_WORK_THREAD_LIMIT": "1", "HDF5_USE_FILE_LOCKING": "FALSE"}
OUTSIDE = {WAITING, *(-getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGHUP") if hasattr(signal, name))}


class _Ended(Exception):
    """A process has ended, or is of no use any more. `status`: how it has ended; None if it had to be made to."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class Apart:
    """An object of a class in a process of its own, made with arguments that JSON can say. The process starts with the first request.

    Several threads may ask; one is answered at a time. A process that has ended, by a crash, by Ctrl-C or because this one was forked, is
    replaced at the next request, so the service must answer each from its arguments alone. What ends it from outside, such as lack of
    memory or having been stopped for long, may be over: such a request is tried once more.
    """

    def __init__(self, module: str, name: str, *arguments: Any) -> None:
        self._service, self._arguments = (module, name), arguments
        self._folder = _folder()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[[subprocess.Popen[bytes], float], Apart] | None = None
        self._asked = 0.0  # when, by the clock
        with _known:
            _ALL.add(self)

    def ask(self, path: Path, method: str, *arguments: Any) -> tuple[Any, list[NDArray[Any]]]:
        """What a method answers: a value, and arrays. `path`: the file that it reads, which errors name."""
        with self._lock:
            self._asked = time.monotonic()
            return self._tried(path, method, arguments, once_more=True)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop(0)

    def _tried(self, path: Path, method: str, arguments: tuple[Any, ...], once_more: bool) -> tuple[Any, list[NDArray[Any]]]:
        try:
            if self._process is None:
                self._make_room()
                self._start(path)
                self._exchange("", self._arguments)
            return self._exchange(method, arguments)
        except _Ended as end:
            if once_more and end.status in OUTSIDE:
                return self._tried(path, method, arguments, once_more=False)
            raise refuse(path, _told(end.status)) from None

    def _make_room(self) -> None:
        """End processes that were asked longest ago, unless they are at work."""
        with _known:
            running = [each for each in _ALL if each is not self and each._process is not None]
        for each in sorted(running, key=lambda each: each._asked)[: max(0, len(running) + 1 - MOST_LIVE)]:
            if each._lock.acquire(blocking=False):
                try:
                    each._stop(0)
                finally:
                    each._lock.release()

    def _start(self, path: Path) -> None:
        interpreter = os.environ.get("PLIANT_PYTHON") or ("" if getattr(sys, "frozen", False) else sys.executable)
        if not interpreter:
            raise refuse(path, "a Python interpreter is needed to read it in a process of its own; PLIANT_PYTHON may name one")
        command = [interpreter, "-P", "-c", START, *self._service, *filter(None, sys.path), HOME]
        try:
            self._process = process = subprocess.Popen(
                command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self._folder,
                env={**os.environ, **ENVIRONMENT}, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )  # fmt: skip
            self._end = weakref.finalize(self, _ended, process, 0)
            _greeted(process)
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
            _sent(process, line)
            head, arrays = _received(process)
            error = _error(head) if "error" in head else None
        except MemoryError:
            self._stop(0)
            raise
        except Exception:  # the other process has ended, or it is not what it was
            raise _Ended(self._stop(GRACE)) from None
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
        process, end = self._process, self._end
        self._process = self._end = None
        if end is not None:
            end.detach()
        return None if process is None else _ended(process, grace)

    def _forget(self) -> None:
        """In a process that was forked: the other one belongs to the process that has started it, and so do its pipes."""
        process, end = self._process, self._end
        self._lock, self._process, self._end = threading.Lock(), None, None
        if process is not None and end is not None:
            end.detach()
            process.returncode = 0  # not to be waited for
            _close(process)


_ALL: weakref.WeakSet[Apart] = weakref.WeakSet()
_known = threading.Lock()  # of the set


def _forget_all() -> None:
    global _known
    _known = threading.Lock()
    for each in list(_ALL):
        each._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _folder() -> str | None:
    """What names of files are relative to, also for a process that is started later; None if that folder is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _close(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _ended(process: subprocess.Popen[bytes], grace: float) -> int | None:
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


def _told(status: int | None) -> str:
    """What is wrong with a file that has ended a process with this status."""
    if status == WAITING:
        return "cannot be read: the library that reads it neither answers nor works"
    if status in OUTSIDE and status is not None:
        return f"the process that read it was ended from outside (signal {-status}), perhaps because there is not enough memory"
    if not status:
        found = "makes the library that reads it answer nonsense"
    elif status == BUSY:
        found = "keeps the library that reads it busy without end"
    else:
        found = f"ends the library that reads it ({f'signal {-status}' if status < 0 else f'status {status}'})"
    return f"{found}; the file is damaged, or made to do harm"


def _greeted(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process says that it is there. Anything may be printed before that, but not for ever."""
    impatient = threading.Timer(SOON, process.kill)
    impatient.daemon = True
    impatient.start()
    try:
        said = b""
        while not said.endswith(HELLO):
            if len(said) > MOST_NOISE:
                raise ValueError("it prints without end")
            said += _bytes(process, 1)
        _received(process)
    finally:
        impatient.cancel()


def _sent(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    if process.poll() is not None:  # writing to nobody would end a caller who has SIGPIPE as scripts like it
        raise EOFError("it has ended")
    rest = memoryview(line)
    while rest:
        rest = rest[process.stdin.write(rest) :]


def _received(process: subprocess.Popen[bytes]) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The head of an answer and its arrays; an EOFError, ValueError or the like where there is none."""
    (length,) = struct.unpack("<Q", _bytes(process, 8))
    if length > MOST_HEAD:
        raise ValueError(f"a head of {length} bytes")
    head = json.loads(_bytes(process, length))
    if len(head["arrays"]) > MOST_ARRAYS:
        raise ValueError(f"{len(head['arrays'])} arrays")
    return head, [_array(process, kind, shape) for kind, shape in head["arrays"]]


def _array(process: subprocess.Popen[bytes], kind: str, shape: list[int]) -> NDArray[Any]:
    if not NUMBERS.fullmatch(kind) or len(shape) > MOST_AXES or not all(type(rows) is int and rows >= 0 for rows in shape):
        raise ValueError(f"an array of {kind!r} and shape {shape!r}")
    dtype, count = np.dtype(kind), math.prod(shape)
    if count * dtype.itemsize > MOST_BYTES:
        raise ValueError(f"an array of {count} numbers")
    values = np.empty(shape, dtype)
    _fill(process, values.reshape(-1).view(np.uint8).data)
    return values


def _bytes(process: subprocess.Popen[bytes], length: int) -> bytes:
    content = bytearray(length)
    _fill(process, memoryview(content))
    return bytes(content)


def _fill(process: subprocess.Popen[bytes], rest: memoryview) -> None:
    """Read as many bytes as there is room for; the end is an EOFError."""
    stream: Any = process.stdout
    while len(rest):
        count = stream.readinto(rest)
        if not count:
            raise EOFError("its output has ended")
        rest = rest[count:]


def _error(head: dict[str, Any]) -> Exception:
    """The error that the service has raised. Text of the other process is shown as that of a file is."""
    kinds: dict[str, type[Exception]] = {kind.__name__: kind for kind in (*TOLD, RuntimeError)}
    kind, text = kinds[head["error"]], head["text"]
    if not isinstance(text, str):
        raise TypeError(f"a text that is {type(text).__name__}")
    return kind(plain(text))
