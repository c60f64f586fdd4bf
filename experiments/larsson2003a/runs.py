"""The experiments of paper B (thesis 6.4 and 6.5): which methods run on which scenes. `tables.py` makes their tables.

METHODS, on the paper's BVHs and on Pliant's: `morph` takes weights, and blends the volumes that queries reach. The paper compares it with
hybrid updates (thesis 5) of half of the levels, which take blended vertices with a transform. The other GENERAL methods take these too:
hybrid updates as Pliant chooses their levels, bottom-up and lazy ones, and `auto`. `world` is hybrid on vertices in world space. On the
paper's BVHs boxes in model space are tested along six separating axes, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from experiments.clock import Method, Run, Session
from experiments.larsson2003a.scenes import passing, swimmers
from experiments.paper import HALF, HALF_POLICY, PAPER, PLIANT, TREES, Experiment

MORPH, HYBRID, WORLD, AUTO, BOTTOM_UP, LAZY = "morph", "hybrid", "hybrid, world", "auto", "bottom-up", "lazy"
POLICIES: dict[str, Any] = {MORPH: "auto", HYBRID: "hybrid", HALF: HALF_POLICY, WORLD: "hybrid", BOTTOM_UP: "bottom_up", LAZY: "lazy",
                            AUTO: "auto"}  # fmt: skip
GENERAL = (HALF, HYBRID, BOTTOM_UP, LAZY, AUTO)
METHODS = (MORPH, *GENERAL, WORLD)
TWO, MANY = "two bodies", "swimmers"
SAT: dict[str, Literal["full", "lite"]] = {PAPER: "lite", PLIANT: "full"}
SIZES = (564, 2_256, 9_024, 36_096)

# The options of section 6.5, and of 6.3 in passing: one at a time, compared with `morph`.
VARIANTS: dict[str, dict[str, Any]] = {
    "without stamps": {"policy": {"name": "blended", "stamps": False}},
    "1 between": {"between": 1},
    "3 between": {"between": 3},
    "4-ary": {"arity": 4},
    "binary": {"arity": 2},
}
OTHER_AXES = "other axes"


class Plan(NamedTuple):
    """The size of an experiment."""

    faces: int = 20_480
    frames: int = 400
    sizes: tuple[int, ...] = SIZES
    bodies: int = 12
    saved_faces: int = 9_024
    repeats: int = 3


QUICK = Plan(faces=320, frames=10, sizes=(564, 2_256), bodies=6, saved_faces=564, repeats=1)


def method(name: str, tree: str, **changes: Any) -> Method:
    """A method by its name, on BVHs of arity 8."""
    options = TREES[tree] | {"arity": 8, "policy": POLICIES[name]} | changes
    return Method(name, tree, options, name != WORLD, SAT[tree] if name != WORLD else "full", name == MORPH)


def fig_65(plan: Plan, session: Session) -> Iterator[Run]:
    """Two morphing bodies pass through each other; all pairs, and the first."""
    scene = passing(plan.faces, plan.frames)
    every = [method(name, tree) for tree in TREES for name in METHODS]
    for part in ("all", "first"):
        yield from session.play(f"Fig 6.5, {part}", scene, every, first=part == "first", part=part)


def fig_68(plan: Plan, session: Session) -> Iterator[Run]:
    """Swimmers of the same shape with increasing numbers of triangles; all pairs, and the first of any two intersecting bodies."""
    every = [method(name, tree) for tree in TREES for name in METHODS]
    for faces in plan.sizes:
        scene = swimmers(plan.bodies, faces, plan.frames)
        for part in ("all", "first"):
            yield from session.play(f"Fig 6.8, {faces:,} faces, {part}", scene, every, first=part == "first", part=part)


def savings(plan: Plan, session: Session) -> Iterator[Run]:
    """One option of `morph` at a time, on both scenes, all pairs."""
    every = [each for tree in TREES for each in variants(tree)]
    yield from session.play(f"Savings, {TWO}", passing(plan.faces, plan.frames), every, part=TWO)
    yield from session.play(f"Savings, {MANY}", swimmers(plan.bodies, plan.saved_faces, plan.frames), every, part=MANY)


def variants(tree: str) -> list[Method]:
    """`morph`, and variants that differ from it in one option."""
    plain = method(MORPH, tree)
    other = plain._replace(name=OTHER_AXES, sat="lite" if plain.sat == "full" else "full")
    return [plain, *(method(MORPH, tree, **changes)._replace(name=name) for name, changes in VARIANTS.items()), other]


EXPERIMENTS = {
    "fig-6.5": Experiment("Fig 6.5: two bodies", fig_65),
    "fig-6.8": Experiment("Fig 6.8: swimmers", fig_68),
    "savings": Experiment("Stamps, in-between volumes, axes and arity", savings),
}
