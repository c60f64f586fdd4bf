"""Parts of the pictures of examples: stills of meshes with a camera that fits them, tubes, arrows and dots as meshes, charts, labels.

Images are (rows, columns, 3) uint8, all of one shape, 10 : 7, so that tiles of the gallery line up. A mesh is (vertices, faces, colours),
colours (3,) or (4,), one or one a face, 0 … 1.
"""

import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pliant.report.picture import Viewpoint, draw
from pliant.shapes import icosphere

SIZE, RATIO = 880, 0.7  # pixels a row; rows to columns
RED, DARK = (0.886, 0.243, 0.212), (0.149, 0.165, 0.200)
BLUE, SAND, GREEN, GREY = (0.549, 0.675, 0.831), (0.886, 0.804, 0.608), (0.627, 0.769, 0.659), (0.80, 0.815, 0.84)
AMBER, TEAL = (1.0, 0.722, 0.110), (0.055, 0.478, 0.361)
COLOURS = (BLUE, SAND, GREEN)
PAPER = "#f6f7f9"


class Camera:
    """An orthographic view, in degrees, that fits what it is told to: everything, or a few points."""

    def __init__(self, azimuth=-58.0, elevation=24.0, fit=None, margin=0.06):
        self.azimuth, self.elevation, self.margin = azimuth, elevation, margin
        a, e = np.radians([azimuth, elevation])
        right, eye = np.array([-np.sin(a), np.cos(a), 0.0]), np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
        self.axes = np.stack([right, np.cross(eye, right), eye], axis=1)
        self.center = None
        if fit is not None:
            self.fit(np.asarray(fit, float).reshape(-1, 3))

    def fit(self, points):
        placed = points @ self.axes
        low, high = placed.min(axis=0), placed.max(axis=0)
        self.center, extent = 0.5 * (low + high) @ self.axes.T, (high - low)[:2]
        self.width = float(max(extent[0], extent[1] / RATIO)) * (1 + 2 * self.margin)

    def place(self, point):
        """Column and row of a point."""
        x, y, _ = (np.asarray(point) - self.center) @ self.axes * (SIZE / self.width)
        return SIZE / 2 + x, RATIO * SIZE / 2 - y


def still(meshes, camera=None):
    """A shaded picture."""
    camera = camera or Camera()
    if camera.center is None:
        camera.fit(np.concatenate([np.asarray(vertices)[np.unique(faces)] for vertices, faces, _ in meshes]))
    view = Viewpoint(camera.azimuth, camera.elevation, tuple(camera.center), camera.width)
    image = draw([(vertices, faces) for vertices, faces, _ in meshes], [colours for _, _, colours in meshes], SIZE, view)
    rows = round(RATIO * SIZE)
    return image[(SIZE - rows) // 2:][:rows]


def painted(body, faces=(), base=BLUE, red=RED):
    """A body as a mesh, some of its faces in another colour."""
    colours = np.tile(base, (len(body.faces), 1))
    colours[np.asarray(faces, np.int64)] = (*red, 1.0)[:len(base)]
    return body.vertices, body.faces, colours


def coloured(bodies, pairs, bases=COLOURS):
    """Bodies with the faces of `pairs` in red: two bodies, or one with itself."""
    return [painted(body, pairs.faces[:, k] if len(bodies) == 2 else pairs.faces.ravel(), bases[k % len(bases)])
            for k, body in enumerate(bodies)]


# ---- lines and points as meshes ------------------------------------------------------------------------------------------


def tube(start, end, radius, colour=DARK, end_radius=None, sides=12):
    """A cylinder, or a cone."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    along = (end - start) / max(np.linalg.norm(end - start), 1e-12)
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    across /= np.linalg.norm(across)
    turn = np.arange(sides)[:, None] * 2 * np.pi / sides
    ring = np.cos(turn) * across + np.sin(turn) * np.cross(along, across)
    vertices = np.concatenate([start + radius * ring, end + (radius if end_radius is None else end_radius) * ring, [start, end]])
    k = np.arange(sides)
    n = (k + 1) % sides
    low, high = np.full(sides, 2 * sides), np.full(sides, 2 * sides + 1)
    faces = [(k, n, sides + n), (k, sides + n, sides + k), (n, k, low), (sides + k, sides + n, high)]
    return vertices, np.concatenate([np.column_stack(corners) for corners in faces]), colour


def arrow(start, end, radius, colour=TEAL):
    """Two meshes: a shaft and a head."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    length = np.linalg.norm(end - start)
    neck = end - (end - start) * min(1.0, 6 * radius / max(length, 1e-12))
    return [tube(start, neck, radius, colour), tube(neck, end, 2.6 * radius, colour, end_radius=0.0)]


def dot(center, radius, colour=DARK):
    directions, faces = icosphere(3)
    return center + radius * directions, faces, colour


def merged(meshes):
    """Meshes of one colour each as one mesh: drawing has a cost for each."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _, _ in meshes)])
    return (np.concatenate([vertices for vertices, _, _ in meshes]),
            np.concatenate([faces + start for (_, faces, _), start in zip(meshes, starts, strict=False)]),
            np.concatenate([np.tile(colour, (len(faces), 1)) for _, faces, colour in meshes]))


# ---- words and charts ----------------------------------------------------------------------------------------------------


def label(image, camera, notes):
    """The image with words at points: [(point, text, (right, down) in pixels)]."""
    sheet = Image.fromarray(image)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(SIZE / 40)
    for point, text, (right, down) in notes:
        x, y = camera.place(point)
        if right or down:
            pen.line((x, y, x + right, y + down), fill=(38, 42, 51), width=2)
        pen.text((x + right, y + down), text, fill=(38, 42, 51), font=font, stroke_width=3, stroke_fill=(246, 247, 249),
                 anchor=("lm" if right > 0 else "rm" if right < 0 else "mm"))
    return np.asarray(sheet)


def title(image, text):
    """The image with a line of words in its upper left corner."""
    sheet = Image.fromarray(image)
    ImageDraw.Draw(sheet).text((0.022 * SIZE, 0.018 * SIZE), text, fill=(38, 42, 51), font=ImageFont.load_default(SIZE / 36))
    return np.asarray(sheet)


def resized(image, part=1):
    """An image (h, w, 3) of floats from 0 to 1, as wide as a picture, or as 1 / `part` of it."""
    sheet = Image.fromarray((255 * np.clip(image, 0, 1)).round().astype(np.uint8))
    return np.asarray(sheet.resize((SIZE // part, round(RATIO * SIZE) // part), Image.Resampling.LANCZOS))


def four(images, words):
    """Four images with a word on each, as one picture."""
    parts = [title(resized(image, 2), word) for image, word in zip(images, words, strict=True)]
    return np.concatenate([np.concatenate(parts[:2], axis=1), np.concatenate(parts[2:], axis=1)])


def chart(paint, ratio=0.42):
    """A chart: `paint(axes)` draws it."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style = {"font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#8a93a1", "text.color": "#262a33",
             "axes.labelcolor": "#262a33", "xtick.color": "#545c69", "ytick.color": "#545c69", "axes.axisbelow": True}
    with rc_context(style):
        figure = Figure(figsize=(8, 8 * ratio), dpi=SIZE / 8, facecolor=PAPER, layout="constrained")
        axes = figure.add_subplot(facecolor=PAPER)
        paint(axes)
        stream = io.BytesIO()
        FigureCanvasAgg(figure).print_png(stream)
    return np.asarray(Image.open(stream).convert("RGB"))
