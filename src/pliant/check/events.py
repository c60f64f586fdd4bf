"""Events: what two bodies do over consecutive frames, as one row instead of a row for each pair and frame.

An event is a maximal run of checked frames in which two bodies, or one with itself, have pairs of one state (`classify.py`). What they do
only between two frames belongs to the event of new pairs in the frame before or after; or it is an event of its own, which lasts as long as
they touch between all following frames. Of many events the worst are kept, so memory does not grow with the length of an animation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pliant.check.between_frames import Passing
from pliant.check.classify import BETWEEN, ENCLOSED, KNOWN, NEAR, NEW, SHALLOW, STATES, STATIC, Group
from pliant.check.depth import AT_LEAST, DEPTH_KINDS, NO_DEPTH

MAX_EVENTS = 500  # that are kept; all are counted
TIME_DIGITS = 6  # after the point, of times in frames
RANK = {NEW: 0, ENCLOSED: 0, BETWEEN: 0, NEAR: 1, STATIC: 2, KNOWN: 3, SHALLOW: 4}  # what counts comes first


class Event(NamedTuple):
    """A run of frames.

    first, second : body indices, the lower one first; of enclosed bodies the inner one
    state : a number, see `classify.STATES`
    begin, end : the first and the last frame, those before and after a motion included
    frames : how many checked frames show it
    worst_frame : where it is deepest; of near pairs, nearest; with equal depths, the earliest with the most pairs
    depth, kind : there, see `depth.py`
    distance : the smallest distance of near pairs; else 0
    worst_pairs : pairs of faces in that frame
    pairs : in all frames; 0: the first body is inside the second, or no frame shows it
    between : pairs of faces that touch only between frames
    passing : the first time that they do so; None: never
    """

    first: int
    second: int
    state: int
    begin: int
    end: int
    frames: int
    worst_frame: int
    depth: float
    kind: int
    distance: float
    worst_pairs: int
    pairs: int
    between: int = 0
    passing: Passing | None = None

    @property
    def rank(self) -> tuple[Any, ...]:
        """The order of events: collisions first, the deepest first, then those with the most pairs."""
        return (RANK[self.state], -self.depth, self.distance, -self.pairs, -self.between, self.begin, self.first, self.second)


def begin_event(frame: int, group: Group) -> Event:
    """The event of one frame."""
    return Event(group.first, group.second, group.state, frame, frame, 1, frame, group.depth, group.kind, group.distance, group.pairs,
                 group.pairs)  # fmt: skip


def extend_event(event: Event, frame: int, group: Group) -> Event:
    """The event with one more frame."""
    longer = event._replace(state=group.state, end=frame, frames=event.frames + 1, pairs=event.pairs + group.pairs)
    if (group.depth, -group.distance, group.pairs) > (event.depth, -event.distance, event.worst_pairs):
        longer = longer._replace(worst_frame=frame, depth=group.depth, kind=group.kind, distance=group.distance, worst_pairs=group.pairs)
    return longer


def begin_between(passing: Passing) -> Event:
    """The event of what no frame shows; it is worst in the frame that is nearest in time."""
    nearest = passing.before if passing.time - passing.before <= passing.after - passing.time else passing.after
    return Event(passing.first, passing.second, BETWEEN, passing.before, passing.after, 0, nearest, 0.0, NO_DEPTH, 0.0, 0, 0, passing.pairs,
                 passing)  # fmt: skip


def extend_between(event: Event, passing: Passing) -> Event:
    """The event with the motion after its last frame."""
    return event._replace(end=passing.after, between=event.between + passing.pairs, passing=event.passing or passing)


class EventTracker:
    """Takes the groups of frame after frame; `worst` are the worst events, `counts` the number of all by state."""

    def __init__(self) -> None:
        self.worst: list[Event] = []
        self.counts = Counter[int]()
        self._open: dict[tuple[int, int, int, bool], Event] = {}
        self._passed = dict[tuple[int, int, int, bool], Event]()  # that touched in the last motion, and not in the frame after it

    def add(self, frame: int, groups: Iterable[Group]) -> None:
        """The groups of the next frame."""
        still = {}
        for group in groups:
            key = group.first, group.second, group.state, group.pairs == 0
            event = self._open.pop(key, None)
            still[key] = begin_event(frame, group) if event is None else extend_event(event, frame, group)
        self._passed = {key: event for key, event in self._open.items() if event.passing is not None and event.end == frame}
        self._close(event for key, event in self._open.items() if key not in self._passed)
        self._open = still

    def add_motion(self, motion: Iterable[Passing]) -> None:
        """What happens after the last frame, and before the next one."""
        for passing in motion:
            key = passing.first, passing.second, NEW, False
            event = self._open.pop(key, None) or self._passed.pop(key, None)
            self._open[key] = begin_between(passing) if event is None else extend_between(event, passing)
        self._close(self._passed.values())
        self._passed = {}

    def finish(self) -> None:
        """Close all events."""
        self._close([*self._open.values(), *self._passed.values()])
        self._open, self._passed = {}, {}
        self.worst = sorted(self.worst, key=lambda event: event.rank)[:MAX_EVENTS]

    def _close(self, events: Iterable[Event]) -> None:
        for event in events:
            self.counts[event.state] += 1
            self.worst.append(event)
        if len(self.worst) > 4 * MAX_EVENTS:
            self.worst = sorted(self.worst, key=lambda event: event.rank)[:MAX_EVENTS]


def kind_of(event: Event) -> str:
    """What an event is: touching, near or enclosed."""
    return "enclosed" if event.pairs == event.between == 0 else "near" if event.state == NEAR else "touching"


def event_row(event: Event, names: list[str]) -> dict[str, Any]:
    """An event in `summary.json`; `results.name_bones` finds the bones."""
    return {"bodies": [event.first, event.second], "names": [names[event.first], names[event.second]], "bones": [None, None],
            "kind": kind_of(event), "state": STATES[event.state], "first": event.begin, "last": event.end, "frames": event.frames,
            "worst_frame": event.worst_frame, "depth": rounded(event.depth), "depth_kind": DEPTH_KINDS[event.kind],
            "distance": rounded(event.distance), "pairs": event.pairs, "worst_pairs": event.worst_pairs,
            "between_pairs": event.between, "time": None if event.passing is None else round(event.passing.time, TIME_DIGITS),
            "motion": None if event.passing is None else [event.passing.before, event.passing.after]}  # fmt: skip


def rounded(value: float) -> float:
    """Six digits: depths and distances of people; the last bits of sums may depend on the machine."""
    return float(f"{value:.6g}")


def depth_text(depth: float, kind: str, unit: str = "") -> str:
    """A depth for people."""
    space = f" {unit}" if unit else ""
    if kind == "none" or (kind == DEPTH_KINDS[AT_LEAST] and not depth):
        return "–"  # at least 0 says nothing
    return f"{'at least ' if kind == DEPTH_KINDS[AT_LEAST] else ''}{depth:.3g}{space}"


def event_title(row: dict[str, Any]) -> str:
    """The bodies of an event, for people, with the bones of most of their faces."""
    if row["bodies"][0] == row["bodies"][1]:
        bones = " – ".join(dict.fromkeys(bone for bone in row["bones"] if bone is not None))
        return f"{row['names'][0]}, itself" + (f" ({bones})" if bones else "")
    one, other = (name if bone is None else f"{name} ({bone})" for name, bone in zip(row["names"], row["bones"], strict=True))
    return f"{one} in {other}" if row["kind"] == "enclosed" else f"{one} – {other}"


def frames_text(row: dict[str, Any], labels: Mapping[int, str]) -> str:
    """The frames of an event, for people; `labels` by frame."""
    first, last = (labels.get(row[name], str(row[name])) for name in ("first", "last"))
    if row["state"] == STATES[BETWEEN]:
        return f"between {first} and {last}"
    return first if row["first"] == row["last"] else f"{first}–{last}"


def time_text(row: dict[str, Any], labels: Mapping[int, str]) -> str:
    """When an event that no frame shows begins, for people: as a fraction of the labels of frames, if these are numbers."""
    time, (before, after) = row["time"], row["motion"]
    try:
        low, high = float(labels[before]), float(labels[after])
    except (KeyError, ValueError):
        return f"{time:.2f}"
    return f"{low + (high - low) * (time - before) / (after - before):.2f}"
