"""A picture for each example of the gallery, drawn after it has run, from the names that it leaves behind; examples stay free of drawing.

`SCENES` has a function of these names for each example, which returns an image of the shape that `picture_parts` fixes. It may update the
bodies, as the example is over by then. An example without a function shows its bodies as it left them.
"""

from pathlib import Path

import numpy as np
from picture_parts import (
    AMBER,
    BLUE,
    DARK,
    GREEN,
    GREY,
    RATIO,
    RED,
    SAND,
    SIZE,
    TEAL,
    Camera,
    arrow,
    chart,
    coloured,
    dot,
    four,
    label,
    merged,
    painted,
    resized,
    still,
    title,
    tube,
)

import pliant as pl
from pliant.report.picture import save_picture


def minimal(names):
    a, b = names["a"], names["b"]
    return still(coloured([a, b], pl.collide(a, b)), Camera(-20, 25))


def cloth(names):
    body, frames = names["body"], names["found"]
    body.update(names["cloth"].frame(int(np.argmax(frames))))
    return still(coloured([body], pl.self_collide(body)), Camera(-58, 30))


def skinned(names):
    arm, box, bones, elbow = (names[name] for name in ("arm", "box", "bones", "elbow"))
    turn, angle = np.eye(4), np.radians(60)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    arm.update(bones.maps([np.eye(4), elbow @ turn]))
    return still(coloured([arm, box], pl.collide(arm, box)), Camera(-75, 70))


def remeshed(names):
    body = pl.Body(names["vertices"], names["faces"])
    lines = body.vertices[body.faces[:, [0, 1]]]
    edges = merged([tube(*line, 0.0012, (0.36, 0.45, 0.58), sides=3) for line in lines])
    return still([*coloured([body], names["pairs"]), edges], Camera(-70, 25))


def report(names):
    sheet, ball, pairs = names["sheet"], names["ball"], names["pairs"]
    meshes = [painted(sheet, pairs.faces[:, 0], (*BLUE, 0.55)), painted(ball, pairs.faces[:, 1], SAND)]
    return still(meshes, Camera(-60, 14))


def clearance(names):
    body, plate = names["body"], names["plate"]
    body.update(names["cable"](names["times"][names["worst"]]))
    gap, near = pl.distance(body, plate), pl.within(body, plate, names["tolerance"])
    camera = Camera(-62, 16)
    meshes = [painted(body, near.faces[:, 0], SAND, AMBER), painted(plate, near.faces[:, 1], BLUE, AMBER),
              *(dot(point, 0.035, RED) for point in gap.points), tube(*gap.points, 0.015, RED)]
    return label(still(meshes, camera), camera, [(gap.points.mean(axis=0), f"least distance {gap.distance:.3f}", (90, 130))])


def depth_image(names):
    height, width, hits = names["height"], names["width"], names["hits"]
    size = (height, width)
    near, far = np.nanmin(names["depth"]), np.nanmax(names["depth"])
    ground = np.full((*size, 3), 0.93)
    hit = hits.hit.reshape(size)[..., None]
    depth = 1 - 0.85 * ((names["depth"] - near) / (far - near))[..., None]
    normals = 0.5 + 0.5 * names["normals"].reshape(*size, 3)
    sun = names["sun"] / np.linalg.norm(names["sun"])
    light = np.clip(names["normals"] @ sun, 0, 1) * ~names["shadow"]
    lit = (0.25 + 0.75 * light).reshape(size)[..., None] * np.array(SAND)
    shadow = np.where(names["shadow"].reshape(size)[..., None], np.array(DARK), np.array(SAND))
    parts = [np.where(hit, image, ground) for image in (depth * np.ones(3), normals, shadow, lit)]
    return four(parts, ("depth", "normals", "shadows", "shaded"))


def contacts(names):
    ball, cushion, pairs = names["ball"], names["cushion"], names["pairs"]
    ball.update(ball.vertices - 0.01 * names["steps"] * names["push"])          # where the contacts were found
    lines = merged([tube(*segment, 0.011, RED, sides=6) for segment in pairs.segments])
    chosen = np.argsort(pairs.depths)[::-5]
    starts = pairs.segments[chosen].mean(axis=1)
    pushes = [part for start, direction in zip(starts, pairs.push_directions[chosen, 0], strict=True)
              for part in arrow(start, start + 0.28 * direction, 0.009)]
    return still([painted(ball, base=(*SAND, 0.45)), painted(cushion), lines, *pushes], Camera(-58, 28))


def scene(names):
    bodies, pairs = names["scene"], names["pairs"]
    colours = {"table": GREY, "rail": GREY, "ball": GREEN, "palm": BLUE}
    meshes = []
    for i, body in bodies.items():
        faces = np.concatenate([pairs.faces[pairs.bodies[:, side] == i, side] for side in (0, 1)])
        meshes.append(painted(body, faces, colours.get(bodies.name_of(i), BLUE)))
    return still(meshes, Camera(-62, 20))


def signed_distance(names):
    field, axis, across = names["field"], names["axis"], names["across"]

    def paint(axes):
        extent = max(abs(field.min()), field.max())
        axes.contourf(across, axis, field, np.linspace(-extent, extent, 41), cmap="RdBu")
        axes.contour(across, axis, field, np.arange(0.2, extent, 0.2), colors="#545c69", linewidths=0.5)
        axes.contour(across, axis, field, [0.0], colors="#262a33", linewidths=2)
        axes.set(aspect="equal", xticks=[], yticks=[])

    return chart(paint, RATIO)


def frustum_culling(names):
    bodies, seen, matrix = names["scene"], names["seen"], names["matrix"]
    meshes = [painted(body, seen.face[seen.body == i], GREY, BLUE) for i, body in bodies.items()]
    corners = np.array([[x, y, z, 1.0] for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]) @ np.linalg.inv(matrix).T
    corners = corners[:, :3] / corners[:, 3:]
    edges = [(k, (k + 1) % 4) for k in range(4)] + [(k + 4, (k + 1) % 4 + 4) for k in range(4)] + [(k, k + 4) for k in range(4)]
    meshes += [tube(corners[i], corners[j], 0.03, AMBER) for i, j in edges] + [dot(names["eye"], 0.14, DARK)]
    return still(meshes, Camera(-78, 38))


def morph_targets(names):
    head, glasses = names["head"], names["glasses"]
    head.update([1.0, 0.6])
    return still(coloured([head, glasses], pl.collide(head, glasses)), Camera(-66, 8))


def character(names):
    body, pairs = names["character"], names["pairs"]
    return still(coloured([body], pairs), Camera(-80, 12))


def triangle_soup(names):
    height, width, hits = names["height"], names["width"], names["hits"]
    sun = names["sun"] / np.linalg.norm(names["sun"])
    light = np.zeros(len(hits.hit))
    light[hits.hit] = np.where(names["lit"], np.abs(hits.normal[hits.hit] @ sun), 0.0)
    sky = np.linspace(0.95, 0.84, height)[:, None, None] * np.array([1.0, 1.005, 1.01])
    shaded = (0.5 + 0.5 * light)[:, None] * np.array(SAND)
    return resized(np.where(hits.hit.reshape(height, width, 1), shaded.reshape(height, width, 3), sky * np.ones((1, width, 1))))


def check(names):
    cloth, worst, rows = names["cloth"], names["worst"], names["frames"] == names["worst"]
    body = pl.Body(cloth.frame(worst), cloth.faces)
    image = still([painted(body, names["pairs"][rows].ravel())], Camera(-58, 30, fit=body.vertices, margin=0.3))

    def paint(axes):
        axes.bar(np.arange(cloth.frames), names["n_pairs"], color=["#e23e36" if k == worst else "#8cacd4" for k in range(cloth.frames)])
        axes.set(xlabel="frame", ylabel="pairs of faces")

    below = chart(paint, 0.24)
    cut = len(below) // 2
    return title(np.concatenate([image[cut:cut + len(image) - len(below)], below]), f"frame {worst}: {np.count_nonzero(rows)} pairs")


def falling_cloth(names):
    states, last = names["states"], len(names["states"]) - 1
    chosen = [0, last // 4, last // 2, last]
    camera = Camera(-58, 26, fit=np.concatenate([vertices for k in chosen for vertices in states[k]]))
    images = [still([(states[k][0], names["faces"], BLUE), (states[k][1], names["body_faces"], SAND)], camera) / 255 for k in chosen]
    return four(images, [f"frame {k}" for k in chosen])


SCENES = {"00_minimal": minimal, "01_cloth": cloth, "02_skinned": skinned, "03_remeshed": remeshed, "04_report": report,
          "05_clearance": clearance, "06_depth_image": depth_image, "07_contacts": contacts, "08_scene": scene,
          "09_signed_distance": signed_distance, "10_frustum_culling": frustum_culling, "11_morph_targets": morph_targets,
          "12_character": character, "13_triangle_soup": triangle_soup, "14_check": check,
          "15_falling_cloth": falling_cloth}


def as_left(names):
    """All bodies of an example, none of them red."""
    bodies = [value for value in names.values() if isinstance(value, pl.Body)]
    return still([painted(body, base=(BLUE, SAND, GREEN, TEAL)[k % 4]) for k, body in enumerate(bodies)])


def picture_of(stem, names):
    """The picture (RATIO · SIZE, SIZE, 3) uint8 of the example with this file name, without its ending."""
    image = SCENES.get(stem, as_left)(names)
    assert image.shape == (round(RATIO * SIZE), SIZE, 3), (stem, image.shape)
    return image


def scraper(block, variables, settings):
    """Called after each block of an example."""
    from sphinx_gallery.scrapers import figure_rst

    source, names = Path(variables["src_file"]), variables["example_globals"]
    path = save_picture(next(variables["image_path_iterator"]), picture_of(source.stem, names))
    return figure_rst([str(path)], settings["src_dir"])
