"""The experiments of paper A (thesis 5.4): which methods run on which scenes. `tables.py` makes their tables.

METHODS, on the paper's BVHs and on Pliant's: top-down, bottom-up and hybrid updates of volumes in world space, hybrid ones as Pliant
chooses their levels and with half of the levels as in the paper; the method that the paper compares with (van den Bergen), bottom-up
updates of volumes in model space, tested along six separating axes; and `auto`, Pliant's default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from experiments.clock import Method, Run, Session, levels_of
from experiments.larsson2001.scenes import crowd, push
from experiments.paper import HALF, HALF_POLICY, PAPER, PLIANT, TREES, Experiment

HYBRID, TOP_DOWN, BOTTOM_UP, AUTO = "hybrid", "top-down", "bottom-up", "auto"
MODEL_2, MODEL_8 = "model, binary", "model, 8-ary"
POLICIES = {HYBRID: "hybrid", HALF: HALF_POLICY, TOP_DOWN: "lazy", BOTTOM_UP: "bottom_up", AUTO: "auto"}
FINE, SAME = "finer bumps", "same bumps"
SIZES = (1_280, 5_120, 8_192, 16_384, 20_480, 32_768, 65_536, 81_920)


class Plan(NamedTuple):
    """The size of an experiment."""

    faces: int = 20_480
    frames: int = 200
    sizes: tuple[int, ...] = SIZES
    bodies: int = 27
    crowd_faces: int = 5_120
    repeats: int = 3


QUICK = Plan(faces=320, frames=10, sizes=(320, 512, 1_280), bodies=8, crowd_faces=320, repeats=1)


def method(name: str, tree: str, **changes: Any) -> Method:
    """A method by its name, on BVHs of arity 8 unless the name says otherwise."""
    if name in (MODEL_2, MODEL_8):
        return Method(name, tree, TREES[tree] | {"policy": "bottom_up", "arity": 2 if name == MODEL_2 else 8}, True, "lite")
    return Method(name, tree, TREES[tree] | {"policy": POLICIES[name], "arity": 8} | changes)


def methods(*names: str) -> list[Method]:
    """These methods on both kinds of BVH."""
    return [method(name, tree) for tree in TREES for name in names]


def fig_53(plan: Plan, session: Session) -> Iterator[Run]:
    """Two bumpy spheres are pushed into each other; all pairs, and the first."""
    scene = push(plan.faces, plan.frames)
    for part in ("all", "first"):
        every = methods(HYBRID, HALF, TOP_DOWN, BOTTOM_UP, AUTO, MODEL_2, MODEL_8)
        yield from session.play(f"Fig 5.3, {part}", scene, every, first=part == "first", part=part)


def table_51(plan: Plan, session: Session) -> Iterator[Run]:
    """The same scene with increasing numbers of faces: bumps as fine as the mesh, and the same bumps at every size."""
    for faces in plan.sizes:
        for part in (FINE, SAME):
            scene = push(faces, plan.frames, fine=part == FINE)
            yield from session.play(f"Table 5.1, {faces:,} faces, {part}", scene, [method(HYBRID, PAPER), method(AUTO, PLIANT)], part=part)


def fig_54(plan: Plan, session: Session) -> Iterator[Run]:
    """Many bodies that bounce off each other in a box: bumpy spheres, and bodies with arms."""
    for part in ("bumpy", "arms"):
        scene = crowd(plan.bodies, plan.crowd_faces, plan.frames, part)
        yield from session.play(f"Fig 5.4, {part}", scene, methods(HYBRID, HALF, TOP_DOWN, BOTTOM_UP, AUTO, MODEL_2, MODEL_8), part=part)


def ablations(plan: Plan, session: Session) -> Iterator[Run]:
    """One option at a time, with hybrid updates unless named, on the scene of Fig 5.3, all pairs."""
    scene = push(plan.faces, plan.frames)
    for part in ABLATIONS:
        every = [entry for tree in TREES for entry in variants(part, tree, lambda options: levels_of(scene, options))]
        yield from session.play(f"Ablations, {part}", scene, every, part=part)


ABLATIONS = ("arity", "builder", "leaf", "below", "depth")


def variants(part: str, tree: str, levels: Callable[[dict[str, Any]], int]) -> list[Method]:
    """The methods of one ablation, named by the value that varies."""
    if part == "arity":
        choices: dict[str, dict[str, Any]] = {f"{arity}": {"arity": arity} for arity in (2, 4, 8)}
    elif part == "builder":
        choices = {name: {"build": name} for name in ("centre", "mean", "sah", "connectivity")}
    elif part == "leaf":
        choices = {f"{leaf}": {"leaf": leaf} for leaf in (1, 2, 4, 8)}
    elif part == "below":
        below = {"node": "node", "2 levels": 2, "3 levels": 3, "subtree": "subtree"}
        choices = {name: {"policy": {"name": "hybrid", "below": value}} for name, value in below.items()}
    else:
        most = levels(TREES[tree] | {"arity": 8})
        choices = {f"{depth}": {"policy": {"name": "hybrid", "depth": depth}} for depth in range(most + 1)}
    return [method(HYBRID, tree, **changes)._replace(name=name) for name, changes in choices.items()]


EXPERIMENTS = {
    "fig-5.3": Experiment("Fig 5.3: two bodies", fig_53),
    "table-5.1": Experiment("Table 5.1: more faces", table_51),
    "fig-5.4": Experiment("Fig 5.4: many bodies", fig_54),
    "ablations": Experiment("Ablations", ablations),
}
