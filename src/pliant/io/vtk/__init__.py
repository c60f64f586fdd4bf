"""VTK, XDMF and PVD: surfaces of simulation meshes and time series."""
