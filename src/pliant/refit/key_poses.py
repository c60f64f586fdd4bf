"""Key shapes: a tree for each, of which one serves at a time (thesis C 7.4, where a soup goes through five constellations).

Where faces lose their neighbours no one tree serves all shapes, but those that a body comes near to may be known. A tree is built on each,
when it is first chosen, and never again; each has a `Bvh` of its own, with its records and whatever a policy keeps with it. All of them
follow the same points.

Invariants: only the shape that serves hears of updates. When another takes over, its frame goes on from there, so that whatever its
volumes were true to is past: they follow like those of any body that has moved. Its tree is `fixed`: no policy plants another.
"""
from pliant.core import validate
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.motion.free import Free
from pliant.refit.policy import Bvh


class KeyPoses:
    """The key shapes (k, n, 3) of a body and, for those that have been chosen, {key: Bvh}; none for a body without faces."""

    def __init__(self, rows, options, guard, faces, motion):
        self.rows, self.bvhs = rows, {}
        self._options, self._guard, self._faces, self._motion = options, guard, faces, motion

    def __len__(self):
        return len(self.rows)

    def bvh(self, key, tree=None):
        """The BVH of a key pose; it is built when it is first requested, unless its tree is given."""
        if key not in self.bvhs and len(self._faces):
            options = self._options
            if tree is None:
                tree = options.builder.build(Free(self.rows[key]).points.reshape(-1, 4), self._faces, options.arity, options.leaf)
            bvh = Bvh(options, self._guard, self._faces, self._motion.points, tree, self._motion)
            bvh.fixed = True
            self.bvhs[key] = bvh
        return self.bvhs.get(key)

    def key_of(self, bvh):
        """The key of a Bvh."""
        return next(key for key, known in self.bvhs.items() if known is bvh)

    def log(self):
        """What `auto` has chosen, for all keys, in the order of updates."""
        states = [shape.policy_state for shape in self.bvhs.values() if shape.policy_state is not None]
        return sorted((choice for state in states for choice in state.log), key=lambda choice: choice.update)


def check_key_poses(key_poses, count, build_poses, options):
    """(k, count, 3) float64, or None: what `Body(key_poses=…)` was given, if it suits the other options."""
    if key_poses is None:
        return None
    if build_poses is not None:
        raise ArgumentError("key_poses: have a BVH each, and build_poses are for one BVH: give either")
    if options.policy.name == "rebuild":
        raise ArgumentError("key_poses: policy 'rebuild' builds another BVH for every frame: choose another policy")
    return validate.targets("key_poses", key_poses, count)


def check_key_pose(keys, key, vertices, some):
    """The number of a key, for an update by these vertices, if there are any and all vertices come with it."""
    if keys is None:
        raise ArgumentTypeError("update: key_pose is given, but the body has no key poses; make it with Body(vertices, faces, key_poses=…)")
    if vertices is None or some is not None:
        raise ArgumentTypeError(f"update: key_pose is given with{'out vertices' if vertices is None else ' changed'}; "
                                "expected all vertices")
    return validate.integer("key_pose", key, range(len(keys)))


def mean_pose(shapes):
    """(n, 3) of (k, n, 3), whatever their size."""
    return (shapes / len(shapes)).sum(axis=0)
