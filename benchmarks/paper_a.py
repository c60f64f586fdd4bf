"""Paper A's experiments on one core, and their figures in `docs/paper-a.md`.

    python -m benchmarks.paper_a                               as `pliant bench paper-a`, with its options, pinned to one core
    python -m benchmarks.paper_a --paste out/paper-a/paper-a.json      put the tables of that run between the markers of the page
"""

from benchmarks.papers import main

if __name__ == "__main__":
    main("paper-a")
