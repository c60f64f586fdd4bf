"""`python -m pliant.cli.warm_part NAME…`: compile some of `warm.KERNEL_GROUPS` in a separate process; print a line with the seconds of
each."""

import sys
import time

from pliant.cli.warm import KERNEL_GROUPS


def main(names: list[str]) -> None:
    """Compile these groups one after the other."""
    for name in names:
        start = time.perf_counter()
        KERNEL_GROUPS[name]()
        print(f"{name}\t{time.perf_counter() - start:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
