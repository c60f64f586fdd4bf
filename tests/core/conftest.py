"""Caches of kernels that a process has filled."""

import shutil

import pytest

from cache_processes import files, work


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that one process has filled."""
    base = tmp_path_factory.mktemp("filled") / "cache"
    first = work(PLIANT_CACHE=base)
    assert (first["hits"], first["misses"]) == (0, 2)
    assert len([path for path in files(base) if path.suffix == ".nbc"]) >= 3
    return base


@pytest.fixture
def copied(filled, tmp_path):
    """A copy of it, to damage."""
    base = tmp_path / "cache"
    shutil.copytree(filled, base)
    return base
