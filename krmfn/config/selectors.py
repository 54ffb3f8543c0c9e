"""Selectors over kind, namespace, name, labels and annotations. The text form of label selectors is that of
kubectl and kustomize (k8s.io/apimachinery `labels.Parse`). Knows no configuration and no gang.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from krmfn.krm.item import Item
from krmfn.krm.paths import Texts
from krmfn.model.gotext import parse_int
from krmfn.model.selectors import holds
from krmfn.model.values import Names


class SelectorError(ValueError):
    """A label selector that cannot be read. The message says what was expected where."""


class Requirement(NamedTuple):
    """One term of a label selector: `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt, as in its written form."""

    key: str
    operator: str
    values: Names = ()

    def matches(self, labels: Texts) -> bool:
        """Whether `labels` satisfy the term. `!=` and `notin` hold for an absent key, as in kubectl."""
        return holds(*self, labels)


class Selector(NamedTuple):
    """All parts must match; an empty part matches everything."""

    kinds: Names = ()
    namespaces: Names = ()
    names: Names = ()
    labels: tuple[Requirement, ...] = ()
    annotations: tuple[Requirement, ...] = ()

    def matches(self, item: Item) -> bool:
        """Whether `item` is selected. An absent namespace counts as `default`, too."""
        return (
            _any_matches(self.kinds, (item.kind, f"{item.kind}.{item.group}"))
            and _any_matches(self.namespaces, (item.namespace,) if item.namespace else ("", "default"))
            and _any_matches(self.names, (item.name,))
            and all(term.matches(item.labels) for term in self.labels)
            and all(term.matches(item.annotations) for term in self.annotations)
        )


def parse_requirements(text: str) -> tuple[Requirement, ...]:
    """Read a label selector such as `a=b,c!=d,e in (x,y),f,!g,h>1`. Blank text selects everything.

    Raises SelectorError.
    """
    return tuple(_parse_term(term, text) for term in _split_terms(text)) if text.strip() else ()


def match_glob(pattern: str, text: str) -> bool:
    """Whether `text` as a whole matches `pattern`, in which `*` stands for any characters.

    >>> match_glob("train-*", "train-7"), match_glob("train", "train-7")
    (True, False)
    """
    return fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))


def _any_matches(patterns: Names, texts: Names) -> bool:
    return not patterns or any(match_glob(pattern, text) for pattern in patterns for text in texts)


def _split_terms(text: str) -> Iterator[str]:
    """The terms between commas that are not inside parentheses."""
    start = depth = 0
    for place, char in enumerate(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    if depth:
        raise SelectorError(f"unbalanced parentheses in {text!r}")
    yield text[start:]


def _parse_term(term: str, text: str) -> Requirement:
    term = term.strip()
    if term.startswith("!") and "=" not in term:
        return Requirement(_check_key(term[1:].strip(), text), "DoesNotExist")
    for sign, operator in (("!=", "NotIn"), ("==", "In"), ("=", "In"), (">", "Gt"), ("<", "Lt")):
        key, found, value = term.partition(sign)
        if found:
            return Requirement(_check_key(key.strip(), text), operator, (_check_value(value.strip(), operator, text),))
    if term.endswith(")"):
        head, _, values = term[:-1].partition("(")
        words = head.split()
        if len(words) == 2 and words[1] in ("in", "notin"):
            operator = "In" if words[1] == "in" else "NotIn"
            return Requirement(_check_key(words[0], text), operator, tuple(map(str.strip, values.split(","))))
        raise SelectorError(f"{term!r} in {text!r} should read as: key in (a,b) or key notin (a,b)")
    return Requirement(_check_key(term, text), "Exists")


def _check_key(key: str, text: str) -> str:
    if key and all(char.isalnum() or char in "-_./" for char in key):
        return key
    raise SelectorError(f"{key!r} in {text!r} is not a valid label key")


def _check_value(value: str, operator: str, text: str) -> str:
    if operator in ("Gt", "Lt") and parse_int(value) is None:
        raise SelectorError(f"{'>' if operator == 'Gt' else '<'} in {text!r} needs a whole number, not {value!r}")
    # Annotation values may hold more than label values do; only what would read as another operator is refused.
    if any(char in value for char in "=!()<>"):
        raise SelectorError(f"{value!r} in {text!r} is not a valid label value")
    return value
