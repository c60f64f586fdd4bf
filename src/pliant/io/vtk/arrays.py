"""Arrays of VTK's XML files (The VTK User's Guide, "XML File Formats"): ASCII, base64 or appended raw bytes, plain or compressed in blocks.

Lengths are compared with the bytes that are there before memory is asked for. Compressed blocks unfold to exactly the length that their
header announces, and all of a file to at most `MAX_RATIO` times its size, which stops decompression bombs. There a number counts as 8
bytes, whatever it is stored in, as it is converted to 8 bytes.
"""

from __future__ import annotations

import binascii
import lzma
import zlib
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from pliant.io.limits import check_fits, refuse
from pliant.io.vtk.safe_xml import attribute, count_attribute, parse_numbers, parse_xml

TYPES = {f"{kind}{bits}": f"{letter}{bits // 8}" for kind, letter in (("Int", "i"), ("UInt", "u")) for bits in (8, 16, 32, 64)}
TYPES |= {"Float32": "f4", "Float64": "f8"}
COMPRESSORS = ("vtkZLibDataCompressor", "vtkLZMADataCompressor")
MAX_RATIO, RATIO_EXEMPT_BYTES = 100, 1 << 24  # times the bytes of a file; and always so many bytes
NUMBER_BYTES = 8  # bytes of a number in memory
BLANKS = b" \t\r\n"
LZMA_MEMORY = 1 << 27  # bytes that its dictionaries may take


Bytes = bytes | memoryview


class _BlockHeader(NamedTuple):
    """The header of compressed blocks."""

    lengths: list[int]  # of each, unfolded
    sizes: list[int]  # of each, as stored


class ArrayReader:
    """A file, and how its arrays are written."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        head, self.appended = _split_appended(path, content)
        self.root = parse_xml(path, [head])
        if self.root.tag != "VTKFile":
            raise refuse(path, f"is <{self.root.tag[:40]}>, expected <VTKFile>")
        order = attribute(path, self.root, "byte_order", default="LittleEndian")
        header, self.compressor = attribute(path, self.root, "header_type", default="UInt32"), self.root.get("compressor", "").strip()
        if order not in ("LittleEndian", "BigEndian") or header not in ("UInt32", "UInt64"):
            raise refuse(path, f"byte_order is {order[:40]!r} and header_type {header[:40]!r}, which are not known")
        if self.compressor and self.compressor not in COMPRESSORS:
            raise refuse(path, f"is compressed by {self.compressor[:40]!r}; expected {', '.join(COMPRESSORS)} or none")
        self.order = "<" if order == "LittleEndian" else ">"
        self.header = np.dtype(self.order + TYPES[header])
        self.bytes_left, self.inflated_left = len(content), max(MAX_RATIO * len(content), RATIO_EXEMPT_BYTES)
        section = self.root.find("AppendedData")
        self.raw = section is not None and attribute(path, section, "encoding", default="base64") == "raw"
        if section is not None and not self.raw:
            self.appended = _strip_blanks(section.text)[1:]  # it begins with an underscore

    def read(self, element: Element) -> NDArray[np.generic]:
        """(m,) the numbers of a DataArray."""
        kind = attribute(self.path, element, "type")
        if kind not in TYPES:
            raise refuse(self.path, f"an array is of type {kind[:40]!r}, expected one of {', '.join(TYPES)}")
        what, form = f"array {element.get('Name', 'of points')[:40]!r}", attribute(self.path, element, "format", default="ascii")
        if form == "ascii":
            return parse_numbers(self.path, what, element.text or "", np.dtype(TYPES[kind]))
        if form == "binary":
            data, raw = _strip_blanks(element.text), False
        elif form == "appended":
            start = count_attribute(self.path, element, "offset")
            check_fits(self.path, f"bytes before {what}", start, 1, len(self.appended))
            data, raw = self.appended[start:], self.raw
        else:
            raise refuse(self.path, f"{what}: its format is {form[:40]!r}, expected ascii, binary or appended")
        dtype = np.dtype(self.order + TYPES[kind])
        content = self._inflate(what, data, raw, dtype.itemsize) if self.compressor else self._read_plain(what, data, raw)
        if len(content) % dtype.itemsize:
            raise refuse(self.path, f"{what}: {len(content):,} bytes are no whole number of {kind}")
        return np.frombuffer(content, dtype)

    def _decode(self, what: str, data: memoryview, length: int, raw: bool) -> tuple[Bytes, memoryview]:
        """The first `length` bytes of what data stands for, and the rest of data. Base64 is padded after each part that VTK writes."""
        size = length if raw else (length + 2) // 3 * 4
        check_fits(self.path, f"bytes of {what}", size, 1, len(data))
        if raw:
            return data[:size], data[size:]
        try:
            return binascii.a2b_base64(data[:size], strict_mode=True)[:length], data[size:]
        except binascii.Error as error:
            raise refuse(self.path, f"{what}: not base64: {error}") from None

    def _read_plain(self, what: str, data: memoryview, raw: bool) -> Bytes:
        """Length and bytes, encoded as one."""
        width, chars = self.header.itemsize, (self.header.itemsize + 2) // 3 * 4
        length, separate = self._read_length(what, data, raw)
        check_fits(self.path, f"bytes of {what}", length, 1, self.bytes_left)  # arrays that overlap would add up to more than the file has
        self.bytes_left -= length
        if separate and length:  # some writers encode the length apart from the rest
            return self._decode(what, data[chars:], length, raw)[0]
        return self._decode(what, data, width + length, raw)[0][width:]

    def _read_length(self, what: str, data: memoryview, raw: bool) -> tuple[int, bool]:
        """The number that data begins with, whatever comes behind it; and whether that was encoded apart, which padding shows."""
        width = self.header.itemsize
        found, _ = self._decode(what, data, width if raw else (width + 2) // 3 * 3, raw)
        check_fits(self.path, f"bytes of the length of {what}", width, 1, len(found))
        return int(np.frombuffer(found[:width], self.header)[0]), not raw and len(found) == width

    def _inflate(self, what: str, data: memoryview, raw: bool, number_bytes: int) -> bytes:
        """Blocks, each compressed, of numbers of `each` bytes; their header is encoded apart from them."""
        blocks, data = self._read_block_header(what, data, raw)
        total = sum(blocks.lengths) // number_bytes * NUMBER_BYTES
        if total > self.inflated_left:
            raise refuse(self.path, f"{what}: unfolds to numbers of {total:,} bytes, more than {MAX_RATIO} times what the file has")
        self.inflated_left -= total
        stored, _ = self._decode(what, data, sum(blocks.sizes), raw)
        parts, start = [], 0
        for length, size in zip(blocks.lengths, blocks.sizes, strict=True):
            parts.append(self._inflate_block(what, stored[start : start + size], length))
            start += size
        return b"".join(parts)

    def _read_block_header(self, what: str, data: memoryview, raw: bool) -> tuple[_BlockHeader, memoryview]:
        """The header (number of blocks, length of each, length of the last if shorter, stored sizes) and what is behind it."""
        width = self.header.itemsize
        number, _ = self._read_length(what, data, raw)
        if number == 0:
            return _BlockHeader([], []), data[:0]
        check_fits(self.path, f"blocks of {what}", number, width, len(data))
        head, data = self._decode(what, data, (3 + number) * width, raw)
        _, length, last, *sizes = np.frombuffer(head, self.header).tolist()
        return _BlockHeader([length] * (number - 1) + [last or length], sizes), data

    def _inflate_block(self, what: str, stored: Bytes, length: int) -> bytes:
        try:
            if self.compressor == "vtkZLibDataCompressor":
                found = zlib.decompressobj().decompress(stored, length + 1)
            else:
                found = lzma.LZMADecompressor(memlimit=LZMA_MEMORY).decompress(stored, length + 1)
        except (zlib.error, lzma.LZMAError, EOFError) as error:
            raise refuse(self.path, f"{what}: cannot be unfolded: {error}") from None
        if len(found) != length:
            raise refuse(self.path, f"{what}: a block does not unfold to the {length:,} bytes that are announced")
        return found


def _strip_blanks(text: str | None) -> memoryview:
    """Base64 without the blanks that writers put around and into it."""
    return memoryview((text or "").encode("ascii", "replace").translate(None, BLANKS))


def _split_appended(path: Path, content: bytes) -> tuple[bytes, memoryview]:
    """The XML of a file, and the raw bytes that an AppendedData section has behind its underscore: no parser of XML takes those."""
    start = content.find(b"<AppendedData")
    if start < 0:
        return content, memoryview(b"")
    end = content.find(b">", start) + 1
    tag = content[start:end].replace(b"'", b'"').replace(b" ", b"")
    if b'encoding="raw"' not in tag:
        return content, memoryview(b"")
    mark, stop = content.find(b"_", end), content.rfind(b"</AppendedData")
    if end == 0 or mark < 0 or content[end:mark].strip() or stop < mark:
        raise refuse(path, "its section of appended data does not begin with an underscore, or has no end")
    return content[:end] + content[stop:], memoryview(content)[mark + 1 : stop]
