"""Filters of the package that give away what they compare: kernels from the package's own code, with other functions in the place of some.

    both = revealed(predicates.orient3d_filter, filtered_sign=pair)       # returns (value, bound) instead of a sign
    both = cut(ray_triangle.hit_filter, after="error_bounds", returns=("values", "error_bounds"))

Kernels are compiled with the package's options and kept nowhere: on disk they would have the name of the original.
"""

import ast
import inspect
import textwrap
from types import FunctionType

from numba import njit

from pliant.core.jit import OPTIONS


def plain(function):
    """The Python function of a helper, a routine or a kernel."""
    return getattr(function, "py_func", function)


def revealed(function, **others):
    """A copy of `function`, to be inlined, that calls the `others` in the place of its globals of these names."""
    body = plain(function)
    copy = FunctionType(body.__code__, {**body.__globals__, **others}, body.__name__, body.__defaults__)
    return njit(forceinline=True, **OPTIONS)(copy)


def compiled(function):
    """A kernel that is not kept on disk."""
    return njit(**OPTIONS)(function)


@njit(forceinline=True, **OPTIONS)
def pair(value, bound):
    """In the place of `filtered_sign`."""
    return value, bound


def cut(function, after, returns):
    """A copy of `function`, to be inlined, that ends where the variable `after` is set last, and returns these variables."""
    body = plain(function)
    tree = ast.parse(textwrap.dedent(inspect.getsource(body)))
    definition = tree.body[0]
    sets = [k for k, statement in enumerate(definition.body) if isinstance(statement, ast.Assign)
            and any(isinstance(name, ast.Name) and name.id == after for target in statement.targets for name in ast.walk(target))]
    definition.decorator_list = []
    definition.body = [*definition.body[:sets[-1] + 1], ast.parse(f"return {', '.join(returns)}").body[0]]
    names = dict(body.__globals__)
    exec(compile(ast.fix_missing_locations(tree), inspect.getsourcefile(body), "exec"), names)
    return njit(forceinline=True, **OPTIONS)(names[body.__name__])
