"""Check an animation: what meets in every frame, written down so that nothing is lost, and told in a report."""
