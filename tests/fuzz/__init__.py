"""A fuzzer of histories: random bodies, random updates, random queries; every answer is compared with two oracles.

    case_of(seed)     a case: plain JSON data, bodies and steps            cases.py, meshes.py, probes.py, options.py
    play(case)        runs it, compares every answer, lists differences    play.py, world.py, compare.py, reference.py
    minimise(case)    a smaller case with the same fault                   minimise.py
    run(seconds)      many cases in child processes, and a summary         run.py, child.py

`world.Model` computes where vertices are without the library. The first oracle is a fresh body made there, with other options: answers
must be equal to the bit. The second is the exact reference of `tests/naive*.py`. `docs/fuzzing.md` is the page for contributors.
"""
