"""Whoever follows the pages on extending gets what they promise: a family of volumes and a policy, as printed, pass what the tests ask.

Each runs in a process of its own, with the JIT off: what it registers stays there, and nothing is compiled for it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from child import PATIENCE, environment, python

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)

AS_SAID = """
    import sys
    from pathlib import Path

    import numpy as np

    sys.path.insert(0, sys.argv[2])
    import naive
    import pliant as pl
    import pliant.body
    from pliant.shapes import bumpy, icosphere
    from pliant.volume import generic_overlap

    with np.errstate(all="ignore"):
        exec(compile(Path(sys.argv[1]).read_text(), sys.argv[1], "exec"), {"__name__": "as_said"})
        generic_overlap.register_defaults()
        directions, faces = icosphere(1)

        def check(found, a, b):
            expected = naive.collide(a.vertices, faces, b.vertices, faces)
            assert len(expected) and np.array_equal(found, expected)
"""


@pytest.fixture
def printed(tmp_path):
    """The blocks of a page as files: the first is the new module."""
    def files(page):
        text = (ROOT / "docs" / "extend" / page).read_text(encoding="utf-8")
        for k, program in enumerate(BLOCK.findall(text)):
            (tmp_path / f"printed_{k}.py").write_text(program, encoding="utf-8")
        return sorted(tmp_path.glob("printed_*.py"))

    return files


def as_said(path, code):
    """Run the code after the module that a page prints, with the JIT off."""
    return python(AS_SAID + code, path, ROOT / "tests", NUMBA_DISABLE_JIT="1")


def test_a_printed_volume_keeps_the_protocol(printed, tmp_path):
    """The tests of all families, for the new one alone."""
    volume_type, inside = printed("volume.md")
    plugin = tmp_path / "with_cubes.py"
    plugin.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\n"
        "from fractions import Fraction\nimport pliant.volume\n"
        f"exec(compile(open({str(volume_type)!r}).read(), 'cube.py', 'exec'), {{'__name__': 'cube'}})\n"
        "pliant.volume.generic_overlap.register_defaults()\nimport siblings\n"
        f"exec(open({str(inside)!r}).read())\nsiblings.INSIDE['cube'] = in_cube\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "with_cubes", "-p", "no:cacheprovider", "-k", "cube", "tests/volume/test_protocol.py",
         "tests/volume/test_protocol_meets.py"],
        cwd=ROOT, env=environment(NUMBA_DISABLE_JIT="1", PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT / "src")])),
        capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 10


def test_a_printed_volume_serves_queries(printed):
    as_said(printed("volume.md")[0], """
        a, b = pl.Body(directions, faces, volume="cube"), pl.Body.rigid(directions, faces, volume="cube")
        a.update(bumpy(directions, 0.7))
        b.update([[0, -1, 0, 1.3], [1, 0, 0, 0.1], [0, 0, 1, 0.2]])
        other = pl.Body(b.vertices, faces, volume="sphere")
        check(pl.collide(a, b).faces, a, b)
        check(pl.collide(a, other).faces, a, other)
        assert pl.cast(a, [0, 0, 5], [0, 0, -1]).hit.all()
        b.update([[1, 0, 0, 3], [0, 1, 0, 0], [0, 0, 1, 0]])
        box = pl.Body.rigid(directions, faces)
        box.update(b.transform)
        assert pl.distance(a, b).distance == pl.distance(a, box).distance > 0
    """)


def test_a_printed_policy_serves_queries(printed):
    as_said(printed("policy.md")[0], """
        a = pl.Body(directions, faces, policy={"name": "periodic", "every": 2})
        b, trees = pl.Body(directions + [1.2, 0.1, 0.2], faces, policy="periodic"), []
        for k in range(4):
            a.update(bumpy(directions, 0.3 * k))
            check(pl.collide(a, b).faces, a, b)
            trees.append(a._bvh.tree)
        assert trees[0] is not trees[1] is trees[2] is not trees[3]
        for wrong in ({"every": 0}, {"each": 3}):
            try:
                pl.Body(directions, faces, policy={"name": "periodic", **wrong})
            except ValueError as error:
                assert next(iter(wrong)) in str(error)
            else:
                raise AssertionError(wrong)
    """)
