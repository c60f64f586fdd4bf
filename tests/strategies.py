"""Hypothesis strategies that tests of several queries share: small meshes of any coordinates, and options of bodies."""

import numba
import numpy as np
from hypothesis import strategies as st

from pliant.refit.policy import POLICIES
from pliant.tree.nodes import BUILDERS, LEAF_WIDTH, WIDTH_OF_ARITY
from siblings import NARROW, PAIRS, VOLUMES

OFF = bool(numba.config.DISABLE_JIT)
TINIEST, MOST = 5e-324, 1.7976931348623157e308


lattice = st.integers(-3, 3).map(float)
finite = st.floats(allow_nan=False, allow_infinity=False)
extreme = st.one_of(
    lattice,
    finite,
    st.sampled_from([TINIEST, -TINIEST, 2.0**-1022, 2.0**-250, 2.0**339, 2.0**1000, MOST, -MOST, 1 + 2.0**-52, -0.0]),
    st.builds(lambda m, e: m * 2.0**e, st.integers(-3, 3), st.integers(-1060, 1020)),
)
any_options = st.fixed_dictionaries({
    "volume": st.sampled_from(VOLUMES),
    "build": st.sampled_from(sorted(BUILDERS)),
    "policy": st.sampled_from(sorted(POLICIES)),
    "arity": st.sampled_from(sorted(WIDTH_OF_ARITY)),
    "leaf": st.integers(1, LEAF_WIDTH),
})


def as_compiled(kept):
    """With the JIT on, nodes of two or four children are for boxes and balls alone: every other family and width would be one more loop to
    compile, and lanes of either width have tests of their own (`tests/volume`)."""
    return kept if OFF or kept["volume"] in NARROW else {**kept, "arity": 8}


options = any_options.map(as_compiled)


@st.composite
def two(draw):
    """Options of two bodies, of one family or of two that `siblings.PAIRS` has side by side. If not both have boxes, they have nodes of
    the same kind, or of eight: every other pair would be one more loop to compile."""
    first, second = draw(options), draw(options)
    beside = sorted({first["volume"]}.union(*(pair for pair in PAIRS if first["volume"] in pair)))
    second = {**second, "volume": draw(st.sampled_from(beside))}
    if first["volume"] == second["volume"] != "aabb":
        second["arity"] = first["arity"]
    elif first["volume"] != second["volume"]:
        first, second = {**first, "arity": 8}, {**second, "arity": 8}
    return first, second


def positions(coordinate, n):
    rows = st.lists(st.tuples(coordinate, coordinate, coordinate), min_size=n, max_size=n)
    return rows.map(lambda rows: np.array(rows, np.float64).reshape(-1, 3))


@st.composite
def mesh(draw, coordinate, most=12):
    """Up to `most` faces over a few vertices: degenerate and repeated ones, and repeated vertices, are common."""
    n = draw(st.integers(1, most))
    vertices = draw(positions(coordinate, n))
    if n > 2 and draw(st.booleans()):
        vertices[-1] = vertices[0]
    corner = st.integers(0, n - 1)
    faces = draw(st.lists(st.tuples(corner, corner, corner), max_size=most))
    return vertices, np.array(faces, np.int32).reshape(-1, 3)
