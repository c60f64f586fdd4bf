"""The experiments of paper D (section IV), and those it left open: which methods run on which scenes. `tables.py` makes their tables.

METHODS of Table 2, on the paper's BVHs: built bottom-up by matching, binary, one triangle a leaf, of rectangle-swept spheres. Volumes grow
by displacements, and are refitted by one of eight criteria, seven of which the paper ran, or all, or none; the active nodes of the last
query alone, which the paper did not run; and Pliant's other policies. Criteria have the paper's parameters, found by its genetic search on
its machine, or the defaults of `policy="inflated"`.

Left open in the paper: other bounding-volume types, numbers of triangles that differ widely, arity 4 and 8, and self distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from experiments.bitar2011.clock import play
from experiments.bitar2011.scenes import FOLDING, HELMET, SCENES, alone, refined, scene
from experiments.clock import Method, Run, Session
from experiments.paper import PAPER, Experiment

TREE: dict[str, Any] = {"volume": "rss", "build": "matching", "arity": 2, "leaf": 1}
OWN, PLAIN = "default", "–"  # parameters besides PAPER's: the policy's defaults; or none
BEST, NEXT = "(A&B)|(B&C)", "A&B"  # the paper's BVH
ALL, NONE, ACTIVE = "refit all", "refit none", "active nodes"
LITERAL = "refit all, unmoved too"  # as the thesis describes it: ALL leaves volumes as they are whose vertices have not moved
AUTO = "auto"
POLICIES = (AUTO, "bottom_up", "lazy", "fitted", "rebuild")
DEFAULTS = "defaults"  # a body without options: boxes, eight triangles a leaf, eight children, auto


class Said(NamedTuple):
    """A row of Table 2: seconds, and the parameters of its search."""

    seconds: float | None
    parameters: dict[str, float]


# "A|B" is not in the paper. It runs with the p_max of A, the most similar criterion.
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
CRITERIA = {ALL: "all", NONE: "none"}  # their names in the policy, if different
GROWING = ("plate + twisting plate", "helmet + cable")  # scenes whose sizes vary
FOLDED = (FOLDING, HELMET)  # bodies of the self distance


class Plan(NamedTuple):
    """The size of an experiment. Scenes play their first `frames`, or all if they have fewer; where sizes vary, the first `few`."""

    frames: int = 218
    volume_types: tuple[str, ...] = ("rss", "sphere", "aabb")
    sizes: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    arities: tuple[int, ...] = (2, 4, 8)
    few: int = 20
    repeats: int = 3


QUICK = Plan(frames=3, volume_types=("rss", "aabb"), sizes=(100, 300), arities=(2, 4), few=2, repeats=1)


def criterion(name: str, parameters: str = OWN, **tree: Any) -> Method:
    """Volumes that grow, refitted by a criterion with these parameters, on the paper's BVH but for the options in `tree`."""
    own = TABLE_2[name].parameters if parameters == PAPER else {}
    if not TABLE_2[name].parameters:
        parameters = PLAIN
    return Method(name, parameters, TREE | tree | {"policy": {"name": "inflated", "criterion": CRITERIA.get(name, name), **own}})


def policy(name: str, **tree: Any) -> Method:
    """A policy by its name."""
    return Method(name, PLAIN, TREE | tree | {"policy": "active" if name == ACTIVE else name})


def literal() -> Method:
    """All volumes fitted in every frame, by the fit of the criteria."""
    return Method(LITERAL, PLAIN, TREE | {"policy": {"name": "fitted", "how": "plain"}})


def defaults() -> Method:
    """Pliant's defaults."""
    return Method(DEFAULTS, PLAIN, {})


def methods() -> list[Method]:
    """All of Table 2; refit all is the first, and the base of comparisons."""
    own = [criterion(name) for name in TABLE_2 if name != ALL]
    theirs = [criterion(name, PAPER) for name, said in TABLE_2.items() if said.parameters]
    return [criterion(ALL), literal(), *theirs, *own, policy(ACTIVE), *map(policy, POLICIES), defaults()]


def some(**tree: Any) -> list[Method]:
    """The methods that are compared on other BVHs."""
    return [criterion(ALL, **tree), criterion(BEST, PAPER, **tree), criterion(BEST, **tree), criterion(NEXT, **tree),
            policy(ACTIVE, **tree), policy(AUTO, **tree)]  # fmt: skip


def table_2(plan: Plan, session: Session) -> Iterator[Run]:
    """All methods on all five scenes."""
    yield from over_scenes("Table 2", plan, session, methods())


def families(plan: Plan, session: Session) -> Iterator[Run]:
    """Other bounding-volume types than the paper's."""
    yield from over_scenes("Volumes", plan, session, [each for volume_type in plan.volume_types for each in some(volume=volume_type)])


def arity(plan: Plan, session: Session) -> Iterator[Run]:
    """BVHs of arity 2, 4 and 8, and Pliant's."""
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
    """Distances of one body to itself."""
    for name in FOLDED:
        yield from play(session, f"{name} itself", alone(name, plan.frames), [*some(), defaults()], part=name)


EXPERIMENTS = {
    "table-2": Experiment("Table 2: refit criteria", table_2),
    "families": Experiment("Other volumes", families),
    "sizes": Experiment("Other numbers of triangles", sizes),
    "arity": Experiment("BVHs of arity 2, 4 and 8", arity),
    "self": Experiment("A body against itself", folded),
}
