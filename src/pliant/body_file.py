"""Bodies in files: what `Body.save` writes and `Body.load` believes. Every part is examined as if a stranger had passed it to `Body`."""
import os
from functools import partial
from typing import Any

import numpy as np

from pliant.core import archive, validate
from pliant.errors import FileError
from pliant.motion.blended import blended_of
from pliant.motion.free import Free
from pliant.motion.morph import morph_of
from pliant.refit.blended import BLENDED
from pliant.refit.convex import CONVEX
from pliant.refit.policy import POLICIES, options_for, policies_for
from pliant.tree.nodes import no_tree, tree_from_outside

FORMAT = "pliant body 4"
KINDS = {"shapes": (np.float64, 3), "given": (np.float64, 1), "faces": (np.int32, 2), "same": (np.int32, 1), "child": (np.int32, 2),
         "count": (np.int32, 1), "leaf_faces": (np.int32, 2), "skin_begins": (np.int64, 1), "skin_which": (np.int32, 1),
         "skin_weights": (np.float64, 1)}
NO_SKIN = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
OWN = {"free": None, "morph": BLENDED, "blended": CONVEX}               # the policy that only bodies of this motion have


def write_body(path, options, motion, faces, same, tree, rigid, placement):
    """Write a body of these parts; tree and placement may be None."""
    o, links = options, no_tree(options.arity) if tree is None else tree
    meta = {"format": FORMAT, "volume": o.family.name, "build": o.builder.name, "policy": {"name": o.policy.name, **o.settings},
            "arity": o.arity, "leaf": o.leaf, "rigid": rigid, "motion": motion.name, "additive": motion.additive,
            "origin": motion.origin[:3].tolist() if motion.fixed else None,
            "transform": None if placement is None else placement.tolist()}
    begins, which, weights = motion.stored_skin if motion.name == "blended" else NO_SKIN
    archive.write(path, meta, {"shapes": motion.stored, "given": motion.given.reshape(-1), "faces": faces, "same": same,
                               "child": links.child, "count": links.count, "leaf_faces": links.faces,
                               "skin_begins": begins, "skin_which": which, "skin_weights": weights})


def read_body(path):
    """(motion, faces, options, same, tree, placement, rigid) of the body in a file; FileError says what is wrong with it."""
    meta, arrays = archive.read(path, KINDS)
    try:
        if meta.get("format") != FORMAT:
            raise ValueError(f"format: expected {FORMAT!r}, got {meta.get('format')!r}")
        own = OWN[validate.choice("motion", meta.get("motion"), OWN)]
        policies = POLICIES if own is None else policies_for(own)
        options = options_for(**{name: meta.get(name) for name in ("volume", "build", "policy", "arity", "leaf")}, policies=policies)
        shapes = validate.targets("shapes", arrays["shapes"])
        faces = validate.faces("faces", arrays["faces"], shapes.shape[1])
        placement = None if meta.get("transform") is None else validate.transform("transform", meta["transform"])
        rigid = validate.flag("rigid", meta.get("rigid"))
        motion = motion_of(meta, arrays, shapes, options, rigid)
        if placement is not None:
            validate.within_range("transform", placement, motion.bound_after(None, None), partial(motion.after, None, None))
        same: Any = validate.same("same", arrays["same"], shapes.shape[1])
        links = arrays["child"], arrays["count"], arrays["leaf_faces"]
        planted = tree_from_outside(*links, same[faces], options.arity, options.leaf)
        if np.array_equal(same, np.arange(len(same))):
            same = None
    except (ValueError, TypeError) as error:
        raise FileError(f"{os.fspath(path)}: {error}") from None
    return motion, faces, options, same, planted, placement, rigid


def motion_of(meta, arrays, shapes, options, rigid):
    """The motion of a file's body, examined."""
    name, given = meta["motion"], arrays["given"]
    origin = None if meta.get("origin") is None else validate.point("origin", meta["origin"])
    if name != "free" and rigid:
        raise ValueError(f"rigid: a body of motion {name!r} is none")
    if name != "blended" and any(len(arrays[part]) for part in ("skin_begins", "skin_which", "skin_weights")):
        raise ValueError("skin: only a blended body has weights over maps")
    if name == "morph":
        motion = morph_of(shapes, validate.flag("additive", meta.get("additive")), origin, options.settings.get("between"))
        motion.update(motion.checked(given))
        return motion
    if len(shapes) > 1 or (name == "free" and len(given)):
        raise ValueError("shapes: expected one, without weights, for a body whose vertices move freely" if name == "free" else
                         "shapes: expected one, the vertices at rest")
    if name == "free":
        return Free(shapes[0], origin)
    if len(given) % 12:
        raise ValueError(f"given: expected maps of 12 numbers each, got {len(given)} numbers")
    from scipy import sparse
    maps, skin = given.reshape(-1, 3, 4), (arrays["skin_weights"], arrays["skin_which"], arrays["skin_begins"])
    return blended_of(shapes[0], sparse.csr_array(skin, shape=(shapes.shape[1], len(maps))), maps, origin)
