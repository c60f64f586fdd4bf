"""USD: meshes, skins and time samples."""
