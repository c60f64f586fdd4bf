"""Names are those of the field: retired identifiers, modules and phrases come back nowhere.

Each table says what replaced what. Identifiers are those of Python's syntax: functions, classes, arguments, variables, attributes,
keywords, imports, and fields of records (`record["name"]`). Prose is the documentation, and the comments and strings of the package.
`CHANGELOG.md` is history: it may say what things were called.

`python tests/test_names.py` prints what is found.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/pliant/"
FOLDERS = ("src", "tests", "benchmarks", "experiments", "examples", "tools", "docs")
PAGES = ("*.md", "docs/**/*.md", "experiments/**/*.md", "examples/*.rst")

# Files that name what is retired on purpose: this table; and the recorder of answers, which also runs on checkouts from before the renames
# and has a block of old names (`OLD`) to do so.
EXEMPT = {"tests/test_names.py", "tools/record.py", "CHANGELOG.md"}

# --- identifiers -------------------------------------------------------------------------------------------------------------------------

# Retired in every file.
RETIRED = {
    # public names
    "Separation": "Distance", "Visible": "VisibleFaces", "Grid": "UniformGrid", "Nodes": "MeshlessNodes", "heed": "unignore",
    "plus": "+", "n_x": "n_exact", "undecided": "unresolved", "responses": "push_directions", "slabcutball2": "double_slabcutball",
    "Family": "VolumeType", "family": "volume_type", "Question": "CheckOptions", "Asked": "PairFilter", "Lane": "FrameWorker",
    "Cast": "ReportMeta", "Story": "ReportData", "story": "report_data", "Character": "ReportBody",
    "Meeting": "Contact",
    # the core of a query
    "Shape": "Bvh", "freshen": "refresh", "follow": "refit", "plant": "set_tree", "know": "set_context", "mind": "policy_state",
    "Mind": "the class of a policy's state", "doubt": "error_bound", "slack": "margin", "SLACK": "MARGIN", "placement": "transform",
    "itself": "is_self", "seen_box": "box_to_frame_a", "unwanted": "skip_pair", "settle": "exact_test", "pierce": "ray_interval",
    "skew": "sat_cross_axes", "TurnedBox": "RotatedBox", "strangers": "non_adjacent", "keyed": "key_poses",
    "wander": "trace_single", "march": "trace_packet", "stroll": "trace_stackless", "see": "query_body", "bring": "transform_rays",
    "gaze": "ray", "gazes": "batch", "sight": "leaf", "low_name": "unpack_low", "glance": "sample", "Glance": "QualitySample",
    "trial": "test_build", "worn": "degraded", "wear": "degradation",
    # SIMD
    "greatest": "maximum", "magnitude": "abs",
    # metaphors, and words of several meanings
    "beasts": "what they are", "board": "counters, canvas", "desk": "kernel_args", "spool": "temp_frames", "feet": "closest_features",
    "faraway": "far_field", "near_by": "leaf_distance", "nearpoint": "point_bounds", "pointgap": "point_triangle",
    "leafpair": "leaf_overlap", "pointsearch": "closest_point", "checkcontrols": "validate_rig", "LARGEST": "MAX_ and what",
    "ROOM": "CAPACITY, SPACING", "View": "what it is a view of",
}

# Retired in the package. Elsewhere they are plain words: tests ask and are told, a `way` is a direction, what is `whole` has no parts.
RETIRED_IN_PACKAGE = {
    "FEW": "what is few", "about": "context", "apart": "separated", "around": "enclosing", "ask": "query", "given": "what it is",
    "kept": "what it is", "least": "minimum", "look": "dispatch", "loose": "rotation_error", "meet": "intersect", "middle": "center",
    "placed": "transformed", "plain": "in_filter_range", "seen": "to_frame_a", "thickness": "min_half_extent", "told": "what it is",
    "true": "up to date", "turned": "oriented", "visible": "frustum_cull", "way": "offset", "ways": "frames", "whole": "bounds",
}

# Words of the tables of renames that are left out, because they are right in another sense:
# - of Python, NumPy and libraries: key and keys (of sorting), bits, first, root, tell and touch (of files), box, order, call, files, local;
# - of the field: lanes, corners, leaves, links, fans, fit, front, marks (bits of a set), carry (of sums), span (of vectors, of time),
#   near and far (of rays), packed (of bits), poses, mirror and shadows (of pictures), part (of a mesh), place (an index; `Elastic.place`);
# - public names that stay: points, between, within, neighbours, traversal; sat and descend as fields of `Traversal`;
# - nothing else is as short: found, many, fresh, sides, wide, ball; `Surface`, which has one meaning left.

# Keys of files that were written before: of runs of the experiments.
FILE_FIELDS = {"skew"}

# Keywords of calls: the function, and what its argument was called.
RETIRED_KEYWORDS = {
    ("Body", "keys"): "key_poses", ("Body", "poses"): "build_poses", ("update", "key"): "key_pose",
    **{(query, name): f"traversal=Traversal({name}=…)" for name in ("sat", "descend")
       for query in ("collide", "self_collide", "distance", "within", "first_contact")},
}

# --- modules -----------------------------------------------------------------------------------------------------------------------------

# Folder below src/pliant: modules that it had, by their names of then. Folders that took such a name (`io/gltf`) are not retired.
RETIRED_MODULES = {
    "": "bench bodyfile grid",
    "broadphase/": "fresh lists order pairset",
    "check/": "ask outcome record tell",
    "cli/": "bench ends",
    "core/": "call check checkcontrols checkviews deferred devicearray devicearray_cuda grid_cuda keys records tables",
    "geometry/": "axes ball fans feet gaps lanes near nearpoint neighbours pointgap rays triangles wide",
    "image/": "around_cpu ask ask_cuda board closed desk meet meet_cpu meet_cuda pack pack_cpu pack_cuda settle",
    "io/": "apart cells guard hdf markup obj off part ply pointcache pointers series served stl usdmeshes usdscene vtkarrays vtklegacy "
           "vtkxml xdmf",
    "motion/": "limited shares",
    "query/": "approach bring closest contacts crowd cull distance drive faraway firstcontact gazes grid leafpair many nearby packet "
              "placed pointsearch roots search selfcollide sight stackless within",
    "refit/": "files front keyed leaves local volumes",
    "render/": "museum nine paths reading scenefile show stage",
    "report/": "outlines spool story",
    "tree/": "links pairing",
    "tune/": "play",
    "volume/": "fit mixed packed slabcutball2 turned",
}
MODULES = {folder + name for folder, names in RETIRED_MODULES.items() for name in names.split()}
MODULE_FILE = re.compile(rf"(?<![\w/])(?:src/)?(?:pliant/)?({'|'.join(sorted(MODULES))})\.py\b")

# --- prose -------------------------------------------------------------------------------------------------------------------------------

PHRASES = {
    r"believed? in nothing": "readers validate every field",
    r"(make|makes|made|making|be) (it |them |things )?true (again|of|to|from|so)\b|makes? things true|true to (no|the) (frame|points)":
        "refit, refresh, up to date",
    r"follow(s|ed|ing)? (the|its|their) motions?\b": "refit",
    r"who is under whom": "BVH topology and builders",
    r"(?<!attack\.)(?<!figures )\bfamil(y|ies)\b": "bounding-volume type",  # families of points in attacks; the name of an experiment
    r"\b(are|is a|of|with) strangers?\b(?!')": "non-adjacent faces",
    r"neighbour(s|ing)? faces?\b|(triangles|faces) (that )?are neighbours|neighbours (in a mesh|always touch|(are )?(ignored|compared))"
    r"|leaving neighbours out": "adjacent faces",
    r"\bof two minds\b": "where direction signs differ",
    r"\blost (its|their) minds?\b": "whose state may be corrupt",
    r"hold in their hands": "the main user-facing class",
    r"\bpass(es)? faster\b": "counts towards the rebuild schedule",
    r"that are no (rays|bodies|numbers)\b": "invalid",
    r"is said by name|\bis wrong with (it|them) is said": "raises an error that names",
    r"move that parts them": "minimum translation distance",
    r"(?<!barycentric coordinates: )weights of the (face's )?second and third": "barycentric coordinates",
    r"\bturned box": "oriented box, rotated box",
    r"\bglances?\b": "sample",
    r"\bgaz(e|es|ing)\b": "rays",
    r"\b(worn|wears?)\b": "degraded, degradation",
    r"\bfreshen": "refresh",
    r"\bproves itself\b": "is a valid bound",
    r"\bcomes? of it\b": "the result",
    r"what is to be (least|greatest)": "metric to minimise",
    r"so far there (are|is)\b": "supported",
    r"\bdesk\b|\bthe board\b": "kernel arguments, counters",
    r"keeps its shape, which": "does not support",
    r"\bpliant bench\b|\bpaper_[a-gms]\.py": "python -m experiments",
}
ANY_PHRASE = re.compile("|".join(PHRASES), re.IGNORECASE)
RETIRED_PHRASES = [(re.compile(pattern, re.IGNORECASE), better) for pattern, better in PHRASES.items()]

# --- the lint ----------------------------------------------------------------------------------------------------------------------------


class Hit(NamedTuple):
    path: str  # below the root
    line: int
    name: str
    better: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.name} is retired: {self.better}"


def identifiers(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """(line, name) of all identifiers of a file."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.keyword(arg=str(name)) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield node.lineno, name
            case ast.alias(name=name, asname=other):
                yield from ((node.lineno, each) for each in (*name.split("."), *([other] if other else [])))
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from ((node.lineno, each) for each in names)
            case ast.Subscript(slice=ast.Constant(value=str(name))):
                yield node.lineno, name


def retired_identifiers(nodes: list[ast.AST], in_package: bool) -> Iterator[tuple[int, str, str]]:
    """(line, name, better) of retired identifiers, and of retired keywords of a call."""
    fields = {(node.lineno, node.slice.value) for node in nodes
              if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)}
    for line, name in identifiers(nodes):
        is_field = (line, name) in fields
        if name in RETIRED and not (is_field and name in FILE_FIELDS):
            yield line, name, RETIRED[name]
        elif in_package and name in RETIRED_IN_PACKAGE and not is_field:
            yield line, name, RETIRED_IN_PACKAGE[name]
    for node in nodes:
        if isinstance(node, ast.Call):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for keyword in node.keywords:
                if (function, keyword.arg) in RETIRED_KEYWORDS:
                    yield node.lineno, f"{function}({keyword.arg}=…)", RETIRED_KEYWORDS[function, str(keyword.arg)]


def imported_modules(path: str, nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """(line, module) of what a file imports of the package, as paths below it; what is imported from a module may be one, too."""
    package = path.removeprefix("src/").split("/")[:-1] if path.startswith(PACKAGE) else []
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.startswith("pliant."):
                yield node.lineno, name.removeprefix("pliant.").replace(".", "/")


def lint_code(path: str, text: str) -> Iterator[Hit]:
    """Retired identifiers and modules of a Python file, and files of retired modules that it names."""
    nodes, in_package = list(ast.walk(ast.parse(text, path))), path.startswith(PACKAGE)
    own = path.removeprefix(PACKAGE).removesuffix(".py")
    if in_package and own in MODULES:
        yield Hit(path, 1, own, "the module has a new name")
    for line, name, better in retired_identifiers(nodes, in_package):
        yield Hit(path, line, name, better)
    for line, name in imported_modules(path, nodes):
        if name in MODULES:
            yield Hit(path, line, name, "the module has a new name")
    for line, words in enumerate(text.splitlines(), 1):
        for found in MODULE_FILE.finditer(words):
            yield Hit(path, line, found[0], "the file has a new name")


def lint_prose(path: str, lines: list[tuple[int, str]], in_package: bool = False) -> Iterator[Hit]:
    """Retired phrases, and retired identifiers between backticks."""
    for number, line in lines:
        for pattern, better in RETIRED_PHRASES if ANY_PHRASE.search(line) else []:
            if found := pattern.search(line):
                yield Hit(path, number, found[0], better)
        for code in re.findall(r"`([^`]+)`", line):
            table = RETIRED | RETIRED_IN_PACKAGE if in_package and code.isidentifier() else RETIRED
            for name in re.findall(r"[A-Za-z_]\w*", code):
                if name in table:
                    yield Hit(path, number, f"`{code}`", table[name])


def prose_of(text: str) -> list[tuple[int, str]]:
    """(number, line) of the comments and strings of a Python file."""
    found: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            found += enumerate(token.string.splitlines(), token.start[0])
    return found


def lint_page(path: str, text: str) -> Iterator[Hit]:
    """What is retired in a page. What CONTRIBUTING.md shows as written before is meant to be wrong."""
    lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if not line.startswith("> before:")]
    yield from lint_prose(path, lines)
    for number, line in lines:
        for found in MODULE_FILE.finditer(line):
            yield Hit(path, number, found[0], "the file has a new name")


def lint(root: Path) -> list[Hit]:
    """Everything retired below a root, in the order of files and lines."""
    found: set[Hit] = set()
    files = [*(path for folder in FOLDERS for path in (root / folder).rglob("*.py")), *(path for page in PAGES for path in root.glob(page))]
    for path in files:
        name = path.relative_to(root).as_posix()
        if name in EXEMPT:
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".py":
            found.update(lint_page(name, text))
            continue
        found.update(lint_code(name, text))
        if name.startswith(PACKAGE):
            found.update(lint_prose(name, prose_of(text), True))
    return sorted(found)


# --- tests -------------------------------------------------------------------------------------------------------------------------------

def test_no_retired_names() -> None:
    found = lint(ROOT)
    assert not found, "\n".join([f"retired names: {len(found)}", *map(str, found)])


def test_every_exempt_file_is_there() -> None:
    assert all((ROOT / name).exists() for name in EXEMPT)


def test_what_replaces_a_name_is_not_retired() -> None:
    replacements = [*RETIRED.values(), *RETIRED_IN_PACKAGE.values(), *RETIRED_KEYWORDS.values()]
    assert not {word for better in replacements for word in better.split(", ")} & (RETIRED.keys() | RETIRED_IN_PACKAGE.keys())


def test_retired_names_are_found(tmp_path: Path) -> None:
    files = {
        "src/pliant/query/drive.py":
            '"""Who is under whom; see `heed`, and query/gazes.py."""\nfrom . import sight\nfrom ..image import desk\n',
        "src/pliant/body.py":
            "def follow(way):  # makes things true\n    return f'{way.doubt}', way['slack'], way['given']\n",
        "src/pliant/scene.py":
            "import pliant.query.ray.batch\nfrom pliant.query.collide.contacts import x\nkeys = sorted(x, key=len)  # a true fan\n",
        "tests/test_it.py":
            "from pliant.geometry import feet as closest\nway = collide(a, b, sat='lite')\nway.n_x = Traversal(sat='full')\n",
        "examples/one.py":
            "body = pl.Body(v, f, keys=v)\nbody.update(v, key=1)\nlambda Grid: sorted(key=1)\n",
        "docs/page.md":
            "A family of volumes.\n> before: Believed in nothing.\n`strangers`, a box.\n`src/pliant/io/guard.py`, `a/io/guard.py`\n",
        "CHANGELOG.md":
            "`heed`: a family of volumes.\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [(hit.path, hit.line, hit.name) for hit in lint(tmp_path)] == [
        ("docs/page.md", 1, "family"),
        ("docs/page.md", 3, "`strangers`"),
        ("docs/page.md", 4, "src/pliant/io/guard.py"),
        ("examples/one.py", 1, "Body(keys=…)"),
        ("examples/one.py", 2, "update(key=…)"),
        ("examples/one.py", 3, "Grid"),
        ("src/pliant/body.py", 1, "follow"),
        ("src/pliant/body.py", 1, "makes things true"),
        ("src/pliant/body.py", 1, "way"),
        ("src/pliant/body.py", 2, "doubt"),
        ("src/pliant/body.py", 2, "slack"),
        ("src/pliant/body.py", 2, "way"),
        ("src/pliant/query/drive.py", 1, "Who is under whom"),
        ("src/pliant/query/drive.py", 1, "`heed`"),
        ("src/pliant/query/drive.py", 1, "gazes"),
        ("src/pliant/query/drive.py", 1, "query/drive"),
        ("src/pliant/query/drive.py", 1, "query/gazes.py"),
        ("src/pliant/query/drive.py", 2, "query/sight"),
        ("src/pliant/query/drive.py", 2, "sight"),
        ("src/pliant/query/drive.py", 3, "desk"),
        ("src/pliant/query/drive.py", 3, "image/desk"),
        ("tests/test_it.py", 1, "feet"),
        ("tests/test_it.py", 1, "geometry/feet"),
        ("tests/test_it.py", 2, "collide(sat=…)"),
        ("tests/test_it.py", 3, "n_x"),
    ]


if __name__ == "__main__":
    print(*lint(ROOT), sep="\n")
