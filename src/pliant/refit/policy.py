"""What a policy is, and the registry of policies.

A policy decides when volumes follow the vertices. It sees a `Shape`: the part of a body below its vertices, that is, a tree, its
records and what a refit reads. Loops know nothing of policies: they compare stamps and, where a node is stale, call the shape's entry.
"""
import threading
from typing import NamedTuple

import numpy as np

from pliant.tree.nodes import NEVER


class Shape:
    """A tree, its volumes and the float32 rows they follow; one per body (and scale).

    `frame` counts updates; a node is true if its stamp equals it. `entry` and `context` are addresses for `pliant.core.call.invoke`; a
    policy that leaves stale nodes behind must set them.
    """

    def __init__(self, options, faces, points, tree=None):
        self.options, self.faces, self.points, self.frame = options, faces, points, 0
        self.lock = threading.Lock()                                    # held by the one thread that refits
        self.entry = self.context = 0
        self.kept = None                                                # what a policy stores with this shape
        self.updated = 0                                                # volumes set outside traversals since they were last asked for
        self.plant(self.build() if tree is None else tree)

    def build(self):
        """A new tree from where the points are."""
        return self.options.builder.build(self.points.reshape(-1, 4), self.faces, self.options.arity, self.options.leaf)

    def plant(self, tree):
        """Take another tree; its volumes are true to no frame yet."""
        self.tree = tree
        self.nodes, self.leaves = tree.records(self.options.family)
        self.kept = None

    @property
    def stale(self):
        """Is the root older than the frame?"""
        return self.nodes["stamp"][0] != self.frame

    def moved(self):
        """The points have changed: everything is older than the frame now."""
        self.frame = self.frame + 1 if self.frame < np.iinfo(np.int32).max else self._start_again()

    def _start_again(self):
        self.nodes["stamp"] = NEVER                                     # after 2**31 updates
        return 0


    def follow(self):
        """Let the policy do what it does before a query; how many volumes that has set."""
        if self.stale:
            with self.lock:
                if self.stale:
                    self.options.policy.follow(self)
        updated, self.updated = self.updated, 0
        return updated


class Policy(NamedTuple):
    """A name in `Body(policy=…)`, and `follow(shape)`, called before a query, by one thread at a time, if the root is stale."""
    name: str
    follow: object


class Options(NamedTuple):
    """How a body was asked to be built and kept."""
    family: object
    builder: object
    policy: Policy
    arity: int
    leaf: int


POLICIES: dict[str, Policy] = {}


def register(policy):
    """Add a policy."""
    POLICIES[policy.name] = policy
