"""The papers' experiments, as commands: `pliant bench paper-a`, `-b`, `-c` and `-s`. Scenes, a fair clock, fits, tables and plots.

An experiment gives RUNS: one method on one scene, step by step, as plain dictionaries that go into a JSON file. Everything shown, tables,
plots and pages of the documentation, is worked out from that file.
"""
