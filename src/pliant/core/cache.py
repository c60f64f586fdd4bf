"""The disk cache of compiled kernels: its folder, who may own it, and what its file names depend on.

The cache holds machine code, so it lies in a folder of the user's own (mode 0700); folders of other users are refused. PLIANT_CACHE names
another folder; one that root owns and the user may only read can serve many users, as in a container. Without a folder, everything works
but is not cached.

Numba itself notices edits only in the file that defines a function. Here the folder's name holds a digest of all sources of kernels
(KERNEL_FOLDERS), and a file's name a digest of its function's sources outside these folders: its own file, and those of what it refers to.
So an edit of a command or a reader recompiles nothing, and an edit of a kernel in a test is noticed. A body that another package registers
for a generic function may be part of any kernel; its sources count for all of them.
"""
import hashlib
import inspect
import os
import stat
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache

ROOT = Path(os.path.abspath(__file__)).parents[1]
KERNEL_FOLDERS = ("broadphase", "core", "geometry", "image", "motion", "query", "refit", "tree", "volume")
STALE_AFTER = 30 * 24 * 3600.0                                          # seconds after which the folder of another version is removed
INSTALLED_PREFIXES = tuple(str(Path(path).resolve()) + os.sep
                           for path in {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


class CacheState(NamedTuple):
    """The cache folder, or the reason why there is none; is it writable?"""
    folder: Path | None
    reason: str
    writable: bool = True


_state: CacheState | None = None
_on_first_compile: Callable[[], object] | None = None
_external_bodies: dict[str, None] = {}                                  # sources of bodies that other packages have registered


def load_state(disabled, options):
    """The state of the cache folder, which is created and checked once per process."""
    global _state
    if _state is None:
        _state = CacheState(None, "the JIT is off") if disabled else _prepare(options)
    return _state


def cache_of(function, disabled, options):
    """The cache of one function."""
    return _Cache(function) if load_state(disabled, options).folder is not None else NullCache()


def set_on_first_compile(callback):
    """Call `callback` once, when the first function is missing from the cache and must be compiled."""
    global _on_first_compile
    _on_first_compile = callback


# --- digests in names --------------------------------------------------------------------------------------------------------

def source_digest(options):
    """A digest of everything that determines a kernel's machine code, except its types and the processor, which are in Numba's own key."""
    hasher = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]} {options}".encode())
    for folder in KERNEL_FOLDERS:
        for source in sorted((ROOT / folder).rglob("*.py")):
            hasher.update(source.relative_to(ROOT).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return hasher.hexdigest()[:20]


def is_kernel_source(path):
    """Does the digest in the folder's name cover this source?"""
    return any(path.startswith(str(ROOT / folder) + os.sep) for folder in KERNEL_FOLDERS)


def external_sources(function):
    """Files outside KERNEL_FOLDERS that a function depends on: its own, and those of everything its module refers to, except other
    installed packages."""
    found, waiting = {}, [function.__module__]
    home = function.__module__.partition(".")[0]
    while waiting:
        module = sys.modules.get(waiting.pop())
        path = getattr(module, "__file__", None)
        if path is None or not path.endswith(".py") or path in found or is_kernel_source(path):
            continue
        if found and path.startswith(INSTALLED_PREFIXES) and module.__name__.partition(".")[0] != home:
            continue
        found[path] = None
        waiting.extend(map(_module_of, list(vars(module).values())))
    return list(found)


def _module_of(value):
    """The name of a module, or of the module that defines a value."""
    try:
        origin = inspect.getattr_static(value, "py_func", value)        # without __getattr__: some objects end the program there
        return origin.__name__ if isinstance(origin, type(sys)) else str(getattr(origin, "__module__", ""))
    except Exception:                                                   # a module may hold any object, with any __getattr__
        return ""


def register_body(generic, body):
    """Record the sources of a body that was registered for a generic function."""
    if is_kernel_source(generic.__code__.co_filename) and not is_kernel_source(body.__code__.co_filename):
        _external_bodies.update(dict.fromkeys(external_sources(body)))


def _external_digest(function):
    """A digest of the sources that the folder's name does not cover; "" if there are none."""
    files = sorted(set(_external_bodies if is_kernel_source(function.__code__.co_filename)
                       else [*_external_bodies, *external_sources(function)]))
    if not files:
        return ""
    hasher = hashlib.sha256()
    for path in files:
        try:
            hasher.update(os.path.basename(path).encode() + b"\0" + Path(path).read_bytes() + b"\0")
        except OSError:                                                 # made by a program, or gone
            hasher.update(path.encode() + b"\0")
    return hasher.hexdigest()[:12]


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


def _prepare(options):
    try:
        base = _base_folder()
        if base is None:
            return CacheState(None, "switched off by an empty PLIANT_CACHE")
        folder = base / source_digest(options)
        if base.is_dir() and not os.access(base, os.W_OK | os.X_OK):
            return _prepare_read_only(base, folder)
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = not folder.exists()
        folder.mkdir(mode=0o700, exist_ok=True)
        for each in (base, folder):
            refusal = _reason_refused(each)
            if refusal:
                return CacheState(None, refusal)
        if not os.access(folder, os.W_OK | os.X_OK):
            return CacheState(None, f"{folder} cannot be written to")
        os.utime(folder)
        if new:
            _remove_old(base, folder)
        return CacheState(folder, "in use")
    except (OSError, RuntimeError) as error:                            # RuntimeError: no home folder
        return CacheState(None, f"no cache folder: {error}")


def _prepare_read_only(base, folder):
    """Use a read-only folder, which root or this user has filled."""
    for each in (base, folder):
        if not each.is_dir():
            return CacheState(None, f"{base} cannot be written to, and holds no kernels of this version ({folder.name})")
        refusal = _reason_refused(each, trusted=(0,))
        if refusal:
            return CacheState(None, refusal)
    return CacheState(folder, "in use, to read from", writable=False)


def _reason_refused(folder, trusted=()):
    """Why code from this folder must not be run; "" if this user, or one in `trusted`, owns it and nobody else can write to it."""
    if not hasattr(os, "getuid"):
        return ""
    status = folder.stat()
    if status.st_uid not in (os.getuid(), *trusted):
        return f"{folder} belongs to another user"
    if stat.S_IMODE(status.st_mode) & 0o022:
        return f"{folder} can be written to by other users"
    return ""


def _remove_old(base, folder):
    """Remove the folders of versions that were not used for a month; another process may do the same concurrently."""
    for old in base.iterdir():
        try:
            ours = len(old.name) == len(folder.name) and set(old.name) <= set("0123456789abcdef")
            if ours and old != folder and old.stat().st_mtime < time.time() - STALE_AFTER:
                for file in old.iterdir():
                    file.unlink()
                old.rmdir()
        except OSError:
            continue


# --- Numba's cache in this folder --------------------------------------------------------------------------------------------

class _Locator:
    """Numba's locator of one source file; the digests in names replace its time stamp."""

    def __init__(self, function):
        self._line = function.__code__.co_firstlineno

    def ensure_cache_path(self):
        if not os.path.isdir(self.get_cache_path()):
            raise OSError("the cache folder is gone")

    def get_cache_path(self):
        return str(_state.folder)

    def get_source_stamp(self):
        return _state.folder.name

    def get_disambiguator(self):
        return str(self._line)


class _Impl(CompileResultCacheImpl):
    def __init__(self, function):
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function)
        self._filename_base = self.get_filename_base(f"{function.__module__}.{function.__qualname__}", getattr(sys, "abiflags", ""))


class _Cache(FunctionCache):
    """Numba's cache of one function. A damaged, full or deleted folder makes it compile, not fail: unpickling may raise anything."""

    _impl_class = _Impl

    def __init__(self, function):
        super().__init__(function)
        self._function, self._stamp = function, ""

    def _choose_file(self):
        """Name the file by the sources known now: modules are incomplete when their functions are decorated."""
        stamp = _external_digest(self._function)
        if stamp != self._stamp:
            self._stamp = stamp
            name = f"{self._impl.filename_base}.{stamp}" if stamp else self._impl.filename_base
            self._cache_file = IndexDataCacheFile(self._cache_path, name, self._impl.locator.get_source_stamp())

    def load_overload(self, sig, target_context):
        try:
            self._choose_file()
            found = super().load_overload(sig, target_context)
        except Exception:
            found = None
        if found is None and _on_first_compile is not None:
            callback = _on_first_compile
            set_on_first_compile(None)
            callback()
        # Two processes that save two specialisations at once may choose the same file: it may hold another one than requested.
        requested = tuple(getattr(sig, "args", sig))
        return found if found is None or tuple(found.signature.args) == requested else None

    def save_overload(self, sig, data):
        if not _state.writable:
            return
        try:
            super().save_overload(sig, data)
        except Exception:
            self._save_with_empty_index(sig, data)

    def _save_with_empty_index(self, sig, data):
        """Save again with an empty index, after the index could not be read or written."""
        try:
            self.flush()
            super().save_overload(sig, data)
        except Exception:
            self.disable()
