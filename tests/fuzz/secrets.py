"""No command prints the value of a Secret or of an environment variable, however odd its place and the objects are."""

from __future__ import annotations

import copy
import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from tests.front_door import call
from tests.fuzz.mutations import spoil_value, write_stream
from tests.fuzz.spoiled import limit_time, load_documents

CASES = 120
#: What is printed nowhere. The digits are also planted as a number.
SECRET = "4815162342"
_FORMS = ("text", "json", "yaml", "sarif", "github", "gitlab", "junit")
COMMANDS = (
    *(("validate", "-v", "-o", form, "new") for form in _FORMS),
    *(("validate", "--against", "old", "-o", form, "new") for form in _FORMS),
    *(("diff", "-o", form, "old", "new") for form in ("text", "json", "markdown", "sarif", "github")),
    *(("validate", "--diff", "new"), ("tree", "-o", "json", "new"), ("tree", "new"), ("generate", "--check", "new")),
    *(("fit", "--prove", "-o", "json", "--cluster", "old", "new"), ("bridge", "new")),
    *(("facts", "new"), ("facts", "-o", "json", "new"), ("why", "--prove", "--cluster", "old", "job/train", "new")),
    *(("convert", "--to", "1.36", "--check", "new"), ("upgrade", "--kubernetes", "1.36", "--to", "1.37", "new")),
)
_ENDS = ("", "", "", "", "x: [\n", "--- {\n", "a: 1\na: 2\n", "\tb\n", "---\nkind: Secret\nstringData: [\n")
Object = dict[str, Any]


def check(chance: random.Random) -> None:
    """One case."""
    with tempfile.TemporaryDirectory(prefix="krmfn-fuzz-") as place:
        objects = _choose(chance)
        for name in ("old", "new"):
            (Path(place) / name).mkdir()
            planted = [*map(_plant_all(chance), copy.deepcopy(objects)), *(_make_secret(chance) for _ in range(2))]
            chance.shuffle(planted)
            (Path(place) / name / "a.yaml").write_bytes(_spell(chance, planted) + chance.choice(_ENDS).encode())
            if chance.random() < 0.3:
                (Path(place) / name / "kustomization.yaml").write_text(yaml.safe_dump(_make_kustomization(chance)))
        words = chance.choice(COMMANDS)
        with limit_time():
            done = call(b"", words, Path(place))
        assert done.code in (0, 1, 2), done.err.decode("utf-8", "replace")
        for said in (done.out, done.err):
            found = said.find(SECRET.encode())
            assert found < 0, (words, said[max(0, found - 300) : found + 50].decode("utf-8", "replace"))


def _choose(chance: random.Random) -> list[Object]:
    documents = load_documents()
    document = documents[chance.choice(list(documents))]
    items = (spoil_value(chance, document) if chance.random() < 0.7 else document).get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _spell(chance: random.Random, objects: list[Object]) -> bytes:
    text = write_stream({"items": objects})
    if chance.random() < 0.2:
        with suppress(ValueError):  # a circle
            text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, default=str).encode()
    return text.replace(b"\n", b"\r\n") if chance.random() < 0.1 else text


def _plant_all(chance: random.Random) -> Any:
    def plant(value: Object) -> Object:
        for container in list(_list_containers(value)):
            container["env"] = [_make_variable(chance) for _ in range(chance.randint(1, 3))]
            if isinstance(container.get("rayStartParams"), dict):
                container["rayStartParams"]["redis-password"] = SECRET
        return value

    return plant


def _list_containers(value: Any, depth: int = 0) -> Iterator[Object]:
    """Mappings in lists that are called as those of containers are."""
    if depth > 20:
        return
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(children):
        if isinstance(key, str) and key.endswith(("containers", "Containers")) and isinstance(child, list):
            yield from (each for each in child if isinstance(each, dict))
        else:
            yield from _list_containers(child, depth + 1)


def _make_variable(chance: random.Random) -> Object:
    name = chance.choice(("TOKEN", "TOKEN", "a=b", "", None, 1))
    values = [SECRET, int(SECRET), [SECRET], {"a": SECRET}, f"x {SECRET}\ny", f"$(X) {SECRET}", float(SECRET)]
    keys: list[Object] = [{SECRET: None}, {SECRET: 5}, {"a": {SECRET: {}}}, {f"b-{SECRET}": "x"}]
    field = chance.choice(("value", "value", "value", "Value", "values", "valueFrom"))
    values += keys if field != "valueFrom" else []
    more = chance.choice(({}, {}, {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, {"unknown": SECRET}))
    return {"name": name, field: chance.choice(values), **more}


def _make_secret(chance: random.Random) -> Object:
    values = (SECRET, int(SECRET), [SECRET], {"b": SECRET}, f"{SECRET}\n", f"a: |\n  {SECRET}\n", {SECRET: {"a": 1}})
    data: Object = {chance.choice(("a", "tls.crt", "A B", "")): chance.choice(values)}
    places = ("data", "stringData", "Data", "stringdata", "datas", "spec")
    fields: Object = {chance.choice(places): data for _ in range(2)}
    whole: Object = chance.choice((fields, fields, fields, {"data": chance.choice(values[:6])}))
    metadata: Object = {"name": chance.choice(("s", "t", "A_b", "train"))}
    if chance.random() < 0.3:
        applied = json.dumps({"kind": "Secret", "data": {"a": SECRET}})
        metadata["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    if chance.random() < 0.3:
        below: Object = {"app": "a", "data": {"a": chance.choice(values[:6])}}
        metadata[chance.choice(("data", "stringData", "labels", "annotations"))] = below
    if chance.random() < 0.3:
        whole[chance.choice(("type", "immutable", "spec"))] = {"a": chance.choice(values)}
    kind = chance.choice(("Secret", "Secret", "Secret", "secret", "Secrets"))
    return {"apiVersion": chance.choice(("v1", "v1", "v2")), "kind": kind, "metadata": metadata, **whole}


def _make_kustomization(chance: random.Random) -> Object:
    entry = chance.choice((f"a={SECRET}", SECRET, f"a={SECRET}=b"))
    literals: Object = {"name": "s", "literals": [entry], **chance.choice(({}, {"type": 1}, {"Type": "x"}))}
    patch = json.dumps([{"op": "test", "path": "/a", "value": SECRET}])
    source = {"kind": "Secret", "name": "s", "fieldPath": f"data.{SECRET}"}
    more: Object = chance.choice(
        (
            {"namePrefix": "p-"},
            {"patches": [{"target": {"kind": "Secret"}, "patch": patch}]},
            {"patches": [{"patch": json.dumps(_make_secret(chance))}]},
            {"replacements": [{"source": source, "targets": []}]},
            {"labels": [{"pairs": {"a": "b"}, "includeSelectors": True}]},
        )
    )
    if chance.random() < 0.6:
        return {"resources": ["a.yaml"], **more}
    return {"resources": ["a.yaml"], **more, "secretGenerator": chance.choice(([literals], [literals], literals))}
