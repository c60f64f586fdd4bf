"""``python -m experiments NAME`` runs the experiments of a paper: tables on screen, figures and plots in a folder."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from benchmarks.harness import alone as run_alone
from pliant.cli.errors import EXIT_INTERRUPTED, CommandGroup, make_console, make_folder
from pliant.cli.info import package_version, processor_name

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from experiments.paper import Paper

DISAGREE = 1  # methods found different pairs, hits or distances: a defect

EXAMPLES = """\
Examples:

    python -m experiments larsson2001 --quick

    python -m experiments larsson2003b table-7.1 --out out/table
"""
application = typer.Typer(help=f"Run the experiments of the papers again.\n\n{EXAMPLES}", no_args_is_help=True, add_completion=False,
                          pretty_exceptions_enable=False, cls=CommandGroup)


class Clock(StrEnum):
    """Which clock is read."""

    cpu = "cpu"
    wall = "wall"


class About(NamedTuple):
    """What the command line shows of a paper before it imports anything of it: the names of its experiments in order, a description, what
    `--frames` counts, and the default number of frames."""

    experiments: tuple[str, ...]
    says: str
    frames: str
    default: str


COMMANDS = {
    "larsson2001": About(
        ("fig-5.3", "table-5.1", "fig-5.4", "ablations"),
        "Collision detection for continuously deforming bodies (Larsson and Akenine-Möller, 2001): BVH updates compared.",
        "Steps of each scene.", "200, quick 10"),
    "larsson2003a": About(
        ("fig-6.5", "fig-6.8", "savings"),
        "Efficient collision detection for models deformed by morphing (Larsson and Akenine-Möller, 2003): blended volumes compared.",
        "Steps of each scene.", "400, quick 10"),
    "larsson2003b": About(
        ("table-7.1", "table-7.2", "eq-7.7", "picks", "eq-7.1", "traversals"),
        "Bounding volume hierarchy updates for ray tracing of deformable models (Larsson and Akenine-Möller, 2003): frames compared.",
        "Frames, evenly spaced over a scene.", "all, quick 3"),
    "bitar2011": About(
        ("table-2", "families", "sizes", "arity", "self"),
        "Adaptive bounding volume hierarchies for deformable surface models (Bitar, 2011): eight refit criteria compared "
        "in distance queries.",
        "Maximum number of frames of a scene, from the first.", "all, quick 3"),
    "georgii2007": About(
        ("counts", "table-1", "cloth", "misses"),
        "Interactive collision detection for deformable and GPU objects (Georgii, Krüger and Westermann, 2007): the image engine.",
        "Frames of each scene.", "30, quick 4"),
    "steinemann2008": About(
        ("table-1", "fig-5", "table-4", "fish", "radius"),
        "Tight and efficient surface bounds in meshless animation (Steinemann, Otaduy and Gross, 2008): volumes from a few affine maps.",
        "Frames of each scene.", "60, quick 4"),
    "larsson2008": About(
        ("spheres", "knots", "quadrupeds", "hands"),
        "Bounding volume hierarchies of slab cut balls (Larsson and Akenine-Möller, 2008): volumes of rigid bodies compared.",
        "Frames, evenly spaced over 500.", "100, quick 4"),
}  # fmt: skip


@application.callback()
def papers() -> None:
    """Run the experiments of the papers again."""


Quick = Annotated[bool, typer.Option("--quick", help="Tiny bodies and few steps, to check that everything works.")]
Repeats = Annotated[int | None, typer.Option(min=1, help="Repetitions of each step; the minimum counts.", show_default="3, quick 1")]
Pin = Annotated[bool, typer.Option("--pin", help="Run on one core, with thread pools of one thread: for published figures.")]
Chosen = Annotated[Clock, typer.Option(help="Processor time or elapsed time; they are equal on an idle machine.")]


def add_command(name: str, about: About) -> None:
    """Add the command of a paper."""
    one = one_of(about.experiments)
    argument = typer.Argument(None, metavar="EXPERIMENT", help="The same as --experiment.", **one)
    option = typer.Option(None, metavar=f"[{'|'.join(about.experiments)}]", help="One or several; default: all.", **one)
    folder = typer.Option(Path("out") / name, help="Folder for the figures (JSON), the report and the plots.")
    count = typer.Option(None, min=2, help=about.frames, show_default=about.default)

    @application.command(name, help=about.says)
    def paper(more: list[str] | None = argument, experiment: list[str] | None = option, out: Path = folder, quick: Quick = False,
              frames: int | None = count, repeats: Repeats = None, clock: Chosen = Clock.cpu, pin: Pin = False) -> None:  # fmt: skip
        if pin:
            run_alone(hasattr(os, "sched_setaffinity"))
        chosen = {*(experiment or []), *(more or [])} or set(about.experiments)
        measure(name, [each for each in about.experiments if each in chosen], out, quick, frames, repeats, clock)


def one_of(names: tuple[str, ...]) -> dict[str, Any]:
    """Options of a parameter that takes one of these names. An enumeration would do the same but would have to be written for each
    paper."""

    def known(word: str) -> str:
        if word not in names:
            raise typer.BadParameter(f"{word!r} is not one of {', '.join(map(repr, names))}.")
        return word

    def beginning(incomplete: str) -> list[str]:
        return [each for each in names if each.startswith(incomplete)]

    return {"parser": known, "autocompletion": beginning}


for _name, _about in COMMANDS.items():
    add_command(_name, _about)


@application.command("all", help="All experiments of all papers. Takes hours, with --quick minutes.")
def all_papers(out: Annotated[Path, typer.Option(help="Folder, with one in it for each paper.")] = Path("out"), quick: Quick = False,
               frames: Annotated[int | None, typer.Option(min=2, help="Frames of each scene.", show_default="as each paper")] = None,
               repeats: Repeats = None, clock: Chosen = Clock.cpu, pin: Pin = False) -> None:  # fmt: skip
    if pin:
        run_alone(hasattr(os, "sched_setaffinity"))
    for name, about in COMMANDS.items():
        measure(name, list(about.experiments), out / name, quick, frames, repeats, clock)


def measure(name: str, chosen: list[str], out: Path, quick: bool, frames: int | None, repeats: int | None, clock: Clock) -> None:
    """Run these experiments of a paper, print the results and write them to files."""
    import pliant
    from experiments.registry import PAPERS

    make_folder(out)
    paper = PAPERS[name]
    plan = paper.quick if quick else paper.plan
    plan = plan._replace(frames=frames or plan.frames, repeats=repeats or plan.repeats)
    console = make_console(tables=True)
    data: dict[str, Any] = {"format": f"pliant experiment {name} 1", "complete": False, "quick": quick, "frames": plan.frames,
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
        console.print("[bold]Stopped[/bold]: the results so far are written.")
        raise typer.Exit(EXIT_INTERRUPTED)
    if not all(each["agrees"] for done in data["experiments"].values() for each in done["runs"]):
        console.print(f"[bold red]Methods found different {paper.found}.[/bold red]")
        raise typer.Exit(DISAGREE)


def run(paper: Paper, plan: Any, names: list[str], data: dict[str, Any], console: Console) -> None:
    """Run the experiments; adds their runs to ``data``."""
    from experiments.clock import Session

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
    """A progress bar of steps. It is drawn only between turns: a drawing thread would take time from the measured code."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"), TimeElapsedColumn()
    return Progress(*columns, console=console, auto_refresh=False, transient=True)


def reporters(progress: Progress) -> tuple[Callable[[str, int], None], Callable[[int], None]]:
    """The callbacks of a session: at the beginning of a scene, and after each turn."""
    task = progress.add_task("")

    def begin(title: str, steps: int) -> None:
        progress.reset(task, description=title, total=steps)
        progress.refresh()

    def tick(steps: int) -> None:
        progress.update(task, advance=steps, refresh=True)

    return begin, tick


def machine() -> dict[str, str]:
    """The environment that the figures depend on."""
    return {"processor": processor_name(),
            "Python": platform.python_version()} | {name: package_version(name) for name in ("pliant", "numpy", "numba")}


def show(paper: Paper, data: dict[str, Any], console: Console) -> None:
    """Print all tables."""
    from pliant.report.tables import rich

    for name in data["experiments"]:
        for table in paper.tables_of(data, name):
            console.print(rich(table))
    console.print(paper.machine(data), markup=False)


def write(paper: Paper, data: dict[str, Any], out: Path, console: Console) -> None:
    """Write JSON, the report, and plots if Matplotlib is installed."""
    from experiments.plots import draw, missing

    (out / f"{paper.name}.json").write_text(json.dumps(data) + "\n", encoding="utf-8")
    why = missing()
    if why:
        console.print(f"No plots: {why}", markup=False)
    pictures = {} if why else draw(paper, data, out)
    (out / "report.md").write_text(paper.report(data, pictures), encoding="utf-8")
    names = [f"{paper.name}.json", "report.md", *(file for files in pictures.values() for file in files)]
    console.print(f"Written to {out}: {', '.join(names)}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    application(prog_name="python -m experiments")
