"""What the experiments of all papers share: two kinds of BVH, and a page of tables made from a JSON file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from textwrap import fill
from typing import Any, NamedTuple

from experiments.clock import Run, Session
from pliant.report.tables import WIDTH, Table, markdown

# The two kinds of BVH, TREES: the paper's, split at box centres down to single triangles in the initial shape, and Pliant's default: binned
# surface area heuristic, eight triangles a leaf.
PAPER, PLIANT = "paper", "pliant"
TREES: dict[str, dict[str, Any]] = {PAPER: {"build": "centre", "leaf": 1}, PLIANT: {"build": "sah", "leaf": 8}}

# Hybrid updates of half of the levels, as the papers define them. Pliant's `hybrid` chooses the number of levels by counting nodes: in
# lopsided trees half of the levels hold most of the nodes.
HALF = "hybrid, h/2"
HALF_POLICY = {"name": "hybrid", "depth": "half"}
LABELS = {PAPER: "paper", PLIANT: "Pliant"}


class Experiment(NamedTuple):
    """The title of an experiment, and a function that runs it with a plan."""

    title: str
    runs: Callable[[Any, Session], Iterator[Run]]


class Paper(NamedTuple):
    """A paper: the sizes of its experiments (`plan`) and of quick ones; the experiments; functions that make tables and plots from their
    runs; what all methods must agree in (`found`)."""

    name: str
    title: str
    plan: Any
    quick: Any
    experiments: dict[str, Experiment]
    tables: dict[str, Callable[[list[Run]], list[Table]]]
    plots: Mapping[str, Callable[[Any, list[Run]], None]]
    found: str = "pairs"

    def tables_of(self, data: dict[str, Any], name: str) -> list[Table]:
        """All tables of one experiment, if it has any runs."""
        runs = data["experiments"].get(name, {}).get("runs", [])
        return self.tables[name](runs) if runs else []

    def section(self, data: dict[str, Any], name: str) -> str:
        """The tables of one experiment."""
        return "\n".join(markdown(table) for table in self.tables_of(data, name))

    def report(self, data: dict[str, Any], pictures: dict[str, list[str]]) -> str:
        """All tables as one page; `pictures`: names of image files beside it, by experiment."""
        lines = [f"# {self.title}, measured", ""]
        if not data["complete"]:
            lines += ["**Stopped before the end: these are the results so far.**", ""]
        if data["quick"]:
            lines += ["**A quick run on tiny bodies: it checks that everything works, and no figure means anything.**", ""]
        lines += [self.machine(data), ""]
        for name, experiment in self.experiments.items():
            if name in data["experiments"]:
                drawn = [f"![{file}]({file})\n" for file in pictures.get(name, [])]
                lines += [f"## {experiment.title}", "", self.section(data, name), *drawn]
        return "\n".join(lines)

    def pasted(self, page: str, data: dict[str, Any]) -> str:
        """A page with new figures between its markers, `<!-- figures NAME -->` and `<!-- end of figures -->`."""
        for name in ("machine", *self.experiments):
            text = fill(self.machine(data), WIDTH) + "\n" if name == "machine" else self.section(data, name)
            marked = re.compile(rf"(<!-- figures {re.escape(name)} -->\n).*?(<!-- end of figures -->)", re.DOTALL)
            if text:
                page = marked.sub(lambda match, text=text: f"{match[1]}\n{text}\n{match[2]}", page)  # type: ignore[misc]
        return page

    def machine(self, data: dict[str, Any]) -> str:
        """The machine and the conditions of a run, in a sentence."""
        about = ", ".join(f"{name} {value}" for name, value in data["machine"].items())
        every = [run for experiment in data["experiments"].values() for run in experiment["runs"]]
        same = all(run["agrees"] for run in every)
        agree = f"found the same {self.found} in every step." if same else f"**found different {self.found}.**"
        clock = "processor time" if data["clock"] == "cpu" else "elapsed time"
        return f"One thread, {clock}, the least of {data['repeats']} for each step; {about}. All methods {agree}"
