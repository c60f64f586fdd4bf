"""``pliant tune``: find the best refit policy for an animation; print a table, write the policy to a file."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.check import AsKind, Clip, FileOptions, Rate
from pliant.cli.errors import EXIT_INTERRUPTED, make_console
from pliant.errors import ArgumentError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from pliant.tune import Report, Row, Tuned

EXAMPLES = """\
Examples:

    pliant tune cloth.npz --query self_collide --out cloth.toml

    pliant tune plate.npz cable.npz --volume rss --build matching --arity 2 --leaf 1 --out policy.toml
"""


class FrameQuery(StrEnum):
    """The query of every frame."""

    distance = "distance"
    self_distance = "self_distance"
    collide = "collide"
    self_collide = "self_collide"
    within = "within"
    self_within = "self_within"


class ScoreUnit(StrEnum):
    """Metric to minimise."""

    counters = "counters"
    seconds = "seconds"


def tune(
    animations: Annotated[list[str], typer.Argument(
        metavar="ANIMATION", help="Files of animations, as for check, or folders of numbered meshes.")],
    out: Annotated[Path, typer.Option(help="File for the policy; Body(policy=FILE) loads it.")] = Path("policy.toml"),
    query: Annotated[FrameQuery, typer.Option(help="Query of every frame.")] = FrameQuery.distance,
    score: Annotated[ScoreUnit, typer.Option(help="Metric to minimise.")] = ScoreUnit.counters,
    criteria: Annotated[list[str] | None, typer.Option(help="Criteria to search, separated by commas.", show_default="all")] = None,
    population: Annotated[int, typer.Option(help="Population size.")] = 30,
    generations: Annotated[int, typer.Option(help="Number of generations.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the random search.")] = 0,
    state: Annotated[Path | None, typer.Option(help="State file, to resume a stopped search.", show_default="beside --out")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Tolerance of within and self_within.")] = None,
    volume: Annotated[str | None, typer.Option(help="Bounding-volume type.", show_default="as in Body")] = None,
    build: Annotated[str | None, typer.Option(help="BVH builder.", show_default="as in Body")] = None,
    arity: Annotated[int | None, typer.Option(help="Children per BVH node.", show_default="as in Body")] = None,
    leaf: Annotated[int | None, typer.Option(help="Maximum triangles per leaf.", show_default="as in Body")] = None,
    body: Annotated[list[str] | None, typer.Option(
        metavar="NAME", help="Body to tune for, if a file has more than two; repeatable.", show_default="all")] = None,
    rate: Rate = None,
    clip: Clip = None,
    numbered: AsKind = None,
) -> None:
    """Search the parameters of the refit policy "inflated" that cost least for one or several animations."""
    from rich.markup import escape

    console = make_console(tables=True)
    options = {"volume": volume, "build": build, "arity": arity, "leaf": leaf}
    names = None if criteria is None else [name.strip() for text in criteria for name in text.split(",")]
    best: dict[str, Row] = {}
    state_file = out.parent / f"{out.stem}.state.json" if state is None else state
    try:
        make_parent_folder(out)
        make_parent_folder(state_file)
        read = FileOptions(rate, clip, numbered)
        tuned = search(animations, body or [], read, console, best, query=query.value, score=score.value, criteria=names,
                       population=population, generations=generations, seed=seed, state=state_file, tolerance=tolerance,
                       options={name: value for name, value in options.items() if value is not None})  # fmt: skip
        write_policy(out, tuned)
    except KeyboardInterrupt:
        print_table(list(best.values()), score.value, console)
        console.print(f"[bold]Stopped[/bold]. The same command goes on from {escape(str(state_file))}.", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    print_table(tuned.table, score.value, console)
    console.print(f"Written: {out}", markup=False, soft_wrap=True)


tune.__doc__ = f"{tune.__doc__}\n\n{EXAMPLES}"


def make_parent_folder(file: Path) -> None:
    """Create the folder of an output file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.is_dir():
        raise ArgumentError(f"{file}: is a folder, expected a file")


def search(names: list[str], bodies: list[str], files: FileOptions, console: Console, best: dict[str, Row], **settings: Any) -> Tuned:
    """Tune, with a progress bar; ``best`` has the best of each criterion so far."""
    from pliant.tune import read_animations, tune
    from pliant.tune.criteria import CRITERIA

    with console.status("Reading; the first time kernels are compiled …"):
        animations = read_animations(names, bodies, files.settings())
    wanted = settings["criteria"] or CRITERIA
    steps = sum(settings["generations"] if CRITERIA.get(name) else 1 for name in wanted)
    with progress_bar(console) as progress:
        return tune(animations, progress=progress_callback(progress, steps, best), **settings)


def progress_bar(console: Console) -> Progress:
    """A progress bar of generations, without a refresh thread, which would disturb the timings."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TextColumn("generations"),
               TextColumn("{task.fields[best]}"), TimeElapsedColumn())  # fmt: skip
    return Progress(*columns, console=console, auto_refresh=False, transient=True)


def progress_callback(progress: Progress, steps: int, best: dict[str, Row]) -> Callable[[Report], None]:
    """The callback of the search: it advances the bar and keeps the best so far."""
    from pliant.report.tables import figure

    task = progress.add_task("", total=steps, best="")
    finished: dict[str, int] = {}

    def report(now: Report) -> None:
        finished[now.criterion] = now.generation if now.generations else 1
        best[now.criterion] = now.best
        text = f"best {figure(now.best.score)}, {now.best.evaluations} scored"
        progress.update(task, completed=sum(finished.values()), description=f"{now.criterion:12}", best=text, refresh=True)

    return report


def write_policy(out: Path, tuned: Tuned) -> None:
    """Write the policy, and what it was tuned for."""
    from pliant.refit.policy_files import save_policy

    save_policy(out, tuned.policy, tuned.metadata)


def print_table(rows: list[Row], score: str, console: Console) -> None:
    """Print a row for each criterion, as in the thesis's Table 2, compared with refitting everything."""
    from pliant.report.tables import Table, figure, rich

    if not rows:
        return
    lowest = min(row.score for row in rows)
    full_refit = next((row.score for row in rows if row.criterion == "all"), 0.0)
    cells = []
    for row in rows:
        genes = [f"{row.parameters[name]:.4f}" if name in row.parameters else "–" for name in ("p_max", "k", "gamma")]
        ratio = figure(row.score / full_refit) if full_refit else "–"
        cells.append([row.criterion, *genes, figure(row.score), ratio, f"{row.evaluations:,}", "← best" if row.score == lowest else ""])
    unit = "seconds" if score == "seconds" else "weighted counters"
    columns = ["criterion", "p_max", "k", "γ", unit, "of refit all", "scored", ""]
    console.print(rich(Table("The best parameters of each criterion", columns, cells)))
