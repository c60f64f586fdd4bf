"""Kernels that travel: an archive that fits is taken, whatever else is refused and leaves the cache as it was."""

import json
import os
import zipfile

import pytest

from child import python
from pliant.core import jit, kernel_archive
from pliant.core.cache import CacheState
from pliant.core.kernel_archive import MANIFEST, export_kernels, import_kernels
from pliant.errors import FileError

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")
DIGEST = "0123456789abcdef0123"


@pytest.fixture
def state(tmp_path):
    """A cache with two files that stand for kernels."""
    folder = tmp_path / "cache" / DIGEST
    folder.mkdir(parents=True)
    (folder / "pliant.a.f-1.py311.nbi").write_bytes(b"index")
    (folder / "pliant.a.f-1.py311.1.nbc").write_bytes(b"code" * 1000)
    (folder / "notes.txt").write_text("not a kernel")
    return CacheState(folder, "in use")


@pytest.fixture
def other(tmp_path):
    """An empty one."""
    folder = tmp_path / "other" / DIGEST
    folder.mkdir(parents=True)
    return CacheState(folder, "in use")


@pytest.fixture
def archive(state, tmp_path):
    path = tmp_path / "kernels.zip"
    assert export_kernels(path, state) == 2
    return path


def rewritten(path, change):
    """The archive after `change(files)`, where files are {name: bytes}."""
    with zipfile.ZipFile(path) as found:
        files = {name: found.read(name) for name in found.namelist()}
    change(files)
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)


def edited(**changes):
    def change(files):
        files[MANIFEST] = json.dumps(json.loads(files[MANIFEST]) | changes).encode()
    return change


def test_there_and_back(archive, state, other):
    assert import_kernels(archive, other) == 2
    kernels = {path.name: path.read_bytes() for path in state.folder.iterdir() if path.suffix != ".txt"}
    assert {path.name: path.read_bytes() for path in other.folder.iterdir()} == kernels


@pytest.mark.parametrize("part", kernel_archive.MANIFEST_KEYS)
def test_what_is_for_something_else_is_refused(archive, other, part):
    rewritten(archive, edited(**{part: "something else"}))
    with pytest.raises(FileError, match=f"{part}: these kernels are for 'something else'"):
        import_kernels(archive, other)
    assert not list(other.folder.iterdir())


def drop_manifest(files):
    del files[MANIFEST]


def no_json(files):
    files[MANIFEST] = b"{"


def damage(files):
    files["pliant.a.f-1.py311.1.nbc"] = b"evil" * 1000


def one_more(files):
    files["../up.nbi"] = b"index"


def listed_above(files):
    one_more(files)
    edited(files=json.loads(files[MANIFEST])["files"] | {"../up.nbi": "00"})(files)


def no_names(files):
    edited(files=["a"])(files)


@pytest.mark.parametrize(("change", "message"), [
    (drop_manifest, "has no"), (no_json, "cannot be read"), (no_names, "cannot be read"), (damage, "is damaged"), (one_more, "not those"),
    (listed_above, "no name of a kernel"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_hostile_archives_are_refused(archive, other, change, message):
    rewritten(archive, change)
    with pytest.raises(FileError, match=message):
        import_kernels(archive, other)
    assert not list(other.folder.iterdir()) and not list(other.folder.parent.glob("*.nbi"))


def test_too_much_is_refused(archive, other, monkeypatch):
    monkeypatch.setattr(kernel_archive, "MAX_BYTES", 100)
    with pytest.raises(FileError, match="no archive of kernels"):
        import_kernels(archive, other)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and nothing else", b"\x80\x04."], ids=["empty", "cut", "pickle"])
def test_other_files_are_refused(tmp_path, other, content):
    path = tmp_path / "kernels.zip"
    path.write_bytes(content)
    with pytest.raises(FileError, match="no archive of kernels"):
        import_kernels(path, other)
    with pytest.raises(FileError, match="No such file"):
        import_kernels(tmp_path / "nowhere.zip", other)


def test_another_account_compiles_nothing(tmp_path):
    """What one process has compiled and exported, another one with an empty cache imports, and finds there all that it needs."""
    work = """
        import sys
        import numpy as np
        from pathlib import Path
        from pliant.core import jit
        from pliant.core.kernel_archive import export_kernels, import_kernels
        from pliant.core.sorting import sort_pairs, radix_sort, unpack_pairs
        path = Path(sys.argv[1])
        if path.exists():
            import_kernels(path, jit.cache_state())
        sort_pairs(np.arange(1000)[::-1].copy(), 15, 15)
        print(sum(sum(kernel.stats.cache_misses.values()) for kernel in (radix_sort, unpack_pairs)))
        if not path.exists():
            export_kernels(path, jit.cache_state())
    """
    path = tmp_path / "kernels.zip"
    assert [int(python(work, path, PLIANT_CACHE=tmp_path / name)) for name in ("one", "two")] == [2, 0]
    assert sorted(os.listdir(tmp_path)) == ["kernels.zip", "one", "two"]
