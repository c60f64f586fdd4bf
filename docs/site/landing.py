"""What the site adds to pages: the navigation, and links into the gallery.

`index.md` is the landing page, and the only list of all pages: each of its second-level headings is a group, and each page that is linked
from a table below it belongs to that group, in this order. Links to examples lead to their pages in the gallery.
"""

import re

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)\)")
EXAMPLE = re.compile(r"\((?:\.\./)+examples/(?:README|(\w+))\.(?:py|rst)\)")


def groups(text):
    """{heading: [page, …]} of the landing page, pages as they are linked, without the ending."""
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        rows = "\n".join(line for line in body.splitlines() if line.startswith("|"))
        pages = [re.sub(r"\.(md|rst)$", "", link) for link in LINK.findall(rows)]
        if pages:
            found[heading.strip()] = list(dict.fromkeys(pages))
    return found


def navigation(text):
    """The groups as hidden tables of contents, which the theme shows at the side of every page."""
    return "".join(f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(pages) + "\n```\n"
                   for heading, pages in groups(text).items())


def to_the_gallery(text, depth):
    """The text of a page that many folders deep, with links to examples turned to their pages."""
    return EXAMPLE.sub(lambda link: f"({'../' * depth}gallery/{link[1] or 'index'}.rst)", text)


def on_read(app, name, source):
    """Called with the text of every page in a list, which is replaced."""
    if not name.startswith("gallery/"):
        source[0] = to_the_gallery(source[0], name.count("/"))
    if name == app.config.root_doc:
        source[0] += navigation(source[0])


def setup(app):
    app.connect("source-read", on_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
