"""Which clips of a glTF file are played, and how many frames a second they have.

Exporters write a clip for each animated object (Blender does), or a clip for each thing that a figure can do. The first kind moves
different nodes and is played together; of the second kind one is played. What a clip moves are properties of nodes, such as
nodes[3].rotation, so that a clip of a node's matrix and one of its morph targets go together.
"""

from __future__ import annotations

import math

import numpy as np

from pliant.errors import ArgumentError
from pliant.io.animation import DEFAULT_RATE, ClipInfo, Floats
from pliant.io.gltf.buffers import Accessors
from pliant.io.gltf.clips import Clip
from pliant.io.gltf.document import Document
from pliant.io.resampling import number_labels

ALL = "all"  # the name that stands for all clips, unless one is called so
MAX_LISTED = 10  # names of clips in a message
BAKED_RATES = (10, 240)  # frames a second of a program that writes a key for each of its frames
BROADCAST_RATES = (24000 / 1001, 30000 / 1001, 60000 / 1001)
RATE_TOLERANCE = 2e-3  # of a frame: times are float32

Properties = set[tuple[int, str]]  # nodes, and what of them


def clip_names(document: Document) -> list[str]:
    """Names of all clips."""
    return [document.get("animations", number).display_name() or f"clip {number}" for number in range(document.count("animations"))]


def choose_clips(document: Document, wanted: tuple[str, ...], notes: list[str]) -> list[int]:
    """The clips that are wanted, by name or by number from 0, or all of them. If nothing is said: the first, and of all others those that
    move nothing that is moved already."""
    names = clip_names(document)
    if wanted:
        return _wanted_clips(document, names, wanted)
    chosen, moved = list[int](), Properties()
    for number in range(len(names)):
        properties = _moved_properties(document, number)
        if not chosen or not properties & moved:
            chosen.append(number)
            moved |= properties
    if len(names) > 1:
        notes.append(_choice_note(names, chosen))
    return chosen


def _wanted_clips(document: Document, names: list[str], wanted: tuple[str, ...]) -> list[int]:
    chosen = list[int]()
    for each in wanted:
        if each in names:
            chosen.append(names.index(each))
        elif each.isdecimal() and len(each) < 10 and int(each) < len(names):
            chosen.append(int(each))
        elif each == ALL and names:
            chosen += range(len(names))
        else:
            raise ArgumentError(f"clip: expected one of {_listed(names) or 'none, as there are none'}, got {each[:100]!r}")
    chosen = list(dict.fromkeys(chosen))
    owner: dict[tuple[int, str], int] = {}
    for number in chosen:
        for node, path in sorted(_moved_properties(document, number)):
            other = owner.setdefault((node, path), number)
            if other != number:
                what = document.get("nodes", node).display_name() or f"nodes[{node}]"
                raise ArgumentError(f"clip: {names[other]!r} and {names[number]!r} both move the {path} of {what}; expected clips that "
                                    "move different nodes")  # fmt: skip
    return chosen


def _moved_properties(document: Document, number: int) -> Properties:
    """What a clip moves."""
    found = Properties()
    for channel in document.get("animations", number).entries("channels"):
        target = channel.entry("target")
        node = document.index(target, "node", "nodes")
        if node is not None:
            found.add((node, target.text("path")))
    return found


def _choice_note(names: list[str], chosen: list[int]) -> str:
    played = _listed([names[number] for number in chosen])
    if len(chosen) == len(names):
        return f"clips: {played}; they move different nodes and are played together: --clip NAME chooses"
    others = _listed([name for number, name in enumerate(names) if number not in chosen])
    verb = "is played" if len(chosen) == 1 else "are played together"
    return f"clips: {_listed(names)}; {played} {verb}, {others} not, moving the same nodes: --clip NAME chooses"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")


def clip_infos(data: Accessors, chosen: list[int]) -> tuple[ClipInfo, ...]:
    """All clips of a file, with their lengths."""
    document = data.document
    return tuple(ClipInfo(name, _clip_seconds(data, number), number in chosen) for number, name in enumerate(clip_names(document)))


def _clip_seconds(data: Accessors, number: int) -> float:
    """From the first key to the last, as the accessors of times say it; they must, and nothing depends on it."""
    document = data.document
    low, high = math.inf, -math.inf
    samplers = document.get("animations", number).entries("samplers")
    for index in {document.required_index(sampler, "input", "accessors") for sampler in samplers}:
        entry = document.get("accessors", index)
        times = [*entry.numbers("min", 1), *entry.numbers("max", 1)] if "min" in entry and "max" in entry else data.floats(index, "SCALAR")
        low, high = min(low, float(np.min(times, initial=math.inf))), max(high, float(np.max(times, initial=-math.inf)))
    return high - low if high > low else 0.0


def baked_rate(clip: Clip | None) -> float | None:
    """Frames a second of the program that wrote the clip, if it wrote a key for each of its frames, as exporters do that bake."""
    tracks = [] if clip is None else [*clip.tracks, *clip.weights.values()]
    times = np.unique(np.concatenate([track.times for track in tracks])) if tracks else np.zeros(0)
    steps = np.diff(times)
    steps = steps[steps > 1 / (2 * BAKED_RATES[1])]
    if not len(steps):
        return None
    for rate in (float(round(1 / steps.min())), *BROADCAST_RATES):
        if BAKED_RATES[0] <= rate <= BAKED_RATES[1] and _are_frames(times, rate):
            return rate
    return None


def _are_frames(times: Floats, rate: float) -> bool:
    """Are all times integer numbers of frames, and some of them neighbours?"""
    frames = times * rate
    nearest = np.round(frames)
    near = np.abs(frames - nearest) <= RATE_TOLERANCE + 1e-6 * np.abs(frames)
    return bool(near.all() and (np.diff(nearest) == 1).any())


def sampling(clip: Clip | None, wanted: float | None) -> tuple[float, float | None]:
    """(Samples a second, frames a second of the program that wrote the clip, if it can be told.)"""
    baked = baked_rate(clip)
    return wanted or baked or DEFAULT_RATE, baked


def frame_labels(clip: Clip | None, rate: float, baked: float | None, frames: int) -> list[str] | None:
    """The numbers that frames have in the program that wrote the clip, if they can be told: keys are at frame / rate."""
    if clip is None or baked is None or frames < 2:
        return None
    return number_labels(clip.start * baked + np.arange(frames) * (baked / rate))
