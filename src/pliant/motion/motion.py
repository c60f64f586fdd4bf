"""What every motion has: where its record says that the body is, and what it is called and given.

`name` is that of the motion in files and policies, `kind` that of such a body and `input_name` what its `update` is given, in messages;
`additive`: are its shapes displacements from a base? `record` (1,) of `MOTION_DTYPE` (`free.py`) is read by kernels.
"""


class Motion:
    """`flat` (3 n,) are the vertices; what has not been set yet `complete` sets."""

    additive, repr_parts = False, ""                                    # parts: what it is made of besides vertices, for `repr`

    reach = property(lambda self: float(self._record["reach"]))
    in_filter_range = property(lambda self: bool(self._record["in_filter_range"]))

    @property
    def vertices(self):
        """(n, 3) float64: where the vertices are. Read-only, and true until the next update."""
        self.complete()
        rows = self.flat.reshape(-1, 3)
        rows.flags.writeable = False
        return rows

    def complete(self):
        """Set every vertex."""

    @property
    def given_origin(self):
        """The origin (3,) that the user has fixed, or None."""
        return self.origin[:3].copy() if self.fixed else None

    def arrange(self, vertices):
        """These will be set together, those of leaf after leaf: bring what sets them into that order, if there is anything to bring."""
