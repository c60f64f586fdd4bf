"""The verdict of a check in words, and whether it fails.

    collisions   pairs that are new, a body inside another, or what touches only between frames
    known        only pairs that are known, static or shallow
    near         only near pairs, beside these
    clean        nothing at all
"""

from __future__ import annotations

from typing import Any

from pliant.check.classify import BETWEEN, STATES
from pliant.check.plan import parse_fail_rule

BETWEEN_FRAMES = STATES[BETWEEN]


def plural(count: int, noun: str, nouns: str = "") -> str:
    """A number with its noun: 1 pair, 2 pairs."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def verdict_of(event_counts: dict[str, int]) -> str:
    """The verdict of the numbers of events by state."""
    if event_counts["new"] or event_counts["enclosed"] or event_counts[BETWEEN_FRAMES]:
        return "collisions"
    if event_counts["near"]:
        return "near"
    return "known" if event_counts["known"] or event_counts["static"] or event_counts["shallow"] else "clean"


def fails(summary: dict[str, Any], rule: str) -> bool:
    """Whether a check fails by a rule of `--fail-on`."""
    name, depth = parse_fail_rule(rule)
    by_state = summary["by_state"]
    if name == "depth":
        return bool(summary["deepest"] is not None and summary["deepest"]["depth"] > depth)
    collisions = by_state["new"] + by_state["enclosed"] + by_state[BETWEEN_FRAMES]
    if name == "new":
        return bool(collisions)
    return bool(collisions + by_state["known"] + by_state["static"] + (by_state["near"] if name == "near" else 0))


def headline(summary: dict[str, Any]) -> str:
    """The verdict in one sentence."""
    kind, frames = summary["verdict"], len(summary["frames"])
    events, by_state = summary["event_counts"], summary["by_state"]
    if kind == "collisions":
        count, unseen = events["new"] + events["enclosed"], events[BETWEEN_FRAMES]
        if not count:
            return f"{plural(unseen, 'collision')} between frames, which no frame shows, of {plural(frames, 'frame')}."
        where = f"in {summary['frames_with_collisions']:,} of {plural(frames, 'frame')}"
        new = "new " if summary["baseline"] is not None else ""
        return f"{plural(count, f'{new}collision')} {where}, {plural(by_state['new'], 'pair of triangles', 'pairs of triangles')}" + (
            f"; {unseen:,} more only between frames." if unseen else ".")
    if kind == "near":
        return f"Nothing meets, but {plural(events['near'], 'near miss', 'near misses')} in {plural(frames, 'frame')}."
    if kind == "known":
        aside = {"that are known": by_state["known"], "of every frame": by_state["static"], "that are set aside": by_state["shallow"]}
        kinds = " or ".join(name for name, count in aside.items() if count)
        return f"Nothing new in {plural(frames, 'frame')}: only {f'collisions {kinds}' if kinds else 'bodies inside others'}."
    return f"Nothing meets in {plural(frames, 'frame')}."


def asides(summary: dict[str, Any]) -> list[str]:
    """Sentences about what is there and does not count."""
    found, by_state, unit = list[str](), summary["by_state"], f" {summary['unit']}" if summary["unit"] else ""
    if by_state["static"]:
        found.append(f"{plural(summary['static_pairs'], 'pair of triangles', 'pairs of triangles')} "
                     f"{'is' if summary['static_pairs'] == 1 else 'are'} there in every frame.")  # fmt: skip
    if summary["baseline"] is not None:
        known = plural(summary["known_pairs"], "pair of triangles", "pairs of triangles")
        resolved = f"; {summary['resolved_pairs']:,} more {'is' if summary['resolved_pairs'] == 1 else 'are'} resolved"
        found.append(f"{known} {'is' if summary['known_pairs'] == 1 else 'are'} known from {summary['baseline']}"
                     f"{resolved if summary['resolved_pairs'] else ''}.")  # fmt: skip
    if aside := summary["enclosed_aside"]:
        where = "in every frame" if summary["baseline"] is None else f"as known from {summary['baseline']}"
        found.append(f"{plural(aside, 'body is', 'bodies are')} inside another {where}.")
    if by_state["shallow"]:
        found.append(f"Contacts shallower than {summary['options']['min_depth']:g}{unit} are set aside.")
    if summary["event_counts"]["near"] and summary["verdict"] != "near":
        found.append(f"{plural(summary['event_counts']['near'], 'near miss', 'near misses')}: bodies within "
                     f"{summary['options']['within']:g}{unit} that do not meet.")  # fmt: skip
    return found


def what_counts(summary: dict[str, Any]) -> str:
    """In one line, what the verdict counts as a collision."""
    unit = f" {summary['unit']}" if summary["unit"] else ""
    options = summary["options"]
    deep = f" at least {options['min_depth']:g}{unit} deep" if options["min_depth"] else ""
    things = [f"faces that intersect or touch{deep}"]
    things += ["bodies inside others"] if options["enclosed"] and len(summary["bodies"]) > 1 else []
    things += ["what touches between frames on straight lines"] if options["between_frames"] else []
    parts = [" and ".join(filter(None, (", ".join(things[:-1]), things[-1])))]
    if summary["baseline"] is not None:
        parts.append(f"and do not do so in {summary['baseline']}")
    elif len(summary["frames"]) > 1:
        parts.append("but not in every frame")
    return f"What counts: {', '.join(parts)}."
