"""The only options with which anything is compiled, and the only place where compiled code is kept.

Three ways to compile: a `kernel` is called from Python and releases the GIL; a `helper` is inlined into kernels; a `routine` is called
by them. The latter two have no way in from Python, which saves a fifth of all compilation. `entry` compiles a function that kernels
call by its address.

No fast-math, ever, and said explicitly: left out, the flag is inherited from the caller, reaches exact arithmetic, and stays in the
disk cache for whoever comes next. `_nrt=False` keeps reference counts out of the loops (4 to 7 % on one core, a shared cache line on
several) and makes Numba refuse kernels that allocate.

The disk cache is code, so it lives in a folder of the user's own (mode 0700) and a foreign one is refused; its name holds a digest
of every source of this package, because Numba itself notices edits only in the file that a function stands in. Where no such
folder can be had, everything works without a cache.
"""
import hashlib
import itertools
import os
import secrets
import stat
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
from numba import config, njit
from numba.core import registry
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature
from numba.core.types import unliteral

OPTIONS = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True, "fastmath": False, "error_model": "numpy", "boundscheck": False}
BODY_OPTIONS = {name: value for name, value in OPTIONS.items() if name != "nogil"} | {"forceinline": True, "no_cpython_wrapper": True}
ENTRY_OPTIONS = {name: value for name, value in OPTIONS.items() if name not in ("nogil", "_nrt", "no_cfunc_wrapper")}
DISABLED = bool(config.DISABLE_JIT)
STALE_AFTER = 30 * 24 * 3600.0      # seconds after which the folder of another version may go


class CacheState(NamedTuple):
    """Where compiled code is kept, or why nowhere."""
    folder: Path | None
    reason: str


_state: CacheState | None = None


def _name_apart():
    """Let the numbers that tell functions of one name and signature apart start somewhere else in every process.

    Numba counts them from 1, and names records by a count too, while compiled code keeps its symbols on disk: two functions called `_`, or
    one for two kinds of nodes, compiled by two processes, could have one symbol, and the linker would take either for both.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(56))


_name_apart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_name_apart)


def silent():
    """A context in which formulas may overflow, or be NaN in lanes that hold nothing: kernels never speak of it, and plain NumPy, which
    runs them with the JIT off, must not."""
    return np.errstate(all="ignore") if DISABLED else nullcontext()


def kernel(function):
    """Compile `function` on first use, to be called from Python without the GIL."""
    return _cached(njit(**OPTIONS)(function))


def helper(function):
    """Compile `function` into each of its callers. Called from Python it runs as it stands, on NumPy rows for example."""
    return _internal(njit(forceinline=True, no_cpython_wrapper=True, **OPTIONS)(function), _Helper)


def routine(function):
    """Compile `function` once, for kernels to call. Whoever calls it from Python all the same, a test say, gets a way in compiled."""
    return _internal(njit(no_cpython_wrapper=True, **OPTIONS)(function), _Routine)


class _Helper(registry.CPUDispatcher):
    def __call__(self, *args):
        return self.py_func(*args)


class _Routine(registry.CPUDispatcher):
    way_in = None

    def __call__(self, *args):
        if self.way_in is None:
            self.way_in = njit(**OPTIONS)(self.py_func)
        return self.way_in(*args)


def _internal(dispatcher, kind):
    if not DISABLED:
        dispatcher.__class__ = kind
    return _cached(dispatcher)


def entry(signature, function):
    """`function` compiled for calls by address. It makes arrays out of addresses, which takes Numba's runtime; its callees do without."""
    compiled = CFunc(function, normalize_signature(signature), locals={}, options=ENTRY_OPTIONS)
    compiled._cache = _cache_of(function)
    compiled.compile()
    return compiled


def _cached(dispatcher):
    """Keep what is compiled on disk, and do not compile again for every literal: to Numba the 0 in f(t, 0) is a type of its own."""
    if not DISABLED:
        dispatcher._cache = _cache_of(dispatcher.py_func)
        by_type = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: by_type(tuple(map(unliteral, args)), {k: unliteral(t) for k, t in kws.items()})
    return dispatcher


def _cache_of(function):
    return _Cache(function) if cache_state().folder is not None else NullCache()


def cache_state():
    """The folder of compiled code, made and examined once per process."""
    global _state
    if _state is None:
        _state = CacheState(None, "the JIT is off") if DISABLED else _prepare()
    return _state


# --- the folder --------------------------------------------------------------------------------------------------------------

def _base_folder():
    chosen = os.environ.get("PLIANT_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "pliant"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pliant"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pliant"


def _digest():
    """One name for all that decides what a kernel compiles to, but for its types and the processor, which Numba's own key holds."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]} {OPTIONS}".encode())
    for source in sorted(root.rglob("*.py")):
        digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def _prepare():
    try:
        base = _base_folder()
        if base is None:
            return CacheState(None, "switched off by an empty PLIANT_CACHE")
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = base / _digest()
        new = not folder.exists()
        folder.mkdir(mode=0o700, exist_ok=True)
        for each in (base, folder):
            refusal = _refusal(each)
            if refusal:
                return CacheState(None, refusal)
        if not os.access(folder, os.W_OK | os.X_OK):
            return CacheState(None, f"{folder} cannot be written to")
        os.utime(folder)
        if new:
            _forget_old(base, folder)
        return CacheState(folder, "in use")
    except (OSError, RuntimeError) as error:                            # RuntimeError: no home folder
        return CacheState(None, f"no cache folder: {error}")


def _refusal(folder):
    """Why code from this folder must not be run; "" if it may."""
    if not hasattr(os, "getuid"):
        return ""
    found = folder.stat()
    if found.st_uid != os.getuid():
        return f"{folder} belongs to another user"
    if stat.S_IMODE(found.st_mode) & 0o022:
        return f"{folder} can be written to by other users"
    return ""


def _forget_old(base, folder):
    """Remove what versions unused for a month have left; another process may be doing the same."""
    for old in base.iterdir():
        try:
            ours = len(old.name) == len(folder.name) and set(old.name) <= set("0123456789abcdef")
            if ours and old != folder and old.stat().st_mtime < time.time() - STALE_AFTER:
                for file in old.iterdir():
                    file.unlink()
                old.rmdir()
        except OSError:
            continue


# --- Numba's cache, told where to look ---------------------------------------------------------------------------------------

class _Locator:
    """Stands for one source file; the digest in the folder's name does what its time stamp would."""

    def __init__(self, function):
        self._line = function.__code__.co_firstlineno

    def ensure_cache_path(self):
        if not os.path.isdir(self.get_cache_path()):
            raise OSError("the cache folder is gone")

    def get_cache_path(self):
        return str(cache_state().folder)

    def get_source_stamp(self):
        return cache_state().folder.name

    def get_disambiguator(self):
        return str(self._line)


class _Impl(CompileResultCacheImpl):
    def __init__(self, function):
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function)
        self._filename_base = self.get_filename_base(f"{function.__module__}.{function.__qualname__}", getattr(sys, "abiflags", ""))


class _Cache(FunctionCache):
    """A damaged, full or vanished folder is no reason to fail: compile instead. Unpickling damaged bytes may raise anything."""

    _impl_class = _Impl

    def load_overload(self, sig, target_context):
        try:
            found = super().load_overload(sig, target_context)
        except Exception:
            return None
        # Two processes that save two specialisations at once may choose the same file: what is in it need not be what was asked for.
        asked = tuple(getattr(sig, "args", sig))
        return found if found is None or tuple(found.signature.args) == asked else None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except Exception:
            self._start_again(sig, data)

    def _start_again(self, sig, data):
        """The index cannot be read or written: once more with an empty one."""
        try:
            self.flush()
            super().save_overload(sig, data)
        except Exception:
            self.disable()
