"""No text makes a regular expression of ours work for long: each is found in the code and tried with hostile texts."""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

import krmfn
from krmfn.model.quantity import BadQuantity, quantity_of
from krmfn.releases import schemastore
from krmfn.server.patterns import compile_pattern
from tests.checks.definitions import visit_shipped

LENGTH = 8_000
#: What is quadratic takes ten times as long at this length, what is linear a tenth of it.
MOMENT = 0.05
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
WAYS = {"compile", "match", "search", "fullmatch", "sub", "split", "findall", "finditer"}
#: What stands for the variables in an expression.
KNOWN: Mapping[str, Any] = MappingProxyType(
    {
        "anchored": True,
        "asked": r"\Z|.*/.*/|.*/\Z",
        "body": "*a*b/**/c/**/d",
        "breaks": rb"\r\n?|\n",
        "column": 2,
        "comment": rb"|//[^\n]*|/\*.*?(?:\*/|\Z)",
        "depth": 4,
        "form": r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\t\n\f\r ]+)",
        "found": (b"", b"  "),
        "more": (4, 5),
        "name": "job",
        "old": 2,
        "pair": r"[A-Za-z_][A-Za-z0-9_./-]*: [A-Za-z0-9_./-]+",
        "pattern": "[a-z]+",  # of a schema; those that are shipped are attacked below
        "re": re,
        "schema": {"pattern": "a"},
        "self": SimpleNamespace(_mark="a"),
        "sign": b'"',
        "string": rb"""("(?:[^"\\]|\\.|\\\Z)*(?:"|\Z))""",
    }
)
#: It finds the pairs of what a stricter expression has matched as a whole.
PROVED = {"_PAIRS"}
#: By the text of an item of an expression; compiling it again for each text took two thirds of the time.
MATCHED: dict[str, str] = {}


class Expression(NamedTuple):
    """An expression, the way in which it is asked, and where."""

    pattern: re.Pattern[Any]
    way: str
    place: str


@functools.cache
def list_expressions() -> list[Expression]:
    return list(find_expressions())


def find_expressions() -> Iterator[Expression]:
    """Each use of `re`: its functions, and the methods of what it compiles, by the names of variables."""
    for found in pkgutil.walk_packages(krmfn.__path__, "krmfn."):
        module = importlib.import_module(found.name)
        nodes = list(ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))))
        compiled: dict[str, ast.Call] = {}
        asked: set[ast.Call] = set()
        for node in nodes:
            if (
                isinstance(node, ast.Assign | ast.AnnAssign)
                and isinstance(node.value, ast.Call)
                and is_of_re(node.value)
            ):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                compiled[ast.unparse(target).rpartition(".")[2]] = node.value
        for node in nodes:
            if isinstance(node, ast.Call) and is_of_re(node) and node.func.attr != "compile":  # type: ignore[attr-defined]
                yield read(node, node.func.attr, module)  # type: ignore[attr-defined]
            elif isinstance(node, ast.Attribute) and node.attr in WAYS and ast.unparse(node.value) != "re":
                call = node.value if isinstance(node.value, ast.Call) else None
                call = call or compiled.get(ast.unparse(node.value).rpartition(".")[2])
                if call is not None and is_of_re(call):
                    asked.add(call)
                    yield read(call, node.attr, module)
        for node in nodes:
            if isinstance(node, ast.Call) and is_of_re(node, "compile") and node not in asked:
                yield read(node, "search", module)


def is_of_re(node: ast.Call, *names: str) -> bool:
    function = node.func
    return (
        isinstance(function, ast.Attribute) and ast.unparse(function.value) == "re" and function.attr in (names or WAYS)
    )


def read(call: ast.Call, way: str, module: ModuleType) -> Expression:
    known = {**KNOWN, **vars(module)}
    behind = [value for value in call.args[1:] if re.match(r"re\.[A-Z]", ast.unparse(value))]
    flags = [*behind, *(word.value for word in call.keywords if word.arg == "flags")]
    place = f"{module.__name__}:{call.lineno} {ast.unparse(call.args[0])[:30]}"
    try:
        values = [eval(ast.unparse(node), known) for node in (call.args[0], *flags)]
    except (NameError, AttributeError) as missing:
        pytest.fail(f"{place}: {missing}: KNOWN has to say what stands for it")
    return Expression(re.compile(values[0], *values[1:]), way, place)


def write(items: Any, choice: int) -> str:
    """A text that is matched; another one for each choice."""
    return "".join(write_item(code, argument, choice) for code, argument in items)


def list_matched(item: Any) -> str:
    """The characters that it matches, of some of all sorts."""
    if str(item) not in MATCHED:
        pattern = compiler.compile(parser.SubPattern(parser.State(), [item]), re.DOTALL)
        alphabet = "a0 -'\"{[:.,#\t\nZ_*/=\\\x00é"
        MATCHED[str(item)] = "".join(char for char in alphabet if pattern.fullmatch(char)) or "\u2028"
    return MATCHED[str(item)]


def write_item(code: Any, argument: Any, choice: int) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code in (codes.ANY, codes.NOT_LITERAL, codes.IN):
        matched = list_matched((code, argument))
        return matched[choice % len(matched)]
    if code in REPEATS:
        return write(argument[2], choice) * int(max(argument[0], (choice + 1) % 2))
    if code is codes.BRANCH:
        return write(argument[1][choice % len(argument[1])], choice)
    inner = list_inner(code, argument)
    return write(inner[0], choice) if inner and code not in (codes.ASSERT, codes.ASSERT_NOT) else ""


def list_inner(code: Any, argument: Any) -> list[Any]:
    if code in REPEATS:
        return [argument[2]]
    if code is codes.BRANCH:
        return list(argument[1])
    return [each for each in (argument if isinstance(argument, tuple) else [argument]) if hasattr(each, "getwidth")]


def list_pumps(items: Any, before: str, choice: int) -> Iterator[tuple[str, str]]:
    """What may come first, and what is repeated behind it: all that the expression repeats, and itself."""
    yield before, write(items, choice)
    for code, argument in items:
        for inner in list_inner(code, argument):
            yield from list_pumps(inner, before, choice)
            yield "", write(inner, choice)
            yield before, write(inner, choice) + write(inner, choice + 1)
        before += write_item(code, argument, choice)
        yield "", before


def parse(pattern: re.Pattern[Any]) -> Any:
    spelled = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return parser.parse(spelled, pattern.flags & ~re.UNICODE)


def attack(pattern: re.Pattern[Any], way: str) -> tuple[str, str, str] | None:
    """The text for which an expression works too long: what is at its front, what is repeated, its end."""
    spelled = pattern.pattern
    tree = parse(pattern)
    pumps = {pump for choice in range(6) for pump in list_pumps(tree, "", choice) if pump[1]}
    ask: Any = (lambda text: pattern.sub(text[:0], text)) if way == "sub" else getattr(pattern, way)
    for before, pump in sorted(pumps):
        for behind in ("", "\0", "!", "a", "\n", ":"):
            text: Any = before + pump * (LENGTH // len(pump) + 1) + behind
            text = text if isinstance(spelled, str) else text.encode("latin-1", "replace")
            for _ in range(3):  # the machine may be busy
                start = time.process_time()
                try:
                    signal.setitimer(signal.ITIMER_VIRTUAL, 10 * MOMENT)
                    list(ask(text)) if way == "finditer" else ask(text)
                except TimeoutError:
                    pass
                finally:
                    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                if time.process_time() - start < MOMENT:
                    break
            else:
                return before, pump, behind
    return None


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    kept = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.signal(signal.SIGVTALRM, kept)


def test_the_attack_finds_what_is_slow() -> None:
    assert attack(re.compile("(a+)+b"), "match")
    assert attack(re.compile("0*([0-9]*)x"), "fullmatch")
    assert attack(re.compile(r"\{\{.*?\}\}"), "search")
    assert not attack(re.compile("0*+([0-9]*+)x"), "fullmatch")


def test_no_group_is_possessive() -> None:
    """Before Python 3.11.5 it goes on in the wrong place (gh-106052); an atomic group does not."""

    def visit(items: Any) -> Iterator[Any]:
        if isinstance(items, str | bytes | int) or items is None:
            return
        for each in items:
            if isinstance(each, tuple) and each and each[0] is codes.POSSESSIVE_REPEAT:
                yield from (
                    code
                    for code, _ in each[1][2]
                    if code not in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY)
                )
            yield from visit(each)

    tree = parser.parse("(?:ab|c)*+a++")
    assert len(list(visit(tree))) == 1
    wrong = [each.place for each in list_expressions() if [*visit(parse(each.pattern))]]
    assert wrong == []


def test_no_text_takes_long() -> None:
    expressions = list_expressions()
    assert len(expressions) > 60
    found = {each.place: attack(each.pattern, each.way) for each in expressions if each.place.split()[-1] not in PROVED}
    assert {place: text for place, text in found.items() if text} == {}


def test_no_text_takes_long_in_what_is_shipped() -> None:
    patterns = {pattern for value in visit_shipped() if isinstance(pattern := value.get("pattern"), str)}
    compiled = [(text, pattern) for text in sorted(patterns) if (pattern := compile_pattern(text))]
    assert [text for text, pattern in compiled if attack(pattern, "search")] == []


def test_no_text_takes_long_in_the_formats_of_rows() -> None:
    rows = [row for rows in schemastore.load("kubernetes/formats.json").values() for row in rows]
    patterns = {row[0]: re.compile(row[0], re.DOTALL) for row in rows if isinstance(row[0], str)}
    assert len(patterns) > 30
    assert [text for text, pattern in patterns.items() if attack(pattern, "match")] == []


@pytest.mark.parametrize("text", ["0{}!", "{}", "{}Ki", ".0{}1", "{0}.{0}", "1.{}Ei", "1e{}", "1e-{}", "{}e2147483647"])
@pytest.mark.parametrize("digit", ["0", "1", "9"])
def test_quantities_of_any_length(text: str, digit: str) -> None:
    start = time.process_time()
    try:
        found = quantity_of(text.format(digit * 300_000))
        assert str(found)
        assert str(found.billionths)
    except BadQuantity:
        pass
    assert time.process_time() - start < 1
