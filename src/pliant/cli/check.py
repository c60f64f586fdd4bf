"""``pliant check``: find collisions in every frame of an animation; print a table, write pairs, a summary and a report."""

from __future__ import annotations

import json
import math
import re
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pliant.cli.errors import EXIT_COLLISIONS, EXIT_INTERRUPTED, announce_compiling, make_console, make_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console
    from rich.progress import Progress

    from pliant.check.plan import CheckOptions
    from pliant.check.run import CheckProgress, CheckResult, Output
    from pliant.io.animation import Animation, Settings

MAX_TABLE_ROWS = 8  # maximum rows of printed tables
EXAMPLES = """\
Examples:

    pliant check walk.glb --out walk

    pliant check frames/ --within 0.002 --frames 100:200

    pliant check cloth.obj cloth.pc2 ball.stl --ignore ball:ball --jobs 4

    pliant check arm.glb table.ply --group arm='Arm*,Hand*' --pairs arm:table

    pliant check walk.glb --baseline rest --min-depth 0.5 --fail-on new

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


class Numbered(StrEnum):
    """What numbered files are."""

    bodies = "bodies"
    frames = "frames"


class Form(StrEnum):
    """Format of the file of pairs."""

    npz = "npz"
    parquet = "parquet"
    csv = "csv"


class UpAxis(StrEnum):
    """Axis that points up in the report."""

    y = "y"
    z = "z"


Option = typer.Option
file_option = partial(typer.Option, rich_help_panel="Files")
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
BetweenFrames = Annotated[bool, query_option(
    "--between-frames", help="Also report what touches between two frames and in neither; vertices move on straight lines.")]
Enclosed = Annotated[bool, query_option("--enclosed/--no-enclosed", help="Report bodies that lie inside a closed body.")]
AdjacentRule = Annotated[Adjacent, query_option(help="Test faces that share a vertex by an exact rule, or never.")]
Engines = Annotated[Engine, Option(help="BVH traversal, or the image engine.")]
Devices = Annotated[Device, Option(help="Device of the image engine.")]
Policy = Annotated[str, Option(help="Refit policy: auto, bottom_up, lazy, hybrid, …")]
Volume = Annotated[str, Option(help="Bounding-volume type: aabb, obb, sphere, …")]
Weld = Annotated[str, Option(metavar="on|off|DISTANCE", help="Merge vertices at the same position, as at the seams of textured meshes.")]
Jobs = Annotated[int | None, Option(min=1, max=1024, help="Frames checked in parallel.", show_default="one per processor")]
Rate = Annotated[float | None, file_option(
    min=0.001, max=100_000, help="Samples per second; between frames of a file, vertices are interpolated.",
    show_default="the file's, else 30")]
Clip = Annotated[list[str] | None, file_option(
    metavar="all|NAME", help="Clip that is played, by name or number; repeatable.", show_default="those that move different nodes")]
AsKind = Annotated[Numbered | None, file_option("--as", help="What numbered files are.", show_default="by their faces")]
Start = Annotated[int | None, file_option(metavar="N", help="Number of the first frame in the results.", show_default="the file's, else 0")]
Baseline = Annotated[str | None, query_option(
    metavar="rest|'frame N'|PATH", show_default="none",
    help="Pairs that are known: those of the rest pose, of a frame, of an earlier check or of a baseline file.")]
Depths = Annotated[bool, query_option("--depth/--no-depth", help="Find how deep collisions are.")]
MinDepth = Annotated[float, query_option(metavar="DEPTH", help="Set aside contacts that are shallower.")]
FailOn = Annotated[str, output_option(metavar="any|new|near|depth>X", help="Findings that give exit code 1.")]
Up = Annotated[UpAxis, output_option(help="Axis that points up in the report, where the file does not say it.")]
Json = Annotated[bool, output_option("--json", help="Print the summary as JSON, and nothing else, on the standard output.")]
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
    between_frames: BetweenFrames = False,
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
    numbered: AsKind = None,
    start: Start = None,
    baseline: Baseline = None,
    depth: Depths = True,
    min_depth: MinDepth = 0.0,
    fail_on: FailOn = "any",
    up: Up = UpAxis.y,
    as_json: Json = False,
    form: Annotated[Form, output_option("--format", help="Format of the file of pairs; csv: NPZ, and CSV files beside it.")] = Form.npz,
    report: Report = True,
    report_mb: Megabytes = 30.0,
    resume: Annotated[bool, output_option("--resume", help="Resume a stopped check.")] = False,
    overwrite: Annotated[bool, output_option("--overwrite", help="Discard a stopped check and start again.")] = False,
) -> None:
    """Check an animation: find collisions in every frame, write the pairs and a report."""
    from rich.markup import escape

    console = make_console()
    console.quiet = as_json
    announce_compiling(console)
    with console.status("Reading …"):
        from pliant.check.run import Output

        options = make_options(frames=frames, between=between, with_self=self_pairs, pairs=tuple(pairs or ()), ignore=tuple(ignore or ()),
                               groups=parse_groups(group or []), within=within, between_frames=between_frames, enclosed=enclosed,
                               adjacent=adjacent.value, engine=engine.value, device=device.value, policy=policy, volume=volume,
                               weld=parse_weld(weld), baseline=baseline, depth=depth, min_depth=min_depth, fail_on=fail_on,
                               up=up.value)  # fmt: skip
        animation = read_files(files, FileOptions(rate, clip, numbered, start))
    output = Output(make_folder(out), form.value, report, int(1e6 * report_mb), report)
    print_animation(animation, console)
    if not self_pairs and len(animation.actors) == 1:
        raise typer.BadParameter("nothing is tested: there is one body, and its pairs with itself are excluded", param_hint="--no-self")
    try:
        result = run_check(animation, options, output, console, jobs=jobs, resume=resume, overwrite=overwrite)
    except KeyboardInterrupt:
        console.print(f"[bold]Stopped[/bold]. The same command with --resume goes on from {escape(str(out))}.", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    print_notes(result.summary["notes"][len(animation.notes) :], console)
    print_result(result, console)
    if as_json:
        typer.echo(json.dumps(result.summary, ensure_ascii=False, allow_nan=False))
    if result.failed:
        raise typer.Exit(EXIT_COLLISIONS)


check.__doc__ = f"{check.__doc__}\n\n{EXAMPLES}"


class FileOptions(NamedTuple):
    """Options of readers, as typer gives them."""

    rate: float | None = None
    clip: list[str] | None = None
    numbered: Numbered | None = None
    start: int | None = None

    def settings(self) -> Settings:
        """The same for `pliant.read`."""
        from pliant.io.animation import Settings

        return Settings(self.rate, tuple(self.clip) if self.clip else None, self.numbered and self.numbered.value, self.start)


def read_files(files: list[Path], options: FileOptions) -> Animation:
    """Read the animation in these files."""
    from pliant.io.read import read

    with read_errors():
        return read(files, options.settings())


@contextmanager
def read_errors() -> Iterator[None]:
    """Errors of options of readers name the command-line option."""
    from pliant.errors import FileError

    try:
        yield
    except FileError:
        raise
    except ValueError as error:
        name, _, rest = str(error).partition(": ")
        if name not in ("rate", "clip", "start"):
            raise
        raise typer.BadParameter(rest, param_hint=f"--{name}") from None


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
    from pliant.check.verdict import plural

    parts = [f"{plural(len(animation.actors), 'body', 'bodies')}, {plural(animation.frames, 'frame')}"]
    parts += [f"{animation.up} is up"] if animation.up else []
    parts += [f"lengths in {animation.unit}"] if animation.unit else []
    console.print(f"{animation.name}: {', '.join(parts)}.", markup=False, soft_wrap=True)
    print_notes(animation.notes, console)


def print_notes(notes: Sequence[str], console: Console) -> None:
    """Print notes, a line each."""
    for note in notes:
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
            if name in ("frames", "pairs", "ignore", "group", "jobs", "baseline"):
                raise typer.BadParameter(rest, param_hint=f"--{name}") from None
            raise


def progress_bar(console: Console) -> Progress:
    """A progress bar: frame, pairs so far, frames per second, time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[detail]}"),
               TimeRemainingColumn(compact=True))  # fmt: skip
    return Progress(*columns, console=console, transient=True)


def progress_callbacks(progress: Progress) -> dict[str, Callable[..., None]]:
    """The callbacks of the check: after each frame, before each file, and while vertices are compared."""
    task = progress.add_task("Preparing; the first time kernels are compiled …", total=None, detail="")

    def on_frame(now: CheckProgress) -> None:
        rate = progress.tasks[task].speed
        status = f"frame {now.frame}, {now.pairs:,} pair{'' if now.pairs == 1 else 's'}" + (f", {rate:,.1f} frames/s" if rate else "")
        progress.update(task, description="Colliding", total=now.total, completed=now.done, detail=status)

    def on_file(what: str) -> None:
        progress.update(task, description="Measuring depths" if what == "depths" else f"Writing the {what}", detail="")

    def on_weld(frame: int, frames: int) -> None:
        progress.update(task, description="Comparing vertices", total=frames, completed=frame)

    def on_motion(done: int, total: int) -> None:
        progress.update(task, description="Checking the motion between frames", total=total, completed=done, detail="")

    return {"progress": on_frame, "writing": on_file, "welding": on_weld, "moving": on_motion}


def print_result(result: CheckResult, console: Console) -> None:
    """Print the verdict, the worst events and the files."""
    from pliant.check.verdict import asides, headline, what_counts

    summary = result.summary
    if result.resumed:
        console.print("This check is finished; its verdict:")
    colour = {"collisions": "red", "known": "yellow", "near": "yellow", "clean": "green"}[summary["verdict"]]
    console.print(headline(summary), style=f"bold {colour}", markup=False, highlight=False, soft_wrap=True)
    for line in (*asides(summary), what_counts(summary)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    print_events(summary, console)
    times = summary["seconds"]
    if not result.resumed:
        motion = f"motion between frames {times['between_frames']:.1f}, " if summary["options"]["between_frames"] else ""
        sums = f"reading {times['reading']:.1f}, queries {times['queries']:.1f}, {motion}depths {times['depths']:.1f}"
        console.print(f"{times['total']:.1f} s, of it {sums} (sums over all jobs).")
    console.print(f"Written: {', '.join(str(file) for file in result.files)}", markup=False, soft_wrap=True)


def print_events(summary: dict[str, Any], console: Console) -> None:
    """Print a table of the worst events: those that count, then those that are near."""
    from rich.table import Table
    from rich.text import Text

    from pliant.check.events import depth_text, event_title, frames_text, time_text
    from pliant.check.verdict import BETWEEN_FRAMES

    labels = dict(zip(summary["frames"], summary["frame_labels"] or map(str, summary["frames"]), strict=True))
    counts, unit = summary["event_counts"], summary["unit"]
    for title, states in (("Collisions", ("new", "enclosed", BETWEEN_FRAMES)), ("Near, without collisions", ("near",))):
        rows, total = [row for row in summary["events"] if row["state"] in states], sum(counts[state] for state in states)
        if not rows:
            continue
        table = Table(title=title, title_justify="left")
        for heading in ("bodies", "frames", "at frame", "distance" if states == ("near",) else "depth", "pairs there"):
            table.add_column(heading, justify="left" if heading == "bodies" else "right", overflow="fold")
        for row in rows[:MAX_TABLE_ROWS]:
            size = f"{row['distance']:.3g} {unit}".strip() if states == ("near",) else depth_text(row["depth"], row["depth_kind"], unit)
            unseen = row["state"] == BETWEEN_FRAMES
            when = time_text(row, labels) if unseen else labels[row["worst_frame"]]
            cells = event_title(row), frames_text(row, labels), when, size, f"{row['between_pairs' if unseen else 'worst_pairs']:,}"
            table.add_row(*map(Text, cells))
        console.print(table)
        if total > MAX_TABLE_ROWS:
            console.print(f"… and {total - MAX_TABLE_ROWS:,} more.")
