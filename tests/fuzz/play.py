"""`play(case)`: do what a case says and compare every answer with both oracles."""
import threading
import traceback
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from fuzz import reference
from fuzz.compare import Wrong, check_fresh
from fuzz.world import QUERIES, Fresh, World, ask

ORACLES = ("fresh", "naive")


class Difference(NamedTuple):
    """A wrong answer: at which step, to which query, by which oracle ("fresh", "naive", or "raised": an error that should not be)."""

    step: int
    query: str
    oracle: str
    text: str
    rows: tuple = ()

    @property
    def kind(self):
        """What stays the same while a case is made smaller."""
        return f"{self.query}:{self.oracle}"

    def __str__(self):
        return f"step {self.step}, {self.query}, {self.oracle}: {self.text}"


class Outcome(NamedTuple):
    """What playing a case has shown: differences, how many rows each oracle has decided, and which options were met."""

    differences: list
    counts: Counter
    coverage: Counter


def play(case: dict[str, Any], oracles=ORACLES) -> Outcome:
    """Play a whole case. A query that is answered wrongly changes nothing, so the rest is played too; an update that fails ends it."""
    outcome = Outcome([], Counter(), Counter())
    try:
        world = World(case)
    except Exception as error:
        outcome.differences.append(Difference(-1, "make", "raised", _text(error)))
        return outcome
    _meet(outcome.coverage, case)
    fresh = Fresh(world)
    for number, step in enumerate(case["steps"]):
        if step["do"] in QUERIES or step["do"] == "threads":
            queries = step["queries"] if step["do"] == "threads" else [step]
            for query, answer in zip(queries, _answers(world, queries), strict=True):
                _compare(outcome, case, number, world, fresh, query, answer, oracles)
        else:
            outcome.coverage["step " + step["do"]] += 1
            try:
                world.change(step)
            except Exception as error:
                outcome.differences.append(Difference(number, step["do"], "raised", _text(error)))
                return outcome
    return outcome


def _text(error):
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.name}, line {last.lineno} of {last.filename.rsplit('/', 1)[-1]})"


def _answers(world, queries):
    """Answers, or errors; of several queries each is asked in a thread of its own."""
    answers = [None] * len(queries)

    def run(k):
        try:
            answers[k] = ask(world, queries[k])
        except Exception as error:
            answers[k] = error

    if len(queries) == 1:
        run(0)
        return answers
    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(queries))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def _compare(outcome, case, number, world, fresh, query, answer, oracles):
    name = query["do"]
    outcome.coverage["query " + name] += 1
    for option in ("contacts", "first", "budget_ms", "engine", "signed", "traversal"):
        if query.get(option) not in (None, False):
            outcome.coverage[f"{name} {option}={query[option]}"] += 1
    if isinstance(answer, Exception):
        outcome.differences.append(Difference(number, name, "raised", _text(answer)))
        return
    for oracle in oracles:
        try:
            if oracle == "fresh":
                outcome.counts["fresh"] += check_fresh(world, fresh, query, answer)
            elif name in reference.CHECKS:
                rng = np.random.default_rng([abs(int(case["seed"])), number])
                outcome.counts["naive"] += reference.CHECKS[name](rng, world, query, answer)
        except Wrong as wrong:
            outcome.differences.append(Difference(number, name, oracle, str(wrong), tuple(wrong.rows)))


def _meet(coverage, case):
    for body in case["bodies"]:
        table = body["options"]
        policy = table["policy"] if isinstance(table["policy"], str) else table["policy"]["name"]
        kind = f"{table['volume']} × {table['arity']}"
        coverage.update([f"volume {kind}", f"policy {policy}", f"build {table['build']}", f"motion {body['motion']}",
                         f"mesh {body.get('kind', '?')}", f"leaf {table['leaf']}", f"volume and policy: {table['volume']} {policy}",
                         f"motion and policy: {body['motion']} {policy}", f"volume and motion: {table['volume']} {body['motion']}"])
        if body.get("weld"):
            coverage["weld"] += 1
        if "key_poses" in body:
            coverage["key_poses"] += 1
