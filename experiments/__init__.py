"""The experiments of five documents, a folder a paper (README.md says which): python -m experiments NAME.

An experiment gives runs: one method on one scene, step by step, as plain dictionaries that go into a JSON file. Tables, plots and pages
of the documentation are all worked out from that file.
"""
