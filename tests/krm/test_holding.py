"""Whether a sign stands in a span: the text remembers where it looked, and the order of questions must not show."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from krmfn.krm import source as module
from krmfn.krm.source import Source

SIGNS = some.sampled_from([b"a", b"ab", b"ba\n"])


@given(
    data=some.text("ab\n", max_size=60),
    asked=some.lists(some.tuples(some.integers(0, 70), some.integers(0, 70), SIGNS)),
    ahead=some.integers(1, 20),
)
def test_every_answer_is_that_of_find(data: str, asked: list[tuple[int, int, bytes]], ahead: int) -> None:
    source = Source(data.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LARGE", ahead)
        for start, length, sign in asked:
            end = min(start + length, len(source.data))
            assert source.holds(sign, start, end) == (source.data.find(sign, start, end) >= 0)
