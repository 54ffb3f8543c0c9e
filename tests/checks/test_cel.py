"""Rules in CEL. That whole objects are judged as servers judge them is shown by the recorded answers."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.server.cel import EvaluationFailed, Unsupported, compile_rule
from tests.checks.definitions import visit_shipped


@pytest.mark.parametrize(
    ("rule", "value", "result"),
    [
        ("has(self.a) && self.a > 1 || self.b == 'x'", {"b": "x"}, True),
        ("!has(self.a) ? true : self.a.b in [1, 2]", {"a": {"b": 3}}, False),
        ("self.all(x, x.k != '' && size(x.k) <= 3)", [{"k": "ab"}, {"k": "abcd"}], False),
        ("self.exists(x, x.k == 1)", [{"j": 1}, {"k": 1}], True),
        ("self.all(x, x.k == 1)", [{"j": 1}, {"k": 2}], False),
        ("self.exists_one(x, x > 1)", [1, 2, 3], False),
        ("self.filter(x, x > 1).size() == 2 && self.map(x, x + 1)[0] == 2", [1, 2, 3], True),
        ("self[size(self) - 1] == -1", [2, -1], True),
        ("self.matches('^a+$') && self.startsWith('a') && !self.endsWith(\"b\") && self.contains('a')", "aa", True),
        (r"self.matches(r'^\d$') || self == 'a\'b'", "a'b", True),
        ("self == 1.5 || self < 1", 0, True),
        ("self > 0 || self in ['auto']", "auto", True),
        ("'a' in self && self['a'] == self.a && self.all(k, k == 'a')", {"a": 1}, True),
        ("self.m.__namespace__ == 'x' && has(self.m.a__dash__b)", {"m": {"namespace": "x", "a-b": 1}}, True),
        ("int(self) == 5 && string(5) == self && self + '!' == '5!'", "5", True),
        ("size(self.a) == 0 ? true : false ? true : false", {"a": [1]}, False),
        ("self == true", 1, False),
    ],
)
def test_values(rule: str, value: Any, result: bool) -> None:
    assert compile_rule(rule)({"self": value}) is result


@pytest.mark.parametrize(
    ("rule", "value", "told"),
    [
        ("self.a.b == 1", {}, "no such key: a"),
        ("self.all(x, x.k == 1)", [{"k": 1}, {}], "no such key: k"),
        ("self.a == 1 && true", {}, "no such key: a"),
        ("self.a == 1 || self.b == 1", {}, "no such key: a"),
        ("self[1] == 1", [0], "index out of bounds: 1"),
        ("self > 0", "x", "no such overload"),
    ],
)
def test_rules_that_fail(rule: str, value: Any, told: str) -> None:
    with pytest.raises(EvaluationFailed, match=told):
        compile_rule(rule)({"self": value})


@pytest.mark.parametrize(
    "rule",
    ["quantity(self).isGreaterThan(quantity('1'))", "self.?a.orValue(1) == 1", "isURL(self)", "self * 2 == 4",
     "self ==",
     "self.all(x)", "has(self)", "self @ 1", "(self", "self.split(',').size() == 1", "b'x' == self", "size(self, 1)",
     "'\\u0041' == self"],
)  # fmt: skip
def test_rules_that_are_not_evaluated(rule: str) -> None:
    with pytest.raises(Unsupported):
        compile_rule(rule)


@pytest.mark.parametrize("rule", ["self == oldSelf", "unknown == 1", "self && true", "self.a == 1", "-self == 1"])
def test_values_that_are_not_judged(rule: str) -> None:
    """Lists that differ only in their order may be the same; a value may have another type than the rule expects."""
    with pytest.raises(Unsupported):
        compile_rule(rule)({"self": [1, 2], "oldSelf": [2, 1]})


def test_rules_of_shipped_definitions_are_evaluated() -> None:
    rules = {
        rule["rule"]
        for value in visit_shipped()
        if isinstance(found := value.get("x-kubernetes-validations"), list)
        for rule in found
    }
    assert len(rules) > 50
    left = {rule for rule in rules if not is_evaluated(rule)}
    # The HTTPRoute in KServe's LLMInferenceService: has() of an indexed field, a raw string, durations. Grove's
    # PodCliqueSet: an old value that may be none.
    words = ("ReplacePrefixMatch", 'r"""', "duration(", "oldSelf.hasValue()")
    assert all(any(word in rule for word in words) for rule in left)
    assert len(left) == 9


def is_evaluated(rule: str) -> bool:
    try:
        compile_rule(rule)
    except Unsupported:
        return False
    return True
