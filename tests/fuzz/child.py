"""Plays the cases of one campaign, in a process of its own, and writes a JSON line before and after each: a crash shows which one it was.

    python -m fuzz.child SEED SECONDS MOST       seeds from SEED on; at most MOST of them, 0 for as many as there is time for
"""
import json
import sys
import time
from collections import Counter

from fuzz.cases import case_of
from fuzz.minimise import minimise
from fuzz.play import play

MOST_MINIMISED = 2                                                      # cases of one kind of fault that are made smaller


def say(**line):
    """One line to the parent."""
    print(json.dumps(line), flush=True)


def main(seed, seconds, most):
    """Play cases until the time is up. The first one, which compiles nearly everything, may take longer."""
    start, known = time.monotonic(), Counter()
    while (time.monotonic() - start < seconds) and not (most and most <= 0):
        say(playing=seed)
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
        seed += 1
        if most:
            most -= 1
            if not most:
                break
    say(end=seed, cpu=time.process_time())


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
