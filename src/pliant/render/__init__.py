"""Pictures of moving scenes by ray tracing: a user of rays, and the renderer of thesis C (sections 7.4 and 7.5).

    camera ──▶ frames ──▶ images
                 │
      shows, scenefile ──▶ stage ──▶ shade ──▶ pl.cast, pl.occluded

`camera` makes rays, `shade` follows them through a `stage`, `sampling` says which pixels are traced and fills in the others, `frames` puts
that together a frame at a time, `images` writes files. Shading is NumPy over many rays at once; all geometry is asked of the library.
"""
