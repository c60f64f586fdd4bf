"""Processes that compile two kernels and an entry, and say what the kernel cache gave them: for the tests of the cache.

They stand for all kernels: they compile in a second, and everything is cached by the same few lines.
"""

import json
from pathlib import Path

from child import python
from pliant.core import cache, jit

# Sort, call an entry by its address, and say what was found in the cache, what was compiled, and where.
WORK = """
    import ctypes, json, sys
    import numpy as np
    from pliant.core import jit
    from pliant.core.function_pointer import address_of
    from pliant.core.sorting import radix_sort, sort_pairs, unpack_pairs

    def twice(context, i):
        return context + 2 * i

    rng = np.random.default_rng(5)
    keys = rng.integers(0, 1 << 30, 1000)
    expected = np.sort(keys)
    pairs = sort_pairs(keys.copy(), 15, 15).astype(np.int64)
    assert ((pairs[:, 0] << 15 | pairs[:, 1]) == expected).all()
    address, entry = address_of(twice)
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)(100, 11) == 122
    kernels = radix_sort, unpack_pairs
    print(json.dumps({
        "hits": sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels) + entry.cache_hits,
        "misses": sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels),
        "folder": jit.cache_state().folder and str(jit.cache_state().folder),
        "reason": jit.cache_state().reason,
    }))
"""


def work(**variables):
    """Run it in a process of its own."""
    return json.loads(python(WORK, **variables))


def files(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def prepared(monkeypatch, base):
    """What a process finds that starts with this folder chosen."""
    monkeypatch.setenv("PLIANT_CACHE", str(base))
    return cache._prepare(jit.OPTIONS)
