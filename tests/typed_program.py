"""A user's program: it passes a type checker in basic mode."""
import numpy as np

import pliant as pl
from pliant import shapes

vertices, faces = shapes.icosphere(2)
cloth = pl.Body(vertices, faces, volume="aabb", policy={"name": "hybrid", "depth": 3})
tool = pl.Body.rigid(vertices.tolist(), faces.tolist(), leaf=4)
face = pl.Body.morph([vertices, 2 * vertices], faces, rest="mean")
fish = pl.Body.blended(vertices, faces, np.ones((len(vertices), 1)))
cloth.update(vertices, copy=False)
cloth.update(vertices[:1], changed=[0])
tool.update(np.eye(4))
face.update([0.5, 0.5], transform=np.eye(4))
fish.update(np.eye(4)[None])
low, high = cloth.bounds
pairs = pl.collide(cloth, tool)
for f, g in pairs.faces:
    print(f, g, pairs.stats.n_v, pairs.segments is None)
contacts = pl.collide(cloth, tool, contacts=True)
print(contacts.segments.mean(), contacts.normals[0], contacts.depths.max())
print(pl.self_collide(cloth, adjacent="ignore", contacts=True).segments.shape)
print(pl.within(cloth, tool, 0.1).distances.min(), pl.within(cloth, tool, 0.1, points=True).points.shape)
print(pl.distance(cloth, tool).points[0], pl.self_distance(cloth).distance)
hits = pl.cast(cloth, [0, 0, 5], [0, 0, -1], traversal=pl.Traversal(rays="stackless"))
print(hits.t, hits.point, hits.normal, hits.uv)
hit = pl.pick(cloth, [0, 0, 5], [0, 0, -1])
if hit is not None:
    print(hit.point + hit.normal)
near = pl.closest(cloth, vertices, signed=True)
print(near.distance, near.point, near.normal)
within = pl.inside(cloth, vertices)
print(within.inside.sum(), within.winding_number, within.on_surface.any(), within.error.max(), within.stats.n_v)
scene = pl.Scene([cloth, tool])
arm = scene.add(face, name="arm", group="robot", box=None)
scene.update({arm: [1, 0], "arm": {"vertices": [1, 0]}})
scene.ignore("arm", tool)
found = scene.collide(contacts=True, first="each")
print(found.bodies, found.segments.shape, scene["arm"], [body for body in scene.bodies], dict(scene.items()))
print(pl.collide(fish, scene).bodies, pl.within(scene, fish, 0.1).distances)
image = pl.collide((vertices, faces), cloth, engine="image", mode="sampled", resolution=64)
print(image.image)
print(pl.frustum_cull(scene, matrix=np.eye(4)).face, pl.first_contact(cloth, tool, None, lambda time: np.eye(4)))
animation = pl.read("walk.glb")
print(animation.frames)
