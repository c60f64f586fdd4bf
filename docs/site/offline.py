"""The site is read without a network, also from files: a build that would load anything from elsewhere fails.

Links that a reader may follow are fine. What a browser fetches by itself is not: scripts, style sheets, fonts, images.
"""

import re
from pathlib import Path

from sphinx.errors import ExtensionError

ELSEWHERE = r"(?:https?:)?//[^\s\"')>]+"
FETCHED = (
    re.compile(rf"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"']?({ELSEWHERE})"),
    re.compile(rf"<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|icon|preload|preconnect|dns-prefetch|modulepreload))[^>]*\bhref=[\"']?({ELSEWHERE})"),
    re.compile(rf"url\(\s*[\"']?({ELSEWHERE})"),
    re.compile(rf"@import\s+[\"']({ELSEWHERE})"),
)


def fetched(text):
    """What a page or a style sheet makes a browser fetch from elsewhere."""
    return [address for pattern in FETCHED for address in pattern.findall(text)]


def on_finish(app, error):
    if error is not None or app.builder.format != "html":
        return
    files = [path for path in Path(app.outdir).rglob("*") if path.suffix in (".html", ".css")]
    found = [f"{path.relative_to(app.outdir)}: {address}" for path in files for address in fetched(path.read_text(encoding="utf-8"))]
    if found:
        raise ExtensionError("the site would load from elsewhere: " + "; ".join(found[:5]))


def setup(app):
    app.connect("build-finished", on_finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
