"""Checking an animation file
==========================

What `pliant check FILE` does, as a program that can stand in a pipeline: it finds all intersections in every frame of a file, and writes a
report, all pairs, and a summary.
"""
import json
import subprocess
import sysconfig
from pathlib import Path

import numpy as np

from pliant.shapes import folding_cloth

folder = Path("out/check")
folder.mkdir(parents=True, exist_ok=True)
cloth = folding_cloth(3_000, frames=24)
np.savez(folder / "cloth.npz", faces=cloth.faces, vertices=[cloth.frame(k) for k in range(cloth.frames)])

command = [Path(sysconfig.get_path("scripts")) / "pliant", "check", folder / "cloth.npz", "--out", folder / "result", "--overwrite"]
done = subprocess.run(command, capture_output=True, text=True, check=False)
print(done.stdout)
assert done.returncode == 1, done.stderr                    # 0: no collision; 1: collisions; 2: invalid input

summary = json.loads((folder / "result" / "summary.json").read_text())
with np.load(folder / "result" / "pairs.npz") as result:
    first, last = result["first"], result["last"]           # a row for each pair of triangles and interval of frames
n_pairs = np.array([np.count_nonzero((first <= frame) & (frame <= last)) for frame in range(cloth.frames)])
worst = int(n_pairs.argmax())
print(f"{n_pairs.sum():,} pairs in {np.count_nonzero(n_pairs)} of {cloth.frames} frames, most of them, {n_pairs[worst]}, in frame {worst}")
for event in summary["events"]:                             # runs of frames, the deepest first
    print(f"{event['names'][0]}, frames {event['first']} to {event['last']}, {event['depth_kind']} {event['depth']:.2g} deep")
assert summary["pairs"] == n_pairs.sum() and n_pairs[0] == 0 and n_pairs[worst] > 200
assert (folder / "result" / "report.html").stat().st_size > 100_000
