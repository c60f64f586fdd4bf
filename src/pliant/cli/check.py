"""``pliant check``: find collisions in every frame of an animation; print a table, write pairs, a summary and a report."""

from __future__ import annotations

import math
import re
from collections import Counter
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

MAX_TABLE_ROWS = 8  # maximum rows of printed tables
EXAMPLES = """\
Examples:

    pliant check walk.glb --out walk

    pliant check frames/ --within 0.002 --frames 100:200

    pliant check cloth.obj cloth.pc2 ball.stl --ignore ball:ball --jobs 4

    pliant check arm.glb table.ply --group arm='Arm*,Hand*' --pairs arm:table

Exit codes: 0 no collision, 1 collisions, 2 invalid input, 130 interrupted.
"""


class Engine(StrEnum):
    """Engine that finds the pairs."""

    tree = "tree"
    image = "image"


class Device(StrEnum):
    """Device of the image engine."""

    cpu = "cpu"
    cuda = "cuda"


class Adjacent(StrEnum):
    """Rule for faces that share a vertex."""

    exact = "exact"
    ignore = "ignore"


class Form(StrEnum):
    """Format of the file of pairs."""

    npz = "npz"
    parquet = "parquet"


Option = typer.Option
query_option = partial(typer.Option, rich_help_panel="Query")
output_option = partial(typer.Option, rich_help_panel="Output")
Files = Annotated[list[Path], typer.Argument(
    metavar="FILE", help="An animation: a file, a folder of frames, a mesh and its point cache; several files form one scene.")]
Frames = Annotated[str, query_option(help="Frame number, or START:STOP:STEP.", show_default="all")]
OnlyPairs = Annotated[list[str] | None, query_option(
    metavar="A:B", show_default="all",
    help="Test only these bodies against each other: names, patterns, groups; A:A includes self-collisions.")]
IgnoredPairs = Annotated[list[str] | None, query_option(metavar="A:B", help="Exclude these pairs.")]
Group = Annotated[list[str] | None, query_option(metavar="NAME=PATTERN,…", help="Name for several bodies, for --pairs and --ignore.")]
SelfPairs = Annotated[bool, query_option("--self/--no-self", help="Report self-collisions.")]
BetweenBodies = Annotated[bool, query_option("--between/--no-between", help="Report pairs of different bodies.")]
Tolerance = Annotated[float | None, query_option(metavar="TOL", help="Also report pairs within TOL.", show_default="collisions only")]
Enclosed = Annotated[bool, query_option("--enclosed/--no-enclosed", help="Report bodies that lie inside a closed body.")]
AdjacentRule = Annotated[Adjacent, query_option(help="Test faces that share a vertex by an exact rule, or never.")]
Engines = Annotated[Engine, Option(help="BVH traversal, or the image engine.")]
Devices = Annotated[Device, Option(help="Device of the image engine.")]
Policy = Annotated[str, Option(help="Refit policy: auto, bottom_up, lazy, hybrid, …")]
Volume = Annotated[str, Option(help="Bounding-volume type: aabb, obb, sphere, …")]
Weld = Annotated[str, Option(metavar="on|off|DISTANCE", help="Merge vertices at the same position, as at the seams of textured meshes.")]
Jobs = Annotated[int | None, Option(min=1, max=1024, help="Frames checked in parallel.", show_default="one per processor")]
Rate = Annotated[float | None, Option(
    min=0.001, max=100_000, help="Frames per second, for clips and for files without a rate.", show_default="the file's, else 30")]
Clip = Annotated[str | None, Option(help="Name or number of the clip, if a file has several.", show_default="the first")]
Report = Annotated[bool, output_option("--report/--no-report", help="Write report.html and plots.")]
Megabytes = Annotated[float, output_option(min=1, max=2000, help="Maximum megabytes of report.html; frames are left out if necessary.")]


def check(
    files: Files,
    out: Annotated[Path, output_option(help="Folder for the results.")] = Path("out/check"),
    frames: Frames = ":",
    pairs: OnlyPairs = None,
    ignore: IgnoredPairs = None,
    group: Group = None,
    self_pairs: SelfPairs = True,
    between: BetweenBodies = True,
    within: Tolerance = None,
    enclosed: Enclosed = True,
    adjacent: AdjacentRule = Adjacent.exact,
    engine: Engines = Engine.tree,
    device: Devices = Device.cpu,
    policy: Policy = "auto",
    volume: Volume = "aabb",
    weld: Weld = "on",
    jobs: Jobs = None,
    rate: Rate = None,
    clip: Clip = None,
    form: Annotated[Form, output_option("--format", help="Format of the file of pairs.")] = Form.npz,
    report: Report = True,
    report_mb: Megabytes = 30.0,
    resume: Annotated[bool, output_option("--resume", help="Resume a stopped check.")] = False,
    overwrite: Annotated[bool, output_option("--overwrite", help="Discard a stopped check and start again.")] = False,
) -> None:
    """Check an animation: find collisions in every frame, write the pairs and a report."""
    from rich.markup import escape

    console = make_console()
    announce_compiling(console)
    with console.status("Reading …"):
        from pliant.check.run import Output

        options = make_options(frames=frames, between=between, with_self=self_pairs, pairs=tuple(pairs or ()), ignore=tuple(ignore or ()),
                               groups=parse_groups(group or []), within=within, enclosed=enclosed, adjacent=adjacent.value,
                               engine=engine.value, device=device.value, policy=policy, volume=volume, weld=parse_weld(weld))  # fmt: skip
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
    """Read the animation in these files."""
    from pliant.io.animation import Settings
    from pliant.io.read import read

    return read(files, Settings(rate, clip))


def make_options(**values: Any) -> CheckOptions:
    """The options of the check; errors name the command-line option."""
    from pliant.check.plan import CheckOptions

    try:
        return CheckOptions(**values)
    except (ValueError, TypeError) as error:
        name, _, rest = str(error).partition(": ")
        raise typer.BadParameter(rest, param_hint=f"--{name}") from None


def parse_groups(texts: list[str]) -> dict[str, str]:
    """The patterns of each group, by name."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, patterns = text.partition("=")
        if not equals or not name.strip() or not patterns.strip():
            raise typer.BadParameter(f"expected NAME=PATTERN,…, such as arm='Arm*,Hand*', got {text!r}", param_hint="--group")
        found[name.strip()] = ",".join(filter(None, (found.get(name.strip()), patterns)))
    return found


def parse_weld(text: str) -> bool | float:
    """True, False or a distance."""
    if text in ("on", "off"):
        return text == "on"
    if not re.fullmatch(r"\d*\.?\d+([eE][-+]?\d+)?", text) or not math.isfinite(float(text)):
        raise typer.BadParameter(f"expected on, off or a distance, got {text!r}", param_hint="--weld")
    return float(text)


def print_animation(animation: Animation, console: Console) -> None:
    """Print what was read."""
    n = len(animation.actors)
    parts = [f"{n:,} bod{'y' if n == 1 else 'ies'}, {animation.frames:,} frame{'' if animation.frames == 1 else 's'}"]
    parts += [f"{animation.up} is up"] if animation.up else []
    parts += [f"lengths in {animation.unit}"] if animation.unit else []
    console.print(f"{animation.name}: {', '.join(parts)}.", markup=False, soft_wrap=True)
    for note in animation.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)


def run_check(animation: Animation, options: CheckOptions, output: Output, console: Console, *, jobs: int | None, resume: bool,
              overwrite: bool) -> CheckResult:  # fmt: skip
    """Run the check with a progress bar."""
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
    """A progress bar: frame, pairs so far, frames per second, time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[detail]}"),
               TimeRemainingColumn(compact=True))  # fmt: skip
    return Progress(*columns, console=console, transient=True)


def progress_callbacks(progress: Progress) -> dict[str, Callable[[Any], None]]:
    """The callbacks of the check: after each frame and before each file."""
    task = progress.add_task("Preparing; the first time kernels are compiled …", total=None, detail="")

    def on_frame(now: CheckProgress) -> None:
        rate = progress.tasks[task].speed
        status = f"frame {now.frame}, {now.pairs:,} pairs" + (f", {rate:,.1f} frames/s" if rate else "")
        progress.update(task, description="Colliding", total=now.total, completed=now.done, detail=status)

    def on_file(what: str) -> None:
        progress.update(task, description=f"Writing the {what}", detail="")

    return {"progress": on_frame, "writing": on_file}


def print_result(result: CheckResult, console: Console) -> None:
    """Print the frames and bodies with the most pairs, and the files."""
    from rich.table import Table
    from rich.text import Text

    summary = result.summary
    near = summary["options"]["within"] is not None
    frames = len(summary["frames"])
    if not result.pairs:
        console.print(f"[bold green]Nothing {'is nearer than that' if near else 'meets'}[/bold green] in {frames:,} frames.")
    else:
        touching = f", {summary['touching']:,} of them meet," if near else ""
        where = f"in {summary['frames_with_pairs']:,} of {frames:,} frames"
        console.print(f"[bold red]{result.pairs:,} pairs of triangles[/bold red]{touching} {where}.")
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
    print_enclosed(summary, console)
    times = summary["seconds"]
    console.print(f"{times['total']:.1f} s, of it reading {times['reading']:.1f} and queries {times['queries']:.1f} (sums over all jobs).")
    console.print(f"Written: {', '.join(str(file) for file in result.files)}", markup=False, soft_wrap=True)


def print_enclosed(summary: dict[str, Any], console: Console) -> None:
    """Print which bodies lie inside others without touching them."""
    names = [body["name"] for body in summary["bodies"]]
    pairs = Counter((row["outer"], row["inner"]) for row in summary["enclosed_bodies"])
    for (outer, inner), count in pairs.most_common(MAX_TABLE_ROWS):
        frames = f"{count:,} frame{'' if count == 1 else 's'}"
        console.print(f"{names[inner]} lies inside {names[outer]}, without touching it, in {frames}.", markup=False, soft_wrap=True)
    if len(pairs) > MAX_TABLE_ROWS:
        console.print(f"… and {len(pairs) - MAX_TABLE_ROWS:,} more bodies inside others.")
