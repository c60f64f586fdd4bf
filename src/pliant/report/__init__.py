"""What a user sees of an answer: pictures now, whole reports later. Nothing below this layer imports it."""
