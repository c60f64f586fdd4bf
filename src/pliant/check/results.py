"""Results of a check, for programs: what the journal stores of a frame, sums over all frames, and the summary.

All are made frame by frame: memory does not grow with frames. The same pairs give the same bytes, however often the check was stopped and
resumed, and however many jobs it had. `pair_files.py` writes the pairs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.check.baseline import Baseline
from pliant.check.between_frames import motion_at, passings
from pliant.check.classify import (
    BETWEEN,
    COLLISIONS,
    ENCLOSED,
    KNOWN,
    NEAR,
    NEW,
    SHALLOW,
    STATES,
    STATIC,
    Classifier,
    Group,
    event_pairs,
    touching_keys,
)
from pliant.check.depth import DEPTH_KINDS, PairDepths
from pliant.check.events import EventTracker, event_row, rounded
from pliant.check.journal import ArrayDict, Journal
from pliant.check.plan import CheckOptions
from pliant.check.report_meta import ReportMeta
from pliant.check.static_pairs import IntervalBuilder, Intervals
from pliant.check.verdict import fails, verdict_of
from pliant.check.worker import FrameResult
from pliant.io.animation import Animation
from pliant.report.data import Contact, ReportBody
from pliant.report.html import MAX_ROWS

MAX_WORST = 20  # maximum rows of tables in the summary


def journal_rows(result: FrameResult, contacts: list[Contact]) -> ArrayDict:
    """A result as the journal stores it."""
    arrays: ArrayDict = {"bodies": result.bodies, "faces": result.faces,
                         "contacts": np.array([[m.first, m.second, m.pairs] for m in contacts], np.int64).reshape(-1, 3),
                         "places": np.array([[*m.centre, m.radius] for m in contacts], np.float64).reshape(-1, 4),
                         "changed": np.zeros(0, np.int32) if result.changed is None else result.changed,
                         "enclosed": result.enclosed,
                         "seconds": np.array([result.read_seconds, result.query_seconds])}  # fmt: skip
    if result.distances is not None:
        arrays["distance"] = result.distances
    return arrays


def find_enclosures(journal: Journal, frames: list[int], baseline: Baseline) -> tuple[list[tuple[int, int]], dict[tuple[int, int], int]]:
    """The (outer, inner) bodies of all frames, sorted; and the state of those that are known, or enclosed in every frame of two or more."""
    counts = Counter[tuple[int, int]]()
    for frame in frames:
        counts.update((outer, inner) for outer, inner in journal.pairs(frame)["enclosed"].tolist())
    always = len(frames) if len(frames) > 1 and baseline.label is None else 0
    states = {two: KNOWN if two in baseline.enclosed else STATIC for two in counts if two in baseline.enclosed or counts[two] == always}
    return sorted(counts), states


def find_intervals(journal: Journal, frames: list[int], meta: ReportMeta, baseline: Baseline) -> Intervals:
    """The intervals of all intersecting pairs."""
    builder = IntervalBuilder(meta.offsets, baseline.keys)
    try:
        for frame in frames:
            builder.add(frame, *touching_keys(meta.offsets, journal, frame))
        return builder.finish()
    except BaseException:
        builder.close()
        raise


def depth_rows(states: NDArray[np.uint8], measured: NDArray[np.int64], found: PairDepths, seconds: float) -> ArrayDict:
    """The depths of a frame as the journal stores them: those of the rows `measured`, and the states of all, shallow ones included."""
    states = states.copy()
    states[measured[found.shallow & (states[measured] == NEW)]] = SHALLOW
    return {"state": states, "measured": measured.astype(np.int32), "depth": found.depths, "depth_kind": found.kinds,
            "depth_seconds": np.array([seconds])}  # fmt: skip


class CheckTotals(NamedTuple):
    """Sums over the frames of a journal."""

    frames: list[int]
    between: NDArray[np.int64]  # (k,) pairs of faces of different bodies, in each frame, of all states
    self_pairs: NDArray[np.int64]  # of bodies with themselves
    states: NDArray[np.int64]  # (k, 7) pairs of each state; of "enclosed", pairs of bodies; of "between frames", until the next frame
    new_self: NDArray[np.int64]  # (k,) new pairs of bodies with themselves
    near_misses: NDArray[np.int64]  # (k,) near pairs of bodies that do not touch in that frame
    bodies: dict[tuple[int, int], PairTotals]  # by two body indices
    worst: list[Contact]  # the worst contacts that count, the deepest first
    contact_count: int  # of all contacts that count
    loads: NDArray[np.int64]  # (l, 3) frame, body, pairs that count in which it takes part
    seconds: NDArray[np.float64]  # reading, queries, depths, motion between frames
    events: EventTracker
    deepest: tuple[int, Group] | None  # the deepest collision: (frame, group)
    enclosed_aside: int  # two bodies, one inside the other, that are static or known
    touched_known: NDArray[np.int64]  # ascending keys of known pairs that touch between frames


def without_contacts(groups: list[Group]) -> list[Group]:
    """Groups without near pairs of bodies that touch: these are part of a contact, and no near miss."""
    touching = {(group.first, group.second) for group in groups if group.state != NEAR}
    return [group for group in groups if group.state != NEAR or (group.first, group.second) not in touching]


class PairTotals(NamedTuple):
    """Pairs of two bodies, or of one with itself, in all frames."""

    pairs: int = 0
    frames: int = 0
    worst_frame: int = 0
    worst_pairs: int = 0
    new: int = 0
    depth: float = 0.0
    between_frames: int = 0

    def add(self, frame: int, pairs: int, new: int, depth: float) -> PairTotals:
        """With one more frame, later than those so far: the worst is the deepest, of equally deep ones that with the most pairs."""
        worse = (depth, pairs) > (self.depth, self.worst_pairs)
        return PairTotals(self.pairs + pairs, self.frames + 1, frame if worse else self.worst_frame, pairs if worse else self.worst_pairs,
                          self.new + new, max(self.depth, depth), self.between_frames)  # fmt: skip


def sum_frames(journal: Journal, frames: list[int], classifier: Classifier) -> CheckTotals:
    """Add up all frames, in this order."""
    between, self_pairs, new_self, near_misses = (np.zeros(len(frames), np.int64) for _ in range(4))
    states, events, deepest = np.zeros((len(frames), len(STATES)), np.int64), EventTracker(), None
    bodies, worst, loads = dict[tuple[int, int], PairTotals](), list[Contact](), list[NDArray[np.int64]]()
    seconds, contact_count, known = np.zeros(4), 0, [np.zeros(0, np.int64)]
    for k, frame in enumerate(frames):
        rows, motion = journal.pairs(frame), journal.motion(frame)
        seconds[:3] += np.concatenate([rows["seconds"], rows.get("depth_seconds", np.zeros(1))])
        groups = list(classifier.groups(rows, classifier.states(rows)))
        misses = without_contacts(groups)
        events.add(frame, misses)
        near_misses[k] = sum(group.pairs for group in misses if group.state == NEAR)
        places = {(two[0], two[1]): place for two, place in zip(rows["contacts"].tolist(), rows["places"].tolist(), strict=True)}
        load, sums = Counter[int](), dict[tuple[int, int], list[float]]()
        for group in groups:
            two, counts = (group.first, group.second), group.state in COLLISIONS
            states[k, group.state] += group.pairs or group.state == ENCLOSED
            if not group.pairs:
                continue  # one body inside another: no place, no depth
            (self_pairs if group.first == group.second else between)[k] += group.pairs
            total = sums.setdefault(two, [0, 0, 0.0])
            total[0] += group.pairs
            total[1] += group.pairs if counts else 0
            total[2] = max(total[2], group.depth if counts else 0.0)
            if not counts:
                continue
            contact_count += 1
            new_self[k] += group.pairs if group.first == group.second else 0
            if deepest is None or group.depth > deepest[1].depth:
                deepest = frame, group
            *centre, radius = places.get(two, [0.0, 0.0, 0.0, 0.0])
            worst.append(Contact(frame, *two, group.pairs, (centre[0], centre[1], centre[2]), radius, group.depth, DEPTH_KINDS[group.kind]))
            load.update(dict.fromkeys({*two}, group.pairs))
        for two, (pairs, new, depth) in sums.items():
            bodies[two] = bodies.get(two, PairTotals()).add(frame, int(pairs), int(new), depth)
        if motion is not None:
            passed = passings(motion, frame, frames[k + 1])
            events.add_motion(passed)
            known.append(motion["known"])
            seconds[3] += motion["seconds"][0]
            for each in passed:
                two, states[k, BETWEEN] = (each.first, each.second), states[k, BETWEEN] + each.pairs
                before = bodies.get(two, PairTotals(worst_frame=frame))
                bodies[two] = before._replace(between_frames=before.between_frames + each.pairs)
                load.update(dict.fromkeys({*two}, each.pairs))
        worst = sorted(worst, key=sort_key)[:MAX_ROWS]
        loads.append(np.array([[frame, *item] for item in sorted(load.items())], np.int64).reshape(-1, 3))
    events.finish()
    return CheckTotals(frames, between, self_pairs, states, new_self, near_misses, bodies, worst, contact_count, np.concatenate(loads),
                       seconds, events, deepest, len(classifier.enclosures), np.unique(np.concatenate(known)))  # fmt: skip


def make_summary(animation: Animation, options: CheckOptions, meta: ReportMeta, sums: CheckTotals, baseline: Baseline,
                 intervals: Intervals) -> dict[str, Any]:  # fmt: skip
    """The content of `summary.json`; `docs/checking.md` explains it."""
    names, total, frames = [body.name for body in meta.bodies], sums.between + sums.self_pairs, sums.frames
    by_state = dict(zip(STATES, sums.states.sum(axis=0).tolist(), strict=True))
    event_counts = {state: sums.events.counts[k] for k, state in enumerate(STATES)}
    counting = sums.states[:, list(COLLISIONS)].sum(axis=1)
    new, found_known = sums.states[:, NEW], len(np.union1d(intervals.found_known, sums.touched_known))
    order = np.lexsort((np.array(frames), -new))[:MAX_WORST].tolist()
    found: dict[str, Any] = {
        "format": "pliant check 4", "pliant": pliant.__version__, "name": animation.name,
        "files": [file.name for file in animation.files[:1000]], "notes": [*animation.notes, *baseline.notes],
        "rate": animation.rate, "up": animation.up, "unit": animation.unit, "options": asdict(options),
        "verdict": verdict_of(event_counts), "failed": False, "baseline": baseline.label,
        "bodies": [{"name": name, "kind": body.kind, "vertices": count.vertices, "faces": count.faces}
                   for name, body, count in zip(names, meta.bodies, meta.counts, strict=True)],
        "pairs": int(total.sum()), "touching": int(total.sum()) - by_state["near"], "frames_with_pairs": int((total > 0).sum()),
        "frames_with_collisions": int((counting > 0).sum()), "by_state": by_state,
        "static_pairs": len(intervals.static), "known_pairs": found_known, "resolved_pairs": len(baseline.keys) - found_known,
        "enclosed_aside": sums.enclosed_aside, "event_counts": event_counts,
        "events": [event_row(event, names) for event in sums.events.worst],
        "deepest": sums.deepest and {"frame": sums.deepest[0], "bodies": list(sums.deepest[1][:2]),
                                     "names": [names[k] for k in sums.deepest[1][:2]], "depth": rounded(sums.deepest[1].depth),
                                     "depth_kind": DEPTH_KINDS[sums.deepest[1].kind]},
        "frames": frames, "frame_labels": frame_labels(meta, frames),
        "between": sums.between.tolist(), "with_self": sums.self_pairs.tolist(),
        "between_frames": sums.states[:-1, BETWEEN].tolist() if options.between_frames else None,
        "touching_pairs": (total - sums.states[:, NEAR]).tolist(), "new_pairs": new.tolist(),
        "by_bodies": [{"bodies": list(two), "names": [names[k] for k in two], **pair._asdict(), "depth": rounded(pair.depth)}
                      for two, pair in sorted(sums.bodies.items(), key=worst_first)],
        "worst_frames": [{"frame": frames[k], "pairs": int(new[k])} for k in order if new[k]],
        "worst_contacts": [{**each._asdict(), "depth": rounded(each.depth)} for each in sums.worst[:MAX_WORST]],
        "seconds": dict(zip(("reading", "queries", "depths", "between_frames"), np.round(sums.seconds, 3).tolist(), strict=True)),
    }  # fmt: skip
    found["failed"] = fails(found, options.fail_on)
    return found


def name_bones(events: list[dict[str, Any]], meta: ReportMeta, journal: Journal, classifier: Classifier) -> None:
    """Tell of each event which bones carry most of the faces that meet in its worst frame, where bodies have bones."""
    for event in events:
        bodies = [meta.bodies[body] for body in event["bodies"]]
        if any(body.bones for body in bodies):
            faces = event_faces(event, journal, classifier)
            event["bones"] = [most_common_bone(body, faces[:, column]) for column, body in enumerate(bodies)]


def event_faces(event: dict[str, Any], journal: Journal, classifier: Classifier) -> NDArray[np.int32]:
    """(m, 2): the faces that meet in the worst frame of an event; of one that no frame shows, when they first touch between frames."""
    if event["state"] == STATES[BETWEEN]:
        motion = journal.motion(event["motion"][0])
        assert motion is not None
        return motion_at(event, motion)[0]
    rows = journal.pairs(event["worst_frame"])
    return np.asarray(rows["faces"][event_pairs(event, rows, classifier)], np.int32)


def most_common_bone(body: ReportBody, faces: NDArray[np.int32]) -> str | None:
    """The bone that carries most of these faces of a body; of equal ones the first. None, if none does."""
    if not body.bones or body.bone_of_face is None:
        return None
    counts = np.bincount(body.bone_of_face[np.unique(faces[faces < len(body.bone_of_face)])] + 1, minlength=len(body.bones) + 1)[1:]
    return str(body.bones[int(counts.argmax())]) if counts.any() else None


def worst_first(item: tuple[tuple[int, int], PairTotals]) -> tuple[float, int, int, tuple[int, int]]:
    """The order of pairs of bodies: the deepest first, then those with the most pairs."""
    two, pair = item
    return -pair.depth, -pair.new, -pair.pairs, two


def frame_labels(meta: ReportMeta, frames: list[int]) -> list[str] | None:
    """What people call these frames; None: their numbers."""
    return None if meta.frame_labels is None else [meta.frame_label(frame) for frame in frames]


def sort_key(contact: Contact) -> tuple[float, int, int, int, int]:
    """The order of rows in tables: the deepest first, then those with the most pairs."""
    return -contact.depth, -contact.pairs, contact.frame, contact.first, contact.second
