"""What is known of the fields of a kind, in words: types, what is required, limits, what an update may change.

For people, agents and editors. Built-in kinds are read from the types of a release, custom ones from their definitions:
those that are given, else those that come with krmfn. Nothing is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from krmfn.krm.paths import dig
from krmfn.model.values import Names, Value
from krmfn.model.wording import find_nearest
from krmfn.releases import schemastore
from krmfn.releases.release import GROUP
from krmfn.releases.served import read_kinds, read_projects
from krmfn.server.custom import read_definition
from krmfn.server.others import find_shape
from krmfn.server.schema import Field, Gates, Type, find_kind
from krmfn.server.shipped import Shipped, find_shipped
from krmfn.server.structure import Structure

#: Deeper levels of a type that contains itself repeat those above.
_DEEPEST = 3


class FieldLine(NamedTuple):
    """A field. `path` begins with the kind; `[]` is every element of a list or map. The first of `words` is its type.
    `list_below` gives the fields of the object, or of each element, that stands there. `description` is that of the
    field and of its elements in a definition; those that come with krmfn have none."""

    path: str
    words: Names
    list_below: Callable[[], Iterator[FieldLine]]
    description: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {', '.join(self.words)}"


class Described(NamedTuple):
    """A kind that something is known of. `source` is whose it is: `Kubernetes 1.37`, `JobSet 0.12`."""

    api_version: str
    kind: str
    source: str
    root: FieldLine


def list_described(word: str, release: str, gates: Gates, api_version: str, given: Sequence[Value]) -> list[Described]:
    """The kinds of a name, in any case of letters, in that release: built-in ones first, those of scheduling.k8s.io
    before all others, the newest version of a group alone. Custom ones are those of the definitions that are `given`,
    and of those in krmfn."""
    names = dict.fromkeys(list_kinds(release, given))
    wanted = [each for each in names if each[1].lower() == word.lower() and api_version in ("", each[0])]
    found: dict[tuple[str, str], Described] = {}
    for version, kind in sorted(wanted, key=_rank):
        group = version.rpartition("/")[0]
        described = describe(version, kind, release, gates, given) if (group, kind) not in found else None
        if described is not None:
            found[group, kind] = described
    return list(found.values())


def _rank(name: tuple[str, str]) -> tuple[bool, bool, list[int]]:
    """Kinds of scheduling.k8s.io before others, and stable versions before those that may change."""
    group, _, version = name[0].rpartition("/")
    numbers = [int(each) for each in re.findall("[0-9]{1,9}", version)]
    stage = 2 if "alpha" in version else 1 if "beta" in version else 0
    return group != GROUP, "." in group and not group.endswith(".k8s.io"), [stage, *(-each for each in numbers)]


def describe(api_version: str, kind: str, release: str, gates: Gates, given: Sequence[Value] = ()) -> Described | None:
    """The kind as a release, a `given` definition or the newest one that comes with krmfn has it; else None."""
    group, _, version = api_version.rpartition("/")
    built_in = find_kind(group, kind, release, gates, version)
    root = built_in.root if built_in else find_shape(api_version, kind, release)
    head = ("object", f"apiVersion {api_version}")
    if root is not None:
        line = FieldLine(kind, head, partial(_list_fields, root, kind, ()))
        return Described(api_version, kind, f"Kubernetes {release}", line)
    structure, source = _find_structure(group, kind, version, given)
    if structure is None:
        return None
    about = str(structure.root.get("description", ""))
    line = FieldLine(kind, head, partial(_list_properties, structure, structure.root, kind), about)
    return Described(api_version, kind, source, line)


def _find_structure(group: str, kind: str, version: str, given: Sequence[Value]) -> tuple[Structure | None, str]:
    """The schema of a custom kind, and whose it is."""
    for value in given:
        if structure := read_definition(value).get((group, kind, version)):
            return structure, f"CustomResourceDefinition {dig(value, 'metadata', 'name')}"
    shipped = find_shipped(group, kind, version, {}) if "." in group else None
    if not isinstance(shipped, Shipped):
        return None, ""
    newest, structure = list(shipped.structures.items())[-1]
    return structure, f"{shipped.name} {newest}"


def list_kinds(release: str, given: Sequence[Value] = ()) -> Iterator[tuple[str, str]]:
    """The `apiVersion` and `kind` of all that something is known of, with the definitions that are `given`."""
    for value in given:
        yield from ((f"{group}/{version}", kind) for group, kind, version in read_definition(value))
    for served in read_kinds(release).values():
        for api_version, kinds in served.items():
            yield from ((api_version, kind) for kind in kinds)
    for group, projects in read_projects().items():
        for project, _ in projects:
            table = schemastore.load(f"crds/{project}.json")
            for versions_of in table["releases"].values():
                for kind, versions in versions_of.items():
                    if table["kinds"][kind][0] == group:
                        yield from ((f"{group}/{version}", kind) for version in versions)


def find_line(root: FieldLine, names: Sequence[str]) -> FieldLine:
    """The field at the end of a way of names. Raises LookupError, which says what is there instead."""
    line = root
    for name in names:
        below = {each.path.rpartition(".")[2]: each for each in line.list_below()}
        if name not in below:
            nearest = find_nearest(name, below)
            hint = f"Did you mean {nearest}?" if nearest else f"There are {', '.join(below)}" if below else ""
            raise LookupError(f"{line.path} has no field {name}. {hint or 'It has no fields'}")
        line = below[name]
    return line


def walk(line: FieldLine) -> Iterator[FieldLine]:
    """A field and all below it, in the order of their type."""
    yield line
    for each in line.list_below():
        yield from walk(each)


def _list_fields(of: Type, path: str, above: Names) -> Iterator[FieldLine]:
    """The fields of a type of Go, which has some if it is a struct. `above`: the types around it."""
    if of.kind != "struct" or above.count(of.go) >= _DEEPEST:
        return
    for name, field in of.fields.items():
        one = (f"one of {' or '.join(of.union)}",) if name in of.union else ()
        place = f"{path}.{name}"
        inner = field.type
        suffix = ""
        while inner.kind in ("list", "map") and inner.item:
            inner, suffix = inner.item, f"{suffix}[]"
        list_below = partial(_list_fields, inner, place + suffix, (*above, of.go))
        yield FieldLine(place, (_spell(field.type), *one, *_say(field)), list_below)


def _spell(type: Type) -> str:
    if type.kind in ("list", "map") and type.item:
        return f"{type.kind} of {_spell(type.item)}"
    return "object" if type.kind == "struct" else type.kind


def _say(field: Field) -> Iterator[str]:
    if field.required:
        yield "required"
    if field.type.enum:
        yield f"enum {' '.join(sorted(field.type.enum))}"
    yield from _spell_limits({"minimum": field.minimum, "maximum": field.maximum, "maxItems": field.max_items})
    if field.format:
        yield f"format {field.format}"
    if field.immutable:
        yield "immutable"
    if field.update:
        yield f"update {' '.join(field.update)}"


def _list_properties(structure: Structure, schema: Value, path: str) -> Iterator[FieldLine]:
    """The fields of an object of a CustomResourceDefinition."""
    schema = structure.resolve(schema)
    required = schema.get("required", ())
    for name, given in schema.get("properties", {}).items():
        place = f"{path}.{name}"
        field = structure.resolve(given)
        inner, suffix, spelled = field, "", ""
        said = [field.get("description", "")]
        while below := inner.get("items") or inner.get("additionalProperties"):
            if not isinstance(below, dict):
                break
            spelled += "list of " if "items" in inner else "map of "
            inner, suffix = structure.resolve(below), f"{suffix}[]"
            said.append(inner.get("description", ""))
        list_below = partial(_list_properties, structure, inner, place + suffix)
        words = ["required"] * (name in required) + list(_say_keywords(field))
        yield FieldLine(place, (f"{spelled}{_spell_schema(inner)}", *words), list_below, "\n".join(filter(None, said)))


def _spell_schema(schema: Value) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "intorstring"
    form = str(schema.get("type", "any"))
    if form == "integer":
        return str(schema.get("format", form))
    return "bool" if form == "boolean" else form


def _say_keywords(schema: Value) -> Iterator[str]:
    if "enum" in schema:
        yield f"enum {' '.join(map(str, schema['enum']))}"
    if "default" in schema:
        yield f"default {schema['default']}"
    yield from _spell_limits(schema)
    for rule in schema.get("x-kubernetes-validations", ()):
        yield "immutable" if rule["rule"] == "self == oldSelf" else f"rule {rule['rule']}"


def _spell_limits(schema: Value) -> Iterator[str]:
    return (words.format(schema[word]) for word, words in _LIMITS.items() if schema.get(word) is not None)


_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxLength": "at most {} characters",
    "pattern": "pattern {}",
}
