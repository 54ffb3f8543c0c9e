"""What changes no answer: the order and the layout of files, comments, the format, a second run, the way in, the
number of processes.

No program has to say what is right: two runs of krmfn have to agree. Objects are those of the fixtures, some of them
spoiled, and come in one file, in several, as a list, or as JSON.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.front_door import Done, call
from tests.fuzz.mutations import spoil_value, write_stream
from tests.fuzz.spoiled import limit_time, load_documents
from tests.sharing import share_among

CASES = 150
_HEAD: dict[str, Any] = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
_CONFIG: dict[str, Any] = {
    "apiVersion": "krmfn.dev/v1alpha1",
    "kind": "GangScheduling",
    "metadata": {"name": "gangs"},
}
_PLACE = re.compile(r"\b[\w./-]+\.(yaml|json)(:\d+)*")
_OF_SETTINGS = re.compile(
    '"(gates-needed|api-version-pinned|bridge-needed|bridge-not-possible|gate-off|operator-release|'
    'cluster-gates|facts-missing)"'
)
Object = dict[str, Any]
Finding = tuple[str, ...]


class Case(NamedTuple):
    """Objects, and the configuration that they are read with, in a folder of their own."""

    folder: Path
    objects: list[Object]
    spec: Object
    chance: random.Random

    def run(self, *words: str, folder: str = "", stdin: bytes = b"") -> Done:
        """A command in a folder below the case's own."""
        with limit_time():
            return call(stdin, words, self.folder / folder)

    def lay_out(self, name: str, layout: Callable[[random.Random, list[Object]], dict[str, str]]) -> None:
        """The objects in files of a folder."""
        place = self.folder / name
        place.mkdir()
        (place / "krmfn.yaml").write_text(yaml.safe_dump({**_CONFIG, "spec": self.spec}))
        for path, text in layout(self.chance, self.objects).items():
            (place / path).parent.mkdir(exist_ok=True)
            (place / path).write_text(text)


def check(chance: random.Random) -> None:
    """One case: some objects, and one relation."""
    with tempfile.TemporaryDirectory(prefix="krmfn-fuzz-") as place:
        case = Case(Path(place), _choose_objects(chance), _choose_spec(chance), chance)
        case.lay_out("one", _in_one)
        chance.choice(RELATIONS)(case)


def _choose_spec(chance: random.Random) -> Object:
    return {
        "kubernetes": {"version": chance.choice(("1.35", "1.36", "1.37"))},
        "select": chance.choice(("OptIn", "All")),
        "gang": {"granularity": chance.choice(("Cluster", "Group")), "naming": chance.choice(("Stable", "Revisioned"))},
    }


def _choose_objects(chance: random.Random) -> list[Object]:
    """The objects of a few fixtures, each identity once: what is there twice may be two states of one cluster."""
    documents = load_documents()
    found: dict[tuple[str, ...], Object] = {}
    for path in chance.sample(sorted(documents), chance.randint(1, 3)):
        document = documents[path]
        if chance.random() < 0.3:
            document = spoil_value(chance, document)
        items = document.get("items")
        for item in items if isinstance(items, list) else ():
            metadata = item.get("metadata") if isinstance(item, dict) else None
            if isinstance(metadata, dict) and _is_plain(item) and item.get("kind") != "GangScheduling":
                names = (item.get("apiVersion"), item.get("kind"), metadata.get("namespace"), metadata.get("name"))
                if all(isinstance(name, str | None) for name in names) and all((*names[:2], names[3])):
                    group = str(names[0]).rpartition("/")[0]
                    found.setdefault((group, *map(str, names[1:])), item)
    return list(found.values())


def _is_plain(item: Object) -> bool:
    """Whether JSON and YAML say the same of an object."""
    try:
        text = json.dumps(item, ensure_ascii=False)
    except (ValueError, TypeError):  # a circle, or a date
        return False
    return json.loads(text) == item and not re.search(r'[«\x7f\u2028]|\d{19}|NaN|Infinity|"[-+]?(0o|\d[\d.]*e)\d', text)


def _in_one(_: random.Random, objects: list[Object]) -> dict[str, str]:
    return {"all.yaml": _spell(objects)}


def _in_many(chance: random.Random, objects: list[Object]) -> dict[str, str]:
    """Each in a file of its own, in another order."""
    names = chance.sample(range(100), len(objects)) if len(objects) < 100 else range(len(objects))
    return {f"d{number % 3}/f{number}.yaml": _spell([each]) for number, each in zip(names, objects, strict=True)}


def _as_list(_: random.Random, objects: list[Object]) -> dict[str, str]:
    plain = json.loads(json.dumps(objects))  # no two share a part, which would be an anchor
    return {"list.yaml": yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": plain}, sort_keys=False)}


def _as_json(_: random.Random, objects: list[Object]) -> dict[str, str]:
    return {f"f{number:03}.json": json.dumps(each, indent=1, ensure_ascii=False) for number, each in enumerate(objects)}


def _commented(chance: random.Random, objects: list[Object]) -> dict[str, str]:
    """With comments and blank lines around every document."""
    noise = ("# c: [{\n", "\n", "--- # c\n# {}\n", "# ü '\n\n")
    return {"all.yml": "---\n".join(chance.choice(noise) + _spell([each]) + chance.choice(noise) for each in objects)}


def _turned(chance: random.Random, objects: list[Object]) -> dict[str, str]:
    return {"all.yaml": _spell(chance.sample(objects, len(objects)))}


LAYOUTS = (_in_many, _as_list, _as_json, _commented, _turned)


def _spell(objects: list[Object]) -> str:
    return write_stream({"items": objects}).decode() if objects else "# nothing\n"


def _check_layout(case: Case) -> None:
    """Findings do not depend on how objects are spread over files, nor on their order."""
    case.lay_out("other", case.chance.choice(LAYOUTS))
    done = [case.run("validate", "-o", "json", ".", folder=name) for name in ("one", "other")]
    if not any(map(_is_partial, done)):
        _equal(*map(_read_findings, done))


def _check_same_state(case: Case) -> None:
    """Nothing changes from a state to itself, however it is laid out."""
    case.lay_out("other", case.chance.choice((_in_one, *LAYOUTS)))
    done = case.run("diff", "-o", "json", "one", "other")
    if done.code != 2 and not _is_partial(done):
        found = json.loads(done.out)["entries"]
        # What the server does not know it refuses, whether it changes or not.
        refused = [entry for entry in found if "version-not-served" in json.dumps(entry.get("reasons"))]
        changed = [entry for entry in found if entry["action"] != "unchanged" and entry not in refused]
        assert (done.code, changed) == (int(bool(refused)), [])


def _check_formats(case: Case) -> None:
    """Every format tells the same findings, and they end alike."""
    done = {form: case.run("validate", "-v", "-o", form, ".", folder="one") for form in FORMATS}
    counts = {form: count(done[form].out) for form, count in FORMATS.items()}
    assert len({each.code for each in done.values()}) == 1, {form: each.code for form, each in done.items()}
    assert len(set(counts.values())) == 1, counts


def _count_tests(out: bytes) -> int:
    cases = ET.fromstring(out).iter("testcase")
    return sum(len(case.findall("failure")) + len(case.findall("error")) for case in cases)


FORMATS: dict[str, Callable[[bytes], int]] = {
    "json": lambda out: len(json.loads(out)["results"]),
    "yaml": lambda out: len(yaml.safe_load(out)["results"]),
    "sarif": lambda out: len(json.loads(out)["runs"][0]["results"]),
    "gitlab": lambda out: len(json.loads(out)),
    "github": lambda out: len(out.splitlines()),
    "text": lambda out: len(re.findall(rb"(?m)^\S.*: (?:error|warning|info): ", out)),
}


def _check_ways_in(case: Case) -> None:
    """The function finds what the command finds."""
    found = case.run("validate", "-o", "json", ".", folder="one")
    if found.code == 2 or _is_partial(found):
        return
    done = case.run(stdin=_spell_list(case, {"mode": "Validate"}))
    results = (yaml.load(done.out, yaml.CSafeLoader) or {}).get("results") or []
    # Where the function validates, it should have generated before; files that a command reads wait for it.
    results = [result for result in results if result.get("tags", {}).get("rule") != "function-skipped"]
    _equal(_read_findings(found), Counter(map(_identify, results)))


def _spell_list(case: Case, more: Object) -> bytes:
    value = {**_HEAD, "functionConfig": {**_CONFIG, "spec": {**case.spec, **more}}, "items": case.objects}
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode()


def _check_generate(case: Case) -> None:
    """A second run changes nothing, and the API server accepts what is generated."""
    first = case.run("generate", ".", folder="one")
    if first.code:
        return
    case.lay_out("made", lambda _chance, _objects: {"all.yaml": first.out.decode()})
    second = case.run("generate", ".", folder="made")
    assert second.out == first.out, second.out.decode()
    words = ("validate", "--stage", "server", "-o", "json", ".")
    before, after = (_read_errors(case.run(*words, folder=name)) for name in ("one", "made"))
    assert after <= before, after - before


def _check_write(case: Case) -> None:
    """--write puts into files what is printed without it, and is content then."""
    case.lay_out("other", case.chance.choice(LAYOUTS))
    printed = case.run("generate", ".", folder="other")
    written = case.run("generate", "--write", ".", folder="other")
    assert (printed.code == 2) == (written.code == 2), (printed, written)
    if written.code:
        return
    done = case.run("generate", "--check", ".", folder="other")
    assert (done.code, done.out) == (0, b""), done.out.decode()
    again = case.run("generate", ".", folder="other")
    assert _read_objects(again.out) == _read_objects(printed.out)


def _check_convert(case: Case) -> None:
    """Converting twice is converting once."""
    target = case.chance.choice(("1.35", "1.36", "1.37"))
    first = case.run("convert", "--to", target, ".", folder="one")
    if first.code:
        return
    case.lay_out("converted", lambda _chance, _objects: {"all.yaml": first.out.decode()})
    second = case.run("convert", "--to", target, ".", folder="converted")
    assert _read_objects(second.out) == _read_objects(first.out)


def _check_fix(case: Case) -> None:
    """Fixes come to an end: one may show the next."""
    for _ in range(5):
        if case.run("validate", "--fix", ".", folder="one").code == 2:
            return
    done = case.run("validate", "--diff", ".", folder="one")
    assert b"\n@@ " not in done.out, done.out.decode()


def _check_baseline(case: Case) -> None:
    """Known findings are known."""
    if case.run("validate", "--write-baseline", "--baseline", "known", ".", folder="one").code == 2:
        return
    done = case.run("validate", "--baseline", "known", "--fail-on", "warning", "-o", "json", ".", folder="one")
    assert done.code == 0, done.out.decode()


def _check_tree(case: Case) -> None:
    """The tree does not depend on the layout, and has the groups that are generated."""
    case.lay_out("other", case.chance.choice(LAYOUTS))
    one, other = (case.run("tree", "-o", "json", ".", folder=name) for name in ("one", "other"))
    if not _is_partial(one) and not _is_partial(other):
        assert one.code == other.code
        trees = [_list_lines(json.loads(_PLACE.sub("", done.out.decode()) or "0")) for done in (one, other)]
        assert sorted(trees[0]) == sorted(trees[1])


def _check_processes(case: Case) -> None:
    """Several processes say what one says, to the byte."""
    form = case.chance.choice(("text", "json", "sarif"))
    words = case.chance.choice((("validate", "-o", form), ("tree",), ("generate",), ("diff", "one")))
    done = case.run(*words, "one")
    with share_among(case.chance.randint(2, 4)):
        assert case.run(*words, "one") == done


RELATIONS = (
    *(_check_layout, _check_same_state, _check_formats, _check_ways_in, _check_generate),
    *(_check_write, _check_convert, _check_fix, _check_baseline, _check_tree, _check_processes),
)


def _list_lines(value: Any, path: str = "") -> Iterable[str]:
    """Every leaf of a value with the keys that lead to it."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _list_lines(child, f"{path}.{key}")
    elif isinstance(value, list):
        for child in value:
            yield from _list_lines(child, path)
    else:
        yield f"{path}={value}"


def _read_findings(done: Done) -> Counter[Finding]:
    return Counter(map(_identify, json.loads(done.out)["results"])) if done.out else Counter()


def _is_partial(done: Done) -> bool:
    """Whether files were passed over that look like parts of manifests, such as patches."""
    return b'"skipped"' in done.out or b"parts of manifests" in done.err


def _read_errors(done: Done) -> Counter[Finding]:
    results = json.loads(done.out)["results"] if done.out else []
    return Counter(_identify(result) for result in results if result["severity"] == "error")


def _identify(result: Object) -> Finding:
    """A finding without its place in a file."""
    ref, tags = (json.dumps(result.get(key), sort_keys=True) for key in ("resourceRef", "tags"))
    field = (result.get("field") or {}).get("path", "")
    if _OF_SETTINGS.search(tags):  # told of the first object that it is true of
        return result["severity"], re.sub("; the same is true of .*", "", result["message"])
    return str(result.get("severity")), _PLACE.sub("", result["message"]), ref, field, _PLACE.sub("", tags)


def _read_objects(data: bytes) -> list[str]:
    found: list[Any] = []
    for document in yaml.load_all(data, yaml.CSafeLoader):
        is_list = isinstance(document, dict) and document.get("kind") in ("List", "ResourceList")
        found += document["items"] if is_list else [document]
    return sorted(json.dumps(each, sort_keys=True, default=str) for each in found if each)


def _equal(one: Counter[Finding], other: Counter[Finding]) -> None:
    for found in (one, other):
        found.update({finding: 1 - count for finding, count in found.items() if len(finding) == 2})
    assert one == other, f"only here: {list(one - other)}\nonly there: {list(other - one)}"
