"""Values are those of the API machinery in Go, places those of libyaml, PyYAML and ruamel.yaml, for any YAML text.

Asked: sigs.k8s.io/yaml (values and refusals), go.yaml.in/yaml/v3 and PyYAML's constructor (where their values differ,
`problems` names the place), PyYAML's parser in Python and libyaml (nodes with their offsets), ruamel.yaml (lines and
columns of keys). `_explain` lists what one reader refuses and another does not.
"""

from __future__ import annotations

import json
import lzma
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from random import Random
from typing import Any

import ruamel.yaml
import yaml

from krmfn.krm import nodes
from krmfn.krm.composing import compose
from krmfn.krm.editing import same
from krmfn.krm.errors import Unreadable
from krmfn.krm.item import Item
from krmfn.krm.lines import read_lines
from krmfn.krm.paths import Path
from krmfn.krm.values import to_value
from tests.fuzz.frame import HERE
from tests.fuzz.programs import find_program, read_modules, start
from tests.fuzz.texts import write_any

PROGRAM = "readyaml"
VECTORS = HERE / "reading.json.xz"
RECORDED = 1500
CASES = 600
#: The share of the texts that are read by the parsers written in Python, too, which take most of the time.
SLOW = 0.25


def missing() -> str:
    return "" if find_program(PROGRAM) else "needs Go 1.24 or newer"


def versions() -> dict[str, str]:
    return {
        **read_modules(PROGRAM),
        "libyaml": ".".join(map(str, vars(yaml)["_yaml"].get_version())),
        "PyYAML": version("PyYAML"),
        "ruamel.yaml": version("ruamel.yaml"),
    }


def check(random: Random) -> None:
    """Read one text in all ways."""
    check_many([random])[0]()


def check_many(randoms: list[Random]) -> list[Callable[[], None]]:
    """As `check` for many texts, all of which Go is asked about at once."""
    texts = [write_any(random) for random in randoms]
    answers = start(PROGRAM, 2).ask_all([text.encode() for text in texts])
    slow = [random.random() < SLOW for random in randoms]
    return [
        partial(check_text, text, machinery, kustomize, each)
        for text, (machinery, kustomize), each in zip(texts, answers, slow, strict=True)
    ]


def record() -> None:
    """Keep the answers of Go for some texts, for machines without it."""
    cases = []
    for seed in range(RECORDED):
        text = write_any(Random(f"recorded {seed}"))
        answers = start(PROGRAM, 2).ask(text.encode())
        cases.append([text, *(answer.decode() for answer in answers)])
    VECTORS.write_bytes(lzma.compress(json.dumps(cases, ensure_ascii=False).encode()))


def replay() -> None:
    """Compare with the recorded answers."""
    for text, *answers in json.loads(lzma.decompress(VECTORS.read_bytes())):
        check_text(text, *(answer.encode() for answer in answers))


def check_text(text: str, machinery: bytes, kustomize: bytes, slow: bool = True) -> None:
    """Compare our reading of a text with two answers of Go, with libyaml, and with slow readers written in Python."""
    item = Item.parse(text.encode())
    value, refusal = _read(item)
    if refusal:
        known = machinery[:1] == b"!" or _explain_refusal(text, refusal) or _is_behind(text, _load(machinery))
        assert known, (text, refusal, machinery)
        return
    if machinery[:1] == b"!":
        assert _explain_reading(text, machinery.decode()), (text, value, machinery)
        return
    expected = _load(machinery)
    text = text.removeprefix("\ufeff")
    root = compose(text)
    if _differs_by_parser(text, root):
        return
    assert same(value, expected), (text, value, expected)
    check_lines(text, root, value)
    if slow:
        check_nodes(text, root)
    if not isinstance(value, dict | list):
        return
    problems = {problem.path for problem in item.problems}
    if kustomize[:1] == b"=":
        check_told(value, _load(kustomize), problems, text)
    with suppress(
        yaml.YAMLError, ValueError, TypeError, KeyError, OverflowError
    ):  # it refuses words and tags that others read
        check_told(value, yaml.load(text, yaml.CSafeLoader), problems, text)
    if slow:
        check_places(text, item)


def _read(item: Item) -> tuple[Any, str]:
    """The value of a whole text, a mapping or not; or why there is none."""
    try:
        return item._read().value(), ""
    except Unreadable as error:
        return None, error.message


def _load(answer: bytes) -> Any:
    """JSON as the API machinery reads it: what does not fit into 64 bits is a float."""

    def read_int(digits: str) -> int | float:
        return int(digits) if -(2**63) <= int(digits) < 2**64 else float(digits)

    return json.loads(answer[1:], parse_int=read_int)


# --- what readers are known to disagree on ---------------------------------------------------------------------------


def _explain_refusal(text: str, message: str) -> bool:
    """Whether it is known why we refuse a text that Go reads."""
    if text.removeprefix("\ufeff").lstrip().startswith(("{}", "[]")):
        return True  # an empty flow in front of a text is all that Go reads of it
    if "found unexpected ':'" in message:
        return True  # `{a:}` and the like: libyaml refuses a colon before the end of a flow
    if "<document start>" in message or "a second document" in message:
        return True  # Go reads the first document and does not look at what follows
    if "excessive aliasing" in message or "nested deeper" in message:
        return True  # our bounds are lower
    if "\ufeff" in text[1:] or text.count("---") > 1:
        return True  # a byte order mark inside a text is a letter to Go; it reads the first document, also an empty one
    if "\\'" in text or _has_odd_tag(text):
        return True  # an escape that YAML does not have; tags in which libyaml ends words and Go does not
    try:
        root = compose(text.removeprefix("\ufeff"))
    except Unreadable:
        return "---" in text or "..." in text  # in what follows the first document
    return root is not None and _has_duplicates(root)  # Go does not look at what a later key replaces


def _is_behind(text: str, expected: Any) -> bool:
    """Whether what stands in front of something has the whole value. Go does not look at what follows the end of the
    first document, and libyaml can complain of it before it sees that end."""
    for end in re.finditer(r"\r\n?|\n|[]}]", text):
        if text[end.end() :].strip():
            value, refusal = _read(Item.parse(text[: end.end()].encode()))
            if not refusal and same(value, expected):
                return True
    return False


def _explain_reading(text: str, refusal: str) -> bool:
    """Whether it is known why Go refuses a text that we read."""
    return (
        "unknown escape character" in refusal  # `\\/`, which `problems` tells
        or "!!timestamp" in refusal
        or _has_odd_tag(text)
        or "\ufeff" in text[1:]
    )


def _differs_by_parser(text: str, root: nodes.Node | None) -> bool:
    """Whether the parsers are known to see different nodes."""
    if "\ufeff" in text[1:] or "!!timestamp" in text or _has_odd_tag(text):
        return True
    if text.count("---") > 1:
        return True  # Go reads the first document, also when it is empty
    return root is not None and _has_duplicates(root)  # Go's order of keys that are spelled alike is random


def _has_odd_tag(text: str) -> bool:
    """Whether something else than a blank ends a tag, about which parsers differ."""
    return re.search(r"![^ \n]*[^A-Za-z0-9! \n\t]", text) is not None


def _has_duplicates(root: nodes.Node) -> bool:
    for node in nodes.walk(root):
        if isinstance(node, nodes.Mapping):
            names = []
            for key, child in node.pairs:
                target = nodes.follow(key)
                if nodes.is_merge(key):
                    merged = nodes.follow(child)
                    many = merged.items if isinstance(merged, nodes.Sequence) else [merged]
                    sources = [nodes.follow(each) for each in many]
                    pairs = [pair for each in sources if isinstance(each, nodes.Mapping) for pair in each.pairs]
                    names += [_spell(nodes.follow(pair[0])) for pair in pairs] + ["<<"]
                else:
                    names.append(_spell(target))
            if len(set(names)) < len(names):
                return True
    return False


def _spell(key: nodes.Node) -> str:
    from krmfn.krm.lookup import read_key

    return read_key(key) or ""


# --- nodes -----------------------------------------------------------------------------------------------------------


def check_lines(text: str, root: nodes.Node | None, value: Any) -> None:
    """The line reader and libyaml give the same value and the same nodes."""
    lines = read_lines(text)
    if lines is not None:
        assert same(lines.value, value), (text, lines.value, value)
        assert root is not None
        made = lines.make_root()
        assert same(to_value(made, text), value), text
        assert list(_spell_nodes(made)) == list(_spell_nodes(root)), text


def check_nodes(text: str, root: nodes.Node | None) -> None:
    """libyaml and PyYAML's own parser give the same nodes."""
    try:
        events = list(_spell_events(text))
    except yaml.YAMLError:
        return  # PyYAML's parser knows fewer tabs, and lines in the middle of flows
    if root is None:
        return
    mine = list(_spell_nodes(root))
    assert mine == events or "\ufeff" in text or "\t" in text, (text, mine, events)


def _spell_nodes(root: nodes.Node | None) -> Iterator[tuple[Any, ...]]:
    for node in nodes.walk(root) if root else ():
        if isinstance(node, nodes.Alias):
            yield "alias", node.start, node.end, node.name
        elif isinstance(node, nodes.Scalar):
            start, end = node.start, node.end if node.style not in ("|", ">") else 0
            if not node.style and not node.content:
                start = end = 0
            yield "scalar", start, end, node.anchor, node.tag, node.content
        else:
            yield type(node).__name__, node.start, node.anchor, node.tag, getattr(node, "flow", False)


def _spell_events(text: str) -> Iterator[tuple[Any, ...]]:
    seen = False
    for event in yaml.parse(text, yaml.Loader):
        assert event.start_mark is not None
        assert event.end_mark is not None
        at = event.start_mark.index
        if isinstance(event, yaml.DocumentStartEvent):
            if seen:
                return
            seen = True
        elif isinstance(event, yaml.AliasEvent):
            yield "alias", at, event.end_mark.index, event.anchor
        elif isinstance(event, yaml.ScalarEvent):
            end = event.end_mark.index if event.style not in ("|", ">") else 0
            if not event.style and not event.value:
                at = end = 0  # they place an empty value before or behind blanks
            yield "scalar", at, end, event.anchor, event.tag, event.value
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            kind = "Mapping" if isinstance(event, yaml.MappingStartEvent) else "Sequence"
            yield kind, at, event.anchor, event.tag, bool(event.flow_style)


# --- what readers disagree on is told --------------------------------------------------------------------------------


def check_told(value: Any, other: Any, problems: set[Path], text: str, path: Path = ()) -> None:
    """Where another reader has another value, `problems` names the place, or a place above or directly below."""
    if "<<" in text or "*" in text:
        return  # problems name the place where a word is written, not those where it is used
    if any(problem in (path, path[: len(problem)]) for problem in problems if problem):
        return
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        keys = {part[len(path)] for part in problems if len(part) > len(path) and part[: len(path)] == path}
        if not keys:
            block = "?" in text and (">" in text or "|" in text)  # kustomize changes block scalars that are keys, too
            assert {*value} == {*other} or "!" in text or block, (text, path, value, other)
        for key in value.keys() & other.keys():
            check_told(value[key], other[key], problems, text, (*path, key))
    elif isinstance(value, list) and isinstance(other, Sequence) and not isinstance(other, str):
        assert len(value) == len(other), (text, path, value, other)
        for place, (mine, theirs) in enumerate(zip(value, other, strict=True)):
            check_told(mine, theirs, problems, text, (*path, place))
    else:
        equal = same(value, other) or _is_one_number(value, other) or _is_rewritten(value, other)
        assert equal or "!" in text or "\ufeff" in text, (text, path, value, other)


def _is_rewritten(value: Any, other: Any) -> bool:
    """Whether a text differs by what kustomize's writer does to block scalars that begin with an indented or a blank
    line, or end with blank ones, or with a comment behind `|` below an anchor with a comment, which becomes a line."""
    if not isinstance(value, str) or not isinstance(other, str):
        return False
    return value[:1].isspace() or value.strip() == other.strip() or (other[:1] == "#" and other.endswith(value))


def _is_one_number(value: Any, other: Any) -> bool:
    """Whether an integer and a float are one number, which JSON does not tell apart."""
    return {type(value), type(other)} == {int, float} and float(value) == float(other)


# --- places ----------------------------------------------------------------------------------------------------------


def check_places(text: str, item: Item) -> None:
    """Lines and columns of keys and values are those that ruamel.yaml keeps."""
    reader = ruamel.yaml.YAML(typ="rt", pure=True)
    reader.allow_duplicate_keys = True
    warnings.simplefilter("ignore", ruamel.yaml.error.ReusedAnchorWarning)
    try:
        found = reader.load(text)
    except Exception:  # whatever it refuses
        return
    if any(sign in text for sign in "*!\x85\u2028\u2029"):
        return
    if any(problem.code != "ambiguous-scalar" for problem in item.problems):
        return  # of duplicate keys it keeps one, and others are no strings to it
    located = Item.parse(text.encode(), "file.yaml")
    _check_places(text, located, found, ())


def _is_block(node: Any) -> bool:
    return hasattr(node, "fa") and not node.fa.flow_style()


def _check_places(text: str, item: Item, found: Any, path: Path) -> None:
    child: Any
    if isinstance(found, dict) and not getattr(found, "merge", None):
        for key, child in found.items():
            if not isinstance(key, str) or item.get((*path, key), Item) is Item:
                continue
            block = _is_block(child)
            places = found.lc  # type: ignore[attr-defined]  # ruamel.yaml's own
            line, column = places.key(key) if block else places.value(key)
            place = item.locate((*path, key))
            if isinstance(child, str | dict | list) and (isinstance(child, str) or child):
                assert (place.line, place.column) == (line + 1, column + 1), (text, path, key, place, line, column)
            _check_places(text, item, child, (*path, key))
    elif isinstance(found, list):
        for index, child in enumerate(found):
            _check_places(text, item, child, (*path, index))
