"""Error bounds of `geometry/` are attacked: the largest error ÷ bound that a search finds stays below 1 (`tests/attack.py`)."""

import ast
import zlib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import attack
import pliant
from pliant.core.jit import DISABLED

SHARE = 20 if DISABLED else 1  # of the evaluations: plain Python is slow
FOLDER = Path(pliant.__file__).parent / "geometry"
ATTACKS = {name: each for name, each in attack.load().items() if each.source.startswith("geometry/")}

# Numbers and filters without a bound of their own, and why.
EXEMPT = {
    "bigint.py": {"MANTISSA_SCALE": "2**53, exact"},
    "limbs.py": {"MANTISSA_SCALE": "2**53, exact"},
    "motion_polynomials.py": {"MANTISSA_SCALE": "2**53, exact"},
    "linear_motion.py": {"TIME_STEP": "how wide a bracket is: signs at both ends are certain, whatever it is"},
    "moving_distance.py": {"TOLERANCE": "how near a hit is, which test_moving_distance.py checks",
                           "SHORTENED": "a direction of any length gives a valid bound if it is at most 1; covers rounding of its length",
                           "LENGTHENED": "as SHORTENED", "MIN_LENGTH": "directions below are left out", "MAX_HALF": "chooses a scale",
                           "TURNING_ERROR": "test_moving_distance.py compares what turns with distances in rational arithmetic"},
    "expansion.py": {"SPLITTER": "Dekker's constant; exactness is tested in test_predicates.py"},
    "distance_bounds.py": {"ZERO": "a number", "ONE": "a number"},
    "min_sphere.py": {"OUTSIDE_FACTOR": "the sphere need not be the smallest: its callers measure", "DEGENERATE": "as OUTSIDE_FACTOR"},
    "principal_axes.py": {"MIN_LENGTH": "axes need not be right: their callers measure",
                          "MAX_TANGENT": "avoids an overflow, changes no result"},
    "solid_angle.py": {"ZERO": "a number", "TINY": "avoids a division by zero", "ON_FACE_ANGLE": "a sentinel, larger than any angle"},
    "ear_clipping.py": {"THIN": "which ears come last; any order gives a triangulation"},
    "polygon.py": {"FLATNESS": "chooses a projection; signs of any are exact", "MIN_PART": "as FLATNESS",
                   "SHORTER": "chooses one of two diagonals"},
    "ray_triangle.py": {"MAX_VALUE": "limits of a range, no error", "MIN_VALUE": "limits of a range, no error"},
}


@pytest.mark.formulas
@pytest.mark.parametrize("name", ATTACKS)
def test_no_error_reaches_its_bound(name):
    each = ATTACKS[name]
    with np.errstate(all="ignore"):
        found = attack.search(each.evaluate, each.starts, np.random.default_rng(zlib.crc32(name.encode())), each.evaluations // SHARE)
    assert found.ratio < 1, found
    assert found.evaluations > each.evaluations // SHARE // 3           # most of the points are within what the file claims


def own_numbers(path):
    """Names of the fractional constants that a file defines, and of its filters."""
    module, names = import_module(f"pliant.geometry.{path.stem}"), set()
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign):
            found = {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
            names |= {name for name in found if name.isupper() and isinstance(getattr(module, name), float | np.floating)}
        elif isinstance(statement, ast.FunctionDef) and statement.name.endswith("_filter"):
            names.add(statement.name)
    return names


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[a-z]*.py")), ids=lambda path: path.name)
def test_every_bound_is_attacked(path):
    """A constant or a filter that is new must be attacked, or named above with the reason why not; and what is named must exist."""
    attacked = {name for each in ATTACKS.values() if each.source == f"geometry/{path.name}" for name in each.covers}
    exempt = set(EXEMPT.get(path.name, {}))
    assert own_numbers(path) - attacked == exempt
    module = import_module(f"pliant.geometry.{path.stem}")
    assert all(hasattr(module, name) for name in attacked)


@pytest.mark.parametrize("name", ATTACKS)
def test_every_bound_is_derived_in_its_file(name):
    each = ATTACKS[name]
    assert each.section
    assert each.section in (FOLDER.parent / each.source).read_text(encoding="utf-8")


def test_sources_exist():
    assert {each.source for each in ATTACKS.values()} <= {f"geometry/{path.name}" for path in FOLDER.glob("*.py")}
    assert set(EXEMPT) <= {path.name for path in FOLDER.glob("*.py")}
