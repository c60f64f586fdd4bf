"""Draw the pictures of docs/too-many-collisions.md into docs/images: python docs/collision_pictures.py [folder]

A figure in a shirt swings an arm, and a ball hits it. The shirt is in the figure in every frame, and the arm and the ball come to both in
some. `pliant check` is asked, and its answer is what is drawn. Needs the extra `pictures`; the picture of the report also Chromium and
playwright, and stays as it is without.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from drawing import INK, PAPER, RED, SLATE, font
from PIL import Image, ImageDraw

from pliant.check.classify import STATES
from pliant.check.plan import CheckOptions
from pliant.check.run import Output, check_animation
from pliant.io.animation import Animation, FrameActor
from pliant.report import picture
from pliant.shapes import icosphere

IMAGES = Path(__file__).resolve().parent / "images"
FRAMES, SIDE, FOOT = 36, 420, 44
NAMES = ("body", "shirt", "arm", "ball")
COLOURS = ((0.66, 0.72, 0.80), (0.70, 0.78, 0.66), (0.80, 0.72, 0.62), (0.74, 0.68, 0.80))
PURPLE = (122, 106, 156)
VIEW = picture.Viewpoint(-75, 10, (0.05, 0.0, 0.92), 2.0)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]


def figure(frame):
    """(vertices, faces) of the body, the shirt, the arm and the ball."""
    directions, faces = icosphere(4)
    turn = np.arctan2(directions[:, 1], directions[:, 0])[:, None]
    body = directions * [0.5, 0.36, 0.9] + [0, 0, 0.9]
    folds = 1.0 + 0.035 * np.sin(7 * turn) * np.cos(9 * directions[:, 2:])
    shirt = directions * [0.5, 0.36, 0.62] * [1.02, 1.02, 1.0] * np.hstack([folds, folds, np.ones_like(folds)]) + [0, 0, 1.0]
    angle = np.radians(12 + 30 * np.cos(2 * np.pi * (frame - 2) / FRAMES))
    cos, sin = np.cos(angle), np.sin(angle)
    limb = directions * [0.11, 0.11, 0.5] - [0, 0, 0.42]
    arm = limb @ np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]]) + [0.6, -0.05, 1.42]
    ball = 0.16 * directions + [-0.62 - 0.9 * np.abs(frame - 9) / 9, -0.15, 0.75]
    return [(body, faces), (shirt, faces), (arm, faces), (ball, faces)]


def animation():
    """All frames."""
    meshes = [figure(frame) for frame in range(FRAMES)]
    actors = [FrameActor(name, FRAMES, lambda frame, place=place: meshes[frame][place]) for place, name in enumerate(NAMES)]
    return Animation("figure", actors, FRAMES, 24.0, "z", "m")


class Answer(NamedTuple):
    """What a check says: the summary, and marked faces of each body in the frame that is drawn, by what they count as."""

    summary: dict
    frame: int
    static: list[np.ndarray]
    new: list[np.ndarray]


def asked(folder):
    """Check the figure into a folder; what is drawn is the worst frame."""
    summary = check_animation(animation(), CheckOptions(with_self=False), Output(folder, plots=False)).summary
    frame = summary["events"][0]["worst_frame"]
    with np.load(folder / "pairs.npz") as file:
        here = (file["first"] <= frame) & (frame <= file["last"])
        static, new = ([np.unique(faces[bodies == place]) for place in range(len(NAMES))] for bodies, faces in
                       ((file["static_bodies"], file["static_faces"]), (file["bodies"][here], file["faces"][here])))  # fmt: skip
    return Answer(summary, frame, static, new)


def panel(meshes, marks):
    """The figure; `marks`: (faces of each body, colour) each."""
    colours = [np.tile(colour, (len(faces), 1)).astype(float) for (_, faces), colour in zip(meshes, COLOURS, strict=True)]
    for faces, colour in marks:
        for mine, each in zip(colours, faces, strict=True):
            mine[each] = np.array(colour) / 255
    image = picture.draw(meshes, colours, SIDE, VIEW)
    return np.where((image == picture.draw([], [], SIDE)).all(axis=2, keepdims=True), np.uint8(PAPER), image)


def panels(answer):
    """All that intersect; those of every frame; what is left."""
    meshes = figure(answer.frame)
    every = [np.union1d(one, other) for one, other in zip(answer.static, answer.new, strict=True)]
    shown = [panel(meshes, [(every, RED)]), panel(meshes, [(answer.static, PURPLE)]), panel(meshes, [(answer.new, RED)])]
    worst = answer.summary["events"][0]
    captions = [f"frame {answer.frame}: all faces that intersect", "those that do so in every frame",
                f"what is left: {worst['names'][0]} and {worst['names'][1]}, {worst['depth']:.2g} m deep"]  # fmt: skip
    canvas = Image.new("RGB", (SIDE * 3, SIDE + FOOT), PAPER)
    for k, (image, caption) in enumerate(zip(shown, captions, strict=True)):
        canvas.paste(Image.fromarray(image), (SIDE * k, 0))
        ImageDraw.Draw(canvas).text((SIDE * (k + 0.5), SIDE + FOOT / 2), caption, INK, font(17), anchor="mm")
    return canvas


def timeline(answer):
    """A bar for each event, on an axis of frames."""
    events, left, row, width = answer.summary["events"], 150, 34, SIDE * 3
    canvas = Image.new("RGB", (width, row * (len(events) + 1) + 20), PAPER)
    draw, step = ImageDraw.Draw(canvas), (width - left - 40) / FRAMES
    for k, event in enumerate(events):
        y, colour = row * (k + 0.5) + 10, RED if event["state"] == "new" else PURPLE
        draw.text((left - 14, y), " and ".join(event["names"]), INK, font(16), anchor="rm")
        begin, end = left + step * event["first"], left + step * (event["last"] + 1)
        draw.rounded_rectangle((begin, y - 10, end, y + 10), 4, colour)
        label = f"{event['depth']:.2g} m at {event['worst_frame']}" if event["state"] == "new" else "in every frame"
        fits = draw.textlength(label, font(14)) < end - begin - 12
        draw.text((begin + 6 if fits else end + 6, y), label, PAPER if fits else INK, font(14), anchor="lm")
    for frame in range(0, FRAMES + 1, 6):
        draw.text((left + step * (frame + 0.5), row * (len(events) + 0.5) + 8), str(frame), SLATE, font(14), anchor="mm")
    return canvas


def save(image, path):
    image.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


def report_picture(report, path):
    """The page as it opens."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"{path}: as it was; there is no browser")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=OPTIONS)
        page = chromium.new_page(viewport={"width": 1260, "height": 900}, reduced_motion="reduce")
        page.goto(report.as_uri())
        page.evaluate("report.ready")
        page.wait_for_timeout(1000)
        page.screenshot(path=path)
        chromium.close()
    save(Image.open(path).convert("RGB"), path)


def main(folder=IMAGES):
    with tempfile.TemporaryDirectory() as name:
        answer = asked(Path(name))
        assert answer.summary["verdict"] == "collisions" and {event["state"] for event in answer.summary["events"]} <= set(STATES)
        save(panels(answer), Path(folder) / "collisions-new.png")
        save(timeline(answer), Path(folder) / "collisions-events.png")
        report_picture(Path(name) / "report.html", Path(folder) / "report-event.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
