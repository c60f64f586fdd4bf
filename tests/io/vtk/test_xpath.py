"""Pointers into XML, against a check of every element from the end of the pointer to its beginning."""

import time
from xml.etree.ElementTree import Element, SubElement, fromstring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.io.vtk.xpath import MAX_POINTER, find_element

DOCUMENT = fromstring("""<Xdmf><Domain><Grid n="0" t="C"><Grid n="1" t="U"><Topology n="2"/></Grid><Grid n="3"/></Grid>
<Grid n="4" t="U"/><Grid n="5" t="U"><Topology n="6"/><Topology n="7" t="C"/></Grid></Domain></Xdmf>""")


@pytest.mark.parametrize("pointer, number", [
    ("/Xdmf/Domain/Grid", "0"), ("/Xdmf/Domain/Grid[2]", "4"), ("/Xdmf/Domain/Grid[@t='U'][2]", "5"), ("/Xdmf/Domain/Grid[2][@t='U']", "4"),
    ("/Xdmf/Domain/Grid[2][@t='C']", None), ('/Xdmf/Domain/Grid[@n="5"]/Topology[2]', "7"), ("//Grid[2]", "3"), ("//Topology", "2"),
    ("//Grid[3]", "5"), ("//Topology[@t='C']", "7"), ("//Grid[0]", None), ("/Domain/Grid", None), ("Grid", None), ("", None), ("//", None),
    ("//Grid//Grid", None), ("/Xdmf/*", None), ("//Grid[n]", None), ("//Grid[1", None), ("//Grid" + "[1]" * MAX_POINTER, None),
])  # fmt: skip
def test_what_is_meant(pointer, number):
    found = find_element(DOCUMENT, pointer)
    assert (None if found is None else found.get("n")) == number


PREDICATES = st.lists(st.one_of(st.integers(1, 3), st.sampled_from(["U", "C"])), max_size=2)
STEPS = st.lists(st.tuples(st.sampled_from("ab"), PREDICATES), min_size=1, max_size=3)


@st.composite
def trees(draw):
    made = [Element("a")]
    for _ in range(draw(st.integers(0, 25))):
        parent = made[draw(st.integers(0, len(made) - 1))]
        made.append(SubElement(parent, draw(st.sampled_from("ab")), draw(st.sampled_from([{}, {"t": "U"}, {"t": "C"}]))))
    return made[0]


@given(trees(), st.booleans(), STEPS)
@settings(max_examples=300, deadline=None)
def test_all_small_documents(root, anywhere, steps):
    parents = {child: parent for parent in root.iter() for child in parent}

    def matches(element, steps):
        name, predicates = steps[-1]
        row = [each for each in parents[element] if each.tag == name] if element in parents else [element] if element.tag == name else []
        for predicate in predicates:
            row = row[predicate - 1 : predicate] if isinstance(predicate, int) else [each for each in row if each.get("t") == predicate]
        if element not in row:
            return False
        above = parents.get(element)
        return (anywhere or above is None) if len(steps) == 1 else above is not None and matches(above, steps[:-1])

    text = "/".join(name + "".join(f"[{each}]" if isinstance(each, int) else f"[@t='{each}']" for each in some) for name, some in steps)
    expected = next((each for each in root.iter() if matches(each, steps)), None)
    assert find_element(root, ("//" if anywhere else "/") + text) is expected


def test_positions_among_many_take_no_longer():
    root = Element("Xdmf")
    for _ in range(100_000):
        SubElement(root, "a")
    start = time.process_time()
    assert find_element(root, "//a[999999999]") is None and find_element(root, "//a[100000]") is root[-1]
    assert time.process_time() - start < 10  # by the square: minutes
