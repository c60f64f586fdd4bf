"""How many prims a USD stage may be composed of, before it is composed: references to references unfold exponentially.

Prims are counted from their specs, layer stack by layer stack: a prim, what is below it, and what it refers to, inherits or specialises.
Of variants of one set the largest counts. Where a path leads through a prim that has others by reference, all of that tree counts, so that
the count is an estimate from above.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pliant.io.limits import refuse

MAX_PRIMS = 2_000_000
ARCS = ("references", "payload", "inheritPaths", "specializes", "variantSetNames")


class Layers(NamedTuple):
    """All layers of a stage."""

    by_name: dict[str, Any]
    references: dict[tuple[str, str], str]  # the layer that a layer means by a name


def count_prims(path: Path, layers: Layers, root: str) -> int:
    """How many prims a stage may unfold to; refused if it is more than `MAX_PRIMS`."""
    count = _PrimCounter(layers).prims(root, "/")
    if count > MAX_PRIMS:
        raise refuse(path, f"may unfold to {count:,} prims, at most {MAX_PRIMS:,} are read")
    return count


class _PrimCounter:
    """Counts prims of stacks of layers, each once; a circle, which composition refuses, counts nothing."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self.counts: dict[tuple[str, str], int] = {}
        self.stacks: dict[str, list[str]] = {}

    def stack(self, name: str) -> list[str]:
        """A layer and the layers below it."""
        if name not in self.stacks:
            found, waiting = dict[str, None](), [name]
            while waiting:
                each = waiting.pop()
                if each not in found:
                    found[each] = None
                    waiting += [self.layers.references[each, below] for below in self.layers.by_name[each].subLayerPaths]
            self.stacks[name] = list(found)
        return self.stacks[name]

    def prims(self, name: str, at: str) -> int:
        """Of the prim at this path of a stack."""
        if (name, at) not in self.counts:
            self.counts[name, at] = 0
            specs = [(each, spec) for each in self.stack(name) if (spec := self.layers.by_name[each].GetPrimAtPath(at))]
            below = {str(child.path) for _, spec in specs for child in spec.nameChildren}
            total = bool(specs) + sum(self.prims(name, child) for child in below)
            self.counts[name, at] = min(total + sum(self._arc_prims(name, each, spec) for each, spec in specs), 1 << 62)
        return self.counts[name, at]

    def _arc_prims(self, name: str, layer: str, spec: Any) -> int:
        """What a spec brings in from elsewhere."""
        if not any(spec.HasInfo(key) for key in ARCS):
            return 0
        total = 0
        for items in (spec.referenceList, spec.payloadList):
            for item in items.GetAddedOrExplicitItems():
                target = self.layers.references[layer, item.assetPath] if item.assetPath else name
                total += self._target_prims(target, str(item.primPath) or f"/{self.layers.by_name[target].defaultPrim}")
        for items in (spec.inheritPathList, spec.specializesList):
            total += sum(self._target_prims(name, str(item.MakeAbsolutePath(spec.path))) for item in items.GetAddedOrExplicitItems())
        for variants in spec.variantSets.values():
            total += max((self.prims(name, str(variant.primSpec.path)) for variant in variants.variants.values()), default=0)
        return total

    def _target_prims(self, name: str, at: str) -> int:
        """The prim at this path; where one above it brings in something, which it may have from there, all of that."""
        above = "/".join(at.split("/")[:2])
        walk = at.rpartition("/")[0]
        while walk:
            specs = [self.layers.by_name[each].GetPrimAtPath(walk) for each in self.stack(name)]
            if any(spec and spec.HasInfo(key) for spec in specs for key in ARCS):
                return self.prims(name, above)
            walk = walk.rpartition("/")[0]
        return self.prims(name, at)
