"""A generic function chooses its body by class: in Python, inside kernels while they are compiled, and with the JIT off."""

from typing import NamedTuple

import pytest
from numba import njit

from pliant.core.dispatch import ANY, BODY_OPTIONS, generic
from pliant.core.jit import OPTIONS

pytestmark = pytest.mark.formulas


class Ball(NamedTuple):
    radius: float


class Cube(NamedTuple):
    side: float


class Rod(NamedTuple):
    length: float


@generic("shape")
def extent(shape, factor):
    """How far it reaches, times a factor."""


@extent.register(Ball)
def _(shape, factor):
    return 2 * shape.radius * factor


@extent.register(Cube)
def _(shape, factor):
    return shape.side * factor


@generic("b", "a")
def gap(a, b):
    """Chosen by two, named in another order than they are passed."""


@gap.register(Ball, Cube)
def _(a, b):
    return 10 * a.side + b.radius


@gap.register(Cube, Ball)
def _(a, b):
    return 1000 * a.radius + extent(b, 1.0)


@generic("a")
def nothing(a):
    """Nobody has written a body for it."""


@njit(**OPTIONS)
def kernel_extent(shape, factor):
    return extent(shape, factor)


@njit(**OPTIONS)
def kernel_gap(a, b):
    return gap(a, b)


@njit(**OPTIONS)
def kernel_nothing(a):
    return nothing(a)


@pytest.mark.parametrize("call", [extent, kernel_extent], ids=["Python", "kernel"])
def test_the_class_chooses(call):
    assert call(Ball(3.0), 5.0) == 30.0
    assert call(Cube(3.0), 5.0) == 15.0


@pytest.mark.parametrize("call", [gap, kernel_gap], ids=["Python", "kernel"])
def test_two_classes_choose_in_the_order_of_their_names(call):
    assert call(Cube(3.0), Ball(7.0)) == 37.0
    assert call(Ball(3.0), Cube(7.0)) == 3007.0


@pytest.mark.parametrize("call", [extent, kernel_extent], ids=["Python", "kernel"])
def test_a_missing_body_names_what_there_is(call):
    with pytest.raises(TypeError, match="extent: no body for Rod; there is one for Ball, Cube"):
        call(Rod(1.0), 1.0)


@pytest.mark.parametrize("call", [gap, kernel_gap], ids=["Python", "kernel"])
def test_a_missing_pair_names_what_there_is(call):
    with pytest.raises(TypeError, match="gap: no body for Ball × Ball; there is one for Ball × Cube, Cube × Ball"):
        call(Ball(1.0), Ball(1.0))
    with pytest.raises(TypeError, match="no body for Cube × Rod"):
        call(Rod(1.0), Cube(1.0))


@pytest.mark.parametrize("call", [nothing, kernel_nothing], ids=["Python", "kernel"])
def test_plain_numbers_and_empty_tables_are_named_too(call):
    with pytest.raises(TypeError, match=r"nothing: no body for (f|F)loat; there is one for nothing yet"):
        call(1.0)


def test_a_body_may_come_later():
    """Adding a family means adding a file: no list elsewhere has to know it."""
    @generic("a")
    def late(a):
        """Defined in one place, given bodies in others."""

    @njit(**OPTIONS)
    def kernel_late(a):
        return late(a)

    with pytest.raises(TypeError, match="nothing yet"):
        late(Rod(4.0))
    late.register(Rod)(lambda a: a.length + 1)
    assert late(Rod(4.0)) == kernel_late(Rod(4.0)) == 5.0
    assert set(late.table) == {(Rod,)}


def test_a_default_is_for_all_classes_without_a_body_of_their_own():
    @generic("a", "b")
    def sides(a, b):
        """Of two, with defaults."""

    @njit(**OPTIONS)
    def kernel_sides(a, b):
        return sides(a, b)

    sides.register(Ball, ANY)(lambda a, b: 1)
    sides.register(ANY, ANY)(lambda a, b: 2)
    sides.register(Ball, Cube)(lambda a, b: 3)
    ball, cube, rod = Ball(1.0), Cube(1.0), Rod(1.0)
    for call in (sides, kernel_sides):
        assert [call(ball, cube), call(ball, rod), call(ball, ball), call(rod, ball)] == [3, 1, 1, 2]
    assert sides.has_body(Rod, Rod) and not gap.has_body(Rod, Rod) and set(sides.table) == {(Ball, Cube)}
    sides.register(Cube, Cube)(lambda a, b: 4)
    assert sides(cube, cube) == 4
    with pytest.raises(TypeError, match="sides: the default is in use for Rod × Ball"):
        sides.register(Rod, Ball)(lambda a, b: 5)
    with pytest.raises(TypeError, match="sides: there is a body for Ball × Cube already"):
        sides.register(Ball, Cube)(lambda a, b: 6)


@pytest.mark.parametrize("body", [lambda shape, scale: 0, lambda factor, shape: 0, lambda shape: 0, lambda shape, factor, more: 0])
def test_parameters_must_be_those_of_the_stub(body):
    before = dict(extent.table)
    with pytest.raises(TypeError, match=r"extent: parameters must be named \(shape, factor\)"):
        extent.register(Rod)(body)
    assert extent.table == before


def test_the_number_of_classes_must_fit():
    with pytest.raises(TypeError, match="extent chooses by 1 classes, not 2"):
        extent.register(Ball, Cube)
    with pytest.raises(TypeError, match="gap chooses by 2 classes, not 1"):
        gap.register(Ball)


def test_an_unknown_parameter_cannot_choose():
    with pytest.raises(ValueError, match="volume"):
        @generic("volume")
        def unknown(shape):
            """There is no parameter of that name."""


def test_a_generic_function_looks_like_its_stub():
    assert extent.__name__ == "extent"
    assert extent.__doc__ == "How far it reaches, times a factor."


def test_bodies_are_compiled_like_helpers():
    assert BODY_OPTIONS["forceinline"] is True and BODY_OPTIONS["fastmath"] is False
    assert {name: value for name, value in OPTIONS.items() if name != "nogil"}.items() <= BODY_OPTIONS.items()
