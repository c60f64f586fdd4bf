"""Run in a process of its own by `test_fastmath.py`: do error-free sums and products keep their error terms, however they are reached?

    python -c "import leak_probe; leak_probe.main('predicates')"        what is compiled first: the predicates or `pliant.collide`

Prints one JSON object: `wrong`, the ways that lost an error term, and when; `flagged`, floating-point instructions with a flag that they
must not have, in all that was compiled; `seen`, how many instructions were looked at; `loaded`, how many kernels came from the disk cache.
"""

import ctypes
import json
import re
import sys
from functools import cache
from typing import NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

import pliant
import pliant.body
from pliant.core import jit
from pliant.core.dispatch import generic
from pliant.core.function_pointer import address_of, array_at, as_pointer, call_address
from pliant.core.jit import helper, kernel
from pliant.core.simd import extract, load4
from pliant.geometry.expansion import two_product, two_product_split, two_sum
from pliant.geometry.predicates import orient2d, orient3d
from pliant.geometry.triangle_overlap import overlap_exact, overlap_stage

BIG, SMALL = 1.0 + 2.0**-52, 2.0**-80 + 2.0**-132
SUM = (1.0 + 2.0**-52, SMALL)
PRODUCT = (1.0 + 2.0**-51, 2.0**-104)                                   # BIG · BIG
RIGHT = (*SUM, *PRODUCT, *PRODUCT)
FLAGS = "fast|reassoc|nnan|ninf|nsz|arcp|afn|contract"
FLOATING = re.compile(rf"= (?:tail |musttail |notail )?(fadd|fsub|fmul|fdiv|frem|fneg|fcmp|call)((?: (?:{FLAGS}))*) (.*)")


# --- ways in: each gives (sum, error, product, error, product by halves, error) --------------------------------------------------

@kernel
def in_kernel(a, b):
    s, t = two_sum(a, b)
    p, q = two_product(a, a)
    u, v = two_product_split(a, a)
    return s, t, p, q, u, v


@helper
def inlined(a, b):
    s, t = two_sum(a, b)
    p, q = two_product(a, a)
    u, v = two_product_split(a, a)
    return s, t, p, q, u, v


@kernel
def in_helper(a, b):
    return inlined(a, b)


@kernel
def in_callee(a, b):
    return in_kernel(a, b)


class Probe(NamedTuple):
    """Chooses the body below."""
    probed: float


@generic("of")
def chosen(of, a, b):
    """A function that chooses by class."""


@chosen.register(Probe)
def _(of, a, b):
    s, t = two_sum(a, b)
    p, q = two_product(a, a)
    u, v = two_product_split(a, a)
    return s, t, p, q, u, v


@kernel
def in_generic(a, b):
    return chosen(Probe(a), a, b)


@kernel
def beside_vectors(rows, a, b):
    """Vectors may contract a · b + c; scalars beside them must not."""
    v = load4(rows, 0) * load4(rows, 4) + load4(rows, 8)
    s, t = two_sum(a, b)
    p, q = two_product(a, a)
    u, w = two_product_split(a, a)
    zero = extract(v, 0) - extract(v, 0)
    return s + zero, t, p, q, u, w


def enter(context, i):
    """Called by address: reads a, b at the context, writes the six results there."""
    t = array_at(as_pointer(context), 8, np.float64)
    s, e = two_sum(t[6], t[7])
    t[0], t[1] = s, e
    p, q = two_product(t[6], t[6])
    u, v = two_product_split(t[6], t[6])
    t[2], t[3], t[4], t[5] = p, q, u, v
    return i


@kernel
def by_address(entry, about):
    return call_address(entry, about, 0)


@cache
def entry_of_probe():
    return address_of(enter)


def through_entry(from_kernel):
    address = entry_of_probe()[0]
    room = np.array([0.0] * 6 + [BIG, SMALL])
    if from_kernel:
        by_address(address, room.ctypes.data)
    else:
        ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)(room.ctypes.data, 0)
    return tuple(room[:6].tolist())


WAYS = {
    "kernel": lambda: in_kernel(BIG, SMALL),
    "helper": lambda: in_helper(BIG, SMALL),
    "kernel of a kernel": lambda: in_callee(BIG, SMALL),
    "generic": lambda: in_generic(BIG, SMALL),
    "beside vectors": lambda: beside_vectors(np.ones(12), BIG, SMALL),
    "entry": lambda: through_entry(False),
    "entry, from a kernel": lambda: through_entry(True),
}


# --- two parts, in either order ------------------------------------------------------------------------------------------------

def predicates():
    """Ways that lose an error term, and predicates that are wrong where a lost error term would make them so."""
    lost = [name for name, way in WAYS.items() if way() != RIGHT]
    step = 2.0**-52
    flat = np.array([0.5, 0.5, 0.5, 12.0, 12.0, 12.0, 24.0, 24.0, 24.0])
    for k in range(64):                                                 # Kettner and others (2008): points next to a line
        x, y = 0.5 + step * (k % 8), 0.5 + step * (k // 8)
        if orient2d(x, y, 12.0, 12.0, 24.0, 24.0) != np.sign(k // 8 - k % 8):
            lost.append(f"orient2d {k}")
    t = np.concatenate([flat, [1.0, 2.0, 4.0]])
    if orient3d(t, 0, 3, 6, 9) != 0:
        lost.append("orient3d")
    for corner, answer in ((2.0, 1), (2.0 + 2.0**-51, 0)):              # a corner on, or just beyond, the long edge of a triangle
        pair = np.array([0, 0, 0, 4, 0, 0, 0, 4, 0, 2, corner, 0, 5, 5, 1, 5, 5, -1], np.float64)
        if overlap_exact(pair, 0, 9) != answer or overlap_stage(pair, 0, 9) & 1 != answer:
            lost.append(f"overlap {answer}")
    return lost


def collide():
    """The same corner, through the whole query."""
    lost = []
    triangle, spike = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64), np.array([[2, 2, 0], [5, 5, 1], [5, 5, -1]], np.float64)
    a, b = pliant.Body(triangle, [[0, 1, 2]]), pliant.Body(spike, [[0, 1, 2]])
    if len(pliant.collide(a, b)) != 1:
        lost.append("collide, touching")
    spike[0, 1] += 2.0**-51
    b.update(spike)
    if len(pliant.collide(a, b)) != 0:
        lost.append("collide, apart")
    return lost


# --- what was compiled -----------------------------------------------------------------------------------------------------------

def flagged(code):
    """(instructions with a flag they must not have, how many floating-point instructions there are) in LLVM's text.

    Vectors, and what the optimiser has made of their lanes, may contract float32; a float64 scalar has no flag at all.
    """
    found = FLOATING.findall(code)
    bad = [f"{name}{flags} {rest}" for name, flags, rest in found
           if set(flags.split()) - {"contract"} or ("contract" in flags and rest.startswith("double"))]
    return bad, sum(name != "call" for name, _, _ in found)


def kernels():
    """All that this process has compiled or loaded, by name."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in ("pliant", __name__)]
    found = [(f"{module.__name__}.{name}", value) for module in modules for name, value in vars(module).items()]
    return {name: value for name, value in found if isinstance(value, Dispatcher)}


def main(first):
    entries, compile_entry = [], jit.entry

    def remember(*about):
        entries.append(compile_entry(*about))
        return entries[-1]
    jit.entry = remember

    parts = {"predicates": predicates, "collide": collide}
    order = [first, *(name for name in parts if name != first), first]
    wrong = [f"{number}. {name}: {lost}" for number, name in enumerate(order) for lost in parts[name]()]
    known, bad, seen = kernels(), [], 0
    loaded = sum(sum(dispatcher.stats.cache_hits.values()) for dispatcher in known.values())
    if not loaded:                                                      # code from the disk has no text to look at
        texts = [text for each in known.values() for text in each.inspect_llvm().values()]
        for code in texts + [each.inspect_llvm() for each in entries]:
            found, count = flagged(code)
            bad, seen = bad + found, seen + count
    print(json.dumps({"wrong": wrong, "flagged": sorted(set(bad))[:20], "seen": seen, "loaded": loaded, "kernels": len(known)}))
