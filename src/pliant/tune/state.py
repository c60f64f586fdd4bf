"""What a search has scored, in a file: JSON, written whole or not at all, examined like any other input when it is read.

{"format": …, "digest": of the animations, "settings": {…}, "scored": {criterion: [[[genes …], score], …]}}. Nothing of the search itself is
kept: with the same seed and the same scores it takes the same way again (see `search.py`).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from pliant.core.archive import whole_file
from pliant.core.validate_table import ordinary, read_bytes
from pliant.errors import FileError
from pliant.tune.criteria import CRITERIA, Genome, genome

FORMAT = "pliant tune 1"
MOST = 1 << 26  # bytes
LONG = 80  # characters of a value in a message

Scored = dict[str, dict[Genome, float]]


def write_state(path: Path, digest: str, settings: dict[str, Any], scored: Scored) -> None:
    """Write the whole file, or nothing."""
    rows = {criterion: [[list(genes), score] for genes, score in known.items()] for criterion, known in scored.items()}
    text = json.dumps({"format": FORMAT, "digest": digest, "settings": settings, "scored": rows}, allow_nan=False)
    with whole_file(path) as file:
        file.write(text.encode() + b"\n")


def read_state(path: Path, digest: str, settings: dict[str, Any]) -> Scored:
    """What was scored before; nothing if there is no such file. A state of other animations or settings is refused."""
    if not path.exists():
        return {}
    content = _content(path)
    if content.get("digest") != digest:
        raise FileError(f"{path}: is the state of another animation; name another file, or remove this one to start anew")
    theirs = content.get("settings")
    if not isinstance(theirs, dict):
        raise FileError(f"{path}: settings: expected a table, got {type(theirs).__name__}")
    for name in sorted({*settings, *map(str, theirs)}):
        if theirs.get(name) != settings.get(name) or (name in theirs) != (name in settings):
            found, wanted = _short(theirs.get(name)), _short(settings.get(name))
            raise FileError(f"{path}: is the state of a search with {name[:LONG]} {found}, not {wanted}; "
                            "name another file, or remove this one to start anew")  # fmt: skip
    table = content.get("scored")
    if not isinstance(table, dict):
        raise FileError(f"{path}: scored: expected a table, got {type(table).__name__}")
    return {criterion: _scores(path, criterion, rows) for criterion, rows in table.items()}


def _content(path: Path) -> dict[str, Any]:
    if not ordinary(path):
        raise FileError(f"{path}: not an ordinary file")
    content = read_bytes(path, MOST, "state")
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: not the state of a search: {' '.join(str(error).split())[:LONG] or type(error).__name__}") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = _short(value.get("format")) if isinstance(value, dict) else type(value).__name__
        raise FileError(f"{path}: not the state of a search: expected format {FORMAT!r}, got {found}")
    return value


def _scores(path: Path, criterion: str, rows: Any) -> dict[Genome, float]:
    if criterion not in CRITERIA:
        raise FileError(f"{path}: scored: {_short(criterion)} is no criterion; expected one of {', '.join(CRITERIA)}")
    genes, known = CRITERIA[criterion], dict[Genome, float]()
    if not isinstance(rows, list):
        raise FileError(f"{path}: scored: {criterion}: expected rows, got {type(rows).__name__}")
    for i, row in enumerate(rows):
        where = f"{path}: scored: {criterion}: row {i}"
        if not isinstance(row, list) or len(row) != 2 or not isinstance(row[0], list) or len(row[0]) != len(genes):
            raise FileError(f"{where}: expected [[{', '.join(gene.name for gene in genes)}], score], got {_short(row)}")
        for value in (*row[0], row[1]):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf or value > 1e300:
                raise FileError(f"{where}: expected numbers from 0 up, got {_short(value)}")
        values = tuple(map(float, row[0]))
        if values != genome(genes, values):
            raise FileError(f"{where}: {_short(row[0])} is out of range, or not rounded as scored values are")
        if values in known:
            raise FileError(f"{where}: {_short(row[0])} is there twice")
        known[values] = float(row[1])
    return known


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= LONG else text[:LONG] + " …"
