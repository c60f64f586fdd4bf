"""A character that touches itself
===============================

A character of nine bones folds its arms and bends. A skinned mesh gets through itself where no single bone does: self-collision in every
frame, with the bones whose skin meets.
"""
import numpy as np

import pliant as pl
from pliant.shapes import icosphere

directions, faces = icosphere(6)                                        # 81,920 triangles

# The skin: a sphere drawn out along five axes, as far as the limbs are long.
TIPS = {"head": (0, 0, 1.15), "left arm": (-1.45, 0, 0.55), "right arm": (1.45, 0, 0.55), "left leg": (-0.55, 0, -1.6),
        "right leg": (0.55, 0, -1.6)}
radius = 0.40 + 0.05 * np.sin(3 * directions[:, 2])
for name, tip in TIPS.items():
    length = np.linalg.norm(tip)
    falloff = 46 * (1 - directions @ (np.array(tip) / length))
    radius = radius + (length - 0.42) * np.exp(-falloff ** 1.25 * (0.16 if name == "head" else 0.42))
rest = directions * radius[:, None] * [1, 0.85, 1]

# Bones: (parent, where it begins, where it ends).
BONES = {"torso": (-1, (0, 0, -0.3), (0, 0, 0.3)), "head": (0, (0, 0, 0.45), TIPS["head"])}
for side, sign in (("left", -1), ("right", 1)):
    BONES[f"{side} upper arm"] = (0, (0.36 * sign, 0, 0.14), (0.9 * sign, 0, 0.34))
    BONES[f"{side} forearm"] = (len(BONES) - 1, (0.9 * sign, 0, 0.34), TIPS[f"{side} arm"])
for side, sign in (("left", -1), ("right", 1)):
    BONES[f"{side} leg"] = (0, (0.2 * sign, 0, -0.6), TIPS[f"{side} leg"])
names = list(BONES)
starts, ends = (np.array([bone[k] for bone in BONES.values()], float) for k in (1, 2))


def distances_to_bones(points):
    """(n, m): from each point to each bone."""
    along = ends - starts
    t = np.clip(((points[:, None] - starts) * along).sum(2) / (along ** 2).sum(1), 0, 1)
    return np.linalg.norm(points[:, None] - starts - t[..., None] * along, axis=2)


near = distances_to_bones(rest)
weights = np.exp(-((near - near.min(axis=1, keepdims=True)) / 0.09) ** 2)
bind = np.tile(np.eye(4), (len(names), 1, 1))
bind[:, :3, 3] = -starts
skeleton = pl.Skeleton([bone[0] for bone in BONES.values()], bind)
character = pl.Body.blended(rest, faces, skeleton.weights(np.tile(np.arange(len(names)), (len(rest), 1)), weights))


def pose(angles):
    """Local matrices (m, 4, 4) from {bone: (axis, degrees)}."""
    local = np.tile(np.eye(4), (len(names), 1, 1))
    for k, (parent, _, _) in enumerate(BONES.values()):
        local[k, :3, 3] = starts[k] - (starts[parent] if parent >= 0 else 0)
        axis, degrees = angles.get(names[k], ((0, 0, 1), 0))
        axis, angle = np.array(axis) / np.linalg.norm(axis), np.radians(degrees)
        cross = np.cross(np.eye(3), axis)
        local[k, :3, :3] = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return local


n_pairs = []
for frame in range(13):
    part = frame / 12
    character.update(skeleton.maps(pose({
        "left upper arm": ((0, 0, 1), 84 * part), "right upper arm": ((0, 0, 1), -78 * part),
        "left forearm": ((0, -0.3, 1), 96 * part), "right forearm": ((0, -0.1, 1), -90 * part),
        "left leg": ((1, 0, 0), -32 * part), "right leg": ((1, 0, 0), 8 * part), "head": ((1, 0.3, 0), 22 * part)})))
    pairs = pl.self_collide(character)
    of_face = near.argmin(axis=1)[character.faces[:, 0]]                # the nearest bone of each face
    meetings = {" and ".join(sorted({names[of_face[i]], names[of_face[j]]})) for i, j in pairs.faces}
    print(f"frame {frame:2}: {len(pairs):4} pairs; {', '.join(sorted(meetings)) or 'free'}")
    n_pairs.append(len(pairs))

assert n_pairs[0] == 0 and n_pairs[-1] > 100
