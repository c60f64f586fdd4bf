"""A scene of named bodies
=======================

A gripper closes around a soft ball in a crate. The bodies of a scene have names, are updated in one call, and are queried all at once; a
body that is not in the scene is tested against all of them.
"""
import numpy as np

import pliant as pl
from pliant.shapes import bumpy, icosphere

directions, faces = icosphere(4)
rounded = np.sign(directions) * np.abs(directions) ** 0.3   # a unit ball with the shape of a box


def box(length, width, height):
    return pl.Body.rigid(rounded * [length / 2, width / 2, height / 2], faces)


def at(x, y, z):
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix


scene = pl.Scene()
scene.add(box(3.2, 2.2, 0.1), name="table", group="still")
scene.add(box(0.1, 2.2, 0.5), name="rail", group="still")
scene.add(pl.Body(0.4 * directions, faces), name="ball")
scene.add(box(0.12, 0.5, 0.9), name="left finger", group="gripper")
scene.add(box(0.12, 0.5, 0.9), name="right finger", group="gripper")
scene.add(box(1.7, 0.3, 0.16), name="palm", group="gripper")
scene.ignore("gripper", "gripper")                          # they are meant to touch each other
scene.ignore("still", "still")

touching = []
for frame in range(20):
    opening = 0.75 - 0.022 * frame
    squeeze = min(1.0, (opening - 0.06) / 0.40 + 0.05)      # the ball gives way, but not enough
    scene.update({
        "table": at(0, 0, -0.05), "rail": at(-1.5, 0, 0.25),
        "ball": 0.4 * bumpy(directions, 0.1 * frame, 0.05) * [squeeze, 1, 1] + [0, 0, 0.43],
        "left finger": at(-opening, 0, 0.6), "right finger": at(opening, 0, 0.6), "palm": at(0, 0, 1.1),
    })
    pairs = scene.collide()
    names = {tuple(scene.name_of(i) for i in ids) for ids in pairs.bodies.tolist()}
    touching.append(names)
    if frame % 3 == 1:
        print(f"frame {frame:2}: {len(pairs):3} pairs of faces, {sorted(names) or 'none'}")

assert touching[0] == set() and touching[-1] == {("ball", "left finger"), ("ball", "right finger")}

# Would a probe fit between the fingers? It is not in the scene: its id is -1.
probe = pl.Body.rigid(0.25 * directions, faces)
for height in (1.6, 1.2, 0.7):
    probe.update(at(0.1, -0.3, height))
    found = pl.collide(probe, scene, first="each")
    hit = [scene.name_of(i) for i in found.bodies[:, 1].tolist()]
    print(f"probe at {height}: {hit or 'free'}, distance to the nearest {pl.distance(probe, scene).distance:.3f}")
    assert (found.bodies[:, 0] == -1).all() and bool(hit) == (pl.distance(probe, scene).distance == 0)
