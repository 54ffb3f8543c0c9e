"""Fuzzers: each module with a `check` is one oracle, run by `./dev fuzz` and, for a few cases, by the tests.

An oracle is a file: its docstring says what holds, `check(random)` makes one case of a random source and raises
AssertionError where it does not hold. Any other exception is a finding, too. `CASES` is how many cases the ordinary
tests run (default 200); `versions()` names the programs that were asked, for the record; `missing()` gives a reason
when one of them is not there; `record()` keeps answers of theirs, and `replay()` compares with them everywhere.
"""
