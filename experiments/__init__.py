"""The experiments of the papers, a folder for each (README.md lists them): python -m experiments NAME.

An experiment yields runs: one method on one scene, step by step, as plain dictionaries for a JSON file. Tables, plots and pages of the
documentation are computed from that file.
"""
