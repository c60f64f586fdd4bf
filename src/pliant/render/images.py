"""Pictures and films as files: PNG and GIF through Pillow, MP4 through PyAV. Both are optional, and asked for when a file is begun.

Invariant: a file appears under its name when it is finished, and not before. A film that is closed early holds the pictures it was given.
"""

from __future__ import annotations

import os
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, MissingExtraError

Image = NDArray[np.uint8]  # (height, width, 3)

SUFFIXES = (".png", ".gif", ".mp4")
CODECS = ("libx264", "libopenh264", "mpeg4")  # the first that this PyAV has
QUALITY = {"libx264": {"crf": "18", "preset": "medium"}, "mpeg4": {"q": "3"}}
GIF_TICK = 0.01  # seconds: the unit of a GIF's pauses


class PictureWriter(Protocol):
    """Something that takes pictures, one after the other."""

    def add(self, image: Image, frame: int) -> None:
        """Take the picture of a frame."""

    def close(self) -> list[Path]:
        """Finish; the files that were written, none if there was no picture."""

    def abandon(self) -> None:
        """Leave nothing unfinished behind."""


def picture_writer(path: str | os.PathLike[str], rate: float, numbered: bool = False) -> PictureWriter:
    """A film of the kind that the file's name says. `numbered` PNGs have their frame in their names, a file each.

    Raises ImportError, in one line that says what to install, if the library for it is missing.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise ArgumentError(f"expected a name that ends in {', '.join(SUFFIXES)}, got {target.name!r}")
    if not (np.isfinite(rate) and 0 < rate <= 1000):
        raise ArgumentError(f"rate: expected frames a second, up to 1000, got {rate!r}")
    if suffix == ".mp4":
        return _Video(target, rate)
    return _Stills(target, numbered) if suffix == ".png" else _Gif(target, rate)


def temporary_path(target: Path) -> Path:
    """The name that a file has until it is finished."""
    return target.with_name(f".{target.stem}.{os.getpid()}{target.suffix}")


class _Stills:
    """PNG: the picture, or one file a frame."""

    def __init__(self, target: Path, numbered: bool) -> None:
        _import_pillow()
        self.target, self.numbered = target, numbered
        self.written: list[Path] = []

    def add(self, image: Image, frame: int) -> None:
        from pliant.report.picture import save_picture

        name = f"{self.target.stem}-{frame:04d}{self.target.suffix}" if self.numbered else self.target.name
        self.written.append(save_picture(self.target.with_name(name), image))

    def close(self) -> list[Path]:
        return self.written

    def abandon(self) -> None:
        """Each file was finished at once."""


class _Gif:
    """GIF: each picture with 256 colours of its own. Pictures are kept, as indices, until the end."""

    def __init__(self, target: Path, rate: float) -> None:
        self.target, self.rate = target, rate
        self.library = _import_pillow()
        self.images: list[Any] = []

    def add(self, image: Image, frame: int) -> None:
        picture = self.library.fromarray(image)
        self.images.append(picture.quantize(palette=picture.quantize(256), dither=self.library.Dither.FLOYDSTEINBERG))

    def close(self) -> list[Path]:
        if not self.images:
            return []
        # Pauses are whole hundredths of a second: rounded so that the film as a whole keeps its pace.
        ends = [round((k + 1) / self.rate / GIF_TICK) for k in range(len(self.images))]
        pauses = [max(1, end - start) * 10 for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        self.target.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_path(self.target)
        try:
            first, *rest = self.images
            first.save(temporary, save_all=True, append_images=rest, duration=pauses, loop=0)
            temporary.replace(self.target)
        finally:
            temporary.unlink(missing_ok=True)
        return [self.target]

    def abandon(self) -> None:
        self.images.clear()


class _Video:
    """MP4: H.264 where there is an encoder for it. Sides are made even, by repeating the last row or column, as its halved colours need."""

    def __init__(self, target: Path, rate: float) -> None:
        try:
            import av
        except ImportError as error:
            raise MissingExtraError("films need PyAV: pip install 'pliant[video]'") from error
        self.library: Any = av
        self.target, self.temporary, self.rate = target, temporary_path(target), Fraction(rate).limit_denominator(1000)
        self.container: Any = None
        self.stream: Any = None

    def add(self, image: Image, frame: int) -> None:
        height, width = image.shape[:2]
        even = np.pad(image, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        if self.container is None:
            self._begin(even.shape[1], even.shape[0])
        for packet in self.stream.encode(self.library.VideoFrame.from_ndarray(even, format="rgb24")):
            self.container.mux(packet)

    def _begin(self, width: int, height: int) -> None:
        codec = next((name for name in CODECS if name in self.library.codecs_available), CODECS[-1])
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.container = self.library.open(str(self.temporary), "w", format="mp4", options={"movflags": "faststart"})
        self.stream = self.container.add_stream(codec, rate=self.rate, options=QUALITY.get(codec, {}))
        self.stream.width, self.stream.height, self.stream.pix_fmt = width, height, "yuv420p"

    def close(self) -> list[Path]:
        if self.container is None:
            return []
        try:
            for packet in self.stream.encode():
                self.container.mux(packet)
            self.container.close()
            self.container = None
            self.temporary.replace(self.target)
        finally:
            self.temporary.unlink(missing_ok=True)
        return [self.target]

    def abandon(self) -> None:
        if self.container is not None:
            with suppress(self.library.FFmpegError):  # it is thrown away
                self.container.close()
        self.temporary.unlink(missing_ok=True)


def _import_pillow() -> Any:
    try:
        from PIL import Image as library
    except ImportError as error:
        raise MissingExtraError("pictures need Pillow: pip install 'pliant[pictures]'") from error
    return library
