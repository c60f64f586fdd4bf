"""Draw the pictures of docs/self-collision.md into docs/images: python docs/pictures.py [folder]

Every picture is of a configuration that the library is asked about. Its answer is what is drawn (red: collides), and the answer that the
page tells of is asserted, so that a picture cannot lie. Needs the extra `pictures`.
"""

import sys
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from drawing import AMBER, BLUE, GREEN, INK, LIGHT_RED, PAPER, RED, SAND, SLATE, WHITE, Drawing, strip
from PIL import Image, ImageDraw

import pliant as pl
from pliant.report import picture
from pliant.shapes import folding_cloth, sheet

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH = 1260
PLAIN, STRUCK = (BLUE, SAND), (RED, LIGHT_RED)
FLAT = np.array([[-1.5, -1, 0], [1.5, -1.1, 0], [0, 1.5, 0]])


def two_faces(vertices, faces, collide, caption, **view):
    """A panel of two faces of one mesh: what they share in amber, where they meet in black."""
    vertices = np.asarray(vertices, float)
    pairs = pl.self_collide(pl.Body(vertices, faces), contacts=True)
    assert pairs.faces.tolist() == [[0, 1]] * collide
    drawing = Drawing(verdict="collide" if collide else "do not collide", collides=collide, caption=caption, **view)
    for face, colour in zip(faces, STRUCK if pairs else PLAIN, strict=True):
        drawing.triangle(vertices[face], colour)
    shared = sorted(set(faces[0]) & set(faces[1]))
    for p, q in combinations(shared, 2):
        drawing.line(vertices[p], vertices[q], AMBER, 6.0, casing=INK, through=True)
    for v in sorted(set(faces[0]) | set(faces[1])):
        drawing.dot(vertices[v], AMBER if v in shared else INK, 7.5 if v in shared else 3.0)
    if pairs and not pairs.coplanar[0]:
        mark_segment(drawing, pairs.segments[0])
    return drawing


def mark_segment(drawing, segment):
    """A black line, or a white dot where faces meet in a point."""
    if (segment[0] == segment[1]).all():
        drawing.dot(segment[0], WHITE, 5.5)
    else:
        drawing.line(*segment, (0, 0, 0), 4.5, casing=WHITE, through=True)


def share_none():
    through, on, above = ([[-0.9, 0.2, 1.3], [0.8, -0.4, 1.5], [0.1, -0.1, bottom]] for bottom in (-1.0, 0.0, 0.6))
    faces = [[0, 1, 2], [3, 4, 5]]
    return [two_faces([*FLAT, *through], faces, True, "one passes through the other"),
            two_faces([*FLAT, *on], faces, True, "one touches the other"),
            two_faces([*FLAT, *above], faces, False, "apart")]


def share_one():
    flat, faces = [[-1.6, -0.6, 0], [1.4, -1.3, 0], [1.0, 1.5, 0]], [[0, 1, 2], [0, 3, 4]]
    through = [[0.3, 0.2, 1.5], [0.8, 0.0, -1.0]]
    within = [[0.7, -0.3, 0], [1.5, 2.1, 0]]
    away = [[-1.7, 0.5, 1.6], [0.3, -0.2, 1.7]]
    return [two_faces(flat + through, faces, True, "one passes through the other", azimuth=-80, elevation=34),
            two_faces(flat + within, faces, True, "flat, and overlapping", azimuth=-80, elevation=48),
            two_faces(flat + away, faces, False, "only the vertex is common", azimuth=-80, elevation=34)]


def share_two():
    fold, faces = [[0, -1.3, 0], [0, 1.3, 0], [1.9, -0.2, 0]], [[0, 1, 2], [1, 0, 3]]
    angle = np.radians(20)
    sharp = [1.7 * np.cos(angle), 0.5, 1.7 * np.sin(angle)]
    return [two_faces([*fold, [-1.7, 0.3, 0]], faces, False, "a flat sheet", azimuth=-72, elevation=38),
            two_faces([*fold, sharp], faces, False, "folded sharply", azimuth=-72, elevation=38),
            two_faces([*fold, [1.5, 0.8, 0]], faces, True, "folded flat onto itself", azimuth=-72, elevation=38)]


def share_three():
    """One face on another is drawn above it, with dashes down to where it is."""
    corners = np.array([[-1.4, -1.0, 0], [1.5, -0.9, 0], [0.1, 1.5, 0]])
    lifted = corners + np.array([0, 0, 0.75])
    panels = []
    for others, adjacent, collide in (([2, 1, 0], "exact", True), ([2, 1, 0], "ignore", False), ([5, 4, 3], "ignore", True)):
        pairs = pl.self_collide(pl.Body([*corners, *corners], [[0, 1, 2], others]), adjacent=adjacent)
        assert pairs.faces.tolist() == [[0, 1]] * collide
        one = others == [2, 1, 0]
        drawing = Drawing(verdict="collide" if collide else "left out", collides=collide,
                          caption=f'adjacent="{adjacent}"' if one else "ignore, but six vertices")
        for place, colour in zip((corners, lifted), STRUCK if pairs else PLAIN, strict=True):
            drawing.triangle(place, colour)
        for low, high in zip(corners, lifted, strict=True):
            drawing.line(low, high, INK, 2.5, dashed=True)
            drawing.dot(low, AMBER if one else INK, 7.5 if one else 3.0)
            if not one:
                drawing.dot(high, INK, 3.0)
        panels.append(drawing)
    return panels


def seam():
    """A sheet of two halves; the vertices of the seam are there twice, at one place."""
    nx, ny = 6, 3
    vertices, faces = sheet(nx, ny)
    right = vertices[faces][:, :, 0].mean(axis=1) > 0.5
    doubled = np.flatnonzero(vertices[:, 0] == 0.5)
    twin = np.arange(len(vertices))
    twin[doubled] = len(vertices) + np.arange(len(doubled))
    faces = np.where(right[:, None], twin[faces], faces)
    vertices = np.concatenate([vertices, vertices[doubled]]) * [2.0, 1.0, 0.0]
    vertices[:, 2] = 0.16 * np.sin(3.4 * vertices[:, 0] + 0.9 * vertices[:, 1]) + 0.12 * vertices[:, 1] ** 2
    touch = {f for f, corners in enumerate(faces) if set(corners) & {*doubled, *twin[doubled]}}
    panels = []
    for weld in (False, True):
        pairs = pl.self_collide(pl.Body(vertices, faces, weld=weld))
        struck = set(pairs.faces.ravel().tolist())
        assert struck == (set() if weld else touch)
        word = "no pairs" if weld else f"{len(pairs)} pairs collide"
        drawing = Drawing(-70, 34, verdict=word, collides=not weld, caption=f"weld={weld}")
        for f, corners in enumerate(faces):
            drawing.triangle(vertices[corners], (STRUCK if f in struck else PLAIN)[1 - right[f]], width=1.6)
        for p, q in pairwise(doubled):
            drawing.line(vertices[p], vertices[q], AMBER, 5.0, casing=INK)
        for v in doubled:
            drawing.dot(vertices[v], AMBER, 6.0)
        panels.append(drawing)
    return panels


def contacts():
    return [crossing(), coplanar(), touching()]


def pair_of(first, second, **view):
    """(the answer about two faces, a panel with both of them)."""
    pairs = pl.collide(pl.Body(first, [[0, 1, 2]]), pl.Body(second, [[0, 1, 2]]), contacts=True)
    assert len(pairs) == 1
    drawing = Drawing(collides=True, **view)
    drawing.triangle(first, RED)
    drawing.triangle(second, LIGHT_RED)
    return pairs, drawing


def arrow(drawing, start, move, text, shift):
    drawing.line(start, start + move, GREEN, 5.0, casing=WHITE, arrow=True, through=True)
    drawing.note(start + 0.5 * move, text, GREEN, shift)


def crossing():
    second = np.array([[-1.0, 0.2, 0.9], [1.0, -0.4, 1.1], [0.2, -0.1, -0.75]])
    pairs, drawing = pair_of(FLAT, second, verdict="crossing", caption="segment and shortest move")
    (segment,), (normal,), (depth,) = pairs.segments, pairs.normals, pairs.depths
    assert not pairs.coplanar[0] and abs(depth - 0.75) < 1e-15
    assert not pl.collide(pl.Body(FLAT, [[0, 1, 2]]), pl.Body(second + 1.000001 * depth * normal, [[0, 1, 2]]))
    drawing.ghost(second + depth * normal, INK)
    mark_segment(drawing, segment)
    arrow(drawing, second[0], depth * normal, "depth ·\nnormal", (-62, 0))
    drawing.note(segment[0], "segment", shift=(-62, 0))
    return drawing


def coplanar():
    first = np.array([[1.3, 0.9, 0], [-1.9, 0.6, 0], [0.3, -1.7, 0]])
    pairs, drawing = pair_of(first, FLAT, azimuth=-112, elevation=46, verdict="coplanar", caption="longest chord, depth 0")
    assert pairs.coplanar[0] and pairs.depths[0] == 0
    polygon = clipped(first, FLAT)
    (segment,) = pairs.segments
    assert np.isclose(np.linalg.norm(segment[1] - segment[0]), max(np.linalg.norm(p - q) for p, q in combinations(polygon, 2)), rtol=1e-14)
    for p, q in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        drawing.line(p, q, WHITE, 3.5, dashed=True, through=True)
    mark_segment(drawing, segment)
    arrow(drawing, polygon.mean(axis=0), 0.9 * pairs.normals[0], "normal", (56, -14))
    return drawing


def clipped(polygon, triangle):
    """The part of a convex polygon inside a triangle, both in the plane z = 0 (Sutherland and Hodgman)."""
    turn = np.sign(cross2(triangle[1] - triangle[0], triangle[2] - triangle[0]))
    for k in range(3):
        a, b = triangle[k], triangle[(k + 1) % 3]
        side = [turn * cross2(b - a, p - a) for p in polygon]
        kept = []
        for i, p in enumerate(polygon):
            if side[i - 1] * side[i] < 0:
                kept.append(polygon[i - 1] + (p - polygon[i - 1]) * side[i - 1] / (side[i - 1] - side[i]))
            if side[i] >= 0:
                kept.append(p)
        polygon = np.array(kept)
    return polygon


def cross2(u, v):
    return u[0] * v[1] - u[1] * v[0]


def touching():
    second = np.array([[-0.9, 0.2, 1.3], [0.8, -0.4, 1.5], [0.1, -0.1, 0.0]])
    pairs, drawing = pair_of(FLAT, second, verdict="touching", caption="a point, depth 0")
    assert not pairs.coplanar[0] and pairs.depths[0] == 0 and (pairs.segments[0] == second[2]).all()
    arrow(drawing, second[2], 0.8 * pairs.normals[0], "normal", (54, 12))
    mark_segment(drawing, pairs.segments[0])
    return drawing


def cloth():
    """A cloth in the middle of its fold, and a part of it closer, with the sides of its faces."""
    scene = folding_cloth(6_000)
    vertices, faces = scene.frame(scene.frames // 2), scene.faces
    pairs = pl.self_collide(pl.Body(vertices, faces), contacts=True)
    assert not pl.self_collide(pl.Body(scene.frame(0), faces))
    assert len(pairs) > 500 and not pairs.coplanar.any()
    colours = np.tile(shade(BLUE), (len(faces), 1))
    colours[np.unique(pairs.faces)] = shade(RED)
    sides = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)

    size, side, black = 820, 420, (0.0, 0.0, 0.0)                      # pixels of the whole, a square before it is cut, and of the part
    view, part = picture.Viewpoint(25, 36, (-0.064, -0.013, 0.0), 1.18), picture.Viewpoint(25, 36, (-0.094, 0.470, 0.078), 0.20)
    whole = on_paper([(vertices, faces), rods(pairs.segments, 0.0022)], [colours, black], size, view)
    closer = on_paper([(vertices, faces), rods(pairs.segments, 0.0016), rods(vertices[sides], 0.0005)],
                      [colours, black, shade(SLATE)], side, part)
    canvas, cut = Image.new("RGB", (WIDTH, side), PAPER), (size - side) // 2
    canvas.paste(Image.fromarray(whole[cut : cut + side]))
    canvas.paste(Image.fromarray(closer), (WIDTH - side, 0))

    zoom = size / view.width                                            # a frame around the part, and where it is in the whole
    x, y, _ = (np.subtract(part.centre, view.centre) @ Drawing(view.azimuth, view.elevation).axes) * zoom
    x, y, r = size / 2 + x, side / 2 - y, part.width / 2 * zoom
    for box in ((x - r, y - r, x + r, y + r), (WIDTH - side, 0, WIDTH - 1, side - 1)):
        ImageDraw.Draw(canvas).rectangle(box, outline=INK, width=2)
    return canvas


def shade(colour):
    return np.array(colour) / 255


def on_paper(meshes, colours, size, view):
    """A picture whose backdrop is that of the drawings."""
    image = picture.draw(meshes, colours, size, view)
    return np.where((image == picture.draw([], [], size)).all(axis=2, keepdims=True), np.uint8(PAPER), image)


def rods(segments, radius):
    """Segments (m, 2, 3) as three-sided prisms, a mesh that pictures can show."""
    along = segments[:, 1] - segments[:, 0]
    first = np.cross(along, np.eye(3)[np.abs(along).argmin(axis=1)])
    second = np.cross(along, first)
    first, second = (radius * side / np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second))
    ring = np.stack([first, -0.5 * first + 0.866 * second, -0.5 * first - 0.866 * second], axis=1)
    vertices = np.concatenate([segments[:, :1] + ring, segments[:, 1:] + ring], axis=1)
    prism = np.array([[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4], [2, 0, 3], [2, 3, 5], [0, 2, 1], [3, 4, 5]])
    return vertices.reshape(-1, 3), (6 * np.arange(len(segments))[:, None, None] + prism).reshape(-1, 3)


STRIPS = {"share-none": share_none, "share-one": share_one, "share-two": share_two, "share-three": share_three, "weld": seam,
          "contacts": contacts}


def save(path, image):
    """With a palette, which makes files a third as large."""
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


def main(folder=IMAGES):
    for name, panels in STRIPS.items():
        drawings = panels()
        save(Path(folder) / f"{name}.png", strip(drawings, WIDTH // len(drawings)))
    save(Path(folder) / "cloth.png", cloth())


if __name__ == "__main__":
    main(*sys.argv[1:2])
