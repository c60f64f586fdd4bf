"""Image-space collision detection on CPU and GPU (Georgii, Krüger and Westermann 2007)."""
