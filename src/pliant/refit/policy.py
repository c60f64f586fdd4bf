"""What a policy is, and the registry of policies.

A policy decides when volumes are refitted. It sees a `Bvh`: the part of a body below its vertices, that is, a tree, its
records and what a refit reads. Loops know nothing of policies: they compare stamps and, where a node is stale, call the entry of the BVH.
"""
from collections import ChainMap
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pliant.core import validate
from pliant.core.function_pointer import CONTEXTS
from pliant.core.jit import ignore_float_errors
from pliant.core.registry import Registry, check_callable
from pliant.core.soa import aligned_zeros
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.refit import partial
from pliant.refit.leaf_fill import CONTEXT, fill_entry
from pliant.tree.adjacency import adjacency_masks
from pliant.tree.nodes import BUILDERS, LEAF_WIDTH, NEVER_STAMPED, WIDTH_OF_ARITY, skip_links, subtree_leaf_ranges
from pliant.volume.protocol import VOLUME_TYPES, check_protocol

FRAME_WORD = CONTEXT.fields["frame"][1] // 8
LAST_FRAME = 2**31 - 1                                                  # frame that fits a stamp


class Bvh:
    """A tree, its volumes and the float32 rows they follow; one per body (and scale).

    `frame` counts updates; what has another stamp is stale. `fill`, `entry` and `context` are addresses for `core/function_pointer.py`: how
    a loop refreshes a leaf or a node. A policy that leaves stale nodes behind must set the entry (`set_context`). A policy may set another
    tree, unless it is `fixed`: then it is the user's choice. A policy that wants to know how much farther away children are than their node
    sets `looseness`, −1 all over: where it is not None, a loop over distances raises looseness[i] to the least distance of the children of
    node i less that of node i itself, in the units of the points, whenever it opens the node.
    """

    fixed = False

    def __init__(self, options, guard, faces, points, tree=None, motion=None):
        self.options, self.guard, self.faces, self.points, self.motion, self.frame = options, guard, faces, points, motion, 0
        self.record = aligned_zeros(1, CONTEXT)
        self.context, self._context, self._words = self.record.ctypes.data, self.record[0], self.record.view(np.int64)
        self.has_blocks = motion is not None and points is motion.points and motion.points_and_blocks is not None
        self.rows = motion.points_and_blocks if self.has_blocks else points  # points, and behind them boxes of blocks (`motion/free.py`)
        self.policy_state = None                                        # what a policy remembers beyond a tree
        self.version, self.moments = 0, None                            # changes of points or tree so far; see moments.py
        self.n_trees = 0                                                # set so far, the same one again after an interrupt included
        self.n_refitted = 0                                             # volumes set outside traversals since they were last asked for
        self.ray_tests = 0                                              # volumes and triangles that rays were compared with, in all
        self.set_tree(tree or self.build())

    def build(self, points=None):
        """A new tree from where the points are, or from others."""
        rows = (self.points if points is None else points).reshape(-1, 4)
        return self.options.builder.build(rows, self.faces, self.options.arity, self.options.leaf)

    def set_tree(self, tree):
        """Take another tree; its volumes have never been set."""
        self.tree, self.moments = tree, None
        self.n_trees += 1
        self.nodes, self.leaves = tree.allocate(self.options.volume_type)
        self._stamps = self.nodes["stamp"]
        # what a policy keeps with this tree; for `query/proximity/branch_and_bound.py`
        self.tree_state = self.looseness = None
        self.paths = self._masks = self._skips = self._ranges = None    # see partial.py, tree/adjacency.py and tree/nodes.py
        self.looseness = None                                           # (n,) float32: see above
        self.ready, self.front = np.full(len(self.nodes), NEVER_STAMPED, np.int32), None  # see front_tracking.py
        self.n_pending, self.levels_on_demand = 0, None                 # see lazy.py
        self.pending = []                                               # vertices that have moved alone since the last query
        self.set_context(nodes=self.nodes, leaves=self.leaves, slots=tree.slots, points=self.rows, ready=self.ready, entry=0,
                         fill=fill_entry()[0], n_nodes=len(self.nodes), n_leaves=len(self.leaves), n_points=len(self.rows))
        CONTEXTS[self.context] = self

    def set_context(self, **values):
        """Write numbers, and the addresses of arrays, into the context, for entries."""
        for name, value in values.items():
            self._context[name] = value.ctypes.data if isinstance(value, np.ndarray) else value

    entry = property(lambda self: int(self._context["entry"]))
    fill = property(lambda self: int(self._context["fill"]))

    def masks(self, mesh):
        """Which triangles of its leaves are adjacent: `tree/adjacency.py`, made once per tree."""
        with self.guard.refit_lock:
            if self._masks is None:
                self._masks = adjacency_masks(self.tree, mesh)
            return self._masks

    def skips(self):
        """(n,) int32: the node after the subtree of each, made once per tree."""
        with self.guard.refit_lock:
            if self._skips is None:
                self._skips = skip_links(self.tree)
            return self._skips

    def ranges(self):
        """(n, 2) int64: the leaves under each node, made once per tree."""
        with self.guard.refit_lock:
            if self._ranges is None:
                self._ranges = subtree_leaf_ranges(self.tree)
            return self._ranges

    @property
    def stale(self):
        """Is the root older than the frame, or have vertices moved since?"""
        return bool(self.pending) or self._stamps.item(0) != self.frame

    @property
    def ready_for_queries(self):
        """Would `refit` do nothing? Because all is up to date, or because the entry does what is missing."""
        return (self.levels_on_demand is not None and self.options.policy.on_demand and not self.pending) or not self.stale

    def take_over(self, other):
        """Take over from another shape of the same points: the frame goes on, and all that this one has is older than it now."""
        if other is not self:
            self.frame = max(self.frame, other.frame)
        self.invalidate()

    def invalidate(self):
        """The points have changed: everything is older than the frame now."""
        if self.frame == LAST_FRAME:
            self.nodes["stamp"] = self.leaves["stamp"] = NEVER_STAMPED  # after 2**31 updates
            self.frame = -1
        self.frame += 1
        self.version += 1
        self._words[FRAME_WORD] = self.frame                            # a quarter of the time that the record takes
        self.pending, self.n_pending = [], 0

    def invalidate_vertices(self, indices):
        """Only these points have changed."""
        if self.options.policy.allows_partial and self.nodes["stamp"][0] == self.frame:
            self.pending.append(indices)
            self.version += 1
            self.n_pending += len(indices)
            if self.n_pending > len(self.points) // 4:
                self.invalidate()
        else:
            self.invalidate()

    def refit(self):
        """Let the policy do what it does before a query; how many volumes that has set."""
        if self.stale:
            with self.guard.refit_lock, ignore_float_errors():
                try:
                    if self.pending:                                    # emptied last: whoever sees it empty does not wait
                        moved = self.pending[0] if len(self.pending) == 1 else np.concatenate(self.pending)
                        if partial.refit_partial(self, moved):
                            if self.options.policy.after_partial is not None:
                                self.options.policy.after_partial(self, len(moved))
                            self.pending, self.n_pending = [], 0
                        else:
                            self.invalidate()
                    if self.stale:
                        self.options.policy.refit(self)
                except BaseException:
                    self.set_tree(self.tree)                            # Ctrl-C: whatever is half done is done again
                    raise
        updated, self.n_refitted = self.n_refitted, 0
        return updated


class Policy(NamedTuple):
    """A name in `Body(policy=…)`, and `refit(bvh)`, called before a query, by one thread at a time, if the root is stale; `settings`: a
    default and a check for each option that `policy={"name": …, option: …}` may set; `after_partial(bvh, n)`, called after n vertices have
    moved alone and volumes were refitted, which may set another tree: then `refit` is called as well; `check(volume_type, settings)`
    refuses a volume type that it does not support so; `allows_partial`: where a few vertices move, may others set volumes for it
    (`partial.py`)? `on_demand`: does `refit` only prepare a new tree, and leave all else to the entry? `motion`: the name of the only one
    whose volumes it knows without vertices, and which sets these on demand; others set all of them in every update."""
    name: str
    refit: object
    settings: dict = {}                                                 # noqa: RUF012 - never written to
    after_partial: object = None
    check: object = None
    allows_partial: bool = True
    on_demand: bool = False
    motion: str = ""

    def resolve_settings(self, settings):
        """All settings, checked; those not given have their defaults."""
        unknown = set(settings) - set(self.settings)
        if unknown:
            known = ", ".join(self.settings) or "none"
            raise ArgumentError(f"policy: {self.name!r} has no option {sorted(unknown)[0]!r}; it has {known}")
        return {name: checked(f"policy: {name}", settings[name]) if name in settings else default
                for name, (default, checked) in self.settings.items()}


class Options(NamedTuple):
    """How a body was asked to be built and kept."""
    volume_type: Any
    builder: Any
    policy: Policy
    arity: int
    leaf: int
    settings: dict


POLICIES: dict[str, Policy] = Registry("policy")
MOTION_POLICIES: dict[str, dict[str, Policy]] = {}                      # by motion: the policies that only its bodies have


def resolve_options(volume, build, policy, arity, leaf, policies=POLICIES):
    """Names into what they stand for. A policy may come with settings: {"name": "hybrid", "depth": 3}."""
    policy_settings = dict(policy) if isinstance(policy, Mapping) else {"name": policy}
    policy_type = policies[validate.choice("policy", policy_settings.pop("name", None), policies)]
    volume_type = VOLUME_TYPES[validate.choice("volume", volume, VOLUME_TYPES)]
    builder = BUILDERS[validate.choice("build", build, BUILDERS)]
    check_protocol(volume_type)
    settings = policy_type.resolve_settings(policy_settings)
    if policy_type.check is not None:
        policy_type.check(volume_type, settings)
    return Options(volume_type, builder, policy_type, validate.integer("arity", arity, tuple(WIDTH_OF_ARITY)),
                   validate.integer("leaf", leaf, tuple(range(1, LEAF_WIDTH + 1))), settings)


def policies_of(motion):
    """The policies that bodies of this motion may have: those of all bodies, then its own."""
    return ChainMap(MOTION_POLICIES.get(motion, {}), POLICIES)


def register_policy(policy):
    """Add a policy, for all bodies or for those of one motion."""
    if not isinstance(policy, Policy):
        raise ArgumentTypeError(f"policy: expected a Policy, got {policy!r:.80}")
    check_callable(f"policy {policy.name!r}: refit", policy.refit, "bvh")
    if policy.check is not None:
        check_callable(f"policy {policy.name!r}: check", policy.check, "volume_type", "settings")
    if policy.after_partial is not None:
        check_callable(f"policy {policy.name!r}: after_partial", policy.after_partial, "bvh", "n")
    for option, setting in policy.settings.items():
        if not (isinstance(option, str) and isinstance(setting, tuple) and len(setting) == 2):
            raise ArgumentTypeError(f"policy {policy.name!r}: settings must map each option to (default, check), "
                                    f"got {option!r}: {setting!r:.80}")
        check_callable(f"policy {policy.name!r}: check of {option!r}", setting[1], "name", "value")
    if policy.motion:
        if policy.name in POLICIES.keys():                              # not `in POLICIES`, which would load extensions
            raise ArgumentError(f"policy {policy.name!r} is registered already")
        MOTION_POLICIES.setdefault(policy.motion, Registry("policy")).add(policy.name, policy)
    else:
        POLICIES.add(policy.name, policy)
