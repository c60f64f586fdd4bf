"""The experiments of paper D (section IV), and those it left open: which methods run on which scenes. What they say is in `tables.py`.

METHODS of Table 2, on the paper's trees, bottom-up by matching, binary, one triangle a leaf, of rectangle-swept spheres: volumes grow by
displacements and are refitted by one of eight criteria, of which the paper ran seven, or all, or none; the active nodes of the last query
alone, which the paper could not run; and what Pliant has otherwise. Criteria have the paper's parameters, found by its search on
its machine, or those that `policy="inflated"` has by default.

Left open: other volumes, a largely varying number of triangles, trees of degree 4 and 8, and a body against itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from experiments.bitar2011.clock import play
from experiments.bitar2011.scenes import FOLDING, HELMET, SCENES, alone, refined, scene
from experiments.clock import Method, Run, Session
from experiments.paper import PAPER, Experiment

TREE: dict[str, Any] = {"volume": "rss", "build": "matching", "arity": 2, "leaf": 1}
OWN, PLAIN = "default", "–"  # whose parameters, beside PAPER's: the policy's; or there are none
BEST, NEXT = "(A&B)|(B&C)", "A&B"  # of the paper
ALL, NONE, ACTIVE = "refit all", "refit none", "active nodes"
AUTO = "auto"
POLICIES = (AUTO, "bottom_up", "lazy", "fitted", "rebuild")
DEFAULTS = "defaults"  # a body without options: boxes, eight triangles a leaf, eight children, auto


class Said(NamedTuple):
    """A row of Table 2: seconds, and the parameters that its search found."""

    seconds: float | None
    parameters: dict[str, float]


# "A|B" is not among the paper's. It is run with the p_max of A, which it is nearest to.
TABLE_2 = {
    "A": Said(0.715, {"p_max": 1.884184}),
    "B": Said(0.842, {}),
    "A&B": Said(0.388, {"p_max": 1.498741}),
    "A|B": Said(None, {"p_max": 1.884184}),
    "B&C": Said(5.12, {"k": 0.333928, "gamma": 0.053803}),
    "A|(B&C)": Said(0.531, {"p_max": 3.383383, "k": 0.416571, "gamma": 0.111757}),
    "A&B&C": Said(4.557, {"p_max": 1.967193, "k": 0.221836, "gamma": 0.002197}),
    "(A&B)|(B&C)": Said(0.332, {"p_max": 1.359579, "k": 0.891981, "gamma": 0.590829}),
    ALL: Said(2.839, {}),
    NONE: Said(12.485, {}),
}
CRITERIA = {ALL: "all", NONE: "none"}  # what they are called by the policy, if not by their names
GROWING = ("plate + twisting plate", "helmet + cable")  # scenes of which sizes are varied
FOLDED = (FOLDING, HELMET)  # bodies that are asked for the distance to themselves


class Plan(NamedTuple):
    """How large an experiment is. Scenes play their first `frames`, or all if they have fewer; where sizes vary, the first `few`."""

    frames: int = 218
    families: tuple[str, ...] = ("rss", "sphere", "aabb")
    sizes: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    arities: tuple[int, ...] = (2, 4, 8)
    few: int = 20
    repeats: int = 3


QUICK = Plan(frames=3, families=("rss", "aabb"), sizes=(100, 300), arities=(2, 4), few=2, repeats=1)


def criterion(name: str, parameters: str = OWN, **tree: Any) -> Method:
    """Volumes that grow, refitted by a criterion with these parameters, on the paper's tree but for what `tree` says."""
    own = TABLE_2[name].parameters if parameters == PAPER else {}
    if not TABLE_2[name].parameters:
        parameters = PLAIN
    return Method(name, parameters, TREE | tree | {"policy": {"name": "inflated", "criterion": CRITERIA.get(name, name), **own}})


def policy(name: str, **tree: Any) -> Method:
    """A policy by its name."""
    return Method(name, PLAIN, TREE | tree | {"policy": "active" if name == ACTIVE else name})


def defaults() -> Method:
    """Pliant as it comes."""
    return Method(DEFAULTS, PLAIN, {})


def methods() -> list[Method]:
    """All of Table 2; refit all is the first, which the others are compared with."""
    own = [criterion(name) for name in TABLE_2 if name != ALL]
    theirs = [criterion(name, PAPER) for name, said in TABLE_2.items() if said.parameters]
    return [criterion(ALL), *theirs, *own, policy(ACTIVE), *map(policy, POLICIES), defaults()]


def some(**tree: Any) -> list[Method]:
    """Those worth a comparison on other trees."""
    return [criterion(ALL, **tree), criterion(BEST, PAPER, **tree), criterion(BEST, **tree), criterion(NEXT, **tree),
            policy(ACTIVE, **tree), policy(AUTO, **tree)]  # fmt: skip


def table_2(plan: Plan, session: Session) -> Iterator[Run]:
    """All methods on all five scenes."""
    yield from over_scenes("Table 2", plan, session, methods())


def families(plan: Plan, session: Session) -> Iterator[Run]:
    """Other volumes than the paper's."""
    yield from over_scenes("Volumes", plan, session, [each for family in plan.families for each in some(volume=family)])


def arity(plan: Plan, session: Session) -> Iterator[Run]:
    """Trees of degree 2, 4 and 8, and Pliant's."""
    every = [each for degree in plan.arities for each in some(arity=degree)]
    yield from over_scenes("Degrees", plan, session, [*every, defaults()])


def over_scenes(title: str, plan: Plan, session: Session, every: list[Method]) -> Iterator[Run]:
    """These methods on all five scenes."""
    for name in SCENES:
        yield from play(session, f"{title}, {name}", scene(name, plan.frames), every, part=name)


def sizes(plan: Plan, session: Session) -> Iterator[Run]:
    """The same motions at other numbers of triangles."""
    for name in GROWING:
        for faces in plan.sizes:
            finer = refined(scene(name, min(plan.few, plan.frames)), faces)
            yield from play(session, f"{name}, {faces:,} triangles", finer, [*some(), defaults()], part=name, asked=faces)


def folded(plan: Plan, session: Session) -> Iterator[Run]:
    """One body against itself."""
    for name in FOLDED:
        yield from play(session, f"{name} itself", alone(name, plan.frames), [*some(), defaults()], part=name)


EXPERIMENTS = {
    "table-2": Experiment("Table 2: criteria of refitting", table_2),
    "families": Experiment("Other volumes", families),
    "sizes": Experiment("Other numbers of triangles", sizes),
    "arity": Experiment("Trees of degree 2, 4 and 8", arity),
    "self": Experiment("A body against itself", folded),
}
