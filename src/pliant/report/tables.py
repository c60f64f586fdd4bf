"""Tables: one value that terminals, reports and pages of the documentation show."""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table as RichTable

WIDTH = 140  # characters of a line of text


class Table(NamedTuple):
    """Rows of text; the first `words` columns are words, the others figures. `note` explains the table."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    words: int = 1
    note: str = ""


def figure(value: float | None, unit: str = "") -> str:
    """A number in three digits, or all digits before the point; empty for None."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0" + unit
    digits = max(0, 2 - math.floor(math.log10(abs(float(f"{value:.3g}")))))
    return f"{value:,.{digits}f}{unit}"


def markdown(table: Table) -> str:
    """The table in Markdown: title, rows, note."""
    ruler = ["---" if i < table.words else "--:" for i in range(len(table.columns))]
    lines = [f"| {' | '.join(row)} |" for row in (table.columns, ruler, *table.rows)]
    return "\n".join([f"**{table.title}**", "", *lines, *(["", fill(table.note, WIDTH)] if table.note else [])]) + "\n"


def rich(table: Table) -> RichTable:
    """The table for a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    style = {"title_justify": "left", "caption_justify": "left", "box": SIMPLE_HEAD, "pad_edge": False}
    shown = RichTable(title=table.title, caption=table.note or None, **style)  # type: ignore[arg-type]
    for i, column in enumerate(table.columns):
        shown.add_column(column, justify="left" if i < table.words else "right", no_wrap=0 < i < table.words)
    for row in table.rows:
        shown.add_row(*row)
    return shown
