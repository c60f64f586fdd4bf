"""Put the figures of a paper's experiments into its page of the documentation.

    python -m experiments.page larsson2001 out/larsson2001/larsson2001.json
"""

import json
import sys
from pathlib import Path

from experiments.registry import PAPERS

DOCS = Path(__file__).resolve().parents[1] / "docs"


def paste(name: str, figures: str | Path, page: Path | None = None) -> None:
    """Put the tables of a JSON file between the markers of a paper's page."""
    page = page or DOCS / f"{name}.md"
    data = json.loads(Path(figures).read_text(encoding="utf-8"))
    page.write_text(PAPERS[name].pasted(page.read_text(encoding="utf-8"), data), encoding="utf-8")


if __name__ == "__main__":
    paste(sys.argv[1], sys.argv[2])
