"""``pliant check``: what meets in every frame of an animation; a table on screen, pairs, a summary and a report in a folder."""

from __future__ import annotations

import math
import re
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.errors import EXIT_COLLISIONS, EXIT_INTERRUPTED, announce_compiling, make_console, make_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.progress import Progress

    from pliant.check.plan import CheckOptions
    from pliant.check.run import CheckProgress, CheckResult, Output
    from pliant.io.animation import Animation

MAX_TABLE_ROWS = 8  # of tables on screen
EXAMPLES = """\
Examples:

    pliant check walk.glb --out walk

    pliant check frames/ --within 0.002 --frames 100:200

    pliant check cloth.obj cloth.pc2 ball.stl --ignore ball:ball --jobs 4

    pliant check arm.glb table.ply --group arm='Arm*,Hand*' --pairs arm:table

Exit codes: 0 nothing meets, 1 collisions found, 2 bad input, 130 interrupted.
"""


class Engine(StrEnum):
    """How pairs are found."""

    tree = "tree"
    image = "image"


class Device(StrEnum):
    """Where the image engine works."""

    cpu = "cpu"
    cuda = "cuda"


class Adjacent(StrEnum):
    """What counts among faces that share a vertex."""

    exact = "exact"
    ignore = "ignore"


class Form(StrEnum):
    """The file of pairs."""

    npz = "npz"
    parquet = "parquet"


Option = typer.Option
query_option = partial(typer.Option, rich_help_panel="What is asked")
output_option = partial(typer.Option, rich_help_panel="What is written")
Files = Annotated[list[Path], typer.Argument(
    metavar="FILE", help="An animation: a file, a folder of frames, a mesh and its point cache; several are one scene.")]
Frames = Annotated[str, query_option(help="A frame, or START:STOP:STEP.", show_default="all")]
OnlyPairs = Annotated[list[str] | None, query_option(
    metavar="A:B", show_default="all",
    help="Only these bodies against each other: names, patterns, groups; A:A also each with itself.")]
IgnoredPairs = Annotated[list[str] | None, query_option(metavar="A:B", help="Not these.")]
Group = Annotated[list[str] | None, query_option(metavar="NAME=PATTERN,…", help="A name for several bodies, for --pairs and --ignore.")]
SelfPairs = Annotated[bool, query_option("--self/--no-self", help="Bodies with themselves.")]
BetweenBodies = Annotated[bool, query_option("--between/--no-between", help="Bodies with each other.")]
Tolerance = Annotated[float | None, query_option(metavar="TOL", help="Also pairs that are no farther apart.", show_default="what meets")]
AdjacentRule = Annotated[Adjacent, query_option(help="Faces that share a vertex: by an exact rule, or never.")]
Engines = Annotated[Engine, Option(help="Trees, or the image engine.")]
Devices = Annotated[Device, Option(help="Where the image engine works.")]
Policy = Annotated[str, Option(help="When volumes follow: auto, bottom_up, lazy, hybrid, …")]
Weld = Annotated[str, Option(metavar="on|off|DISTANCE", help="Vertices at one place are one, as at the seams of textured meshes.")]
Jobs = Annotated[int | None, Option(min=1, max=1024, help="Frames at a time.", show_default="a processor each")]
Rate = Annotated[float | None, Option(
    min=0.001, max=100_000, help="Frames a second, for clips and for files that do not say.", show_default="the file's, else 30")]
Clip = Annotated[str | None, Option(help="Name or number of the animation, where a file has several.", show_default="the first")]
Report = Annotated[bool, output_option("--report/--no-report", help="Write report.html and plots.")]
Megabytes = Annotated[float, output_option(min=1, max=2000, help="Most megabytes of report.html; beyond, frames are left out evenly.")]


def check(
    files: Files,
    out: Annotated[Path, output_option(help="Folder for what is found.")] = Path("out/check"),
    frames: Frames = ":",
    pairs: OnlyPairs = None,
    ignore: IgnoredPairs = None,
    group: Group = None,
    self_pairs: SelfPairs = True,
    between: BetweenBodies = True,
    within: Tolerance = None,
    adjacent: AdjacentRule = Adjacent.exact,
    engine: Engines = Engine.tree,
    device: Devices = Device.cpu,
    policy: Policy = "auto",
    weld: Weld = "on",
    jobs: Jobs = None,
    rate: Rate = None,
    clip: Clip = None,
    form: Annotated[Form, output_option("--format", help="The file of pairs.")] = Form.npz,
    report: Report = True,
    report_mb: Megabytes = 30.0,
    resume: Annotated[bool, output_option("--resume", help="Go on with a check that was stopped.")] = False,
    overwrite: Annotated[bool, output_option("--overwrite", help="Throw a stopped check away and begin anew.")] = False,
) -> None:
    """Check an animation: find what meets in every frame, write the pairs and a report."""
    from rich.markup import escape

    console = make_console()
    announce_compiling(console)
    with console.status("Reading …"):
        from pliant.check.run import Output

        options = make_options(frames=frames, between=between, with_self=self_pairs, pairs=tuple(pairs or ()), ignore=tuple(ignore or ()),
                               groups=parse_groups(group or []), within=within, adjacent=adjacent.value, engine=engine.value,
                               device=device.value, policy=policy, weld=parse_weld(weld))  # fmt: skip
        animation = read_files(files, rate, clip)
    output = Output(make_folder(out), form.value, report, int(1e6 * report_mb), report)
    print_animation(animation, console)
    try:
        result = run_check(animation, options, output, console, jobs=jobs, resume=resume, overwrite=overwrite)
    except KeyboardInterrupt:
        console.print(f"[bold]Stopped[/bold]. The same command with --resume goes on from {escape(str(out))}.", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    print_result(result, console)
    if result.pairs:
        raise typer.Exit(EXIT_COLLISIONS)


check.__doc__ = f"{check.__doc__}\n\n{EXAMPLES}"


def read_files(files: list[Path], rate: float | None, clip: str | None) -> Animation:
    """The animation in these files."""
    from pliant.io.animation import Settings
    from pliant.io.read import read

    return read(files, Settings(rate, clip))


def make_options(**values: Any) -> CheckOptions:
    """What is asked; errors name the option."""
    from pliant.check.plan import CheckOptions

    try:
        return CheckOptions(**values)
    except (ValueError, TypeError) as error:
        name, _, rest = str(error).partition(": ")
        raise typer.BadParameter(rest, param_hint=f"--{name}") from None


def parse_groups(texts: list[str]) -> dict[str, str]:
    """Names of groups, and the patterns of each."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, patterns = text.partition("=")
        if not equals or not name.strip() or not patterns.strip():
            raise typer.BadParameter(f"expected NAME=PATTERN,…, such as arm='Arm*,Hand*', got {text!r}", param_hint="--group")
        found[name.strip()] = ",".join(filter(None, (found.get(name.strip()), patterns)))
    return found


def parse_weld(text: str) -> bool | float:
    """Whether, or how far."""
    if text in ("on", "off"):
        return text == "on"
    if not re.fullmatch(r"\d*\.?\d+([eE][-+]?\d+)?", text) or not math.isfinite(float(text)):
        raise typer.BadParameter(f"expected on, off or a distance, got {text!r}", param_hint="--weld")
    return float(text)


def print_animation(animation: Animation, console: Console) -> None:
    """What was read."""
    n = len(animation.actors)
    parts = [f"{n:,} bod{'y' if n == 1 else 'ies'}, {animation.frames:,} frame{'' if animation.frames == 1 else 's'}"]
    parts += [f"{animation.up} is up"] if animation.up else []
    parts += [f"lengths in {animation.unit}"] if animation.unit else []
    console.print(f"{animation.name}: {', '.join(parts)}.", markup=False, soft_wrap=True)
    for note in animation.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)


def run_check(animation: Animation, options: CheckOptions, output: Output, console: Console, *, jobs: int | None, resume: bool,
              overwrite: bool) -> CheckResult:  # fmt: skip
    """Check, with a bar."""
    import pliant
    from pliant.check.run import check_animation

    with progress_bar(console) as progress:
        try:
            return check_animation(animation, options, output, jobs=jobs or pliant.threads(), resume=resume, overwrite=overwrite,
                                   **progress_callbacks(progress))  # fmt: skip
        except ValueError as error:
            name, _, rest = str(error).partition(": ")
            if name in ("frames", "pairs", "ignore", "group", "jobs"):
                raise typer.BadParameter(rest, param_hint=f"--{name}") from None
            raise


def progress_bar(console: Console) -> Progress:
    """A bar of frames: which one, pairs so far, frames a second, time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"),
               TimeRemainingColumn(compact=True))  # fmt: skip
    return Progress(*columns, console=console, transient=True)


def progress_callbacks(progress: Progress) -> dict[str, Callable[[Any], None]]:
    """What the check calls after each frame and before each file."""
    task = progress.add_task("Preparing; the first time kernels are compiled …", total=None, told="")

    def on_frame(now: CheckProgress) -> None:
        rate = progress.tasks[task].speed
        status = f"frame {now.frame}, {now.pairs:,} pairs" + (f", {rate:,.1f} frames/s" if rate else "")
        progress.update(task, description="Colliding", total=now.total, completed=now.done, told=status)

    def on_file(what: str) -> None:
        progress.update(task, description=f"Writing the {what}", told="")

    return {"progress": on_frame, "writing": on_file}


def print_result(result: CheckResult, console: Console) -> None:
    """The worst frames and bodies, and where everything is."""
    from rich.table import Table
    from rich.text import Text

    summary = result.summary
    near = summary["options"]["within"] is not None
    frames = len(summary["frames"])
    if not result.pairs:
        console.print(f"[bold green]Nothing {'is nearer than that' if near else 'meets'}[/bold green] in {frames:,} frames.")
    else:
        meet = f", {summary['touching']:,} of them meet," if near else ""
        where = f"in {summary['frames_with_pairs']:,} of {frames:,} frames"
        console.print(f"[bold red]{result.pairs:,} pairs of triangles[/bold red]{meet} {where}.")
        table = Table(title="Which bodies", title_justify="left")
        for heading in ("bodies", "pairs", "frames", "worst frame", "pairs there"):
            table.add_column(heading, justify="left" if heading == "bodies" else "right", overflow="fold")
        for row in summary["by_bodies"][:MAX_TABLE_ROWS]:
            one, other = row["names"]
            names = f"{one}, itself" if row["bodies"][0] == row["bodies"][1] else f"{one} – {other}"
            table.add_row(Text(names), f"{row['pairs']:,}", f"{row['frames']:,}", f"{row['worst_frame']}", f"{row['worst_pairs']:,}")
        console.print(table)
        if len(summary["by_bodies"]) > MAX_TABLE_ROWS:
            console.print(f"… and {len(summary['by_bodies']) - MAX_TABLE_ROWS:,} more pairs of bodies.")
    times = summary["seconds"]
    console.print(f"{times['total']:.1f} s, of it reading {times['reading']:.1f} and queries {times['queries']:.1f} (sums over all jobs).")
    console.print(f"Written: {', '.join(str(file) for file in result.files)}", markup=False, soft_wrap=True)
