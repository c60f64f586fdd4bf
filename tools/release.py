"""Build the source archive and the wheel of the last commit, check both, and put them into dist/. Nothing is uploaded.

    make release

The commit is copied to an empty folder, and `build` makes the archive there and the wheel from the archive, each in an environment of its
own. Then: metadata and README (`twine check`), one version everywhere, the files that are in them, and the wheel in a fresh environment,
where `pliant --version` and the first example run. Changes that are not committed are left out.
"""

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = "examples/00_minimal.py"
ADDED = {"PKG-INFO"}  # by the build, to the source archive


def run(*command, **options):
    """What a command prints. If it fails, so does the release, with its output."""
    command = [str(part) for part in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\nThe command left with status {done.returncode}. No release was made.")
    return done.stdout


def copy_commit(folder):
    """The files of the last commit in a folder, and its name."""
    commit = run("git", "-C", ROOT, "rev-parse", "--short", "HEAD").strip()
    left_out = run("git", "-C", ROOT, "status", "--porcelain").splitlines()
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return commit + (f"; not committed, and left out: {len(left_out)} changes" if left_out else "")


def version_of(tree):
    """The version in pyproject.toml, and what disagrees with it."""
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version, problems = project["version"], []
    for name, line in (("CITATION.cff", f"version: {version}"), ("src/pliant/__init__.py", f'__version__ = "{version}"')):
        if line not in (tree / name).read_text(encoding="utf-8").splitlines():
            problems.append(f"{name} has no line {line}")
    if f"\n## {version}" not in (tree / "CHANGELOG.md").read_text(encoding="utf-8"):
        problems.append(f"CHANGELOG.md has no heading for {version}")
    return version, problems


def files_below(folder):
    """Paths of all files below a folder, relative to it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def problems_of_source(names, tree):
    """What the source archive lacks or has too much, given its file names without the first folder."""
    committed = files_below(tree)
    needed = {name for name in committed if not name.startswith(".") or name.startswith(".ci/")}
    return [*(f"the source archive lacks {name}" for name in sorted(needed - names)),
            *(f"the source archive has {name}, which is not committed" for name in sorted(names - committed - ADDED))]


def problems_of_wheel(names, tree, version):
    """The same of the wheel: the package, its metadata, and nothing else."""
    package = {f"pliant/{name}" for name in files_below(tree / "src" / "pliant")}
    others = {name for name in names - package if not name.startswith(f"pliant-{version}.dist-info/")}
    return [*(f"the wheel lacks {name}" for name in sorted(package - names)), *(f"the wheel has {name}" for name in sorted(others))]


def try_wheel(wheel, tree, folder, version):
    """Install the wheel in a fresh environment and ask the first question."""
    venv.create(folder / "fresh", with_pip=True)
    scripts = folder / "fresh" / ("Scripts" if os.name == "nt" else "bin")
    run(scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    alone = {"cwd": folder, "env": os.environ | {"PLIANT_CACHE": str(folder / "cache")}}
    told = run(scripts / "pliant", "--version", **alone).strip()
    run(scripts / "python", "-I", tree / EXAMPLE, **alone)
    return [] if version in told.split() else [f"pliant --version says {told!r}, expected {version}"]


def main():
    with tempfile.TemporaryDirectory(prefix="pliant-release-") as name:
        folder = Path(name)
        tree, built = folder / "tree", folder / "built"
        tree.mkdir()
        print("commit", copy_commit(tree), flush=True)
        version, problems = version_of(tree)
        run(sys.executable, "-m", "build", "--outdir", built, tree)
        source, wheel = built / f"pliant-{version}.tar.gz", built / f"pliant-{version}-py3-none-any.whl"
        print(run(sys.executable, "-m", "twine", "check", "--strict", source, wheel).strip(), flush=True)
        with tarfile.open(source) as archive:
            problems += problems_of_source({entry.name.partition("/")[2] for entry in archive if entry.isfile()}, tree)
        with zipfile.ZipFile(wheel) as archive:
            problems += problems_of_wheel(set(archive.namelist()), tree, version)
        problems += try_wheel(wheel, tree, folder, version)
        if problems:
            sys.exit("\n".join([*problems, "No release was made."]))
        (ROOT / "dist").mkdir(exist_ok=True)
        for path in (source, wheel):
            shutil.copy(path, ROOT / "dist")
            print(f"sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}  dist/{path.name}  {path.stat().st_size:,} bytes")
    print(f"Pliant {version} is in dist/, checked. Nothing was uploaded.")


if __name__ == "__main__":
    main()
