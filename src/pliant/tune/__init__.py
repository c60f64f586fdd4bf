"""Which criterion of policy "inflated", and which parameters, suit an animation: a genetic search, as in thesis D, section IV.

    from pliant.tune import Animation, tune

    tuned = tune(Animation([(faces, frames), (other_faces, other_frames)]))
    body = pl.Body(vertices, faces, policy=tuned.policy)

`search.py` knows nothing of bodies: it lowers any score. `score.py` is the score: the work of an animation, without building. `state.py`
keeps what was scored, so that a search that was stopped goes on as if it had not been.
"""

from pliant.tune.animation import Animation, read_animation, read_animations
from pliant.tune.score import WEIGHTS
from pliant.tune.tuner import Report, Row, Tuned, tune

__all__ = ["WEIGHTS", "Animation", "Report", "Row", "Tuned", "read_animation", "read_animations", "tune"]
