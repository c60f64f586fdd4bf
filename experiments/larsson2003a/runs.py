"""The experiments of paper B (thesis 6.4 and 6.5): which methods run on which scenes. What they say is in `tables.py`.

METHODS, on the paper's trees and on Pliant's: `morph` is given weights, and blends volumes as queries reach them; the paper's competitor,
hybrid updates (thesis 5), is given blended vertices, with a pose or placed in the world; so is `auto`, which Pliant uses for vertices that
move freely. On the paper's trees boxes in model space are compared along six separating axes, as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from experiments.clock import Method, Run, Session
from experiments.larsson2003a.scenes import passing, swimmers
from experiments.paper import PAPER, PLIANT, TREES, Experiment

MORPH, HYBRID, WORLD, AUTO = "morph", "hybrid", "hybrid, world", "auto"
TWO, MANY = "two bodies", "swimmers"
SAT: dict[str, Literal["full", "lite"]] = {PAPER: "lite", PLIANT: "full"}
SIZES = (564, 2_256, 9_024, 36_096)

# What section 6.5, and 6.3 in passing, speak about: one choice at a time, against `morph`.
VARIANTS: dict[str, dict[str, Any]] = {
    "without stamps": {"policy": {"name": "blended", "stamps": False}},
    "1 between": {"between": 1},
    "3 between": {"between": 3},
    "4-ary": {"arity": 4},
    "binary": {"arity": 2},
}
OTHER_AXES = "other axes"


class Plan(NamedTuple):
    """How large an experiment is."""

    faces: int = 20_480
    frames: int = 400
    sizes: tuple[int, ...] = SIZES
    bodies: int = 12
    saved_faces: int = 9_024
    repeats: int = 3


QUICK = Plan(faces=320, frames=10, sizes=(564, 2_256), bodies=6, saved_faces=564, repeats=1)


def method(name: str, tree: str, **changes: Any) -> Method:
    """A method by its name, on trees of arity 8."""
    options = TREES[tree] | {"arity": 8, "policy": "auto" if name in (MORPH, AUTO) else "hybrid"} | changes
    return Method(name, tree, options, name != WORLD, SAT[tree] if name != WORLD else "full", name == MORPH)


def fig_65(plan: Plan, session: Session) -> Iterator[Run]:
    """Two morphing bodies pass through each other; all pairs, and the first."""
    scene = passing(plan.faces, plan.frames)
    every = [method(name, tree) for tree in TREES for name in (MORPH, HYBRID, WORLD, AUTO)]
    for part in ("all", "first"):
        yield from session.play(f"Fig 6.5, {part}", scene, every, first=part == "first", part=part)


def fig_68(plan: Plan, session: Session) -> Iterator[Run]:
    """Swimmers of more and more triangles and the same shape; all pairs, and the first of any two bodies that meet."""
    every = [method(name, tree) for tree in TREES for name in (MORPH, HYBRID, WORLD, AUTO) if tree == PLIANT or name != AUTO]
    for faces in plan.sizes:
        scene = swimmers(plan.bodies, faces, plan.frames)
        for part in ("all", "first"):
            yield from session.play(f"Fig 6.8, {faces:,} faces, {part}", scene, every, first=part == "first", part=part)


def savings(plan: Plan, session: Session) -> Iterator[Run]:
    """One choice of `morph` at a time, on both scenes, all pairs."""
    every = [each for tree in TREES for each in variants(tree)]
    yield from session.play(f"Savings, {TWO}", passing(plan.faces, plan.frames), every, part=TWO)
    yield from session.play(f"Savings, {MANY}", swimmers(plan.bodies, plan.saved_faces, plan.frames), every, part=MANY)


def variants(tree: str) -> list[Method]:
    """`morph`, and what differs from it in one thing."""
    plain = method(MORPH, tree)
    other = plain._replace(name=OTHER_AXES, sat="lite" if plain.sat == "full" else "full")
    return [plain, *(method(MORPH, tree, **changes)._replace(name=name) for name, changes in VARIANTS.items()), other]


EXPERIMENTS = {
    "fig-6.5": Experiment("Fig 6.5: two bodies", fig_65),
    "fig-6.8": Experiment("Fig 6.8: swimmers", fig_68),
    "savings": Experiment("Stamps, volumes between, axes and arity", savings),
}
