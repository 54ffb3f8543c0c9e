"""What `python -m tests.mutants` plants are mistakes: the same for a seed, and each changes the program."""

from __future__ import annotations

import ast

from tests.mutants import ROOT, choose


def test_a_seed_plants_the_same_mistakes_and_each_is_one() -> None:
    chosen = choose(30, 7, ())
    assert chosen == choose(30, 7, ())
    for mutant in chosen:
        text = (ROOT / mutant.path).read_text()
        assert ast.dump(ast.parse(mutant.apply(text))) != ast.dump(ast.parse(text)), mutant
