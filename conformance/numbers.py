"""How Go and Kubernetes read small texts (quantities, numbers, times, labels, schedules), and whether krmfn agrees.

Cases come from a seed; the Go program in `go/numbers` answers them; `data/numbers.jsonl.xz` keeps recorded answers,
which the tests replay without Go.
"""

from __future__ import annotations

import json
import lzma
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from conformance.build import NUMBERS, BuildFailed, compile_program, find_program
from conformance.versions import read_releases
from krmfn.config.selectors import SelectorError, parse_requirements
from krmfn.model import gotext, schedules
from krmfn.model.quantity import BadQuantity, quantity_of, read_quantity, write_float
from krmfn.server.formats import (
    check_dns_1035,
    check_ip,
    check_label_key,
    check_label_value,
    check_long_name,
    check_short_name,
    find_corrupt_base64,
    find_format,
)
from krmfn.server.plain.values import check_network
from krmfn.server.schema import find_kind
from krmfn.server.spell import as_amount, round_up, spell

RECORDED = Path(__file__).resolve().parent / "data" / "numbers.jsonl.xz"
#: Quantities, as apimachinery v0.38.0-alpha.2 reads them: the program of go/numbers, built against that module.
LATER = RECORDED.with_name("quantities-1.38.jsonl.xz")


class Case(NamedTuple):
    """A text and the reader that is asked about it; `other` is the second text of a comparison."""

    reader: str
    text: str
    other: str = ""


class Answer(NamedTuple):
    """Whether the text was read, the canonical form, or what is wrong with it."""

    ok: bool
    value: str = ""
    error: str = ""


def ask_go(cases: Iterable[Case]) -> list[Answer]:
    """The answers of Go. Raises BuildFailed when the program is missing and cannot be built."""
    release = list(read_releases().values())[-1]
    program = find_program(release, NUMBERS) or compile_program(release, NUMBERS, f"./{NUMBERS}")
    asked = "".join(
        json.dumps({"as": case.reader, "text": case.text, "other": case.other}, ensure_ascii=True) + "\n"
        for case in cases
    )
    done = subprocess.run([program], input=asked, text=True, capture_output=True, check=False)
    if done.returncode:
        raise BuildFailed(done.stderr)
    return [Answer(**json.loads(line)) for line in done.stdout.splitlines()]


def ask_krmfn(case: Case) -> Answer:
    """The answer of krmfn."""
    try:
        return Answer(True, _READERS[case.reader](case))
    except (BadQuantity, gotext.BadTime, gotext.BadNumber, schedules.BadSchedule, SelectorError, _Judged) as mistake:
        return Answer(False, "", str(mistake))


def differ(case: Case, go: Answer, ours: Answer) -> bool:
    """Whether two answers differ. Selectors of krmfn also select annotations: they take more, in words of their own. At
    which times a schedule runs is nothing that krmfn has to know."""
    if case.reader == "schedule":
        return (go.ok, go.error) != (ours.ok, ours.error)
    return go.ok and go != ours if case.reader == "selector" else go != ours


def record(cases: Iterable[Case], answers: Iterable[Answer], path: Path = RECORDED) -> None:
    """Writes the answers of Go."""
    rows = [json.dumps([*case, *answer]) for case, answer in zip(cases, answers, strict=True)]
    path.write_bytes(lzma.compress(("\n".join(rows) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME))


def read_recorded(path: Path = RECORDED) -> Iterator[tuple[Case, Answer]]:
    """The recorded cases with Go's answers."""
    with lzma.open(path, "rt") as file:
        for line in file:
            reader, text, other, ok, value, error = json.loads(line)
            yield Case(reader, text, other), Answer(ok, value, error)


class _Judged(Exception):
    """What is wrong with a label or name; its text is Go's, one problem per line."""


def _judge(check: Callable[[str], tuple[str, ...]]) -> Callable[[Case], str]:
    def judge(case: Case) -> str:
        problems = check(case.text)
        if problems:
            raise _Judged("\n".join(problems))
        return ""

    return judge


def _compare(case: Case) -> str:
    first, second = read_quantity(case.text).billionths, read_quantity(case.other).billionths
    return str((first > second) - (first < second))


def _read_json(case: Case) -> str:
    return str(quantity_of(json.loads(case.text)))


def _check_schedule(case: Case) -> str:
    schedules.check_schedule(case.text)
    return ""


def _read_zone(case: Case) -> str:
    if problem := schedules.check_zone(case.text):
        raise _Judged(problem)
    return case.text


def _read_base64(case: Case) -> str:
    if (at := find_corrupt_base64(case.text)) is not None:
        raise _Judged(f"illegal base64 data at input byte {at}")
    return ""


def _judge_network(strict: bool) -> Callable[[str], tuple[str, ...]]:
    kind = find_kind("", "Node", "1.37", {"StrictIPCIDRValidation": strict})
    assert kind is not None

    def judge(text: str) -> tuple[str, ...]:
        shown = f"Invalid value: {spell(text)}: "
        return tuple(cause.message.removeprefix(shown) for cause in check_network(kind, text, ("podCIDR",)))

    return judge


_READERS: dict[str, Callable[[Case], str]] = {
    "quantity": lambda case: str(read_quantity(case.text)),
    "json-quantity": _read_json,
    "rounded": lambda case: str(round_up(as_amount(read_quantity(case.text)))),
    "compare": _compare,
    "int": lambda case: str(gotext.read_int(case.text)),
    "time": lambda case: gotext.read_time(case.text),
    "duration": lambda case: str(gotext.read_duration(case.text)),
    "quote": lambda case: gotext.quote(case.text),
    "label-key": _judge(check_label_key),
    "label-value": _judge(check_label_value),
    "dns-label": _judge(lambda text: check_short_name(text, "characters")),
    "dns-name": _judge(lambda text: check_long_name(text, "characters")),
    "dns-1035": _judge(check_dns_1035),
    "relaxed": _judge(find_format("relaxed_long_name")),
    "port-name": _judge(find_format("port_name")),
    "percent": _judge(find_format("percent")),
    "config-key": _judge(find_format("config_key")),
    "decimal": _judge(find_format("decimal")),
    "ip": _judge(lambda text: check_ip(text, strict=False)),
    "ip-strict": _judge(lambda text: check_ip(text, strict=True)),
    "cidr": _judge(_judge_network(False)),
    "cidr-strict": _judge(_judge_network(True)),
    "microtime": lambda case: gotext.read_microtime(case.text),
    "base64": _read_base64,
    "selector": lambda case: str(len(parse_requirements(case.text))),
    "schedule": _check_schedule,
    "timezone": _read_zone,
}


# --- cases ----------------------------------------------------------------------------------------------------------

_SUFFIXES = (
    *(
        "",
        "",
        "",
        *["n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "K", "i", "ki", "KI"],
    ),
    *("e", "e3", "E3", "e+3", "e-3", "e-9", "E-10", "e21", "e31", "E+30", "e99", "e-30", "e+-3", "e0", "e00003"),
    *("Ki5", "eE5", "e 3", "ee", "-5", "+", "²", "٣", "_", "x", " ", "h", "\n", "e9223372036854775808", "mm"),
)
_ODD = (
    "",
    ".",
    "..",
    "+",
    "-",
    "²",
    "١",
    "1_000",
    "1,5",
    "0x10",
    "NaN",
    "Inf",
    "-0",
    "+0",
    "00",
    "½",
    "1 000",
    "\ufeff1",
)
_EDGES = (2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**18 - 1, 10**18, 10**19, 10**40 - 1)
_LETTERS = "abcxyzABCXYZ0189-_./ é²\n%"


def generate(seed: int, count: int) -> Iterator[Case]:
    """`count` cases for each reader, the same for the same seed."""
    for reader, make in _MAKERS.items():
        chance = random.Random(f"{seed} {reader}")
        for _ in range(count):
            yield Case(reader, *make(chance))


def _number(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.35:
        return str(chance.randrange(3000))
    if kind < 0.55:
        return str(chance.randrange(10 ** chance.randrange(1, 45)))
    if kind < 0.65:
        return "0" * chance.randrange(4) + str(chance.randrange(5000))
    if kind < 0.75:
        return str(chance.randrange(1, 100)) + "0" * chance.randrange(24)
    if kind < 0.85:
        return str(1024 ** chance.randrange(7) * chance.choice((1, 2, 3, 5, 8)))
    return str(chance.choice(_EDGES)) if kind < 0.95 else chance.choice(_ODD)


def _quantity(chance: random.Random) -> str:
    number = _number(chance)
    if chance.random() < 0.35:
        fraction = ("", "0", "5", "25", "000", "001", "500", "999999999", "0000000001", str(chance.randrange(10**12)))
        number += "." + chance.choice(fraction)
    return chance.choice(("", "", "", "", "+", "-", "--", "+-", " ")) + number + chance.choice(_SUFFIXES)


def _amount(chance: random.Random) -> str:
    number = f"{chance.choice(('', '-'))}{chance.randrange(2000)}{chance.choice(('', '.5', '.25', '.001'))}"
    return number + chance.choice(
        ("", "m", "k", "M", "G", "n", "u", "Ki", "Mi", "Gi", "Ti", "e3", "e-3", "E", "Ei", "e21")
    )


def _json(chance: random.Random) -> str:
    """JSON as Go writes it: numbers that it would write otherwise never reach a server from YAML."""
    if chance.random() < 0.3:
        text = chance.choice(("", " ", "\xa0", "\u2003", "\t")) + _quantity(chance) + chance.choice(("", "", " ", "\n"))
        return json.dumps(text, ensure_ascii=False)
    if chance.random() < 0.3:
        return str(chance.randrange(-(10**6), 10 ** chance.randrange(1, 19)))
    value = (
        chance.uniform(-1e3, 1e3)
        if chance.random() < 0.5
        else chance.randrange(1, 9999) * 10.0 ** chance.randrange(-30, 30)
    )
    return write_float(value)


def _plain(chance: random.Random) -> str:
    return (
        chance.choice(("", "", "", "+", "-", "--", " "))
        + _number(chance)
        + chance.choice(("", "", "", "", " ", ".0", "e3", "_1"))
    )


def _time(chance: random.Random) -> str:
    year = chance.choice(("2024", "2023", "1900", "0000", "9999", "24", "20245"))
    day = f"{year}-{chance.randrange(0, 14):02d}-{chance.randrange(0, 33):02d}"
    clock = f"{chance.randrange(0, 26):02d}:{chance.randrange(0, 62):02d}:{chance.randrange(0, 62):02d}"
    if chance.random() < 0.1:
        clock = clock.lstrip("0")
    fraction = chance.choice(("", "", "", ".5", ",25", ".", ".999999999", ".1234567890123", ".123456", ",+00123"))
    offset = chance.choice(("+01:00", "-23:59", "+24:00", "+25:00", "+01:61", "-25:99", "+0100", "+1:00", "+05:30"))
    zone = chance.choice(("Z", "Z", "z", "", offset, offset, offset))
    blank = chance.choice(("T", "T", "T", "T", "T", "t", " "))
    return _spoil(chance, f"{day}{blank}{clock}{fraction}{zone}", 0.1)


def _duration(chance: random.Random) -> str:
    units = ("ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", "", "S", "ms ")
    parts = "".join(
        chance.choice(
            (str(chance.randrange(100)), str(chance.choice(_EDGES)), "1.5", ".5", "1.", ".", "0.000000001", "9" * 30)
        )
        + chance.choice(units)
        for _ in range(chance.randrange(4))
    )
    return _spoil(chance, chance.choice(("", "", "+", "-", "--")) + parts, 0.05)


def _name(chance: random.Random) -> str:
    length = chance.choice((0, 1, 2, 5, 10, 62, 63, 64, 252, 253, 254))
    letters = chance.choice(("ab0", "ab0-", "ab0-.", "aB0-._", _LETTERS))
    text = "".join(chance.choice(letters) for _ in range(length))
    return f"{_name(chance)}/{text}" if chance.random() < 0.3 else text


def _selector(chance: random.Random) -> str:
    key = chance.choice(("app", "a/b", "example.com/x", "app.kubernetes.io/name"))
    values = ",".join(chance.choice(("a", "b-c", "1", "x_y")) for _ in range(chance.randrange(1, 4)))
    terms = (
        key,
        f"!{key}",
        f"{key}=v",
        f"{key} == v",
        f"{key}!=v",
        f"{key} in ({values})",
        f"{key} notin ( {values} )",
        f"{key}>1",
        f"{key} < 5",
        f"{key}=",
    )
    joined = chance.choice((",", ", ", " ,")).join(chance.choice(terms) for _ in range(chance.randrange(1, 4)))
    return _spoil(chance, joined, 0.2)


def _schedule(chance: random.Random) -> str:
    if chance.random() < 0.2:
        text = chance.choice(
            ("@yearly", "@hourly", "@every 1h", "@every 0.5s", "@every x", "@Daily", "@reboot", "@midnight ", "@every")
        )
    else:
        text = chance.choice((" ", " ", "  ", "\t", "\xa0")).join(
            _field(chance) for _ in range(chance.choice((5, 5, 5, 5, 5, 4, 6)))
        )
    if chance.random() < 0.15:
        zone = chance.choice(("UTC", "Europe/Berlin", "", "Local", "Nowhere/X", "../etc", "europe/berlin"))
        text = chance.choice((" ", "  ")) + text if chance.random() < 0.9 else ""
        text = chance.choice(("TZ=", "CRON_TZ=", "tz=")) + zone + text
    return _spoil(chance, text, 0.0 if "TZ=" in text else 0.05)


def _field(chance: random.Random) -> str:
    parts = (
        *("*", "?", "*", "0", "5", "12", "23", "31", "59", "60", "7", "-1", "+5", "", "L", "1-5", "5-1", "1-2-3"),
        *("*-5", "*/5", "*/0", "*/1", "?/2", "1/2", "1-9/3", "1/2/3", "mon", "MON-FRI", "jan", "Dec", "sun-sat"),
        *("monday", "0-59", "05", "1-", "-", "/", "*/99999999999999999999"),
    )
    return ",".join(chance.choice(parts) for _ in range(chance.choice((1, 1, 1, 2, 3))))


def _zone(chance: random.Random) -> str:
    names = (
        "UTC",
        "Europe/Berlin",
        "America/Argentina/Ushuaia",
        "Etc/GMT+5",
        "GMT0",
        "EST5EDT",
        "Local",
        "",
        "Factory",
        "Mars/Base",
        "US/Pacific",
        "Asia/Calcutta",
        "../UTC",
        "/UTC",
        "\\x",
        "a..b",
    )
    name = chance.choice(names)
    return chance.choice((name, name, name.lower(), name.upper(), name + " "))


def _spoil(chance: random.Random, text: str, likelihood: float) -> str:
    if text and chance.random() < likelihood:
        place = chance.randrange(len(text))
        return (
            text[:place]
            + chance.choice(("", "x", "²", " ", "-", "/", ",", "\u2028", "0"))
            + text[place + chance.randrange(2) :]
        )
    return text


def _one(make: Callable[[random.Random], str]) -> Callable[[random.Random], tuple[str, ...]]:
    return lambda chance: (make(chance),)


def _address(chance: random.Random) -> str:
    if chance.random() < 0.5:
        parts = ("", "0", "1", "10", "255", "256", "01", "001", "0255", "1a", "²")
        text = ".".join(chance.choice(parts) for _ in range(chance.choice((3, 4, 4, 4, 4, 4, 5))))
    else:
        groups = ("", "0", "1", "ffff", "FE80", "0001", "00001", "10000", "1.2.3.4", "127.0.00.1")
        text = ":".join(chance.choice(groups) for _ in range(chance.choice((1, 2, 3, 7, 8, 8, 9))))
        place = chance.randrange(len(text) + 1)
        text = chance.choice((text, f"{text[:place]}::{text[place:]}"))
    text = chance.choice(("", "", "", "", "", "::ffff:", "64:ff9b::", "0:0:0:0:0:ffff:")) + text
    return _spoil(chance, text + chance.choice(("", "", "", "", "", "", "%eth0", "/24")), 0.05)


def _network(chance: random.Random) -> str:
    lengths = ("", "0", "8", "24", "32", "33", "96", "97", "104", "128", "129", "024", "00", "+8", "-1", "٣", "00008")
    return chance.choice((_address(chance), "10.0.0.0", "10.1.2.3", "2001:db8::")) + "/" + chance.choice(lengths)


def _join(*tokens: str) -> Callable[[random.Random], tuple[str, ...]]:
    return lambda chance: ("".join(chance.choice(tokens) for _ in range(chance.choice((0, 1, 2, 2, 3, 3, 4, 6, 9)))),)


_MAKERS: dict[str, Callable[[random.Random], tuple[str, ...]]] = {
    "quantity": _one(_quantity),
    "json-quantity": _one(_json),
    "rounded": _one(lambda chance: chance.choice((_amount, _quantity))(chance)),
    "compare": lambda chance: (_amount(chance), _amount(chance)),
    "int": _one(_plain),
    "time": _one(_time),
    "duration": _one(_duration),
    "quote": _one(
        lambda chance: _spoil(
            chance, _name(chance) + chance.choice(("", "\x00", "\x7f", "\u200b", "😀", '"', "\\", "\u00ad")), 0.5
        )
    ),
    "label-key": _one(_name),
    "label-value": _one(_name),
    "dns-label": _one(_name),
    "dns-name": _one(_name),
    "selector": _one(_selector),
    "schedule": _one(_schedule),
    "timezone": _one(_zone),
    "dns-1035": _join("a", "-", "1", "A", ".", "_", "a" * 62, "é"),
    "relaxed": _join("a", "_", "-", ".", "1", "A", "a" * 250, "é"),
    "port-name": _join("a", "-", "1", "A", "_", "http", "a" * 14, "é"),
    "percent": _join("1", "0", "00", "%", "+", "-", ".", "9" * 30, "٣"),
    "config-key": _join("a", ".", "..", "-", "_", "/", "A", "a" * 250, "é"),
    "decimal": _join("0", "1", "-", "+", ".", "e", "9" * 30, "٣"),
    "ip": _one(_address),
    "ip-strict": _one(_address),
    "cidr": _one(_network),
    "cidr-strict": _one(_network),
    "microtime": _one(_time),
    "base64": _join("A", "AA", "AAA", "AAAA", "QQ==", "=", "==", "\n", "\r\n", "-", "+/", " ", "é", "\0"),
}
