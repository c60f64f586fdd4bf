"""Check an animation: find collisions in every frame, keep them in a journal, write a report."""
