"""The experiments of paper S (section 5): which volumes run on which scenes. `tables.py` makes their tables.

METHODS (WAYS) are the paper's: balls, the smallest or nearly so, and Ritter's; slab cut balls; oriented boxes with the tightest fit, or
fitted by covariance as in RAPID, the library of the paper's comparison; and axis-aligned boxes, which are not in the paper. They run on the
paper's BVHs, binary, one triangle a leaf, where the larger of two volumes is descended; and on Pliant's, where both are.

Of the 500 frames of a scene some are played, evenly spaced; those of spheres in close proximity all, separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from experiments.clock import Method, Run, Session
from experiments.larsson2008.operations import operations
from experiments.larsson2008.scenes import CLOSE, FRAMES, Rigids, hands, knots, quadrupeds, spheres
from experiments.paper import PAPER, PLIANT, Experiment
from pliant.tree.nodes import WIDTH_OF_ARITY, node_dtype
from pliant.volume.protocol import VOLUME_TYPES

BALLS, RITTER, SLABS = "balls", "Ritter's balls", "slab cut balls"
BOXES, COVARIANCE, ALIGNED = "boxes", "boxes by covariance", "aligned boxes"
TREES: dict[str, dict[str, Any]] = {PAPER: {"build": "partition", "arity": 2, "leaf": 1}, PLIANT: {"build": "sah", "arity": 8, "leaf": 8}}
DESCEND: dict[str, Literal["both", "larger"]] = {PAPER: "larger", PLIANT: "both"}

# The options of bodies, and the BVHs of each.
WAYS: dict[str, dict[str, Any]] = {
    BALLS: {"volume": "sphere"},
    RITTER: {"volume": "sphere", "policy": {"name": "fitted", "how": "ritter"}},
    SLABS: {"volume": "slabcutball"},
    BOXES: {"volume": "obb"},
    COVARIANCE: {"volume": "obb", "policy": {"name": "fitted", "how": "plain"}},
    ALIGNED: {"volume": "aabb"},
}
ON = {PAPER: (BALLS, RITTER, SLABS, BOXES, COVARIANCE), PLIANT: (BALLS, RITTER, SLABS, BOXES, ALIGNED)}

SPHERES, KNOTS, QUADRUPEDS, HANDS = "Spheres", "Knots", "Quadrupeds", "Hands"
NEAR = ", close"  # suffix of a scene's name for its part in close proximity


class Plan(NamedTuple):
    """The size of an experiment; `frames` of 500, for knots and hands a fourth of that."""

    spheres: tuple[int, ...] = (20_480, 81_920)
    knots: tuple[int, ...] = (1, 2, 3)
    quadruped: int = 96_966
    hand: int = 654_666
    frames: int = 100
    repeats: int = 3


QUICK = Plan(spheres=(320, 1_280), knots=(1, 2), quadruped=8_000, hand=20_000, frames=4, repeats=1)


def methods() -> list[Method]:
    """All methods on all BVHs."""
    return [Method(name, tree, TREES[tree] | WAYS[name], rigid=True, descend=DESCEND[tree])
            for tree, names in ON.items() for name in names]  # fmt: skip


def spread(count: int) -> list[int]:
    """So many evenly spaced frames, from the first; 250 is among them if the number is even."""
    count = max(1, min(count, FRAMES))
    return [k * FRAMES // count for k in range(count)]


def few(count: int) -> list[int]:
    """A fourth of that number, for scenes with similar frames or long ones."""
    return spread(max(2, count // 4))


def played(session: Session, scene: Rigids, part: str) -> list[Run]:
    """A run of every method, with the data of its volume type."""
    runs = session.play(part, scene, methods(), part=part, shown=list(scene.shown), both=[len(faces) for _, faces in scene.meshes])
    for run in runs:
        run.update(about(run["options"]["volume"]))
    return runs


def about(volume_type: str) -> dict[str, Any]:
    """Scalars of a volume, bytes of a node by arity, and operations of a test."""
    volume = VOLUME_TYPES[volume_type].volume
    size = {str(arity): node_dtype(volume, WIDTH_OF_ARITY[arity]).itemsize for arity in (2, 8)}
    counts = {name: list(count) for name, count in operations(volume_type).items()}
    return {"scalars": len(volume._fields), "node_bytes": size, "operations": counts}  # type: ignore[attr-defined]


def run_spheres(plan: Plan, session: Session) -> Iterator[Run]:
    """Spheres pass through each other; then close proximity, separately."""
    for level, faces in enumerate(plan.spheres, 1):
        shown: Sequence[int]
        for shown, more in ((spread(plan.frames), ""), (CLOSE, NEAR)):
            yield from played(session, spheres(faces, shown), f"{SPHERES}-L{level}{more}")


def run_knots(plan: Plan, session: Session) -> Iterator[Run]:
    """Knots of all levels."""
    for level in plan.knots:
        yield from played(session, knots(level, few(plan.frames)), f"{KNOTS}-L{level}")


def run_quadrupeds(plan: Plan, session: Session) -> Iterator[Run]:
    """Quadrupeds, in place of the paper's horses."""
    yield from played(session, quadrupeds(plan.quadruped, spread(plan.frames)), QUADRUPEDS)


def run_hands(plan: Plan, session: Session) -> Iterator[Run]:
    """Hands."""
    yield from played(session, hands(plan.hand, few(plan.frames)), HANDS)


EXPERIMENTS = {
    "spheres": Experiment("Spheres, and volumes", run_spheres),
    "knots": Experiment("Knots", run_knots),
    "quadrupeds": Experiment("Quadrupeds", run_quadrupeds),
    "hands": Experiment("Hands", run_hands),
}
