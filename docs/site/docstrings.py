"""Docstrings on the site: they are plain text with `code`, doctests and rows `name : what it is`, and become reStructuredText here.

Rows become definitions, with or without the heading "Parameters" above them. Code that is a public name becomes a link. Everything else is
escaped: a docstring cannot say anything that Sphinx takes for markup of its own.
"""

import re

import pliant

ROW = re.compile(r"^(\w+(?:, \w+)*) : (.*)$")
HEADING = re.compile(r"^Parameters\n-+\n", re.MULTILINE)
ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
MARKUP = re.compile(r"([*|\\]|(?<=\w)_(?!\w))")
# What is there for other modules, not for users: by how a docstring begins, or by name.
INTERNAL = ("For queries:", "Called by", "Alias for field number")
HIDDEN = ("gradients_at", "maps_with")


def code(text, own):
    """A literal, or a link if it is a public name, such as Body, pliant.MeshlessNodes or Body.blended, and none of its own."""
    name = text.removeprefix("pliant.")
    public = name.partition(".")[0] in pliant.__all__ and name not in own
    return f":py:obj:`{text} <pliant.{name}>`" if public else f"``{text}``"


def prose(text, own):
    """Escaped, but for what stands between backticks: every other part."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(code(" ".join(part.split()), own) if k % 2 else MARKUP.sub(r"\\\1", part) for k, part in enumerate(parts))


def rows_of(lines):
    """Lines of a block as (name or None, text): a row with what is indented below it, or what is no row."""
    found = []
    for line in lines:
        row = ROW.match(line)
        if row:
            found.append((row[1], [row[2]]))
        elif found and (line.startswith(" ") or found[-1][0] is None):
            found[-1][1].append(line.strip() if found[-1][0] else line)
        else:
            found.append((None, [line]))
    return [(name, "\n".join(text)) for name, text in found]


def block(text, own):
    """One block of a docstring, between empty lines."""
    if text.startswith(">>> "):
        return text
    told = []
    for name, words in rows_of(text.splitlines()):
        lines = prose(words, own).replace("\n", "\n    " if name else "\n")
        told.append(f"{', '.join(f'``{one}``' for one in name.split(', '))}\n    {lines}" if name else lines)
    return "\n\n".join(told)


def markup(text, own=()):
    """A docstring as reStructuredText. `own` names are fields or arguments of what it is about."""
    blocks = re.split(r"\n\s*\n", HEADING.sub("", text.strip("\n")))
    return "\n\n".join(block(one.strip("\n"), own) for one in blocks) + "\n"


def on_docstring(app, what, name, value, options, lines):
    lines[:] = markup("\n".join(lines), getattr(value, "__annotations__", ())).splitlines()


def on_member(app, what, name, value, skip, options):
    """Members that users have no use for are left out."""
    return True if name in HIDDEN or (getattr(value, "__doc__", None) or "").startswith(INTERNAL) else None


def on_signature(app, what, name, value, options, signature, returned):
    """Results are not made by users: their fields are told in words. Aliases of types stand for themselves."""
    if what == "class" and getattr(value, "__module__", "") == "pliant.results":
        return "", None
    return (ALIAS.sub(r"\1", signature), returned and ALIAS.sub(r"\1", returned)) if signature else None


def setup(app):
    app.connect("autodoc-process-docstring", on_docstring)
    app.connect("autodoc-skip-member", on_member)
    app.connect("autodoc-process-signature", on_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
