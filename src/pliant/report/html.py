"""A report as one HTML file: opens from disk, asks nothing of a network, and has all its data, code and styles inside.

Names and texts come from files of strangers. They are in the page as JSON that cannot end its element and is no code, and the page may run
nothing but the scripts whose hashes its Content-Security-Policy names (W3C CSP Level 3, 2.3.1): three.js and the page's own.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.core.archive import whole_file
from pliant.report.data import Character, Hierarchy, Meeting, Snapshot, Story
from pliant.report.encode import deflated, planes, steps
from pliant.report.temp_frames import Spool

SCRIPTS = ("data.js", "shaders.js", "viewer.js", "charts.js", "tables.js", "main.js")
MOST_ROWS = 500  # of the table of meetings
FAVOURED = 12  # frames of the worst meetings
LOAD = 20  # bytes of a row that says how many pairs a body has in a frame, at most
TAGS = 80  # bytes around a block of data, at most
UPS = ("", "x", "y", "z")
NOTHING = "There is no 3D view: no frames were stored."
TOO_LARGE = "The 3D view is left out: its first frame alone would make this page larger than {:g} MB."


def write_report(path: str | os.PathLike[str], story: Story, most_bytes: int = 30_000_000) -> Path:
    """Write the report to a file, which appears when it is complete. Where it would become larger than `most_bytes`, frames are left out of
    the 3D view evenly, and the page says so; where one frame is too much, the whole view is."""
    target = Path(path)
    if most_bytes < 1:
        raise ValueError(f"most_bytes: expected a positive number, got {most_bytes}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as file, closing(Spool(len(story.bodies), _favoured(story))) as spool:
        viewed = _taken(spool, story, most_bytes - _size(story, [], most_bytes))
        hierarchies: list[bytes] = []
        if viewed and spool.kept:
            hierarchies = _hierarchies(story, spool.faces, most_bytes)
            viewed = spool.fit(most_bytes - _size(story, hierarchies, most_bytes) - TAGS * len(spool.lengths))
        for part in _page(story, spool if viewed else None, hierarchies, most_bytes):
            file.write(part)
    return target


def _favoured(story: Story) -> list[int]:
    """Places of the frames of the worst meetings."""
    places = {int(frame): place for place, frame in enumerate(story.frames)}
    frames = dict.fromkeys(meeting.frame for meeting in story.meetings[: 10 * FAVOURED])
    return [places[frame] for frame in frames if frame in places][:FAVOURED]


def _taken(spool: Spool, story: Story, room: int) -> bool:
    """Put snapshots into the spool, as many as there is room for; False if there is none for one. All are taken, kept or not: callers may
    count on it."""
    place, fits = -1, True
    for snapshot in story.snapshots:
        later = int(np.searchsorted(story.frames, snapshot.frame))
        if later >= len(story.frames) or story.frames[later] != snapshot.frame or later <= place:
            raise ValueError(f"snapshots: frame {snapshot.frame} is not one of the story's frames, or not after the last one")
        place = later
        if fits:
            _examine(snapshot, len(story.bodies))
            spool.add(place, snapshot)
            fits = spool.fit(room)
    spool.flush()
    return fits


def _examine(snapshot: Snapshot, bodies: int) -> None:
    if not len(snapshot.meshes) == len(snapshot.marked) == bodies:
        raise ValueError(f"snapshots: frame {snapshot.frame} has {len(snapshot.meshes)} meshes and marks of {len(snapshot.marked)}, "
                         f"expected those of {bodies} bodies")  # fmt: skip
    for body, ((_, faces), marked) in enumerate(zip(snapshot.meshes, snapshot.marked, strict=True)):
        if len(marked) and (marked[0] < 0 or marked[-1] >= len(faces) or (np.diff(marked) <= 0).any()):
            raise ValueError(f"snapshots: frame {snapshot.frame}: marked faces of body {body} must rise, and be some of {len(faces)}")


# ---- what the page is told ---------------------------------------------------------------------------------------------


def _told(story: Story, spool: Spool | None, hierarchies: Sequence[bytes], most_bytes: int) -> dict[str, Any]:
    """The story as JSON has it; frames are named by their place in `frames`."""
    frames = [int(frame) for frame in story.frames]
    places = {frame: place for place, frame in enumerate(frames)}
    _check(story, places)
    shown = spool if spool is not None and spool.kept else None
    return {
        "title": story.title,
        "facts": [[name, value] for name, value in story.facts],
        "notes": [*story.notes, *_left_out(story, spool, hierarchies, most_bytes)],
        "rate": float(story.rate),
        "up": story.up,
        "unit": story.unit,
        "frames": frames,
        "counts": [{"name": name, "values": _count(name, values, len(frames))} for name, values in story.counts.items()],
        "bodies": [{"name": each.name, "kind": each.kind, **_levels(each.hierarchy if hierarchies else None)} for each in story.bodies],
        "meetings": [_row(each, places) for each in story.meetings[:MOST_ROWS]],
        "more": story.more + max(0, len(story.meetings) - MOST_ROWS),
        "load": _load(story, places, most_bytes),
        "shown": [place for place, _ in shown.kept] if shown else [],
        "chunks": len(shown.lengths) if shown else 0,
        "outline": shown.outline.points.tolist() if shown else [],
        "absent": NOTHING if spool is not None else TOO_LARGE.format(most_bytes / 1e6),
    }


def _check(story: Story, places: Mapping[int, int]) -> None:
    if any(b <= a for a, b in pairwise(story.frames)):
        raise ValueError("frames: expected rising numbers")
    if story.up not in UPS:
        raise ValueError(f"up: expected one of {', '.join(map(repr, UPS))}, got {story.up!r:.40}")
    if not 0 < story.rate < np.inf:
        raise ValueError(f"rate: expected a positive number of frames a second, got {story.rate}")
    for meeting in story.meetings:
        if meeting.frame not in places or not 0 <= min(meeting[1:3]) <= max(meeting[1:3]) < len(story.bodies):
            raise ValueError(f"meetings: {meeting} is of a frame or a body that the story does not have")


def _left_out(story: Story, spool: Spool | None, hierarchies: Sequence[bytes], most_bytes: int) -> Iterator[str]:
    """What there was no room for, a sentence each."""
    if spool is None:
        yield TOO_LARGE.format(most_bytes / 1e6)
        return
    if 0 < len(spool.kept) < len(story.frames):
        share = round(len(story.frames) / len(spool.kept))
        yield (f"The 3D view has {len(spool.kept):,} of {len(story.frames):,} frames, about one in {share}, so that this page stays below "
               f"{most_bytes / 1e6:g} MB; charts and tables have all of them.")  # fmt: skip
    if spool.kept and not hierarchies and any(each.hierarchy for each in story.bodies):
        yield f"Bounding volumes are left out: they would take more than a quarter of {most_bytes / 1e6:g} MB."


def _count(name: str, values: NDArray[np.int64], frames: int) -> list[int]:
    found = [int(value) for value in values]
    if len(found) != frames or min(found, default=0) < 0:
        raise ValueError(f"counts: {name!r:.60}: expected a number, 0 or more, for each of {frames} frames")
    return found


def _row(meeting: Meeting, places: Mapping[int, int]) -> list[float]:
    return [places[meeting.frame], *map(int, meeting[1:4]), *map(float, meeting.centre), float(meeting.radius)]


def _load(story: Story, places: Mapping[int, int], most_bytes: int) -> list[list[int]]:
    """[place, body, pairs]: in how many pairs a body takes part. Where that would take a quarter of the page, of the worst bodies only."""
    sums = Counter[tuple[int, int]]()
    if story.loads is not None:
        sums.update({(places[frame], body): pairs for frame, body, pairs in story.loads.tolist()})
    else:
        for meeting in story.meetings:
            for body in {meeting.first, meeting.second}:
                sums[places[meeting.frame], int(body)] += int(meeting.pairs)
    totals, rows = Counter[int](), Counter[int]()
    for (_, body), pairs in sums.items():
        totals[body] += pairs
        rows[body] += 1
    taken, told = 0, set[int]()
    for body, _ in totals.most_common():
        taken += LOAD * rows[body]
        if taken > most_bytes / 4:
            break
        told.add(body)
    return [[*key, pairs] for key, pairs in sorted(sums.items()) if key[1] in told]


def _levels(hierarchy: Hierarchy | None) -> dict[str, Any]:
    return {"order": len(hierarchy.order) if hierarchy else 0, "levels": [len(level) for level in hierarchy.levels] if hierarchy else []}


def _hierarchy(body: int, character: Character, faces: int) -> bytes:
    """The order of faces, then all first and all last ends of each level's ranges."""
    hierarchy = character.hierarchy
    if hierarchy is None:
        return b""
    if len(hierarchy.order) != faces or not all(level.size and 0 <= level.min() <= level.max() <= faces for level in hierarchy.levels):
        raise ValueError(f"bodies[{body}]: its hierarchy is not one of the {faces} faces that it has in the first snapshot")
    arrays = [hierarchy.order, *(level.T.ravel() for level in hierarchy.levels)]
    return deflated(b"".join(planes(steps(np.asarray(each, np.int32))) for each in arrays))


def _hierarchies(story: Story, faces: Sequence[int], most_bytes: int) -> list[bytes]:
    """Those of all bodies; none, if they leave too little room for frames."""
    hierarchies = [_hierarchy(body, *each) for body, each in enumerate(zip(story.bodies, faces, strict=True))]
    return hierarchies if sum(map(len, hierarchies)) * 4 / 3 < most_bytes / 4 else []


# ---- the page ----------------------------------------------------------------------------------------------------------


def _page(story: Story, spool: Spool | None, hierarchies: Sequence[bytes], most_bytes: int) -> Iterator[bytes]:
    """The file, in parts."""
    told = _told(story, spool, hierarchies, most_bytes)
    head, tail = _frame_of_page(told)
    yield head
    if told["shown"]:
        assert spool is not None
        for number, chunk in enumerate(spool.chunks()):
            yield _block(f"frames-{number}", chunk)
        for body, data in enumerate(hierarchies):
            if data:
                yield _block(f"hierarchy-{body}", data)
    yield tail


def _frame_of_page(told: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """All before the blocks of data, and all after them."""
    style, own = _file("page.css"), "\n".join(['(() => {\n"use strict";', *map(_file, SCRIPTS), "})();"])
    three = f"/*\n{_file('THREE-LICENSE')}*/\n{_file('three.min.js')}" if told["shown"] else ""
    allowed = " ".join(_hash(text) for text in (three, own) if text)
    parts = {
        "policy": f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data: blob:; connect-src 'none'; "
                  "base-uri 'none'; form-action 'none'",
        "title": html.escape(str(told["title"])),
        "style": style,
        "story": _json(told),
        "three": f"<script>{three}</script>\n" if three else "",
        "script": own,
    }  # fmt: skip
    before, after = _file("page.html").split("{{data}}")
    filled = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], before)
    return filled.encode("utf-8", "replace"), after.encode()


def _size(story: Story, hierarchies: Sequence[bytes], most_bytes: int) -> int:
    """Bytes of the page without its frames, as far as they are known, and a little more for what is not."""
    told = _told(story, None, hierarchies, most_bytes) | {"shown": [0]}
    return sum(map(len, _frame_of_page(told))) + 12 * len(story.frames) + sum(len(_block("", data)) for data in hierarchies) + 4_096


def _json(value: Any) -> str:
    """JSON in which nothing can end or open an element (HTML, 13.2.5.4); numbers that are none are refused."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _block(name: str, data: bytes) -> bytes:
    return b'<script type="application/octet-stream" id="%s">%s</script>\n' % (name.encode(), base64.b64encode(data))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _file(name: str) -> str:
    return (resources.files("pliant.report") / "web" / name).read_text(encoding="utf-8")
