"""Bodies in files: `Body.save` writes them, `Body.load` reads them. Reading validates every field as `Body` validates its arguments."""
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pliant.core import archive, validate, validate_weld
from pliant.errors import ArgumentError, ArgumentTypeError, FileError
from pliant.motion.motion import MOTIONS, MotionFile, type_of
from pliant.refit.key_poses import check_key_poses
from pliant.refit.policy import Options, policies_of, resolve_options
from pliant.tree.nodes import empty_tree, validated_tree

FORMAT = "pliant body 5"
ARRAY_TYPES = {"shapes": (np.float64, 3), "given": (np.float64, 1), "faces": (np.int32, 2), "same": (np.int32, 1), "child": (np.int32, 2),
               "count": (np.int32, 1), "leaf_faces": (np.int32, 2), "skin_begins": (np.int64, 1), "skin_which": (np.int32, 1),
               "skin_weights": (np.float64, 1), "key_poses": (np.float64, 3)}
SKIN = "skin_begins", "skin_which", "skin_weights"


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
    write = type_of(motion).write
    if write is None:
        raise ArgumentTypeError(f"save: motion {motion.name!r} is registered without write and read; save its input and make a new body")
    o, nodes, file = options, empty_tree(options.arity) if tree is None else tree, write(motion)
    meta = {"format": FORMAT, "volume": o.volume_type.name, "build": o.builder.name, "policy": {"name": o.policy.name, **o.settings},
            "arity": o.arity, "leaf": o.leaf, "rigid": rigid, "motion": motion.name, "additive": file.additive,
            "origin": motion.origin[:3].tolist() if motion.fixed else None,
            "transform": None if transform is None else transform.tolist(), "key_pose": key_pose}
    archive.write(path, meta, {"shapes": file.shapes, "given": file.values, "faces": faces, "same": weld_map, "child": nodes.child,
                               "count": nodes.count, "leaf_faces": nodes.faces, **dict(zip(SKIN, file.skin, strict=True)),
                               "key_poses": np.zeros((0, 0, 3)) if key_poses is None else key_poses})


def read_body(path):
    """The SavedBody in a file or a binary stream; a FileError names what is wrong with it."""
    meta, arrays = archive.read(path, ARRAY_TYPES)
    try:
        if meta.get("format") != FORMAT:
            raise ArgumentError(f"format: expected {FORMAT!r}, got {meta.get('format')!r}")
        policies = policies_of(validate.choice("motion", meta.get("motion"), MOTIONS))
        options = resolve_options(**{name: meta.get(name) for name in ("volume", "build", "policy", "arity", "leaf")}, policies=policies)
        shapes = validate.targets("shapes", arrays["shapes"])
        faces = validate.faces("faces", arrays["faces"], shapes.shape[1])
        transform = None if meta.get("transform") is None else validate.transform("transform", meta["transform"])
        rigid = validate.flag("rigid", meta.get("rigid"))
        motion = motion_of(meta, arrays, shapes, options, rigid)
        if transform is not None:
            validate.check_transform_range("transform", transform, motion.bound_after(None, None),
                                           partial(motion.vertices_after, None, None))
        weld_map: Any = validate_weld.weld_map("same", arrays["same"], shapes.shape[1])
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
        raise ArgumentError("key_poses: only a body whose vertices move freely has key poses")
    key_poses = check_key_poses(rows, motion.count, None, options)
    return key_poses, validate.integer("key_pose", meta.get("key_pose"), range(len(key_poses)))


def motion_of(meta, arrays, shapes, options, rigid):
    """The motion of a file's body, validated."""
    name, skin = meta["motion"], tuple(arrays[part] for part in SKIN)
    origin = None if meta.get("origin") is None else validate.point("origin", meta["origin"])
    if name != "free" and rigid:
        raise ArgumentError(f"rigid: a body of motion {name!r} is none")
    if name != "blended" and any(map(len, skin)):
        raise ArgumentError("skin: only a blended body has weights over maps")
    if MOTIONS[name].read is None:
        raise ArgumentError(f"motion: {name!r} is registered without write and read")
    motion = MOTIONS[name].read(MotionFile(shapes, arrays["given"], origin, meta.get("additive"), skin), options.settings)
    if type_of(motion).name != name or motion.count != shapes.shape[1]:
        raise ArgumentError(f"motion: {name!r} was read as {motion.name!r} of {motion.count} vertices, expected {shapes.shape[1]}")
    return motion
