"""No fast-math, anywhere: it would leak from callers into exact arithmetic, and stay in the disk cache for whoever comes next.

Error-free sums and products are reached through every way into compiled code, in processes that compile in different orders and in
processes that compile nothing, because they find it on disk. Then the sources: only one file may choose how anything is compiled.
"""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import leak_probe
import pytest

from pliant.core import cooperative_cuda, simd
from pliant.core.jit import OPTIONS

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src" / "pliant"
COMPILERS = {"njit", "cfunc", "vectorize", "guvectorize", "stencil", "jit_module", "generated_jit", "CFunc", "prange"}
INTEGER_FLAGS = {"nsw", "nuw", "exact"}


def probe(first, folder):
    """What `leak_probe` reports in a fresh process."""
    environment = {**os.environ, "PLIANT_CACHE": str(folder), "PYTHONPATH": os.pathsep.join([str(HERE), str(SOURCE.parent)])}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run([sys.executable, "-c", f"import leak_probe; leak_probe.main({first!r})"], env=environment, cwd=folder,
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["predicates", "collide"])
def test_error_terms_survive_any_order_of_compilation(first, tmp_path):
    """Whichever is compiled first, the other sees no flag; and what the disk keeps is as right as what was compiled."""
    tmp_path.chmod(0o700)
    fresh = probe(first, tmp_path)
    assert fresh["wrong"] == []
    assert fresh["flagged"] == []
    assert fresh["loaded"] == 0
    assert fresh["seen"] > 1000
    for then in ("predicates", "collide"):
        again = probe(then, tmp_path)
        assert again["wrong"] == []
        assert again["loaded"] > 10


def test_the_probe_notices_flags():
    """The check above is not blind: these lines are as LLVM writes them."""
    bad = ["%1 = fadd fast double %a, %b", "%1 = fmul reassoc nsz contract double %a, %b", "%.3 = fmul contract double %a, %b",
           "%1 = fcmp nnan olt <4 x float> %a, %b", "%1 = tail call fast double @llvm.sqrt.f64(double %a)"]
    good = ["%1 = fadd double %a, %b", "%1 = fmul contract <8 x float> %a, %b", "%1 = fneg <8 x float> %a",
            "%1 = tail call double @llvm.fma.f64(double %a, double %b, double %c)", "%1 = add nsw i64 %a, 1"]
    assert len(leak_probe.flagged("\n".join(bad))[0]) == len(bad)
    assert leak_probe.flagged("\n".join(good)) == ([], 3)


# --- sources -----------------------------------------------------------------------------------------------------------------

def offences(tree):
    """(line, what) of all in a module that chooses how code is compiled, or flags floating-point instructions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in COMPILERS:
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and (node.attr in COMPILERS or ast.unparse(node) == "numba.jit"):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "numba":
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name in COMPILERS | {"jit"})
        elif isinstance(node, ast.keyword) and node.arg == "fastmath":
            yield node.lineno, "fastmath"
        elif isinstance(node, ast.keyword) and node.arg == "flags":
            words = {each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)}
            if not words or words - INTEGER_FLAGS:
                yield node.lineno, "flags"
        elif isinstance(node, ast.Constant) and node.value == "fastmath":
            yield node.lineno, "fastmath"


def test_only_one_file_compiles():
    """`core/jit.py` has the options of every compilation, `core/cooperative_cuda.py` those for GPUs, `core/simd.py` the flags of vector
    instructions; nobody else has any."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        here = list(offences(ast.parse(path.read_text(encoding="utf-8"))))
        if here:
            found[path.relative_to(SOURCE).as_posix()] = {what for _, what in here}
    assert found.pop("core/jit.py") == {"njit", "CFunc", "fastmath"}
    assert found.pop("core/cooperative_cuda.py") == {"fastmath"}
    assert found.pop("core/simd.py") == {"flags"}
    assert found == {}


def test_options_say_no_explicitly():
    """A flag that is left out would be inherited from the caller."""
    assert OPTIONS["fastmath"] is cooperative_cuda.OPTIONS["fastmath"] is False
    assert simd.FLOAT_FLAGS == ("contract",)


def test_offences_are_noticed():
    code = """import numba
from numba import njit, jit, types
@numba.jit(fastmath=True)
def f():
    builder.fadd(a, b, flags=FAST)
    return {'fastmath': 1}, numba.vectorize
"""
    expected = {(2, "njit"), (2, "jit"), (3, "jit"), (3, "fastmath"), (5, "flags"), (6, "fastmath"), (6, "vectorize")}
    assert set(offences(ast.parse(code))) == expected
    assert list(offences(ast.parse("from pliant.core import jit\njit.entry(builder.mul(a, b, flags=('nsw',)))\n"))) == []
