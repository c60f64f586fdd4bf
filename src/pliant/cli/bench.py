"""``pliant bench paper-a``, ``-b``, ``-c``, ``-d``, ``-g``, ``-m``, ``-s``: experiments again: tables on screen, plots in a folder."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.ends import INTERRUPTED, make_folder, screen
from pliant.cli.info import processor, version

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from pliant.bench.paper import Paper

DISAGREE = 1  # methods found different pairs, hits or distances: a defect

EXAMPLES = """\
Examples:

    pliant bench paper-a --quick

    pliant bench paper-c table-7.1 --out out/table
"""
bench = typer.Typer(help=f"Run the experiments of the papers again.\n\n{EXAMPLES}", no_args_is_help=True)


class Clock(StrEnum):
    """What is measured."""

    cpu = "cpu"
    wall = "wall"


class PaperA(StrEnum):
    """What paper A reports."""

    fig_53 = "fig-5.3"
    table_51 = "table-5.1"
    fig_54 = "fig-5.4"
    ablations = "ablations"


class PaperB(StrEnum):
    """What paper B reports."""

    fig_65 = "fig-6.5"
    fig_68 = "fig-6.8"
    savings = "savings"


class PaperC(StrEnum):
    """What paper C reports."""

    table_71 = "table-7.1"
    table_72 = "table-7.2"
    eq_77 = "eq-7.7"
    eq_71 = "eq-7.1"
    traversals = "traversals"


class PaperD(StrEnum):
    """What paper D reports, and what it left open."""

    table_2 = "table-2"
    families = "families"
    sizes = "sizes"
    arity = "arity"
    itself = "self"


class PaperG(StrEnum):
    """What paper G reports, and what sampling misses."""

    table_1 = "table-1"
    cloth = "cloth"
    misses = "misses"


class PaperM(StrEnum):
    """What paper M reports, and how far nodes reach."""

    table_1 = "table-1"
    fig_5 = "fig-5"
    table_4 = "table-4"
    fish = "fish"
    radius = "radius"


class PaperS(StrEnum):
    """What paper S reports."""

    spheres = "spheres"
    knots = "knots"
    quadrupeds = "quadrupeds"
    hands = "hands"


@bench.callback()
def papers() -> None:
    """Run the experiments of the papers again."""


Quick = Annotated[bool, typer.Option("--quick", help="Tiny bodies and few steps, to see that all works.")]
Repeats = Annotated[int | None, typer.Option(min=1, help="Plays of each step; the least counts.", show_default="3, quick 1")]
Chosen = Annotated[Clock, typer.Option(help="Processor time, or the time that passes: the same on a quiet machine.")]
FOLDER = typer.Option(help="Folder for the figures (JSON), the report and the plots.")
NAMED, SAME = typer.Option(help="One or several; all of them if none is named."), "The same as --experiment."


@bench.command("paper-a")
def paper_a(
    more: Annotated[list[PaperA] | None, typer.Argument(metavar="EXPERIMENT", help=SAME)] = None,
    experiment: Annotated[list[PaperA] | None, NAMED] = None,
    out: Annotated[Path, FOLDER] = Path("out/paper-a"),
    quick: Quick = False,
    frames: Annotated[int | None, typer.Option(min=2, help="Steps of each scene.", show_default="200, quick 10")] = None,
    repeats: Repeats = None,
    clock: Chosen = Clock.cpu,
) -> None:
    """Collision detection for continuously deforming bodies (Larsson and Akenine-Möller, 2001): updates of trees compared."""
    chosen = {*(experiment or []), *(more or [])} or set(PaperA)
    measure("paper-a", [each.value for each in PaperA if each in chosen], out, quick, frames, repeats, clock)


@bench.command("paper-b")
def paper_b(
    more: Annotated[list[PaperB] | None, typer.Argument(metavar="EXPERIMENT", help=SAME)] = None,
    experiment: Annotated[list[PaperB] | None, NAMED] = None,
    out: Annotated[Path, FOLDER] = Path("out/paper-b"),
    quick: Quick = False,
    frames: Annotated[int | None, typer.Option(min=2, help="Steps of each scene.", show_default="400, quick 10")] = None,
    repeats: Repeats = None,
    clock: Chosen = Clock.cpu,
) -> None:
    """Efficient collision detection for models deformed by morphing (Larsson and Akenine-Möller, 2003): blended volumes compared."""
    chosen = {*(experiment or []), *(more or [])} or set(PaperB)
    measure("paper-b", [each.value for each in PaperB if each in chosen], out, quick, frames, repeats, clock)


@bench.command("paper-c")
def paper_c(
    more: Annotated[list[PaperC] | None, typer.Argument(metavar="EXPERIMENT", help=SAME)] = None,
    experiment: Annotated[list[PaperC] | None, NAMED] = None,
    out: Annotated[Path, FOLDER] = Path("out/paper-c"),
    quick: Quick = False,
    frames: Annotated[int | None, typer.Option(min=2, help="Frames, evenly spread over a scene.", show_default="all, quick 3")] = None,
    repeats: Repeats = None,
    clock: Chosen = Clock.cpu,
) -> None:
    """Bounding volume hierarchy updates for ray tracing of deformable models (Larsson and Akenine-Möller, 2003): frames compared."""
    chosen = {*(experiment or []), *(more or [])} or set(PaperC)
    measure("paper-c", [each.value for each in PaperC if each in chosen], out, quick, frames, repeats, clock)


@bench.command("paper-d")
def paper_d(
    more: Annotated[list[PaperD] | None, typer.Argument(metavar="EXPERIMENT", help=SAME)] = None,
    experiment: Annotated[list[PaperD] | None, NAMED] = None,
    out: Annotated[Path, FOLDER] = Path("out/paper-d"),
    quick: Quick = False,
    frames: Annotated[int | None, typer.Option(min=2, help="Most frames of a scene, from the first.", show_default="all, quick 3")] = None,
    repeats: Repeats = None,
    clock: Chosen = Clock.cpu,
) -> None:
    """Adaptive bounding volume hierarchies for deformable surface models (Bitar, 2011): what to refit, by eight criteria, for distances."""
    chosen = {*(experiment or []), *(more or [])} or set(PaperD)
    measure("paper-d", [each.value for each in PaperD if each in chosen], out, quick, frames, repeats, clock)


@bench.command("paper-g")
def paper_g(
    more: Annotated[list[PaperG] | None, typer.Argument(metavar="EXPERIMENT", help=SAME)] = None,
    experiment: Annotated[list[PaperG] | None, NAMED] = None,
    out: Annotated[Path, FOLDER] = Path("out/paper-g"),
    quick: Quick = False,
    frames: Annotated[int | None, typer.Option(min=2, help="Frames of each scene.", show_default="30, quick 4")] = None,
    repeats: Repeats = None,
    clock: Chosen = Clock.cpu,
) -> None:
    """Interactive collision detection for deformable and GPU objects (Georgii, Krüger and Westermann, 2007): the image engine."""
    chosen = {*(experiment or []), *(more or [])} or set(PaperG)
    measure("paper-g", [each.value for each in PaperG if each in chosen], out, quick, frames, repeats, clock)


@bench.command("paper-m")
def paper_m(
    more: Annotated[list[PaperM] | None, typer.Argument(metavar="EXPERIMENT", help=SAME)] = None,
    experiment: Annotated[list[PaperM] | None, NAMED] = None,
    out: Annotated[Path, FOLDER] = Path("out/paper-m"),
    quick: Quick = False,
    frames: Annotated[int | None, typer.Option(min=2, help="Frames of each scene.", show_default="60, quick 4")] = None,
    repeats: Repeats = None,
    clock: Chosen = Clock.cpu,
) -> None:
    """Tight and efficient surface bounds in meshless animation (Steinemann, Otaduy and Gross, 2008): volumes from a few maps."""
    chosen = {*(experiment or []), *(more or [])} or set(PaperM)
    measure("paper-m", [each.value for each in PaperM if each in chosen], out, quick, frames, repeats, clock)


@bench.command("paper-s")
def paper_s(
    more: Annotated[list[PaperS] | None, typer.Argument(metavar="EXPERIMENT", help=SAME)] = None,
    experiment: Annotated[list[PaperS] | None, NAMED] = None,
    out: Annotated[Path, FOLDER] = Path("out/paper-s"),
    quick: Quick = False,
    frames: Annotated[int | None, typer.Option(min=2, help="Frames, evenly spread over 500.", show_default="100, quick 4")] = None,
    repeats: Repeats = None,
    clock: Chosen = Clock.cpu,
) -> None:
    """Bounding volume hierarchies of slab cut balls (Larsson and Akenine-Möller, 2008): volumes of rigid bodies compared."""
    chosen = {*(experiment or []), *(more or [])} or set(PaperS)
    measure("paper-s", [each.value for each in PaperS if each in chosen], out, quick, frames, repeats, clock)


def measure(name: str, chosen: list[str], out: Path, quick: bool, frames: int | None, repeats: int | None, clock: Clock) -> None:
    """Run these experiments of a paper, show what they say and write it."""
    import pliant
    from pliant.bench.papers import PAPERS

    make_folder(out)
    paper = PAPERS[name]
    plan = paper.quick if quick else paper.plan
    plan = plan._replace(frames=frames or plan.frames, repeats=repeats or plan.repeats)
    console = screen(tables=True)
    data: dict[str, Any] = {"format": f"pliant bench {name} 1", "complete": False, "quick": quick, "frames": plan.frames,
                            "repeats": plan.repeats, "clock": clock.value, "machine": machine(), "experiments": {}}  # fmt: skip
    pliant.set_threads(1)
    try:
        run(paper, plan, chosen, data, console)
    except KeyboardInterrupt:
        pass
    finally:
        pliant.set_threads(None)
    show(paper, data, console)
    write(paper, data, out, console)
    if not data["complete"]:
        console.print("[bold]Stopped[/bold]: what was done until then is written.")
        raise typer.Exit(INTERRUPTED)
    if not all(each["agrees"] for done in data["experiments"].values() for each in done["runs"]):
        console.print(f"[bold red]Methods found different {paper.found}.[/bold red]")
        raise typer.Exit(DISAGREE)


def run(paper: Paper, plan: Any, names: list[str], data: dict[str, Any], console: Console) -> None:
    """Run the experiments; fills ``data`` as they go."""
    from pliant.bench.play import Session

    with progress_bar(console) as progress:
        session = Session(plan.repeats, data["clock"], *reporters(progress))
        for name in names:
            runs: list[Any] = []
            data["experiments"][name] = {"title": paper.experiments[name].title, "runs": runs}
            for each in paper.experiments[name].runs(plan, session):
                runs.append(each)
            if session.stopped:
                return
    data["complete"] = True


def progress_bar(console: Console) -> Progress:
    """A bar of steps. It is drawn when it is told to, between turns: a thread that draws would take time from what is timed."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"), TimeElapsedColumn()
    return Progress(*columns, console=console, auto_refresh=False, transient=True)


def reporters(progress: Progress) -> tuple[Callable[[str, int], None], Callable[[int], None]]:
    """What a session calls at the beginning of a scene and after each turn."""
    task = progress.add_task("")

    def begin(title: str, steps: int) -> None:
        progress.reset(task, description=title, total=steps)
        progress.refresh()

    def tick(steps: int) -> None:
        progress.update(task, advance=steps, refresh=True)

    return begin, tick


def machine() -> dict[str, str]:
    """What figures depend on."""
    return {"processor": processor(), "Python": platform.python_version()} | {name: version(name) for name in ("pliant", "numpy", "numba")}


def show(paper: Paper, data: dict[str, Any], console: Console) -> None:
    """All tables on screen."""
    from pliant.bench.tables import rich

    for name in data["experiments"]:
        for table in paper.tables_of(data, name):
            console.print(rich(table))
    console.print(paper.machine(data), markup=False)


def write(paper: Paper, data: dict[str, Any], out: Path, console: Console) -> None:
    """JSON, plots where Matplotlib is installed, and the report."""
    from pliant.bench.plots import draw, missing

    (out / f"{paper.name}.json").write_text(json.dumps(data) + "\n", encoding="utf-8")
    why = missing()
    if why:
        console.print(f"No plots: {why}", markup=False)
    pictures = {} if why else draw(paper, data, out)
    (out / "report.md").write_text(paper.report(data, pictures), encoding="utf-8")
    names = [f"{paper.name}.json", "report.md", *(file for files in pictures.values() for file in files)]
    console.print(f"Written to {out}: {', '.join(names)}", markup=False, soft_wrap=True)
