"""What escapes look like. That nothing steers is what the fuzzer of hostile names is for (tests/fuzz)."""

from __future__ import annotations

from krmfn.reports import channels


def test_harmless_text_is_not_touched() -> None:
    text = 'PodGroup ml/träin-日本 spec.a[0]: Invalid value: "x"'
    assert channels.line(text) == channels.lines(text) == channels.github(text) == channels.dot(text).replace("\\", "")
    assert channels.code(text) == f"`{text}`"


def test_what_is_escaped_stays_visible() -> None:
    assert channels.line("a\x1bb\udcffc\u202ed\U000e0041") == "a\\x1bb\\xffc\\u202ed\\U000e0041"
    assert channels.line("::set-output") == "\\x3a:set-output"
    assert channels.line("##[group]") == "#\\x23[group]"
