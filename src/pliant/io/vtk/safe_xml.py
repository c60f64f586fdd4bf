"""XML of files that may be hostile: a tree of elements without document types, entities or other encodings than UTF-8.

A document type is what entities that unfold without end, and entities that name other files, are declared in; none of the formats read here
has one. Expat itself reports it, after decoding, so that no encoding can hide it. Depth and number of elements are limited, because an
element takes many times the bytes of its tag. Files are parsed as they are read: one that is no XML is refused at its first bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pliant.io.limits import refuse, size_of, skip_byte_order_mark

MAX_ELEMENTS, MAX_DEPTH = 1_000_000, 64  # attributes count as elements do
ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii")
CHUNK = 1 << 22  # characters of a text whose numbers are parsed at a time, bytes of a file whose elements are


class _SafeParser:
    """Builds the tree of a document and refuses what hostile ones are made of. Names lose the prefix of their namespace."""

    def __init__(self, path: Path) -> None:
        self.path, self.count, self.depth = path, 0, 0
        self.tree = TreeBuilder()
        self.expat = expat.ParserCreate("utf-8")  # whatever the document declares
        self.expat.buffer_text, self.expat.buffer_size = True, 1 << 20
        self.expat.XmlDeclHandler = self._declaration
        self.expat.StartDoctypeDeclHandler = self._doctype
        self.expat.EntityDeclHandler = self._doctype
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self.tree.data

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            raise refuse(self.path, f"is written in {encoding[:40]!r}; expected UTF-8")

    def _doctype(self, *_: object) -> None:
        raise refuse(self.path, "has a document type; those are not read, because entities may be declared in them")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.count, self.depth = self.count + 1 + len(attributes), self.depth + 1
        if self.count > MAX_ELEMENTS or self.depth > MAX_DEPTH:
            raise refuse(self.path, f"has more than {MAX_ELEMENTS:,} elements and attributes, or some more than {MAX_DEPTH} deep")
        self.tree.start(name.rpartition(":")[2], attributes)

    def _end(self, name: str) -> None:
        self.depth -= 1
        self.tree.end(name.rpartition(":")[2])


def parse_xml(path: Path, content: Iterable[bytes]) -> Element:
    """The outermost element of what is read from `path`, part by part."""
    parser = _SafeParser(path)
    try:
        for part in content:
            parser.expat.Parse(part, False)
        parser.expat.Parse(b"", True)
    except expat.ExpatError as error:
        raise refuse(path, f"not XML: {error}") from None
    finally:
        del parser.expat  # with its buffer: it refers to its handlers, and these to it
    root: Element = parser.tree.close()
    return root


def read_chunks(path: Path, maximum: int) -> Iterator[bytes]:
    """The content of a file of at most so many bytes."""
    size_of(path, maximum)
    with path.open("rb") as file:
        skip_byte_order_mark(path, file)
        while part := file.read(CHUNK):
            yield part


def check_xml_start(path: Path) -> None:
    """Refuse a file that does not begin as XML does, before all of it is read."""
    with path.open("rb") as file:
        skip_byte_order_mark(path, file)
        head = file.read(1 << 12).lstrip()
    if not head.startswith(b"<"):
        raise refuse(path, "not XML: does not begin with '<'")


def attribute(path: Path, element: Element, *names: str, default: str | None = None) -> str:
    """The attribute of the first of these names that is there; an error where there is neither one nor a default."""
    for name in names:
        if name in element.attrib:
            return element.attrib[name].strip()
    if default is None:
        raise refuse(path, f"<{element.tag}> has no {names[0]}")
    return default


def count_attribute(path: Path, element: Element, name: str, default: str | None = None) -> int:
    """An attribute that is a number of things."""
    text = attribute(path, element, name, default=default)
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise refuse(path, f"<{element.tag}>: {name} is {text[:40]!r}, expected a count")
    return int(text)


def parse_numbers(path: Path, what: str, text: str, dtype: DTypeLike) -> NDArray[np.generic]:
    """The numbers of a text, which blanks separate. Words are made in parts, since each takes ten times the memory of its number."""
    parts, start = [], 0
    try:
        while start < len(text):
            end = start + CHUNK
            while end < len(text) and not text[end].isspace():
                end += 1
            with np.errstate(over="ignore"):  # becomes infinite, which is refused where it is used
                parts.append(np.array(text[start:end].split(), dtype))
            start = end
    except (ValueError, OverflowError, TypeError) as error:
        raise refuse(path, f"{what}: {error}") from None
    return np.concatenate(parts) if parts else np.empty(0, dtype)
