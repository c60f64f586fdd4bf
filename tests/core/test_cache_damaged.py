"""The cache of compiled kernels: damaged files, processes that use it at once, and a folder that vanishes are no reason to fail."""

import json

import pytest

from cache_processes import WORK, files, work
from child import PATIENCE, python, start
from pliant.core import jit

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")


def damage(kind, data):
    return {"emptied": b"", "cut short": data[:len(data) // 2], "one byte short": data[:-1], "garbage": b"\x93 not code \x00" * 9,
            "another pickle": b"\x80\x05K\x07."}[kind]


@pytest.mark.parametrize(("kind", "suffix"), [("emptied", ".nbi"), ("cut short", ".nbc"), ("one byte short", ""), ("garbage", ".nbi"),
                                              ("another pickle", ".nbc"), ("another pickle", ".nbi")])
def test_damaged_files_are_compiled_anew(copied, kind, suffix):
    damaged = [path for path in files(copied) if path.name.endswith(suffix)]
    assert len(damaged) >= 3
    for path in damaged:
        path.write_bytes(damage(kind, path.read_bytes()))
    assert work(PLIANT_CACHE=copied)["hits"] == 0


def test_damaged_files_are_repaired(copied):
    """Once, not by every process that comes."""
    for path in files(copied):
        path.write_bytes(b"")
    work(PLIANT_CACHE=copied)
    assert work(PLIANT_CACHE=copied)["misses"] == 0


def test_a_cache_that_vanishes_is_no_error(tmp_path):
    vanish = """
    import shutil
    from pliant.core import jit
    shutil.rmtree(jit.cache_state().folder)
    """
    python(vanish + WORK, PLIANT_CACHE=tmp_path / "cache")
    assert files(tmp_path) == []


def test_code_for_other_types_is_not_run(tmp_path):
    """Two processes that save two specialisations of one kernel at once may choose the same file; the index does not know who came last."""
    code = """
        import numpy as np
        from pliant.core.jit import kernel

        @kernel
        def total(numbers):
            result = numbers[0]
            for k in range(1, len(numbers)):
                result += numbers[k]
            return result

        assert total(np.array([1.5, 2.0, 4.0])) == 7.5
        assert total(np.array([1, 2, 4])) == 7
    """
    python(code, PLIANT_CACHE=tmp_path / "cache")
    one, two = (path for path in files(tmp_path) if path.suffix == ".nbc")
    one.rename(tmp_path / "one")
    two.rename(one)
    (tmp_path / "one").rename(two)
    python(code, PLIANT_CACHE=tmp_path / "cache")


def test_processes_that_start_at_once_do_not_disturb_each_other(tmp_path):
    started = [start(WORK, PLIANT_CACHE=tmp_path / "cache") for _ in range(3)]
    for process in started:
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        assert json.loads(output)["folder"] is not None
    assert work(PLIANT_CACHE=tmp_path / "cache")["misses"] == 0
    assert [path for path in files(tmp_path) if ".tmp." in path.name] == []


def test_nothing_of_numba_is_set_for_others(tmp_path):
    """A kernel of the user's own is cached where Numba would cache it."""
    python("""
        import numba
        settings = {name: value for name, value in vars(numba.config).items() if name.isupper()}
        import pliant
        from pliant import body
        from pliant.query import collide
        assert {name: value for name, value in vars(numba.config).items() if name.isupper()} == settings
        import os
        assert "NUMBA_CACHE_DIR" not in os.environ
    """, PLIANT_CACHE=tmp_path / "cache", NUMBA_CACHE_DIR=None)
