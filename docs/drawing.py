"""A few flat triangles with lines, arrows and captions, as line drawings of three dimensions; for `docs/pictures.py`.

Orthographic, see-through: all fragments of a pixel are laid over each other, the farthest first, so that triangles may cross. What lies
behind a face is drawn thin and dashed. `pliant.report.picture` is for meshes; here every line has a meaning.

Points are (3,), z is up, the eye looks from `azimuth` and `elevation`, in degrees. Colours are (r, g, b), 0 … 255, widths and sizes pixels.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SAMPLES = 3  # a pixel and axis
PAPER, INK, FAINT = (246, 247, 249), (38, 42, 51), (205, 210, 218)
RED, LIGHT_RED = (226, 62, 54), (245, 141, 128)
BLUE, SAND = (140, 172, 212), (226, 205, 155)
AMBER, GREEN, SLATE, WHITE = (255, 184, 28), (14, 122, 92), (84, 108, 146), (255, 255, 255)
OPACITY = 0.86
LIGHT = np.array([-0.35, 0.75, 0.60]) / np.linalg.norm([-0.35, 0.75, 0.60])  # right, up, towards the eye
PIECE = 3.0  # pixels of a line that are seen or hidden as one
BEHIND = 0.012  # of the size of the drawing: nearer than that, a line lies on a face


class Line(NamedTuple):
    """A straight one."""

    ends: np.ndarray  # (2, 3)
    colour: tuple[int, int, int]
    width: float
    casing: tuple[int, int, int] | None  # a rim around it
    dashed: bool
    arrow: bool
    through: bool  # shown in full where it is hidden, too


class Dot(NamedTuple):
    """A vertex, or a point where faces meet; never hidden."""

    at: np.ndarray
    colour: tuple[int, int, int]
    radius: float


class Note(NamedTuple):
    """A word beside a point."""

    at: np.ndarray
    text: str
    colour: tuple[int, int, int]
    shift: tuple[float, float]  # pixels, right and down


class Drawing:
    """One panel: what is in it, then `image`."""

    def __init__(self, azimuth=-62.0, elevation=26.0, verdict="", collides=False, caption=""):
        a, e = math.radians(azimuth), math.radians(elevation)
        right = np.array([-math.sin(a), math.cos(a), 0.0])
        eye = np.array([math.cos(a) * math.cos(e), math.sin(a) * math.cos(e), math.sin(e)])
        self.axes = np.stack([right, np.cross(eye, right), eye], axis=1)
        self.verdict, self.collides, self.caption = verdict, collides, caption
        self.triangles, self.lines, self.dots, self.notes, self.frame = [], [], [], [], []

    def triangle(self, corners, colour, width=2.2):
        """A face and its sides."""
        corners = np.asarray(corners, float)
        self.triangles.append((corners, colour))
        self.frame.extend(corners)
        for k in range(3):
            self.line(corners[k], corners[(k + 1) % 3], INK, width)

    def line(self, start, end, colour, width, casing=None, dashed=False, arrow=False, through=False):
        self.lines.append(Line(np.array([start, end], float), colour, width, casing, dashed, arrow, through))
        self.frame.extend(self.lines[-1].ends)

    def ghost(self, corners, colour):
        """Where a triangle would be: dashed sides."""
        for k in range(3):
            self.line(corners[k], corners[(k + 1) % 3], colour, 3.0, dashed=True, through=True)

    def dot(self, at, colour=INK, radius=4.5):
        self.dots.append(Dot(np.asarray(at, float), colour, radius))
        self.frame.append(self.dots[-1].at)

    def note(self, at, text, colour=INK, shift=(0.0, 0.0)):
        self.notes.append(Note(np.asarray(at, float), text, colour, shift))

    # ---- placing ---------------------------------------------------------------------------------------------------------

    def place(self, points):
        """(n, 3): column and row in samples, and depth towards the eye in the same unit."""
        return (np.asarray(points) @ self.axes) * (self.scale, -self.scale, self.scale) + self.shift

    def fit(self, width, height, top, bottom):
        """Everything into the middle of a panel, below its verdict and above its caption."""
        seen = np.array(self.frame) @ self.axes
        low, high = seen.min(axis=0), seen.max(axis=0)
        room = 0.86 * width, 0.94 * (height - top - bottom)
        self.size = float((high - low)[:2].max())
        self.scale = SAMPLES * min(room[0] / max(high[0] - low[0], 1e-9), room[1] / max(high[1] - low[1], 1e-9))
        middle = 0.5 * (low + high) * (self.scale, -self.scale, self.scale)
        self.shift = SAMPLES * np.array([0.5 * width, top + 0.5 * (height - top - bottom), 0.0]) - middle

    # ---- painting --------------------------------------------------------------------------------------------------------

    def image(self, width, height, top=58, bottom=52):
        self.fit(width, height, top, bottom)
        self.planes = [self.plane(self.place(corners)) for corners, _ in self.triangles]
        samples = np.empty((height * SAMPLES, width * SAMPLES, 3))
        samples[:] = PAPER
        for start in range(0, len(samples), 64):
            self.fill(samples[start : start + 64], start)
        canvas = Image.fromarray(np.round(samples).astype(np.uint8))
        draw = ImageDraw.Draw(canvas)
        for line in self.lines:
            self.stroke(draw, line)
        for dot in self.dots:
            x, y, _ = self.place(dot.at)
            for radius, colour in ((dot.radius + 2.0, INK), (dot.radius, dot.colour)):
                r = radius * SAMPLES
                draw.ellipse((x - r, y - r, x + r, y + r), fill=colour)
        canvas = canvas.reduce(SAMPLES)
        self.write(ImageDraw.Draw(canvas), width, height)
        return canvas

    @staticmethod
    def plane(corners):
        """Weights of corners 1 and 2 and the depth, each as (x, y, constant); None where a triangle is seen edge-on."""
        (x0, y0, _), (x1, y1, _), (x2, y2, _) = corners
        area = (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0)
        if abs(area) < 1e-6:
            return None
        first = np.array([y2 - y0, x0 - x2, y0 * x2 - x0 * y2]) / area
        second = np.array([y0 - y1, x1 - x0, x0 * y1 - y0 * x1]) / area
        z0, z1, z2 = corners[:, 2]
        depth = np.array([0.0, 0.0, z0]) + (z1 - z0) * first + (z2 - z0) * second
        return first, second, depth

    def fill(self, rows, start):
        """Lay the faces over a band of samples, the farthest first."""
        y, x = np.mgrid[start : start + len(rows), 0 : rows.shape[1]] + 0.5
        depths, colours = [], []
        for (corners, colour), plane in zip(self.triangles, self.planes, strict=True):
            if plane is None:
                continue
            first, second, depth = (p[0] * x + p[1] * y + p[2] for p in plane)
            inside = (first >= 0) & (second >= 0) & (first + second <= 1)
            depths.append(np.where(inside, depth + 1e-3 * len(depths), -np.inf))  # of coplanar faces the last is in front
            normal = np.cross(corners[1] - corners[0], corners[2] - corners[0]) @ self.axes
            light = 0.90 + 0.14 * abs(normal @ LIGHT) / np.linalg.norm(normal)
            colours.append(np.minimum(np.array(colour) * light, 255.0))
        stack, palette = np.array(depths), np.array(colours)
        order = np.argsort(stack, axis=0, kind="stable")
        covered = np.take_along_axis(stack, order, axis=0) > -np.inf
        for rank, here in zip(order, covered, strict=True):
            if here.any():
                rows += (palette[rank] - rows) * (OPACITY * here[..., None])

    def hidden(self, points):
        """Which of these placed points (n, 3) lie behind a face."""
        behind = np.zeros(len(points), bool)
        for plane in self.planes:
            if plane is not None:
                first, second, depth = (p[0] * points[:, 0] + p[1] * points[:, 1] + p[2] for p in plane)
                inside = (first > 1e-3) & (second > 1e-3) & (first + second < 1 - 1e-3)
                behind |= inside & (depth > points[:, 2] + BEHIND * self.size * self.scale)
        return behind

    def stroke(self, draw, line):
        """In runs that are all seen or all hidden; dashes are runs, too."""
        start, end = self.place(line.ends)
        pieces = max(1, int(np.linalg.norm((end - start)[:2]) / (PIECE * SAMPLES)))
        at = start + (end - start) * (np.arange(pieces + 1) / pieces)[:, None]
        back = self.hidden(0.5 * (at[1:] + at[:-1])) & (not line.through)
        shown = (np.arange(pieces) // 3 % 2 == 0) | ~(back | line.dashed)
        kind = np.where(shown, 1 + back, 0)
        cuts = [0, *(np.flatnonzero(np.diff(kind)) + 1), pieces]
        for colour, width in rims(line):
            for begin, stop in pairwise(cuts):
                if kind[begin] == 1:
                    self.piece(draw, at[begin], at[stop], colour, width, round_ends=not line.dashed)
                elif kind[begin] == 2 and width == line.width:
                    self.piece(draw, at[begin], at[stop], faded(colour), 0.7 * width, round_ends=False)
        if line.arrow:
            self.head(draw, start[:2], end[:2], line)

    @staticmethod
    def piece(draw, start, end, colour, width, round_ends):
        w = width * SAMPLES
        draw.line((*start[:2], *end[:2]), fill=colour, width=max(1, round(w)))
        if round_ends:
            for x, y in (start[:2], end[:2]):
                draw.ellipse((x - w / 2, y - w / 2, x + w / 2, y + w / 2), fill=colour)

    @staticmethod
    def head(draw, start, end, line):
        along = (end - start) / max(np.linalg.norm(end - start), 1e-9)
        across = np.array([-along[1], along[0]])
        for colour, width in rims(line):
            size, more = 3.4 * line.width * SAMPLES, (width - line.width) * SAMPLES
            base, tip = end - along * (size + 0.5 * more), end + along * (0.2 * size + 1.2 * more)
            draw.polygon([tuple(tip), tuple(base + across * (0.6 * size + more)), tuple(base - across * (0.6 * size + more))], fill=colour)

    def write(self, draw, width, height):
        """Verdict, caption and notes, in pixels: letters are smoothed by the font."""
        for note in self.notes:
            x, y = self.place(note.at)[:2] / SAMPLES + note.shift
            draw.text((x, y), note.text, fill=note.colour, font=font(25), anchor="mm", align="center", stroke_width=3, stroke_fill=PAPER)
        if self.verdict:
            badge = font(25)
            long = draw.textlength(self.verdict, font=badge)
            draw.rounded_rectangle((16, 14, 16 + long + 28, 52), 19, fill=RED if self.collides else SLATE)
            draw.text((30 + long / 2, 33), self.verdict, fill=WHITE, font=badge, anchor="mm")
        draw.text((width / 2, height - 30), self.caption, fill=INK, font=font(26), anchor="mm")


def rims(line):
    """(colour, width) of what a line is made of: its casing, if it has one, and itself."""
    return [*([(line.casing, line.width + 4.0)] if line.casing else []), (line.colour, line.width)]


def faded(colour):
    return tuple(int(0.6 * c + 0.4 * p) for c, p in zip(colour, PAPER, strict=True))


def font(size):
    """The font that comes with Pillow (10.1 or newer): the same letters everywhere."""
    return ImageFont.load_default(size)


def strip(drawings, width=420, height=400):
    """Panels side by side, a thin line between them, as one image."""
    sheet = Image.new("RGB", (width * len(drawings), height), PAPER)
    for k, drawing in enumerate(drawings):
        sheet.paste(drawing.image(width, height), (k * width, 0))
    draw = ImageDraw.Draw(sheet)
    for k in range(1, len(drawings)):
        draw.line((k * width, 24, k * width, height - 24), fill=FAINT, width=2)
    return sheet
