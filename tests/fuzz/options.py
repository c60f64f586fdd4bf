"""Options of bodies, drawn from the registries. Seeds of one block share a campaign: few types of volumes, because each takes a minute or
two to compile. Over `len(TABLE)` campaigns every type of volume occurs with nodes of both widths."""
from typing import NamedTuple

import numpy as np

import pliant.body  # noqa: F401 - registers volumes, builders and policies
from pliant.errors import ArgumentError
from pliant.refit.blended import BLENDED
from pliant.refit.convex import BOUNDS, BOXES, CONVEX, LEAVES
from pliant.refit.inflated import CRITERIA
from pliant.refit.policy import POLICIES, policies_of, resolve_options
from pliant.tree.nodes import BUILDERS, WIDTH_OF_ARITY
from pliant.volume.protocol import FIT_METHODS, VOLUME_TYPES

BLOCK = 100_000                                                         # seeds of one campaign
TABLE = [(volume, width) for width in sorted(set(WIDTH_OF_ARITY.values()), reverse=True) for volume in VOLUME_TYPES]
MOTIONS = ("free", "rigid", "morph", "blended")
OWN = {"morph": BLENDED, "blended": CONVEX}                             # policies of one motion only

# Values of options of policies; those of a policy that is not named here stay at their defaults.
SETTINGS = {
    "hybrid": {"depth": [None, "half", 0, 1, 2], "below": ["node", "subtree", 1, 2]},
    "auto": {"background": [False, True]},
    "fitted": {"how": list(FIT_METHODS)},
    "inflated": {"criterion": list(CRITERIA), "p_max": [0.1, 3.95], "k": [0.0, 0.218], "gamma": [0.1, 0.562], "how": list(FIT_METHODS)},
    BLENDED.name: {"between": [0, 2], "stamps": [True, False], "front": [False, True]},
    CONVEX.name: {"bound": list(BOUNDS), "boxes": list(BOXES), "leaves": list(LEAVES), "front": [False, True]},
}


class Campaign(NamedTuple):
    """Types of volumes, each with a width of nodes, that the cases of a block of seeds use."""

    number: int
    volumes: tuple

    def __str__(self):
        return f"campaign {self.number}: " + ", ".join(f"{volume} × {width}" for volume, width in self.volumes)


def campaign_of(seed):
    """Every third campaign has a second type of volume, so that pairs of unlike bodies occur."""
    number = seed // BLOCK
    first, second = TABLE[number % len(TABLE)], TABLE[(number * 7 + 3) % len(TABLE)]
    return Campaign(number, (first, second) if number % 3 == 2 and second != first else (first,))


def first_with(volume, seed):
    """The first seed from this one on whose campaign has bodies with these volumes."""
    for number in range(len(TABLE)):
        if volume in dict(campaign_of(seed + number * BLOCK).volumes):
            return seed + number * BLOCK
    raise ArgumentError(f"volume: no volume type {volume!r}; there are {', '.join(VOLUME_TYPES)}")


def draw(rng, values):
    """One of a list."""
    return values[int(rng.integers(len(values)))]


def options(rng, campaign, motion, has_key_poses, form):
    """Keywords of a body; `form`: of a morphing one. Reference volumes between targets are for the plain form alone."""
    volume, width = draw(rng, campaign.volumes)
    table = {"volume": volume, "build": draw(rng, list(BUILDERS)), "arity": draw(rng, [k for k, w in WIDTH_OF_ARITY.items() if w == width]),
             "leaf": draw(rng, [1, 1, 2, 3, 4, 8]), "policy": "auto"}
    own = OWN.get(motion)
    names = [name for name in POLICIES if not (has_key_poses and name == "rebuild")] + ([own.name] * 4 if own else [])
    name = draw(rng, names)
    settings = {key: draw(rng, values) for key, values in SETTINGS.get(name, {}).items() if rng.random() < 0.5}
    if own and name == "auto":
        settings = {}                                                   # it stands for the motion's own policy
    if form != "targets":
        settings.pop("between", None)
    for policy in ({"name": name, **settings}, name):
        if suits(table | {"policy": policy}, own):
            return table | {"policy": policy}
    return table


def partial_options(rng, has_key_poses):
    """For partial updates: a tree of some depth, and a policy that refits parts of it."""
    names = [name for name, policy in POLICIES.items() if policy.allows_partial and policy.check is None
             and not (has_key_poses and name == "rebuild")]
    return {"leaf": draw(rng, [1, 1, 2]), "policy": draw(rng, names)}


def suits(table, own):
    """Does the policy serve this volume? Some do not; what is refused and why has tests of its own."""
    policy = table["policy"]
    try:
        resolve_options(table["volume"], table["build"], dict(policy) if isinstance(policy, dict) else {"name": policy}, table["arity"],
                        table["leaf"], *([policies_of(own.motion)] if own else []))
    except (TypeError, ValueError):
        return False
    return True


def generator(seed):
    """The generator that everything of a case is drawn from."""
    return np.random.default_rng([seed % BLOCK, seed // BLOCK])
