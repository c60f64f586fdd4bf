"""Clips of a glTF file: how properties of nodes change with time (glTF 2.0, section 3.11 and appendix C).

Channels that share their times, their interpolation and what they move are one `Track`: looked up once a frame, for all their nodes.
Channels that never change are no tracks; what they say is `Clip.held`.

Invariant: times do not fall; before the first and after the last a track stays as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pliant.io.animation import Floats
from pliant.io.gltf.buffers import Accessors, Flags, Indices
from pliant.io.gltf.document import Document, Entry
from pliant.io.gltf.nodes import normalize

ACCESSOR_TYPES = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3", "weights": "SCALAR"}
LINEAR, STEP, CUBIC = "LINEAR", "STEP", "CUBICSPLINE"
MIN_SINE = 1e-9  # sine of an angle between rotations below which there is no difference between an arc and its chord


class Track:
    """Values of `nodes` (c,) over `times` (k,): `values` (k, 3, c, w), of which the middle row is the value and the others are the tangents
    in and out, which only cubic splines have: (k, 1, c, w) for the others."""

    def __init__(self, path: str, interpolation: str, times: Floats, nodes: list[int], values: Floats) -> None:
        self.path, self.interpolation, self.times, self.values = path, interpolation, times, values
        self.nodes: Indices = np.array(nodes, np.int64)

    def sample(self, time: float) -> Floats:
        """(c, w) values; rotations are unit quaternions."""
        times, values = self.times, self.values
        after = int(np.searchsorted(times, time, side="right"))
        value_row = values.shape[1] // 2
        if after in (0, len(times)) or self.interpolation == STEP:
            return _normalize_rotations(self.path, values[max(after - 1, 0), value_row], values[0, value_row])
        before, span = after - 1, times[after] - times[after - 1]
        part = (time - times[before]) / span
        if self.interpolation == CUBIC:
            made = _cubic_spline(values[before], values[after], part, span)
        elif self.path == "rotation":
            return _slerp(values[before, 0], values[after, 0], part)
        else:
            made = (1 - part) * values[before, 0] + part * values[after, 0]
        return _normalize_rotations(self.path, made, values[before, value_row])

    def extremes(self) -> tuple[Floats, Floats]:
        """(c, w) each: no value is below the first or above the second. Splines stay between their control points as Bézier has them."""
        value_row = self.values.shape[1] // 2
        points = [self.values[:, value_row]]
        if self.interpolation == CUBIC:
            third = np.diff(self.times)[:, None, None] / 3
            points += [points[0][:-1] + third * self.values[:-1, 2], points[0][1:] - third * self.values[1:, 0]]
        rows = np.concatenate(points)
        return rows.min(axis=0), rows.max(axis=0)


def _normalize_rotations(path: str, made: Floats, fallback: Floats) -> Floats:
    """Rotations (c, 4) made unit ones; where a spline passes through zero, another."""
    if path != "rotation":
        return made
    made = normalize(made)
    return np.where(made.any(axis=1, keepdims=True), made, normalize(fallback))


def _cubic_spline(before: Floats, after: Floats, t: float, span: float) -> Floats:
    """Between two keys (3, c, w) of a spline (appendix C.5)."""
    squared, cubed = t * t, t * t * t
    made: Floats = ((2 * cubed - 3 * squared + 1) * before[1] + span * (cubed - 2 * squared + t) * before[2]
                    + (3 * squared - 2 * cubed) * after[1] + span * (cubed - squared) * after[0])  # fmt: skip
    return made


def _slerp(before: Floats, after: Floats, t: float) -> Floats:
    """On the shorter arc between unit quaternions (c, 4) (appendix C.4)."""
    cosine = (before * after).sum(axis=1)
    after = np.where(cosine[:, None] < 0, -after, after)
    angle = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    sine = np.sin(angle)
    near = sine < MIN_SINE
    safe = np.where(near, 1.0, sine)
    first, second = np.where(near, 1 - t, np.sin((1 - t) * angle) / safe), np.where(near, t, np.sin(t * angle) / safe)
    return normalize(first[:, None] * before + second[:, None] * after)


class Clip(NamedTuple):
    """A clip: tracks of nodes, tracks of the weights of a node, what does not change, and from when to when it goes."""

    tracks: list[Track]
    weights: dict[int, Track]
    constants: list[tuple[int, str, Floats]]  # node, path, value
    start: float
    end: float


def read_clips(data: Accessors, numbers: Sequence[int], has_matrix: Flags, targets: dict[int, int], notes: list[str]) -> Clip:
    """Clips that move different nodes, as one. `has_matrix` (n,) marks nodes with a matrix, which cannot be moved; `targets` counts the
    morph targets of nodes that have any."""
    groups: dict[tuple[int, str, str], list[tuple[int, Floats]]] = defaultdict(list)
    times: dict[int, Floats] = {}
    constants: list[tuple[int, str, Floats]] = []
    animated: set[tuple[int, str]] = set()
    known: dict[tuple[int, str, str, int, int], tuple[Floats, bool]] = {}  # channels may share what they hold: it is examined once
    for channel, samplers in _channels(data.document, numbers):
        found = _channel_target(data.document, channel, has_matrix, animated)
        if found is None:
            notes.append("channels of extensions or without a node are left out")
            continue
        node, path = found
        if path == "weights" and node not in targets:
            continue  # nothing that could be morphed
        sampler = samplers[channel.integer("sampler", maximum=len(samplers) - 1)]
        interpolation, input_index = sampler.text("interpolation") or LINEAR, data.document.required_index(sampler, "input", "accessors")
        if input_index not in times:
            times[input_index] = _read_times(data, sampler, input_index)
        key = data.document.required_index(sampler, "output", "accessors"), interpolation, path, len(times[input_index]), targets.get(
            node, 1)
        if key not in known:
            values = _read_values(data, sampler, *key)
            known[key] = values, _is_constant(values)
        values, constant = known[key]
        if constant:
            value = values[0, values.shape[1] // 2]
            constants.append((node, path, normalize(value) if path == "rotation" else value))
        else:
            data.spend(0 if path == "weights" else values.size, f"channels of {path}")  # each has a column of its track
            groups[input_index, interpolation, path].append((node, values))
    ends = [(float(some[0]), float(some[-1])) for some in times.values()] or [(0.0, 0.0)]
    return Clip(*_group_tracks(groups, times), constants, min(start for start, _ in ends), max(end for _, end in ends))


def _channels(document: Document, numbers: Sequence[int]) -> Iterator[tuple[Entry, list[Entry]]]:
    """The channels of these clips, each with the samplers of its clip."""
    for number in numbers:
        clip = document.get("animations", number)
        samplers = clip.entries("samplers")
        yield from ((channel, samplers) for channel in clip.entries("channels"))


def _channel_target(document: Document, channel: Entry, has_matrix: Flags, animated: set[tuple[int, str]]) -> tuple[int, str] | None:
    """The node of a channel and what of it changes, which is new; None for what is not of nodes."""
    target = channel.entry("target")
    node, path = document.index(target, "node", "nodes"), target.text("path")
    if path == "pointer" or node is None:
        return None
    if path not in ACCESSOR_TYPES:
        raise target.refuse("path", f"expected one of {', '.join(ACCESSOR_TYPES)}, got {path[:60]!r}")
    if (node, path) in animated:
        raise target.refuse("path", f"nodes[{node}].{path} has a channel already")
    if path != "weights" and has_matrix[node]:
        raise target.refuse("node", f"nodes[{node}] has a matrix, so that its {path} cannot change")
    animated.add((node, path))
    return node, path


def _group_tracks(groups: dict[tuple[int, str, str], list[tuple[int, Floats]]], times: dict[int, Floats]) -> tuple[
    list[Track], dict[int, Track]]:
    """A track for each group of channels, in which linear rotations are unit ones; but one for each node of which weights change."""
    tracks, weights = list[Track](), dict[int, Track]()
    for (input_index, interpolation, path), members in groups.items():
        if path == "weights":
            weights |= {node: Track(path, interpolation, times[input_index], [node], values[:, :, None]) for node, values in members}
        else:
            rows = np.stack([values for _, values in members], axis=2)
            rows = normalize(rows) if path == "rotation" and interpolation != CUBIC else rows
            tracks.append(Track(path, interpolation, times[input_index], [node for node, _ in members], rows))
    return tracks, weights


def _read_times(data: Accessors, sampler: Entry, index: int) -> Floats:
    """(k,) times of a sampler, at least one."""
    times = data.floats(index, "SCALAR")[:, 0]
    if not len(times):
        raise sampler.refuse("input", f"accessors[{index}] has no times")
    if (np.diff(times) < 0).any():
        raise sampler.refuse("input", f"the times of accessors[{index}] fall at {int((np.diff(times) < 0).argmax()) + 1}")
    return times


def _read_values(data: Accessors, sampler: Entry, index: int, interpolation: str, path: str, keys: int, targets: int) -> Floats:
    """(keys, 3, w) values and tangents of splines, (keys, 1, w) of others."""
    if interpolation not in (LINEAR, STEP, CUBIC):
        raise sampler.refuse("interpolation", f"expected {LINEAR}, {STEP} or {CUBIC}, got {interpolation[:60]!r}")
    rows, each = 3 if interpolation == CUBIC else 1, targets if path == "weights" else 1
    if data.count(index) != keys * rows * each:
        found = f"accessors[{index}] has {data.count(index):,}"
        raise sampler.refuse("output", f"expected {keys * rows * each:,} elements, for {keys:,} times, but {found}")
    values = data.floats(index, ACCESSOR_TYPES[path]).reshape(keys, rows, -1)
    if path == "rotation":
        bad = ~values[:, rows // 2].any(axis=1)
        if bad.any():
            raise sampler.refuse("output", f"value {int(bad.argmax())} is 0 0 0 0, which is no rotation")
    return values


def _is_constant(values: Floats) -> bool:
    """Do keys (k, 3 or 1, w) say the same for all times? Tangents matter between two keys only."""
    value_row = values.shape[1] // 2
    flat = not values[:, :value_row].any() and not values[:, value_row + 1 :].any()
    return len(values) == 1 or (flat and bool((values[:, value_row] == values[0, value_row]).all()))
