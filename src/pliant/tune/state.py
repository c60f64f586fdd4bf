"""What a search has scored, in a file: JSON, written whole or not at all, examined like any other input when it is read.

{"format": …, "digest": of the animations, "settings": {…}, "scored": {criterion: [[[genes …], score], …]}}. Nothing of the search itself is
kept: with the same seed and the same scores it takes the same way again (see `search.py`).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from pliant.core.archive import atomic_file
from pliant.core.validate_table import is_regular_file, read_bytes
from pliant.errors import ArgumentError, FileError
from pliant.tune.criteria import CRITERIA, Genome, genome

FORMAT = "pliant tune 1"
MAX_BYTES = 1 << 26  # bytes
MAX_SHOWN = 80  # characters of a value in a message

Scores = dict[str, dict[Genome, float]]


def write_state(path: Path, digest: str, settings: dict[str, Any], scored: Scores) -> None:
    """Write the whole file, or nothing."""
    rows = {criterion: [[list(genes), score] for genes, score in known.items()] for criterion, known in scored.items()}
    text = json.dumps({"format": FORMAT, "digest": digest, "settings": settings, "scored": rows}, allow_nan=False)
    with atomic_file(path) as file:
        file.write(text.encode() + b"\n")


def read_state(path: Path, digest: str, settings: dict[str, Any]) -> Scores:
    """What was scored before; nothing if there is no such file. A state of other animations or settings is refused."""
    if not path.exists():
        return {}
    content = _read_json(path)
    if content.get("digest") != digest:
        raise FileError(f"{path}: is the state of another animation; name another file, or remove this one to start anew")
    saved_settings = content.get("settings")
    if not isinstance(saved_settings, dict):
        raise FileError(f"{path}: settings: expected a table, got {type(saved_settings).__name__}")
    for name in sorted({*settings, *map(str, saved_settings)}):
        if saved_settings.get(name) != settings.get(name) or (name in saved_settings) != (name in settings):
            saved, current = _shorten(saved_settings.get(name)), _shorten(settings.get(name))
            raise FileError(f"{path}: is the state of a search with {name[:MAX_SHOWN]} {saved}, not {current}; "
                            "name another file, or remove this one to start anew")  # fmt: skip
    table = content.get("scored")
    if not isinstance(table, dict):
        raise FileError(f"{path}: scored: expected a table, got {type(table).__name__}")
    return {criterion: _read_scores(path, criterion, rows) for criterion, rows in table.items()}


def _read_json(path: Path) -> dict[str, Any]:
    if not is_regular_file(path):
        raise FileError(f"{path}: not an ordinary file")
    content = read_bytes(path, MAX_BYTES, "state")
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: not the state of a search: {' '.join(str(error).split())[:MAX_SHOWN] or type(error).__name__}") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = _shorten(value.get("format")) if isinstance(value, dict) else type(value).__name__
        raise FileError(f"{path}: not the state of a search: expected format {FORMAT!r}, got {found}")
    return value


def _read_scores(path: Path, criterion: str, rows: Any) -> dict[Genome, float]:
    if criterion not in CRITERIA:
        raise FileError(f"{path}: scored: {_shorten(criterion)} is no criterion; expected one of {', '.join(CRITERIA)}")
    genes, scores = CRITERIA[criterion], dict[Genome, float]()
    if not isinstance(rows, list):
        raise FileError(f"{path}: scored: {criterion}: expected rows, got {type(rows).__name__}")
    for i, row in enumerate(rows):
        row_name = f"{path}: scored: {criterion}: row {i}"
        if not isinstance(row, list) or len(row) != 2 or not isinstance(row[0], list) or len(row[0]) != len(genes):
            raise FileError(f"{row_name}: expected [[{', '.join(gene.name for gene in genes)}], score], got {_shorten(row)}")
        for value in (*row[0], row[1]):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf or value > 1e300:
                raise FileError(f"{row_name}: expected numbers from 0 up, got {_shorten(value)}")
        values = tuple(map(float, row[0]))
        if values != genome(genes, values):
            raise FileError(f"{row_name}: {_shorten(row[0])} is out of range, or not rounded as scored values are")
        if values in scores:
            raise FileError(f"{row_name}: {_shorten(row[0])} is there twice")
        scores[values] = float(row[1])
    return scores


def _refuse_constant(name: str) -> None:
    raise ArgumentError(f"{name} is no number")


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + " …"
