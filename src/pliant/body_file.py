"""Bodies in files: `Body.save` writes them, `Body.load` reads them. Reading validates every field as `Body` validates its arguments."""
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pliant.core import archive, validate
from pliant.errors import FileError
from pliant.motion.blended import blended_motion
from pliant.motion.free import Free
from pliant.motion.morph import morph_motion
from pliant.refit.blended import BLENDED
from pliant.refit.convex import CONVEX
from pliant.refit.key_poses import check_key_poses
from pliant.refit.policy import POLICIES, Options, policies_with, resolve_options
from pliant.tree.nodes import empty_tree, validated_tree

FORMAT = "pliant body 5"
ARRAY_TYPES = {"shapes": (np.float64, 3), "given": (np.float64, 1), "faces": (np.int32, 2), "same": (np.int32, 1), "child": (np.int32, 2),
               "count": (np.int32, 1), "leaf_faces": (np.int32, 2), "skin_begins": (np.int64, 1), "skin_which": (np.int32, 1),
               "skin_weights": (np.float64, 1), "key_poses": (np.float64, 3)}
NO_SKIN = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
MOTION_POLICY = {"free": None, "morph": BLENDED, "blended": CONVEX}     # the policy that only bodies of this motion have


class SavedBody(NamedTuple):
    """The validated content of a file."""
    motion: Any
    faces: Any
    options: Options
    weld_map: Any
    tree: Any
    transform: Any
    rigid: bool
    key_poses: Any
    key_pose: int


def write_body(path, options, motion, faces, weld_map, tree, rigid, transform, key_poses, key_pose):
    """Write a body of these parts; `tree`, `transform` and `key_poses` may be None. `path` may be a binary stream."""
    o, nodes = options, empty_tree(options.arity) if tree is None else tree
    meta = {"format": FORMAT, "volume": o.volume_type.name, "build": o.builder.name, "policy": {"name": o.policy.name, **o.settings},
            "arity": o.arity, "leaf": o.leaf, "rigid": rigid, "motion": motion.name, "additive": motion.additive,
            "origin": motion.origin[:3].tolist() if motion.fixed else None,
            "transform": None if transform is None else transform.tolist(), "key_pose": key_pose}
    begins, which, weights = motion.file_skin if motion.name == "blended" else NO_SKIN
    archive.write(path, meta, {"shapes": motion.file_vertices, "given": motion.controls.reshape(-1), "faces": faces, "same": weld_map,
                               "child": nodes.child, "count": nodes.count, "leaf_faces": nodes.faces,
                               "skin_begins": begins, "skin_which": which, "skin_weights": weights,
                               "key_poses": np.zeros((0, 0, 3)) if key_poses is None else key_poses})


def read_body(path):
    """The SavedBody in a file or a binary stream; a FileError names what is wrong with it."""
    meta, arrays = archive.read(path, ARRAY_TYPES)
    try:
        if meta.get("format") != FORMAT:
            raise ValueError(f"format: expected {FORMAT!r}, got {meta.get('format')!r}")
        motion_policy = MOTION_POLICY[validate.choice("motion", meta.get("motion"), MOTION_POLICY)]
        policies = POLICIES if motion_policy is None else policies_with(motion_policy)
        options = resolve_options(**{name: meta.get(name) for name in ("volume", "build", "policy", "arity", "leaf")}, policies=policies)
        shapes = validate.targets("shapes", arrays["shapes"])
        faces = validate.faces("faces", arrays["faces"], shapes.shape[1])
        transform = None if meta.get("transform") is None else validate.transform("transform", meta["transform"])
        rigid = validate.flag("rigid", meta.get("rigid"))
        motion = motion_of(meta, arrays, shapes, options, rigid)
        if transform is not None:
            validate.check_transform_range("transform", transform, motion.bound_after(None, None),
                                           partial(motion.vertices_after, None, None))
        weld_map: Any = validate.weld_map("same", arrays["same"], shapes.shape[1])
        nodes = arrays["child"], arrays["count"], arrays["leaf_faces"]
        tree = validated_tree(*nodes, weld_map[faces], options.arity, options.leaf)
        if np.array_equal(weld_map, np.arange(len(weld_map))):
            weld_map = None
        key_poses, key_pose = key_poses_of(meta, arrays["key_poses"], motion, options)
    except (ValueError, TypeError) as error:
        raise FileError(f"{archive.label_of(path)}: {error}") from None
    return SavedBody(motion, faces, options, weld_map, tree, transform, rigid, key_poses, key_pose)


def key_poses_of(meta, rows, motion, options):
    """(key poses or None, the number of the one in use), validated."""
    if not len(rows):
        return None, 0
    if motion.name != "free" or meta["rigid"]:
        raise ValueError("key_poses: only a body whose vertices move freely has key poses")
    key_poses = check_key_poses(rows, motion.count, None, options)
    return key_poses, validate.integer("key_pose", meta.get("key_pose"), range(len(key_poses)))


def motion_of(meta, arrays, shapes, options, rigid):
    """The motion of a file's body, validated."""
    name, state = meta["motion"], arrays["given"]
    origin = None if meta.get("origin") is None else validate.point("origin", meta["origin"])
    if name != "free" and rigid:
        raise ValueError(f"rigid: a body of motion {name!r} is none")
    if name != "blended" and any(len(arrays[part]) for part in ("skin_begins", "skin_which", "skin_weights")):
        raise ValueError("skin: only a blended body has weights over maps")
    if name == "morph":
        motion = morph_motion(shapes, validate.flag("additive", meta.get("additive")), origin, options.settings.get("between"))
        motion.update(motion.validate_input(state))
        return motion
    if len(shapes) > 1 or (name == "free" and len(state)):
        raise ValueError("shapes: expected one, without weights, for a body whose vertices move freely" if name == "free" else
                         "shapes: expected one, the vertices at rest")
    if name == "free":
        return Free(shapes[0], origin)
    if len(state) % 12:
        raise ValueError(f"given: expected maps of 12 numbers each, got {len(state)} numbers")
    from scipy import sparse
    maps, skin = state.reshape(-1, 3, 4), (arrays["skin_weights"], arrays["skin_which"], arrays["skin_begins"])
    return blended_motion(shapes[0], sparse.csr_array(skin, shape=(shapes.shape[1], len(maps))), maps, origin)
