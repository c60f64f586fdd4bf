"""Pointers into an XML document: the part of XPath that XDMF files use to refer to elements (XML Path Language 1.0, sections 2.3 and 2.4).

A pointer is a way down, from the outermost element (/Xdmf/…) or from anywhere (//…), by names of elements. Each name may have predicates:
an attribute's value, or a position among what the predicates before it have left, counted for each parent.

Invariant: each step looks at an element once, and pointers are short, so that looking one up takes time linear in the document.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

MAX_POINTER = 500  # characters of a pointer
_PREDICATE = r"""\[(?:@([A-Za-z]+)=("[^"]*"|'[^']*')|([0-9]{1,9}))\]"""
PREDICATE = re.compile(_PREDICATE)
STEP = re.compile(rf"(//|/)([A-Za-z]+)((?:{_PREDICATE})*)")


def find_element(root: Element, pointer: str) -> Element | None:
    """The first element, in the order of the document, that a pointer means; None if there is none, or the pointer is of another form."""
    steps = _parse_steps(pointer) if len(pointer) <= MAX_POINTER else []
    if not steps:
        return None
    anywhere, name, predicates = steps.pop(0)
    found = {root} if name == root.tag and _apply_predicates([root], predicates) else set[Element]()
    if anywhere:
        found.update(each for parent in root.iter() for each in _children(parent, name, predicates))
    for _, name, predicates in steps:
        found = {each for parent in found for each in _children(parent, name, predicates)}
    return next((each for each in root.iter() if each in found), None)


def _parse_steps(pointer: str) -> list[tuple[bool, str, str]]:
    """(whether it may begin anywhere, name, predicates) of each step; none where the pointer has another form."""
    steps, at = list[tuple[bool, str, str]](), 0
    while at < len(pointer):
        step = STEP.match(pointer, at)
        if step is None or (steps and step[1] == "//"):
            return []
        steps.append((step[1] == "//", step[2], step[3]))
        at = step.end()
    return steps


def _children(parent: Element, name: str, predicates: str) -> list[Element]:
    """The children of this name that all predicates leave."""
    return _apply_predicates([each for each in parent if each.tag == name], predicates)


def _apply_predicates(elements: list[Element], predicates: str) -> list[Element]:
    """Those of some siblings that all predicates leave, one after the other."""
    for predicate in PREDICATE.finditer(predicates) if elements else ():
        attribute, value, position = predicate.groups()
        if attribute:
            elements = [each for each in elements if each.get(attribute) == value[1:-1]]
        else:
            elements = elements[int(position) - 1 : int(position)] if int(position) else []
    return elements
