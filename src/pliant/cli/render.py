"""``pliant render``: ray trace a scene that comes with the library, or one described in a file, to a picture or a film."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.check import AsKind, Clip, FileOptions, read_errors
from pliant.cli.errors import EXIT_INTERRUPTED, announce_compiling, make_console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from pliant.render.animation import AnimatedScene, FrameTimes, Playback
    from pliant.render.frames import Picture, Settings
    from pliant.render.images import PictureWriter

EXAMPLES = """\
Examples:

    pliant render nine --out nine.png --size 960x640 --antialias 3 --bounces 2

    pliant render museum --out museum.gif --frames ::10 --size 320x240

    pliant render nine --out nine.mp4 --mode budget --budget-ms 50

    pliant render scene.toml --out scene.png --step 5

    pliant render walk.glb --out walk.mp4 --clip Walk
"""


class Mode(StrEnum):
    """Which points a frame traces."""

    full = "full"
    frameless = "frameless"
    budget = "budget"


class Reconstruction(StrEnum):
    """How pixels between traced points get their colours."""

    quads = "quads"
    bilinear = "bilinear"


def render(
    scene: Annotated[list[str], typer.Argument(
        metavar="SCENE", help="nine, museum, a scene file (TOML), or files of an animation, as for check.")],
    out: Annotated[Path, typer.Option(help="Output file: .png, .gif or .mp4. Several frames as PNG: a numbered file each.")],
    frames: Annotated[str | None, typer.Option(help="Frame number, or START:STOP:STEP.", show_default="PNG: one; films: all")] = None,
    size: Annotated[str | None, typer.Option(help="Picture size, WIDTHxHEIGHT in pixels.", show_default="640x480")] = None,
    step: Annotated[int | None, typer.Option(min=1, max=256, help="Trace every k-th pixel in both directions.", show_default="1")] = None,
    reconstruct: Annotated[Reconstruction | None, typer.Option(help="Interpolation of the other pixels.", show_default="quads")] = None,
    mode: Annotated[Mode | None, typer.Option(
        help="Trace all points, a part per frame, or until the budget is spent.", show_default="full")] = None,
    budget_ms: Annotated[float | None, typer.Option(min=0.0, help="Milliseconds per frame, updates included.", show_default="50")] = None,
    parts: Annotated[int | None, typer.Option(min=1, max=1024, help="Frameless mode: frames per full pass.", show_default="8")] = None,
    bounces: Annotated[int | None, typer.Option(min=0, max=32, help="Maximum reflections and refractions.", show_default="1")] = None,
    antialias: Annotated[int | None, typer.Option(min=1, max=16, help="k × k rays per point.", show_default="1")] = None,
    policy: Annotated[str, typer.Option(help="Refit policy: hybrid, bottom_up, lazy, auto, …")] = "hybrid",
    faces: Annotated[int | None, typer.Option(help="Triangles per body of nine, or of the museum's art.", show_default="full size")] = None,
    rate: Annotated[float | None, typer.Option(
        min=0.01, max=1000.0, help="Frames per second; of an animation, also samples per second.", show_default="the scene's rate")] = None,
    clip: Clip = None,
    numbered: AsKind = None,
) -> None:
    """Ray trace a moving scene: nine deforming bodies, a museum, or files of your own."""
    console = make_console()
    announce_compiling(console)
    chosen = {"step": step, "reconstruct": reconstruct and reconstruct.value, "mode": mode and mode.value, "budget_ms": budget_ms,
              "parts": parts, "bounces": bounces, "antialias": antialias}  # fmt: skip
    if size is not None:
        chosen["width"], chosen["height"] = parse_size(size)
    film: PictureWriter | None = None
    try:
        show = find_show(scene[0], faces) if is_scene(scene) else file_show(scene, faces, FileOptions(rate, clip, numbered), policy)
        settings = make_settings(show, {name: value for name, value in chosen.items() if value is not None})
        numbers = parse_frames(frames, show, single=out.suffix.lower() == ".png")
        film = open_film(out, rate or film_rate(show, numbers), len(numbers) > 1)
        status = render_frames(show, settings, numbers, policy, film, console)
    except KeyboardInterrupt:  # before the first frame
        console.print("[bold]Stopped[/bold]: nothing was written.")
        status = EXIT_INTERRUPTED
    finally:
        if film is not None:
            film.abandon()
    if status:
        raise typer.Exit(status)


render.__doc__ = f"{render.__doc__}\n\n{EXAMPLES}"


def is_scene(names: list[str]) -> bool:
    """Is this a scene by name, or a description of one?"""
    return len(names) == 1 and (Path(names[0]).suffix.lower() == ".toml" or not (Path(names[0]).suffix or Path(names[0]).is_dir()))


def file_show(files: list[str], faces: int | None, options: FileOptions, policy: str) -> AnimatedScene:
    """The scene of an animation in files."""
    from pliant.render.file_scene import read_file_scene

    if faces is not None:
        raise typer.BadParameter("is for nine and museum alone", param_hint="--faces")
    with read_errors():
        return read_file_scene(files, options.settings(), policy=check_policy(policy))


def find_show(scene: str, faces: int | None) -> AnimatedScene:
    """The scene of that name, or in that file."""
    from pliant.render.scene_file import read_scene
    from pliant.render.scenes import SCENES

    if scene in SCENES:
        try:
            return SCENES[scene](**({} if faces is None else {"faces": faces}))
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--faces") from None
    if faces is not None:
        raise typer.BadParameter(f"is for {' and '.join(SCENES)} alone; {scene} says itself what is in it", param_hint="--faces")
    if not Path(scene).suffix:
        known = ", ".join(SCENES)
        raise typer.BadParameter(f"expected {known}, a file that ends in .toml or files of an animation, got {scene!r}",
                                 param_hint="SCENE")
    return read_scene(scene)


def make_settings(show: AnimatedScene, chosen: dict[str, Any]) -> Settings:
    """The settings of the user, else those of the scene."""
    from pliant.render.frames import Settings

    try:
        return Settings(**{**(show.settings or {}), **chosen})
    except (ValueError, TypeError) as error:
        name, _, rest = str(error).partition(": ")
        raise typer.BadParameter(rest, param_hint=f"--{name.replace('_', '-')}") from None


def parse_size(text: str) -> tuple[int, int]:
    """Width and height."""
    from pliant.render.camera import MAX_PICTURE_SIDE

    found = re.fullmatch(r"(\d{1,9})[x×](\d{1,9})", text)
    if not found or not all(0 < int(side) <= MAX_PICTURE_SIDE for side in found.groups()):
        raise typer.BadParameter(f"expected WIDTHxHEIGHT, each from 1 to {MAX_PICTURE_SIDE}, such as 640x480, got {text!r}",
                                 param_hint="--size")
    return int(found[1]), int(found[2])


def parse_frames(text: str | None, show: AnimatedScene, single: bool) -> list[int]:
    """The frames to draw: one, or as a slice."""
    if text is None:
        return [show.poster] if single else list(range(show.frames))
    found = re.fullmatch(r"(\d{0,9})(?:(:)(\d{0,9})(?::(\d{0,9}))?)?", text)
    if not found or not text or (found[4] and not int(found[4])):
        raise typer.BadParameter(f"expected a frame or START:STOP:STEP, such as 0:280:10, got {text!r}", param_hint="--frames")
    start, stop, step = (int(part) if part else None for part in (found[1], found[3], found[4]))
    numbers = list(range(show.frames)[start:stop:step]) if found[2] else [start or 0]
    if not numbers or numbers[-1] >= show.frames:
        raise typer.BadParameter(f"{text!r} names none of the frames 0 to {show.frames - 1}", param_hint="--frames")
    return numbers


def film_rate(show: AnimatedScene, numbers: list[int]) -> float:
    """Frames per second at which the film is as fast as the scene."""
    return show.rate / (numbers[1] - numbers[0]) if len(numbers) > 1 else show.rate


def open_film(out: Path, rate: float, several: bool) -> PictureWriter:
    """The writer of the output file; errors that do not need a picture come first."""
    from pliant.render.images import picture_writer

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_dir():
            raise typer.BadParameter(f"{out} is a folder", param_hint="--out")
        return picture_writer(out, rate, several)
    except OSError as error:
        raise typer.BadParameter(f"{out.parent} cannot be made a folder: {error.strerror}", param_hint="--out") from None
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None


def render_frames(show: AnimatedScene, settings: Settings, numbers: list[int], policy: str, film: PictureWriter, console: Console) -> int:
    """Draw the frames and write them; returns the exit status."""
    from pliant.render.frames import Renderer

    performance = prepare_performance(show, policy, console)
    renderer, done = Renderer(performance.stage, settings), list[tuple["FrameTimes", "Picture"]]()
    stopped = False
    try:
        with progress_bar(console) as progress:
            task, rays = progress.add_task("Tracing", total=len(numbers), rays=0.0, rate=0.0), 0
            for frame in numbers:
                moved = performance.move(frame)
                picture = renderer.draw(camera_of(show, frame, settings), moved.started)
                film.add(picture.image, frame)
                done.append((moved, picture))
                rays += picture.rays
                seconds = sum(each.seconds for _, each in done)
                progress.update(task, advance=1, rays=rays / 1e6, rate=rays / seconds / 1e6)
    except KeyboardInterrupt:
        stopped = True
    files = film.close()
    if stopped:
        console.print(f"[bold]Stopped[/bold] after {len(done)} of {len(numbers)} frames.")
    print_summary(done, settings, console)
    if files:
        names = f"{files[0]}" + (f" … {files[-1].name}" if len(files) > 1 else "")
        console.print(f"Written: {names}", markup=False, soft_wrap=True)
    return EXIT_INTERRUPTED if stopped else 0


def prepare_performance(show: AnimatedScene, policy: str, console: Console) -> Playback:
    """The bodies, with their BVHs."""
    with console.status("Building trees; the first time kernels are compiled …"):
        performance = show.playback(policy=check_policy(policy))
    console.print(f"{show.name}: {len(performance.bodies)} bodies, {sum(map(len, performance.bodies)):,} triangles.", markup=False)
    return performance


def check_policy(policy: str) -> str:
    """The name of a policy."""
    from pliant.refit.policy import POLICIES

    if policy not in POLICIES:
        raise typer.BadParameter(f"expected one of {', '.join(POLICIES)}, got {policy!r}", param_hint="--policy")
    return policy


def camera_of(show: AnimatedScene, frame: int, settings: Settings) -> Any:
    """The camera of a frame; between key frames eye and target may coincide."""
    from pliant.errors import FileError

    try:
        return show.camera(frame, settings.width, settings.height)
    except ValueError as error:
        raise FileError(f"{show.name}: the camera of frame {frame}: {error}") from None


def progress_bar(console: Console) -> Progress:
    """A progress bar of frames, with rays so far and rays per second."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("frames"),
                    TextColumn("{task.fields[rays]:,.1f} million rays, {task.fields[rate]:,.2f} a second"), TimeElapsedColumn(),
                    console=console)  # fmt: skip


def print_summary(done: list[tuple[FrameTimes, Picture]], settings: Settings, console: Console) -> None:
    """Print a table of times; with a budget also how far frames came."""
    if not done:
        return
    from rich.table import Table

    n = len(done)
    rows: dict[str, list[tuple[float, int, int]]] = {}  # seconds, rays traced, rays
    for moved, picture in done:
        rows.setdefault("deform, not counted", []).append((moved.deform, 0, 0))
        rows.setdefault("update", []).append((moved.update, 0, 0))
        for phase in picture.phases:
            name = phase.name if phase.bounce < 1 or phase.name == "primary" else f"{phase.name}, bounce {phase.bounce}"
            rows.setdefault(name, []).append((phase.seconds, phase.traced, phase.rays))
        rows.setdefault("frame", []).append((picture.seconds, picture.rays, sum(phase.rays for phase in picture.phases)))
    rows["frame"] = rows.pop("frame")  # last
    table = Table(title=f"Time a frame, {n} frame{'s' if n > 1 else ''} of {settings.width} × {settings.height}", title_justify="left")
    for heading in ("phase", "mean ms", "worst ms", "rays", "traced"):
        table.add_column(heading, justify="left" if heading == "phase" else "right")
    for name, values in rows.items():
        times, traced, rays = zip(*values, strict=True)
        cells = (f"{sum(traced) / n:,.0f}", f"{sum(traced) / sum(rays):.0%}") if sum(rays) else ("", "")
        table.add_row(name, f"{1e3 * sum(times) / n:,.2f}", f"{1e3 * max(times):,.2f}", *cells, style="bold" if name == "frame" else "")
    console.print(table)
    if settings.mode == "budget":
        complete = sum(picture.complete for _, picture in done)
        rest = f" Stopped while tracing: {stop_counts(done)}." if complete < n else ""
        console.print(f"Within {settings.budget_ms:g} ms a frame: {complete} of {n} complete.{rest}", soft_wrap=True)


def stop_counts(done: list[tuple[FrameTimes, Picture]]) -> str:
    """Where frames were stopped, and how often."""
    counts: dict[str, int] = {}
    for _, picture in done:
        if not picture.complete:
            last = picture.phases[-1]
            name = f"{last.name}, bounce {last.bounce}" if last.bounce else last.name
            counts[name] = counts.get(name, 0) + 1
    return "; ".join(f"{name} {count} ×" for name, count in counts.items())
