"""glTF 2.0: meshes, morph targets, skins and animations."""
