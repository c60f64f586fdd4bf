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
import struct
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.io.guard import plain, refuse
from pliant.io.served import TOLD, TOO_LONG

MOST_HEAD = 1 << 26  # bytes: the head of an answer holds names and notes, and paths of 10,000 layers
MOST_ARRAYS, MOST_BYTES = 16, 1 << 36  # of an answer; an array that HDF5 unfolds may be larger than its file
NUMBERS = re.compile(r"[<>|][iuf](1|2|4|8|16)")
MOST_AXES = 3
GRACE = 2.0  # seconds in which a process that closed its output ends

# The search path is the caller's, without the working folder, in which a hostile file may have a module beside it.
START = "import sys; sys.path[:] = sys.argv[3:]; from pliant.io.served import serve; serve(*sys.argv[1:3])"
HOME = str(Path(pliant.__file__).resolve().parents[1])
# One thread: limits of time and memory are the same on every machine then, and matrices of 4 × 4 need no more.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "PXR_WORK_THREAD_LIMIT": "1"}


class Apart:
    """An object of a class in a process of its own, made with arguments that JSON can say. The process starts with the first request.

    Several threads may ask; one is answered at a time. A process that has ended, by a crash, by Ctrl-C or because this one was forked, is
    replaced at the next request, so the service must answer each from its arguments alone.
    """

    def __init__(self, module: str, name: str, *arguments: Any) -> None:
        self._service, self._arguments = (module, name), arguments
        self._folder = _folder()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[[subprocess.Popen[bytes], float], Apart] | None = None
        _ALL.add(self)

    def ask(self, path: Path, method: str, *arguments: Any) -> tuple[Any, list[NDArray[Any]]]:
        """What a method answers: a value, and arrays. `path`: the file that it reads, which errors name."""
        with self._lock:
            if self._process is None:
                self._start(path)
                self._exchange(path, "", self._arguments)
            return self._exchange(path, method, arguments)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop(0)

    def _start(self, path: Path) -> None:
        command = [sys.executable, "-P", "-c", START, *self._service, *filter(None, sys.path), HOME]
        try:
            self._process = process = subprocess.Popen(
                command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self._folder,
                env={**os.environ, **ENVIRONMENT}, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )  # fmt: skip
            self._end = weakref.finalize(self, _ended, process, 0)
            _received(process)
        except Exception as error:
            self._stop(0)
            raise refuse(path, f"no process can be started to read it: {error}") from None
        except BaseException:
            self._stop(0)
            raise

    def _exchange(self, path: Path, method: str, arguments: tuple[Any, ...]) -> tuple[Any, list[NDArray[Any]]]:
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
            raise refuse(path, _told(self._stop(GRACE))) from None
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


def _forget_all() -> None:
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
    if not status:
        found = "makes the library that reads it answer nonsense"
    elif status in TOO_LONG:
        found = "keeps the library that reads it busy without end"
    else:
        found = f"ends the library that reads it ({f'signal {-status}' if status < 0 else f'status {status}'})"
    return f"{found}; the file is damaged, or made to do harm"


def _sent(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
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
