"""Faults that may be put into a source, and a draw of them by a seed, for tools/mutants.py.

Candidates are found in the syntax tree, with their places in the file; a fault replaces these bytes and no others. Half of those drawn are
in compiled functions, half in the rest of src/pliant. First a file is drawn, by its number of candidates or MOST, then a
kind of fault, then a place. Text of messages, annotations, decorators and what only changes speed are left out.
"""

import ast
import random
import re
from typing import NamedTuple

MOST = 60                                                               # candidates of a file that count when a file is drawn
COMPILED = {"kernel", "helper", "routine", "register", "overload", "device_function", "cuda_kernel", "cooperative_kernel",
            "instruction"}                                              # decorators
TALK = {"print", "warn", "echo", "log", "debug", "info"}
SPEED = re.compile(r"(?i)cost|chunk|batch|prefetch|patience|threads|seconds|_after$|^gc$|^_?room$")
OPERATORS = {"<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",), "!=": ("==",), "is": ("is not",),
             "is not": ("is",), "in": ("not in",), "not in": ("in",), "and": ("or",), "or": ("and",), "+": ("-",), "-": ("+",),
             "*": ("+", "/"), "/": ("*",), "//": ("*",), "%": ("//",), "**": ("*",), "&": ("|",), "|": ("&",), "^": ("&",), "<<": (">>",),
             ">>": ("<<",)}
SWAPPED = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "fmin": "fmax", "fmax": "fmin", "argmin": "argmax",
           "argmax": "argmin", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"}
EITHER_WAY = {"min", "max", "minimum", "maximum", "isinstance", "hypot", "zip", "print", "getattr"}     # arguments that nobody swaps


class Mutant(NamedTuple):
    """Bytes start to end of a file become `after`."""
    path: str                                                           # below src/pliant
    line: int
    kind: str
    compiled: bool
    start: int
    end: int
    before: str
    after: str

    def of(self, source):
        """The source with the fault."""
        return source[:self.start] + self.after.encode() + source[self.end:]


def name_of(node):
    """The last part of a name or call: `on` of @overlap.on(Box, Box)."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_compiled(node):
    return any(name_of(each) in COMPILED for each in node.decorator_list)


def parts(node):
    """The children of a node in which a fault would be one of the program."""
    if isinstance(node, ast.FunctionDef):
        return [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
    if isinstance(node, ast.ClassDef):
        return node.body
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return []
    if isinstance(node, ast.AnnAssign):
        return [node.value] if node.value and not SPEED.search(name_of(node.target)) else []
    if isinstance(node, ast.Assign) and any(SPEED.search(name_of(each)) or name_of(each) == "__all__" for each in node.targets):
        return []
    if isinstance(node, ast.If) and name_of(node.test) == "TYPE_CHECKING":
        return node.orelse
    if isinstance(node, ast.Call) and (name_of(node) in TALK or SPEED.search(name_of(node))):
        return []
    if isinstance(node, ast.keyword) and SPEED.search(node.arg or ""):
        return []
    return [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.arguments)]


def walk(node, compiled, twice):
    """Nodes below this one, whether they are compiled, and the names that their function has from before, by the line of the first."""
    for child in parts(node):
        yield child, compiled, twice
        if isinstance(child, ast.FunctionDef):
            names = {each.arg: child.lineno for each in ast.walk(child.args) if isinstance(each, ast.arg)}
            for each in ast.walk(child):
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                    names[each.id] = min(each.lineno, names.get(each.id, each.lineno))
            yield from walk(child, is_compiled(child) or (compiled and bool(twice)), names)
        else:
            yield from walk(child, compiled, twice)


class Finder:
    """All faults that may be put into a source."""

    def __init__(self, source):
        self.source, self.starts = source, [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node):
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node):
        return self.source[slice(*self.span(node))].decode()

    def between(self, left, right):
        """Faults of the operator between two nodes, if nothing else is there but brackets."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.source[start:end].decode()
        operator = gap.strip(" \n\t\\()").removesuffix("=") if isinstance(right, ast.AugAssign) else gap.strip(" \n\t\\()")
        at = start + gap.find(operator)
        return [(at, at + len(operator), other) for other in OPERATORS.get(operator, ())]

    def faults(self, node, compiled, twice):
        """(kind, start, end, new text) of the faults of one node."""
        if isinstance(node, ast.Compare):
            for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
                yield from (("comparison", *each) for each in self.between(left, right))
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from (("and, or", *each) for each in self.between(left, right))
        elif isinstance(node, ast.BinOp) and not any(isinstance(each, ast.JoinedStr | ast.List | ast.Tuple) or is_text(each)
                                                     for each in (node.left, node.right)):
            yield from (("arithmetic", *each) for each in self.between(node.left, node.right))
        elif isinstance(node, ast.AugAssign):
            start, end = self.span(node.target)[1], self.span(node.value)[0]
            operator = self.source[start:end].decode().strip(" (").removesuffix("=")
            at = self.source.index(operator.encode(), start)
            yield from (("arithmetic", at, at + len(operator), other) for other in OPERATORS.get(operator, ())[:1])
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield from (("constant", *self.span(node), repr(node.value + step)) for step in (1, -1) if node.value + step != node.value)
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            yield "constant", *self.span(node), str(not node.value)
        elif isinstance(node, ast.Call):
            yield from self.faults_of_call(node)
        elif isinstance(node, ast.Return) and node.value is not None:
            yield from self.faults_of_return(node.value, compiled)
        if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Constant):
            yield "negated", *self.span(node.test), f"not ({self.text(node.test)})"
        if twice is not None and self.is_removable(node, twice):
            yield "removed", *self.span(node), "pass"

    def faults_of_call(self, call):
        name, end = name_of(call), self.span(call.func)[1]
        if name in SWAPPED:
            yield "min, max", end - len(name), end, SWAPPED[name]
        if name not in EITHER_WAY and not any(isinstance(each, ast.Starred) for each in call.args):
            for one, other in zip(call.args, call.args[1:], strict=False):
                if self.text(one) != self.text(other) and not (is_text(one) or is_text(other)):
                    (start, stop), (begin, end) = self.span(one), self.span(other)
                    yield "arguments", start, end, self.text(other) + self.source[stop:begin].decode() + self.text(one)

    def faults_of_return(self, value, compiled):
        if isinstance(value, ast.Compare | ast.BoolOp) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)):
            yield "returned", *self.span(value), f"not ({self.text(value)})"
        elif isinstance(value, ast.Tuple) and len(value.elts) > 1:
            one, other = value.elts[:2]
            if self.text(one) != self.text(other):
                yield ("returned", self.span(one)[0], self.span(other)[1],
                       self.text(other) + self.source[self.span(one)[1]:self.span(other)[0]].decode() + self.text(one))
        elif not compiled and not isinstance(value, ast.Constant):
            yield "returned", *self.span(value), "None"

    def is_removable(self, node, known):
        """A call, or an assignment to what was there before: without it the function still runs."""
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Call) and name_of(node.value) not in TALK and not SPEED.search(name_of(node.value))
        if isinstance(node, ast.AugAssign):
            return not SPEED.search(name_of(node.target))
        return isinstance(node, ast.Assign) and all(
            known.get(each.id, node.lineno) < node.lineno if isinstance(each, ast.Name) else isinstance(each, ast.Attribute | ast.Subscript)
            for each in node.targets) and not any(SPEED.search(name_of(each)) for each in node.targets)


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def mutants_of(path, source):
    """All faults of one file; a few of them Python may refuse."""
    tree, finder = ast.parse(source), Finder(source)
    compiled = any(isinstance(node, ast.FunctionDef) and is_compiled(node) for node in ast.walk(tree))
    for node, inside, known in walk(tree, compiled, None):
        for kind, start, end, new in finder.faults(node, inside, known):
            yield Mutant(path, node.lineno, kind, inside, start, end, source[start:end].decode(), new)


def parses(source):
    """Does Python compile it?"""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def candidates(root):
    """All faults of src/pliant: of compiled functions and of others, by file and kind."""
    pools = {True: {}, False: {}}
    for file in sorted((root / "src" / "pliant").rglob("*.py")):
        path = file.relative_to(root / "src" / "pliant").as_posix()
        for each in mutants_of(path, file.read_bytes()):
            pools[each.compiled].setdefault(path, {}).setdefault(each.kind, []).append(each)
    return pools


def draw(root, seed, pools=None):
    """Faults without end, the same for the same seed and tree; none twice."""
    pools = pools or candidates(root)
    weights = {turn: [min(MOST, sum(map(len, kinds.values()))) for kinds in pool.values()] for turn, pool in pools.items()}
    chance, turn, seen = random.Random(seed), True, set()
    while True:
        kinds = pools[turn][chance.choices(list(pools[turn]), weights[turn])[0]]
        found = chance.choice(kinds[chance.choice(list(kinds))])
        if found not in seen and parses(found.of((root / "src" / "pliant" / found.path).read_bytes())):
            seen.add(found)
            turn = not turn
            yield found
