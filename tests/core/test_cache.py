"""The cache of compiled kernels: whose folder it is, what its name depends on, what it saves, and what is thrown away."""

import importlib
import os
import shutil
import stat
import sys
import time
from pathlib import Path
from textwrap import dedent

import numba
import pytest

from cache_processes import WORK, files, prepared, work
from child import SOURCE, python
from pliant.core import cache, jit

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")


# ------------------------------------------------------------------------------------------------ where it is

def test_the_folder_is_made_for_its_owner_alone(monkeypatch, tmp_path):
    base = tmp_path / "above" / "cache"
    before = os.umask(0)
    try:
        state = prepared(monkeypatch, base)
    finally:
        os.umask(before)
    assert state == (base / cache.source_digest(jit.OPTIONS), "in use", True)
    for folder in (base, state.folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_it_is_found_in_the_usual_places(monkeypatch, tmp_path):
    monkeypatch.delenv("PLIANT_CACHE", raising=False)
    monkeypatch.setattr(cache.sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache._base_folder() == tmp_path / ".cache" / "pliant"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert cache._base_folder() == tmp_path / "elsewhere" / "pliant"


def test_an_empty_name_switches_it_off(monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", "")
    state = cache._prepare(jit.OPTIONS)
    assert state.folder is None and "PLIANT_CACHE" in state.reason


def test_without_a_cache_everything_works(tmp_path):
    found = work(PLIANT_CACHE="", HOME=tmp_path, XDG_CACHE_HOME=tmp_path)
    assert (found["hits"], found["folder"]) == (0, None)
    assert files(tmp_path) == []


def test_where_no_folder_can_be_made_everything_works(tmp_path):
    """A home that cannot be written to, on which permissions are no help to a superuser: a file is in the way."""
    (tmp_path / "home").write_text("not a folder")
    found = work(PLIANT_CACHE=None, HOME=tmp_path / "home", XDG_CACHE_HOME=None)
    assert found["hits"] == 0 and found["folder"] is None
    assert "no cache folder" in found["reason"]
    assert files(tmp_path) == [tmp_path / "home"]


def test_a_folder_that_cannot_be_written_to_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(cache.os, "access", lambda path, mode: False)
    state = prepared(monkeypatch, tmp_path / "cache")
    assert state.folder is None and "cannot be written" in state.reason


def test_no_home_is_no_error(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache, "_base_folder", homeless)
    state = cache._prepare(jit.OPTIONS)
    assert state.folder is None and "home" in state.reason


# ------------------------------------------------------------------------------------------------ whose it is

@pytest.mark.parametrize("mode", [0o770, 0o722, 0o777, 0o702, 0o720])
@pytest.mark.parametrize("inner", [False, True], ids=["base", "inner"])
def test_a_folder_that_others_can_write_to_is_refused(monkeypatch, tmp_path, mode, inner):
    """Both levels count: who may write to the outer one may put another inner one there."""
    base = tmp_path / "cache"
    folder = base / cache.source_digest(jit.OPTIONS) if inner else base
    folder.mkdir(parents=True)
    base.chmod(0o700)
    folder.chmod(mode)
    state = prepared(monkeypatch, base)
    assert state.folder is None
    assert state.reason == f"{folder} can be written to by other users"


def test_others_may_read_it(monkeypatch, tmp_path):
    base = tmp_path / "cache"
    base.mkdir()
    base.chmod(0o755)
    assert prepared(monkeypatch, base).folder is not None


def test_a_foreign_folder_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(cache.os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
    assert cache._reason_refused(tmp_path) == f"{tmp_path} belongs to another user"
    state = prepared(monkeypatch, tmp_path / "cache")
    assert state.folder is None and "another user" in state.reason


def test_a_foreign_folder_is_not_read_from(copied):
    """Code lies there ready, but somebody else could have put it there."""
    copied.chmod(0o777)
    before = {path: path.stat().st_mtime_ns for path in files(copied)}
    found = work(PLIANT_CACHE=copied)
    assert (found["hits"], found["folder"]) == (0, None)
    assert {path: path.stat().st_mtime_ns for path in files(copied)} == before


# ------------------------------------------------------------------------------------------------ what its name depends on

def test_an_edited_source_gets_a_folder_of_its_own(filled, tmp_path):
    """Any source: Numba itself would notice an edit only in the file that a kernel stands in."""
    shutil.copytree(SOURCE / "pliant", tmp_path / "pliant", ignore=shutil.ignore_patterns("__pycache__"))
    print_key = "from pliant.core import cache, jit; print(jit.__file__, cache.source_digest(jit.OPTIONS))"
    here = python(print_key, PYTHONPATH=SOURCE).split()[1]
    where, same = python(print_key, PYTHONPATH=tmp_path).split()
    assert Path(where).is_relative_to(tmp_path)
    assert same == here
    with open(tmp_path / "pliant" / "geometry" / "__init__.py", "a") as source:
        source.write("\n# one more line\n")
    edited = python(print_key, PYTHONPATH=tmp_path).split()[1]
    assert edited != here
    found = work(PLIANT_CACHE=filled, PYTHONPATH=tmp_path)
    assert (found["hits"], found["folder"]) == (0, str(filled / edited))


def test_an_edit_elsewhere_changes_no_name(tmp_path):
    """Commands, readers and reports have no part in kernels."""
    shutil.copytree(SOURCE / "pliant", tmp_path / "pliant", ignore=shutil.ignore_patterns("__pycache__"))
    print_key = "from pliant.core import cache, jit; print(cache.source_digest(jit.OPTIONS))"
    before = python(print_key, PYTHONPATH=tmp_path)
    for folder in ("cli", "io", "report", "check", "render"):
        with open(tmp_path / "pliant" / folder / "__init__.py", "a") as source:
            source.write("\n# one more line\n")
    assert python(print_key, PYTHONPATH=tmp_path) == before


KERNEL = """
    from pliant.core.jit import kernel
    from {helpers} import {name}

    @kernel
    def times(x):
        return x * {name}(x)
"""
PART = """
    from pliant.core.jit import helper

    @helper
    def part(x):
        return x + {n}
"""


@pytest.mark.parametrize("edited", ["own.py", "parts.py"])
def test_an_edited_kernel_of_others_is_compiled_again(tmp_path, edited):
    """A kernel outside the package, and what it takes from another file: the second run loads it, an edit of either is noticed."""
    cache_folder, code = tmp_path / "cache", "import own; print(own.times(10), sum(own.times.stats.cache_hits.values()))"

    def write(n):
        (tmp_path / "parts.py").write_text(dedent(PART.format(n=n)))
        (tmp_path / "own.py").write_text(dedent(KERNEL.format(helpers="parts", name="part")))

    def run():
        return python(code, PLIANT_CACHE=cache_folder, PYTHONPATH=f"{SOURCE}{os.pathsep}{tmp_path}", PYTHONDONTWRITEBYTECODE=1).split()

    write(1)
    assert [run(), run()] == [["110", "0"], ["110", "1"]]
    if edited == "parts.py":
        write(2)
        assert run() == ["120", "0"]
    else:
        (tmp_path / "own.py").write_text(dedent(KERNEL.format(helpers="parts", name="part")).replace("x *", "3 *"))
        assert run() == ["33", "0"]
        write(1)
        assert run() == ["110", "1"]


def test_objects_beside_a_kernel_are_not_asked_for_attributes(tmp_path, monkeypatch):
    """A module may hold any object. Some end the program when they are asked for a name that they do not know, as pytest's marks do."""
    (tmp_path / "touchy.py").write_text("""
class Touchy:
    def __getattr__(self, name):
        raise SystemExit(name)

something = Touchy()

def function():
    pass
""")
    monkeypatch.syspath_prepend(tmp_path)
    touchy = importlib.import_module("touchy")
    assert cache.external_sources(touchy.function) == [str(tmp_path / "touchy.py")]
    monkeypatch.delitem(sys.modules, "touchy")


def test_bodies_of_others_count_for_all_kernels(tmp_path):
    """A body that another package registers may become a part of any kernel; its own generic functions concern nobody else."""
    (tmp_path / "mine.py").write_text(dedent("""
        from pliant.core.dispatch import generic

        class Mine:
            pass

        @generic("a")
        def own(a):
            pass

        def body(a):
            return a

        own.register(Mine)(body)
    """))
    code = """
        from pliant.core import cache
        from pliant.core.sorting import unpack_pairs
        import mine
        print(cache._external_digest(unpack_pairs.py_func) == "")
        from pliant.volume.protocol import size
        size.register(mine.Mine)(mine.body)
        print(cache._external_digest(unpack_pairs.py_func) == "", [path.rpartition("/")[2] for path in cache._external_bodies])
    """
    found = python(code, PLIANT_CACHE=tmp_path / "cache", PYTHONPATH=f"{SOURCE}{os.pathsep}{tmp_path}").splitlines()
    assert found[0] == "True" and found[1].startswith("False") and "mine.py" in found[1]


def test_a_folder_to_read_from(monkeypatch, filled):
    """Filled by root or this user, for many who may not write: nothing is kept there, and what is not there is compiled."""
    monkeypatch.setattr(cache.os, "access", lambda path, mode: not mode & os.W_OK)
    state = prepared(monkeypatch, filled)
    assert state == (filled / cache.source_digest(jit.OPTIONS), "in use, to read from", False)
    monkeypatch.setattr(cache.os, "getuid", lambda: 12345)
    assert prepared(monkeypatch, filled).folder == (state.folder if os.getuid() == 12345 and filled.stat().st_uid == 0 else None)
    monkeypatch.undo()
    monkeypatch.setattr(cache.os, "access", lambda path, mode: not mode & os.W_OK)
    (filled / cache.source_digest(jit.OPTIONS)).chmod(0o722)
    assert "can be written to by other users" in prepared(monkeypatch, filled).reason
    (filled / cache.source_digest(jit.OPTIONS)).chmod(0o700)
    monkeypatch.setattr(cache, "source_digest", lambda options: "0" * 20)
    assert "holds no kernels of this version" in prepared(monkeypatch, filled).reason


def test_the_options_and_versions_are_part_of_the_name(monkeypatch):
    name = cache.source_digest(jit.OPTIONS)
    assert name == cache.source_digest(jit.OPTIONS) and len(name) == 20
    monkeypatch.setattr(jit, "OPTIONS", {**jit.OPTIONS, "boundscheck": True})
    another = cache.source_digest(jit.OPTIONS)
    monkeypatch.setattr(numba, "__version__", "0.0.1")
    assert len({name, another, cache.source_digest(jit.OPTIONS)}) == 3


# ------------------------------------------------------------------------------------------------ what it is worth

def test_who_waits_is_told_once(tmp_path):
    """And not at all where everything is found."""
    code = "from pliant.core import cache\ncache.set_on_first_compile(lambda: print('compiling'))\n" + dedent(WORK)
    assert [python(code, PLIANT_CACHE=tmp_path / "cache").count("compiling") for _ in range(2)] == [1, 0]


def test_the_second_process_compiles_nothing(filled):
    before = {path: path.read_bytes() for path in files(filled)}
    found = work(PLIANT_CACHE=filled)
    assert found["misses"] == 0 and found["hits"] >= 3
    assert {path: path.read_bytes() for path in files(filled)} == before


# ------------------------------------------------------------------------------------------------ what is thrown away

def old_folder(base, name, days):
    folder = base / name
    folder.mkdir(mode=0o700)
    (folder / "kernel.nbi").write_bytes(b"x")
    then = time.time() - days * 24 * 3600
    os.utime(folder, (then, then))
    return folder


def test_folders_of_other_versions_go_after_a_month(monkeypatch, tmp_path):
    base = tmp_path / "cache"
    base.mkdir(mode=0o700)
    old, recent = old_folder(base, "0123456789abcdef0123", 31), old_folder(base, "fedcba98765432100123", 29)
    state = prepared(monkeypatch, base)
    assert state.folder.is_dir() and recent.is_dir()
    assert not old.exists()


def test_only_folders_of_this_cache_are_thrown_away(monkeypatch, tmp_path):
    """PLIANT_CACHE may name a folder that holds other things."""
    base = tmp_path / "cache"
    base.mkdir(mode=0o700)
    names = ["notes", "my-important-project", "holiday photos 2019 ", "0123456789abcdef01234"]
    kept = [old_folder(base, name, 400) for name in names]
    (base / "a file of 20 letters").write_text("x")
    prepared(monkeypatch, base)
    assert [folder.name for folder in kept if not (folder / "kernel.nbi").is_file()] == []
    assert (base / "a file of 20 letters").is_file()


def test_foreign_content_of_an_old_folder_is_no_error(monkeypatch, tmp_path):
    base = tmp_path / "cache"
    base.mkdir(mode=0o700)
    (old_folder(base, "0123456789abcdef0123", 31) / "folder").mkdir()
    os.utime(base / "0123456789abcdef0123", (0, 0))
    assert prepared(monkeypatch, base).reason == "in use"
