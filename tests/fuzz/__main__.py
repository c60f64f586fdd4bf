"""`python -m fuzz`: see `docs/fuzzing.md`."""
import argparse
import sys
from pathlib import Path

from fuzz.run import CASES, Runner


def main():
    parser = argparse.ArgumentParser(prog="fuzz", description="Random histories, every answer compared with two oracles.")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long, by the clock")
    parser.add_argument("--seed", type=int, default=0, help="where to start; 100,000 seeds are a campaign with its own volumes")
    parser.add_argument("--volume", help="only campaigns with this bounding-volume type")
    parser.add_argument("--cases", type=int, default=0, help="at most so many cases, all of one campaign")
    parser.add_argument("--folder", type=Path, default=CASES, help="where minimised cases are written")
    given = parser.parse_args()
    return 0 if Runner(given.seconds, given.seed, given.folder, given.cases, volume=given.volume).run().is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
