"""Plays the cases of one campaign, in a process of its own, and writes a JSON line before and after each: a crash shows which one it was.

    python -m fuzz.child SEED SECONDS LIMIT MOST

Seeds from SEED on, at most MOST of them, 0 for as many as there is time for. It ends after SECONDS, in which compilation does not count,
or after LIMIT seconds, in which it does.
"""
import json
import sys
import time
from collections import Counter
from math import inf

from fuzz.cases import case_of
from fuzz.minimise import minimise
from fuzz.play import play

COUNTED = 2.0                                                           # seconds of a case; what takes longer compiles
MOST_MINIMISED = 2                                                      # cases of one kind of fault that are made smaller


def say(**line):
    """One line to the parent."""
    print(json.dumps(line), flush=True)


def main(seed, seconds, limit, most):
    """Play cases until the time is up."""
    start, counted, last, known = time.monotonic(), 0.0, seed + most if most else inf, Counter()
    while seed < last and counted < seconds and time.monotonic() - start < limit:
        say(playing=seed)
        before = time.monotonic()
        case = case_of(seed)
        outcome = play(case)
        say(played=seed, counts=outcome.counts, coverage=outcome.coverage, cpu=time.process_time(),
            wrong=[[difference.kind, str(difference)] for difference in outcome.differences])
        for kind in dict.fromkeys(difference.kind for difference in outcome.differences):
            known[kind] += 1
            if known[kind] <= MOST_MINIMISED:
                say(minimising=seed, kind=kind)
                smaller, differences = minimise(case, kind)
                say(minimised=seed, kind=kind, case=smaller, wrong=str(differences[0]) if differences else "does not happen again")
        seed, counted = seed + 1, counted + min(COUNTED, time.monotonic() - before)
    say(end=seed, cpu=time.process_time())


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
