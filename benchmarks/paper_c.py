"""Paper C's experiments on one core, and their figures in `docs/paper-c.md`.

    python -m benchmarks.paper_c                               as `pliant bench paper-c`, with its options, pinned to one core
    python -m benchmarks.paper_c --paste out/paper-c/paper-c.json      put the tables of that run between the markers of the page

Two threads need two cores: `pliant bench paper-c eq-7.1`, not pinned, measures them.
"""

from benchmarks.papers import main

if __name__ == "__main__":
    main("paper-c")
