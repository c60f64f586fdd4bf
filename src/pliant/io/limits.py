"""Files are untrusted: checks of numbers, names and sizes that every reader makes before it uses them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pliant.core.validate_table import is_regular_file
from pliant.errors import FileError

MAX_FILE_BYTES = 1 << 34  # of one file
MAX_MESH_BYTES = 1 << 30  # of one that is a single frame
MAX_LINES, LINES_PER_CHECK, MIN_LINE_BYTES = 1 << 25, 1 << 21, 6  # of a text; and with more than some, bytes that they have on average
MAX_IDLE_SHARE = 0.9  # of those, the part that may mean nothing: comments, blanks, words that are of no surface
MAX_LINE_BYTES = BLOCK_BYTES = 1 << 20  # bytes of a line, and of what is read at once
MAX_POLYGON_CORNERS, MAX_SQUARED_CORNERS = 10_000, 1 << 32  # of one polygon, about a second; the sum of squares, which time grows with
RATE_RANGE = 0.01, 1e5  # frames a second that are believed
UTF8_MARK, UTF16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")  # how texts may begin; UTF-32 begins with one of the latter too
# characters of a message, of a name, and of the number behind a name that is not the only one
MAX_MESSAGE, MAX_NAME, NUMBER_LENGTH = 300, 100, 8


def refuse(path: str | os.PathLike[str], message: str) -> FileError:
    """A `FileError` of one line that names the file: `raise refuse(path, message)`."""
    line = " ".join(printable(message).split())
    return FileError(f"{printable(os.fspath(path))}: {line if len(line) <= MAX_MESSAGE else line[:MAX_MESSAGE] + ' …'}")


def printable(text: str) -> str:
    """The same text, with spaces for all that is no sign: control characters could clear a screen or begin a line of their own."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)


def display_name(text: str, default: str = "unnamed") -> str:
    """A name from a file, for people: one line, short; another where nothing is left of it."""
    return printable(text[: 2 * MAX_NAME]).strip()[:MAX_NAME].strip() or default


class UniqueNames:
    """Names that differ: of those that are equal the first stays, others become "name 2", "name 3", … A number is not used if that name is
    `coming`: whoever has it keeps it. No name becomes longer than `title` leaves it; n names take O(n), also if all are equal."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved, self._used = set(reserved), set[str]()
        self._numbers = dict[str, int]()  # the last one that was given, by what stands before it

    def assign(self, name: str) -> str:
        """The name that somebody gets who is called so."""
        if name in self._used:
            stem = name[: MAX_NAME - NUMBER_LENGTH].rstrip()
            number = self._numbers.get(stem, 1) + 1
            while (name := f"{stem} {number}") in self._used or name in self._reserved:
                number += 1
            self._numbers[stem] = number
        self._used.add(name)
        return name


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Whatever a parser raises over a file becomes a `FileError` that names it. What is nobody's fault, such as Ctrl-C, passes."""
    try:
        yield
    except FileError:
        raise
    except ImportError:
        raise
    except MemoryError:
        raise refuse(path, "takes more memory than there is, or than is allowed for a file of its size") from None
    except Exception as error:  # hostile content makes parsers raise almost anything
        text = str(error)
        raise refuse(path, text.removeprefix(f"{path}: ") or type(error).__name__) from None


def size_of(path: Path, maximum: int = MAX_FILE_BYTES) -> int:
    """The size of a file in bytes; a `FileError` if it is not an ordinary file, or has more than `maximum` bytes."""
    if not is_regular_file(path):
        raise refuse(path, "no such file, or not an ordinary one")
    size = path.stat().st_size
    if size > maximum:
        raise refuse(path, f"has {size:,} bytes, at most {maximum:,} are read")
    return size


def check_fits(path: Path, what: str, count: int, item_bytes: int, present: int) -> None:
    """Refuse `count` things of `each` bytes if fewer bytes are present: before memory is asked for, not after."""
    if count < 0 or count * item_bytes > present:
        raise refuse(path, f"announces {count:,} {what}, which do not fit into the {present:,} bytes that are there")


def skip_byte_order_mark(path: Path, file: BinaryIO) -> None:
    """Go behind a byte order mark of UTF-8 at the beginning of a text. UTF-16 and UTF-32 are refused, with a mark or without."""
    start = file.read(4)
    if start.startswith(UTF16_MARKS) or (len(start) == 4 and (start[0] == 0) != (start[1] == 0)):  # text begins with ASCII
        raise refuse(path, "is written in UTF-16 or UTF-32, or is no text; expected UTF-8 or ASCII")
    file.seek(len(UTF8_MARK) if start.startswith(UTF8_MARK) else 0)


class Lines:
    """The lines of an open file, from where it is, without their ends and without a byte order mark. None may be so long that it fills the
    memory, nor may they be so many, empty ones perhaps, that reading does not end: no format writes a vertex or a face in fewer than six
    bytes.

    Whoever reads them counts in `idle` those that mean nothing: among many lines some must mean something.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.idle, self._file = path, 0, file

    def __iter__(self) -> Iterator[bytes]:
        number, rest, checked, size = 0, b"", 0, 0  # lines so far; those that were looked at, and bytes since
        if not self._file.tell():
            skip_byte_order_mark(self.path, self._file)
        while block := self._file.read(BLOCK_BYTES):
            found = (rest + block).split(b"\n")
            rest, size = found.pop(), size + len(block)
            if len(rest) > MAX_LINE_BYTES or (found and len(found[0]) > MAX_LINE_BYTES):  # others are shorter than a block
                raise refuse(self.path, f"has a line of more than {MAX_LINE_BYTES:,} bytes")
            yield from found
            number += len(found)
            if number - checked >= LINES_PER_CHECK:
                self._check_density(number, number - checked, size)
                checked, size = number, 0
        if rest:
            yield rest

    def _check_density(self, number: int, count: int, size: int) -> None:
        """Refuse a file whose last lines, `fresh` ones of `size` bytes, are not worth reading."""
        if size < MIN_LINE_BYTES * count or self.idle > MAX_IDLE_SHARE * count:
            raise refuse(self.path, f"has {count:,} lines, up to line {number:,}, that are empty or hold next to nothing")
        if number >= MAX_LINES:
            raise refuse(self.path, f"has {MAX_LINES:,} lines or more")
        self.idle = 0


def resolve_inside(path: Path, name: str) -> Path:
    """The file that `path` refers to by a relative name: beside or below it, also after all links are followed."""
    folder = path.parent.resolve()
    if not name or "\0" in name or "://" in name or name.startswith(("data:", "/", "\\", "~")) or ":" in name[:2]:
        raise refuse(path, f"refers to {name[:80]!r}; expected the name of a file in its own folder")
    try:
        found = (folder / name.replace("\\", "/")).resolve()
    except (OSError, RuntimeError, ValueError):
        raise refuse(path, f"refers to {name[:80]!r}, which cannot be resolved") from None
    if not found.is_relative_to(folder):
        raise refuse(path, f"refers to {name[:80]!r}, which is outside its folder")
    return found
