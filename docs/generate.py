"""Writes the reference pages that are made from the code: configuration, annotations, kinds, command line.

`python docs/generate.py` writes them, `python docs/generate.py --check` only says which ones are out of date. Of the
pages of the rules it writes the heads, people the sections. Knows the shape of its sources, no fact of its own.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from os.path import normpath
from pathlib import Path
from typing import Any

from docs.draw import render_drawings
from docs.rooms import draw_rooms
from krmfn.cli.options import CommandRow
from krmfn.fields.lines import describe, find_line, walk
from krmfn.model.findings import Rule
from krmfn.model.kinds import KINDS, KindRow, TemplatePath, kuberay_keeps
from krmfn.model.rules import RULES
from krmfn.releases.release import GROUP, find_release, list_releases
from tests.checks.cases import SHOWN, read_case, run

DOCS = Path(__file__).parent
SCHEMA = DOCS.parent / "schemas" / "krmfn" / "v1alpha1" / "gangscheduling.json"
#: What a rule's page has below its head; people write the sections, and may leave out the last two.
SECTIONS = """\
## What goes wrong

## Example

krmfn reports this:

```yaml title="bad.yaml"
```

It does not report this:

```yaml title="good.yaml"
```

## How to fix it

## Sources
"""
#: The rooms that can be used without the rest, each with a page of its own.
DOORS = {"krm", "server", "__init__"}
STAGES: Mapping[str, str] = {
    "server": "What would the API server refuse, drop or warn about?",
    "scheduler": "Will the pods be scheduled, and all together?",
    "operator": "Will KubeRay, the Job controller, Volcano and Kueue do what is intended?",
    "gitops": "Will the delivery from Git work: the order, the names, deletion, functions?",
}
NOTE = "<!-- Made by docs/generate.py from {}. -->\n\n"


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` compare them; 1 when one differs."""
    stale = 0
    for name, text in render_pages().items():
        path = DOCS / name
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        print(f"{'out of date' if '--check' in arguments else 'written'}: {normpath(f'docs/{name}')}")
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for path in (DOCS / "rules").glob("*.md"):
        if path.stem not in {*RULES, "index"}:
            stale += 1
            print(f"no rule of this name: docs/rules/{path.name}")
    return 1 if stale and "--check" in arguments else 0


def render_pages() -> dict[str, str]:
    """The pages by their path below docs/."""
    schema = json.loads(SCHEMA.read_text())
    return {
        "reference/configuration.md": render_configuration(schema),
        "reference/annotations.md": render_annotations(schema),
        "reference/cli.md": render_cli(),
        **render_rules(),
        "reference/mapping.md": render_kinds(),
        **render_rooms(),
        **render_references(),
        **render_drawings(),
        "../schemas/fieldrules.json": render_rules_of_fields(),
    }


def render_kinds() -> str:
    """The page of the kinds with the table of their pod templates, from their rows."""
    rows = [
        "| kind | pod templates, each with the field that counts its pods | the CRD keeps the link |",
        "|---|---|---|",
    ]
    for kind in KINDS.values():
        name = f"{kind.name} `{kind.group}`" if kind.group else kind.name
        told = "; ".join(map(_say_template, kind.templates)) or "in other objects"
        told = (
            f"no gang: {kind.reason}"
            if kind.reason and not kind.has_gangs
            else told
            if kind.has_gangs
            else f"{told} (only checked)"
        )
        rows.append(f"| {name} | {_cell(told)} | {'' if kind.reason and not kind.has_gangs else _say_keeper(kind)} |")
    return _fill((DOCS / "reference" / "mapping.md").read_text(), "kinds", rows)


def _say_template(template: TemplatePath) -> str:
    place = f"`{template.path.replace('.*', '[*]')}`" if template.path else "the object itself"
    field = template.counted.rpartition(".")[2]
    return f"{place} in no gang" if template.aside else f"{place} by `{field}`" if field else place


def _say_keeper(kind: KindRow) -> str:
    if kind.group == "ray.io":
        first = next(minor for minor in range(100) if kuberay_keeps((1, minor), "schedulingGroup"))
        return f"KubeRay 1.{first}"
    version, project = kind.drops
    never = f"; never in `{version}` of {project}" if project else ""
    return {None: "always", "": "not known"}.get(kind.keeper, f"{kind.keeper}{never}")


def _fill(page: str, name: str, rows: list[str]) -> str:
    """The page with a table between its two marks."""
    head, _, rest = page.partition(f"<!-- {name} -->\n")
    return f"{head}<!-- {name} -->\n\n" + "\n".join(rows) + "\n\n" + rest[rest.index(f"<!-- end of {name} -->") :]


def render_references() -> dict[str, str]:
    """What agents search: a line for each field of a release, and one for each rule."""
    rules = sorted(RULES.values(), key=lambda rule: rule.id)
    lines = [f"{rule.id} ({rule.stage}, {rule.severity}): {rule.sentence}\n" for rule in rules]
    folder = "../.agents/skills/krmfn/references"
    fields = {f"{folder}/fields-{name}.txt": render_fields(name) for name in list_releases()}
    return {**fields, f"{folder}/rules.txt": "".join(lines)}


def render_fields(release: str) -> str:
    """The fields of the specs of scheduling.k8s.io in a release, one line each: the path (`[]` is every element), the
    type, and what the API server checks of the field by itself."""
    found = find_release(release)
    gates = dict.fromkeys(found.gates, True)
    lines = []
    for kind, versions in found.kinds.items():
        described = describe(f"{GROUP}/{versions[-1]}", kind, release, gates)
        if described is not None:
            where = " or ".join(f"{GROUP}/{version}" for version in versions)
            lines.append(f"{release} {kind}: object, apiVersion {where}")
            lines += [f"{release} {line}" for line in walk(find_line(described.root, ["spec"]))]
    return "".join(f"{line}\n" for line in lines)


def render_rules_of_fields() -> str:
    """The rules that find something at a field, by the field: as the examples on their pages show it."""
    found: dict[str, set[str]] = {}
    for rule in SHOWN:
        for result in run(read_case(rule, "bad")):
            if result.tags.get("rule") == rule and result.ref and result.path:
                path = re.sub(r"\[[^]]*]", "[]", result.path)
                found.setdefault(f"{result.ref.kind}.{path}", set()).add(rule)
    return json.dumps({path: sorted(rules) for path, rules in sorted(found.items())}, indent=1) + "\n"


def render_rooms() -> dict[str, str]:
    """The page of the architecture with the table of the rooms, and their drawing."""
    import yaml

    rooms: dict[str, dict[str, Any]] = yaml.safe_load((DOCS / "rooms.yaml").read_text())
    page = DOCS / "architecture.md"
    page_rows = ["| room | what it is for | open it to change |", "|---|---|---|"]
    for room, row in rooms.items():
        package = DOCS.parent / "krmfn" / room
        path = module if (module := package / "__init__.py").exists() else package.with_suffix(".py")
        summary = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].replace("\n", " ")
        page_rows.append(f"| `{room}` | {_cell(summary)} | {_cell(row['open'])} |")
    text = _fill(page.read_text(), "rooms", page_rows)
    drawing = draw_rooms({room: row["imports"] for room, row in rooms.items()}, DOORS)
    return {"architecture.md": text, "drawings/rooms.svg": drawing}


def render_rules() -> dict[str, str]:
    """The index of the rules, and their pages: the head from the row, the sections as they are written."""
    pages = {"rules/index.md": _write_index(RULES.values())}
    for rule in RULES.values():
        path = DOCS / "rules" / f"{rule.id}.md"
        text = path.read_text() if path.exists() else SECTIONS
        pages[f"rules/{rule.id}.md"] = _write_head(rule) + text[text.index("## ") :]
    return pages


def _write_head(rule: Rule) -> str:
    """What stands above the first section: the id, the sentence, and the row as a table."""
    row = f"| {rule.stage} | {rule.severity} | {_say_releases(rule)} |"
    return f"# {rule.id}\n\n{rule.sentence}\n\n| stage | severity | Kubernetes |\n|---|---|---|\n{row}\n\n"


def _write_index(rules: Iterable[Rule]) -> str:
    """The page that lists the rules, by stage."""
    lines = ["# Rules", "", "Every finding names its rule. `krmfn rules ID` prints the page of a rule.", ""]
    lines[2] += " The [glossary](../concepts.md#glossary) explains the terms."
    by_stage: dict[str, list[Rule]] = {}
    for rule in rules:
        by_stage.setdefault(rule.stage, []).append(rule)
    for stage, question in STAGES.items():
        if stage in by_stage:
            lines += [f"## {stage}", "", question, "", "| rule | severity | what it finds |", "|---|---|---|"]
            lines += [f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {rule.sentence} |" for rule in by_stage[stage]]
            lines.append("")
    return "\n".join(lines)


def _say_releases(rule: Rule) -> str:
    every = list_releases()
    held = [name for name in every if rule.holds(find_release(name))]
    if held == every:
        return "all"
    if held[-1] == every[-1]:
        return f"{held[0]} and later"
    if held[0] == every[0]:
        return f"up to {held[-1]}"
    return held[0] if len(held) == 1 else f"{held[0]} to {held[-1]}"


def render_configuration(schema: Mapping[str, Any]) -> str:
    """A section per block of the configuration, a table of its keys in each."""
    spec = schema["properties"]["spec"]
    lines = [
        "# Configuration\n",
        NOTE.format("the schema of GangScheduling").rstrip("\n") + "\n",
        f"{schema['description']} {spec['description']}\n",
        "krmfn also reads a `ConfigMap` with the same keys in `data`; write nested keys with dots: "
        '`kubernetes.version: "1.36"`.\nAn unknown key is an error that suggests the most similar key. '
        "`krmfn schema GangScheduling` prints the schema.\n",
        '```yaml title="examples/configuration/krmfn.yaml"\n'
        + (DOCS.parent / "examples/configuration/krmfn.yaml").read_text()
        + "```\n",
        "| key | values | default |\n|---|---|---|",
    ]
    sections: list[str] = []
    for name, value in spec["properties"].items():
        lines.append(_row(f"spec.{name}", value, schema, link=bool(_fields(value, schema))))
        fields = _fields(value, schema)
        if fields:
            sections.append(_section(f"spec.{name}", value, fields, schema))
    return "\n".join(lines) + "\n\n" + _descriptions(spec, schema) + "\n" + "\n".join(sections)


def _descriptions(spec: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in spec["properties"].items() if not _fields(value, schema)}
    return "".join(f"**`spec.{name}`** {value['description']}\n\n" for name, value in plain.items())


def _section(path: str, value: Mapping[str, Any], fields: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    rows = "\n".join(_row(name, field, schema, described=True) for name, field in fields.items())
    text = f"## {path}\n\n{value['description']}\n\n| key | values | default | meaning |\n|---|---|---|---|\n{rows}\n"
    for name, field in fields.items():
        inner = _fields(field, schema)
        if inner and field.get("$ref") != "#/$defs/gang":
            rows = "\n".join(_row(key, deeper, schema, described=True) for key, deeper in inner.items())
            text += f"\n### {path}.{name}\n\n| key | values | default | meaning |\n|---|---|---|---|\n{rows}\n"
    return text


def _fields(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys of an object, of the object form of a union, or of a list's elements."""
    for form in [value, value.get("items", {}), *value.get("oneOf", ())]:
        resolved = _resolve(form, schema)
        if resolved.get("properties"):
            found: Mapping[str, Any] = resolved["properties"]
            return found
    return {}


def _resolve(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in value:
        return value
    target: Any = schema
    for part in value["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**target, **value}


def _row(
    name: str, value: Mapping[str, Any], schema: Mapping[str, Any], link: bool = False, described: bool = False
) -> str:
    shown = f"[`{name}`](#{name.replace('.', '').lower()})" if link else f"`{name}`"
    default = _resolve(value, schema).get("default")
    cells = [shown, _values(value, schema), "" if default is None else f"`{json.dumps(default)}`"]
    if described:
        cells.append(_cell(value.get("description", "")))
    return "| " + " | ".join(cells) + " |"


def _values(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    value = _resolve(value, schema)
    if "enum" in value:
        return ", ".join(f"`{json.dumps(each)}`" if each == "" else f"`{each}`" for each in value["enum"])
    forms = value.get("oneOf") or value.get("anyOf")
    if forms:
        return " or ".join(_values(form, schema) for form in forms)
    kind = str(value.get("type", "any"))
    return {"object": "a map", "array": "a list", "boolean": "`true`, `false`"}.get(kind, f"{kind}")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def render_annotations(schema: Mapping[str, Any]) -> str:
    """What may stand on a resource, what this program writes, and what it reads of others."""
    lines = [
        "# Annotations\n",
        NOTE.format("the schema of GangScheduling").rstrip("\n") + "\n",
        "Set these annotations in `metadata.annotations` of a resource. All are optional, and take precedence over the "
        'configuration. Values are strings: quote `"true"` and numbers.\n'
        "An unknown `krmfn.dev/` annotation is an error that suggests the most similar one.\n",
        "| annotation | values | meaning |\n|---|---|---|",
    ]
    own = schema["x-krmfn-annotations"]
    rows = {name: value for name, value in own.items() if "Written by" not in value["description"]}
    for option in schema["$defs"]["gang"]["properties"].values():
        if "x-krmfn-annotation" in option:
            rows[option["x-krmfn-annotation"]] = option
    for name, value in rows.items():
        values = "a node label key" if name.endswith("<group>") else _values(value, schema)
        lines.append(f"| `{name}` | {values} | {_cell(value['description'])} |")
    lines.append("\n## Marks on generated objects\n\n| mark | meaning |\n|---|---|")
    for name, value in own.items():
        if name not in rows:
            lines.append(f"| annotation `{name}` | {_cell(value['description'])} |")
    return "\n".join(lines) + "\n" + (DOCS / "reference" / "_annotations_others.md").read_text()


def render_cli() -> str:
    """A section per command, from the tables that the command line itself is built from."""
    from krmfn.cli import COMMANDS

    text = "# Command line\n\n" + NOTE.format("schemas/commands.json")
    text += (DOCS / "reference" / "_cli_introduction.md").read_text()
    return text + "\n".join(_command(name) for name in COMMANDS)


def _command(name: str) -> str:
    from krmfn.cli.options import read_command

    command = read_command(name)
    usage = " ".join(part for part in ("krmfn", name, "[OPTIONS]", command.argument.metavar) if part)
    text = f"## krmfn {name}\n\n{command.summary}\n\n```text\n{usage}\n```\n\n"
    if command.argument.help:
        text += f"`{command.argument.metavar}`: {command.argument.help}\n\n"
    if command.examples:
        text += f"```sh\n{command.examples}```\n\n"
    if not command.options:
        return text
    return text + "| option | values | meaning |\n|---|---|---|\n" + "".join(_option_rows(command)) + "\n"


def _option_rows(command: CommandRow) -> Iterator[str]:
    for option in command.options:
        values = ", ".join(f"`{choice}`" for choice in option.choices)
        if not values and not option.flag:
            values = f"`{_cell(option.metavar)}`"
        default = f" [default: {option.default}]" if option.default not in (None, False, ()) else ""
        names = ", ".join(f"`{name}`" for name in option.names)
        yield f"| {names} | {values} | {_cell(option.help)}{default} |\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
