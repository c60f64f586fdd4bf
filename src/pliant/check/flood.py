"""Pieces of a mesh that are reached from some vertices over faces that are not crossed."""

from typing import Any

from pliant.core.jit import kernel


@kernel  # type: ignore[untyped-decorator]
def flood(faces: Any, starts: Any, incident: Any, crossed: Any, seeds: Any, joined: Any, most: int, piece: Any, order: Any,
          unfinished: Any) -> tuple[int, int]:  # fmt: skip
    """Number the pieces: (vertices that were reached, pieces). Piece p of vertex v is piece[v], −1 before; reached vertices go to `order`.

    The faces (f, 3) of vertex v are incident[starts[v] : starts[v + 1]]; crossed (f,) are borders of pieces, but edges of these between two
    vertices that are `joined` (n,) belong to a piece. A piece of more than `most` vertices is left, and unfinished[p] set; so is that of a
    piece that turns out to be part of such a one."""
    count, pieces = 0, 0
    for seed in seeds:
        if piece[seed] >= 0:
            continue
        label, begin, head = pieces, count, count
        pieces += 1
        piece[seed], order[count] = label, seed
        count += 1
        while head < count:
            if count - begin > most:
                unfinished[label] = True
                break
            vertex = order[head]
            head += 1
            for k in range(starts[vertex], starts[vertex + 1]):
                face = incident[k]
                for corner in range(3):
                    other = faces[face, corner]
                    if crossed[face] and not joined[other]:
                        continue
                    if piece[other] < 0:
                        piece[other], order[count] = label, other
                        count += 1
                    elif piece[other] != label:
                        unfinished[label] = True
    return count, pieces


@kernel  # type: ignore[untyped-decorator]
def join_pieces(corners: Any, surfaces: Any) -> None:
    """surfaces[p] = the lowest piece of the surface of piece p: faces whose corners (k, 3) are in several pieces, −1 for none, join these.
    Before, surfaces[p] = p."""
    for k in range(len(corners)):
        for c in range(3):
            one, other = corners[k, c], corners[k, (c + 1) % 3]
            if one < 0 or other < 0:
                continue
            while surfaces[one] != one:
                surfaces[one] = surfaces[surfaces[one]]
                one = surfaces[one]
            while surfaces[other] != other:
                surfaces[other] = surfaces[surfaces[other]]
                other = surfaces[other]
            surfaces[max(one, other)] = min(one, other)
    for piece in range(len(surfaces)):
        surfaces[piece] = surfaces[surfaces[piece]]
