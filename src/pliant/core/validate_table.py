"""Validation of TOML tables in files that may be hostile: errors name the file, the table and the key.

Every value is checked: numbers have ranges, names are known ones, and an unknown key is an error, because it is a typing mistake.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from pliant.core import validate
from pliant.errors import ArgumentError, ArgumentTypeError, FileError

T = TypeVar("T")

MAX_TEXT_BYTES = 1 << 20  # bytes of a TOML file
MAX_MESSAGE = 300  # characters of a message


class Table:
    """A table of a file. Read all keys that it may hold, then call `refuse_unknown_keys`."""

    def __init__(self, file: Path, name: str, content: dict[str, Any]) -> None:
        self.file, self.name, self.content, self.known = file, name, content, set[str]()

    def refuse(self, message: str) -> FileError:
        """The error with this message about a key of the table."""
        line = " ".join(message.split())
        table = f"[{self.name}] " if self.name else ""
        return FileError(f"{self.file}: {table}{line if len(line) <= MAX_MESSAGE else line[:MAX_MESSAGE] + ' …'}")

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def get(self, key: str, read: Callable[[str, Any], T], default: T | None = None) -> T:
        """The value of a key, converted by `read(key, value)`; the default where the key is missing, an error if that is None."""
        self.known.add(key)
        if key not in self.content:
            if default is None:
                raise self.refuse(f"{key}: missing")
            return default
        try:
            _refuse_huge(key, self.content[key])
            return read(key, self.content[key])
        except FileError:
            raise
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise self.refuse(str(error)) from None

    def values(self, readers: dict[str, Callable[[str, Any], Any]]) -> dict[str, Any]:
        """{key: value} of those of these keys that are present."""
        self.known |= set(readers)
        return {key: self.get(key, read) for key, read in readers.items() if key in self.content}

    def make(self, factory: Callable[..., T], **values: Any) -> T:
        """factory(**values); an error that it raises becomes one of this table."""
        try:
            return factory(**values)
        except FileError:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            raise self.refuse(str(error)) from None

    def table(self, key: str) -> Table:
        """The table below this key; an empty one if there is none."""
        content: dict[str, Any] = self.get(key, _as_table, dict[str, Any]())
        return Table(self.file, f"{self.name}.{key}" if self.name else key, content)

    def tables(self, key: str, maximum: int) -> list[Table]:
        """All tables of an array of tables, numbered from 1."""
        content: list[dict[str, Any]] = self.get(key, _as_tables, list[dict[str, Any]]())
        if len(content) > maximum:
            raise self.refuse(f"{key}: expected at most {maximum}, got {len(content)}")
        name = f"{self.name}.{key}" if self.name else key
        return [Table(self.file, f"{name} {number}", each) for number, each in enumerate(content, 1)]

    def refuse_unknown_keys(self) -> None:
        """Refuse keys that were never read."""
        unknown = sorted(set(self.content) - self.known)
        if unknown:
            raise self.refuse(f"{unknown[0][:60]}: not known here; known are {', '.join(sorted(self.known))}")


def _refuse_huge(key: str, value: Any) -> None:
    """Refuse integers beyond 64 bits, TOML's limit: Python's parser accepts any."""
    if isinstance(value, list):
        for each in value:
            _refuse_huge(key, each)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ArgumentError(f"{key}: expected integers of at most 64 bits")


def _as_table(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"{key}: expected a table, got {type(value).__name__}")
    return value


def _as_tables(key: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ArgumentTypeError(f"{key}: expected tables, each headed [[{key}]]")
    return value


def text(key: str, value: Any) -> str:
    """A text of at most 1000 characters."""
    if not isinstance(value, str) or not 0 < len(value) <= 1000:
        raise ArgumentTypeError(f"{key}: expected a text, got {value!r:.60}")
    return value


def integer_between(minimum: int, maximum: int) -> Callable[[str, Any], int]:
    """A reader of integers in a range."""
    return lambda key, value: int(validate.integer(key, value, range(minimum, maximum + 1)))


def number_between(minimum: float = -math.inf, maximum: float = math.inf) -> Callable[[str, Any], float]:
    """A reader of finite numbers in a range."""

    def read(key: str, value: Any) -> float:
        result = float(validate.number(key, value))
        if not minimum <= result <= maximum:
            raise ArgumentError(f"{key}: expected a number from {minimum:g} to {maximum:g}, got {result:g}")
        return result

    return read


def point(key: str, value: Any) -> tuple[float, float, float]:
    """Three numbers."""
    if not isinstance(value, list) or len(value) != 3 or not all(type(each) in (int, float) for each in value):
        raise ArgumentTypeError(f"{key}: expected three numbers, got {value!r:.60}")
    x, y, z = (float(validate.number(key, each)) for each in value)
    return x, y, z


def flag(key: str, value: Any) -> bool:
    """True or false."""
    return bool(validate.flag(key, value))


def choice(options: Iterable[str]) -> Callable[[str, Any], str]:
    """A reader of one of these names."""
    return lambda key, value: str(validate.choice(key, value, list(options)))


def unchecked(key: str, value: Any) -> Any:
    """The value as it is: its receiver validates it."""
    return value


def is_regular_file(path: Path) -> bool:
    """Is this a file, not a folder or a pipe, so that reading it ends?"""
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a folder that may not be entered
        return False


def read_bytes(path: Path, max_bytes: int, what: str) -> bytes:
    """The content of a regular file; an error if it is longer than any `what` may be."""
    try:
        with path.open("rb") as file:
            content = file.read(min(os.fstat(file.fileno()).st_size, max_bytes) + 1)  # not max_bytes: the buffer is allocated first
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > max_bytes:
        raise FileError(f"{path}: longer than {max_bytes:,} bytes, which no {what} is")
    return content


def read_toml(path: Path, what: str) -> Table:
    """The top-level table of a TOML file, which should hold `what`."""
    if not is_regular_file(path):
        raise FileError(f"{path}: no such file, or not an ordinary one")
    content = read_bytes(path, MAX_TEXT_BYTES, what)
    try:
        return Table(path, "", tomllib.loads(content.decode("utf-8")))
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a text in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: not TOML: {' '.join(str(error).split()) or type(error).__name__}") from None
