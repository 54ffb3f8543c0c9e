"""The tree of a manifest by the file of its kind: a leaf per role, and per entry of a list or a mapping on its way.

What a file cannot say is code: the other modules, by kind (READERS of this package).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from math import prod
from typing import NamedTuple

from krmfn.krm.paths import Path
from krmfn.model.kinds import Condition, Factor, TemplatePath, place, split_path
from krmfn.model.podnumber import add_labels, divide
from krmfn.model.tree import Composite, Group, Leaf, PodTemplate
from krmfn.model.values import Fields, as_list
from krmfn.sources.manifest import Manifest

ASK_FOR_ONE = 'To generate one, add the annotation krmfn.dev/gang: "true".'


class _RoleTemplate(NamedTuple):
    """A pod template that a role has in a manifest: where it is, what the `*` of its path stand for, its name."""

    path: Path
    stars: Path
    name: str

    @property
    def key(self) -> str:
        """What its entry is called in the manifest; its name, where it is no entry of a mapping."""
        return self.stars[-1] if self.stars and isinstance(self.stars[-1], str) else self.name


def read_roles(manifest: Manifest) -> Group | None:
    """One leaf, or a composite of several that start together; None, with a note, where there is no gang."""
    if not _is_read_here(manifest):
        return None
    row = manifest.kind
    roles = [role for role in row.templates if not role.aside]
    leaves = [leaf for role in roles for leaf in _read_role(manifest, role)]
    entries = tuple(takewhile(lambda step: step != "*", roles[0].path.split("."))) if "*" in roles[0].path else ()
    place = entries or _find_common(roles)
    if not leaves or not manifest.fits(sum(leaf.pods for leaf in leaves), place):
        return None
    if len(leaves) == 1 and not entries and (len(roles) == 1 or any(role.late for role in roles)):
        return leaves[0]
    group = Composite(row.name.lower(), tuple(leaves), len(leaves))
    if len(leaves) > 1 and (found := find_holding(manifest, row.order)):
        manifest.tell("ordered-start", entries or found, "roles", noun=roles[0].noun)
        return group._replace(min_group_count=None)
    wholes = _count_wholes(manifest)
    return group._replace(replicas=wholes or 1, whole=wholes > 0)


def _count_wholes(manifest: Manifest) -> int:
    """How many replicas of all roles are gangs of their own: several always are; 0 where nothing is taken apart so."""
    field, options = manifest.kind.whole, manifest.options
    if not field or manifest.counting or options.slices or options.gang_group:
        return 0
    wholes = manifest.count(field, 1)
    return wholes if wholes > 1 or options.granularity == "Replica" else 0


def _is_read_here(manifest: Manifest) -> bool:
    """Whether a gang could be generated for the manifest, by its version, its CRD, its controller, and who asks."""
    row = manifest.kind
    if row.versions and manifest.ref.api_version.rpartition("/")[2] not in row.versions:
        hint = f"Use {row.group}/{row.versions[0]}."
        manifest.pass_over(f"the API {manifest.ref.api_version} is not supported", hint)
        return False
    if row.drops[1] and manifest.drops_link and not (manifest.bridged or manifest.counting):
        other = f", or use {row.rival_name}" if row.rival_name else ""
        hint = f"Set link: Auto and apply the output of krmfn bridge{other}."
        manifest.pass_over(f"the CRD of {row.drops[1]} drops the link from pod templates", hint)
        return False
    if manifest.is_elsewhere() or _is_excluded(manifest):
        return False
    if row.gang != "OnRequest" or manifest.options.requested:
        return True
    case = "" if row.reason else "independent"
    return not manifest.decline("gang-on-request", ("spec",), case, reason=row.reason, hint=row.hint or ASK_FOR_ONE)


def _is_excluded(manifest: Manifest) -> bool:
    """Whether the kind's file says that no gang of the resource is possible; then nobody knows its pods."""
    granularity = "" if manifest.counting else manifest.options.granularity
    for condition in manifest.kind.excluded:
        if condition.granularity in ("", granularity) and (path := find_holding(manifest, (condition,))):
            manifest.pass_over(condition.reason, condition.hint, path)
            return True
    return False


def _find_common(roles: list[TemplatePath]) -> Path:
    """Where all roles are."""
    if len(roles) == 1:
        return ("spec",)
    first, *others = (role.path.split(".") for role in roles)
    return tuple(step for step, *rest in zip(first, *others, strict=False) if all(step == other for other in rest))


def find_holding(manifest: Manifest, conditions: tuple[Condition, ...]) -> Path:
    """The field of the first condition of the kind's file that is true of the manifest; () where none is."""
    for condition in conditions:
        for start in _expand(manifest, split_path(condition.field)):
            path = (*start, condition.key) if condition.key else start
            if _holds(manifest, condition, path) != condition.unless:
                return path or ("spec",)
    return ()


def _holds(manifest: Manifest, condition: Condition, path: Path) -> bool:
    found = manifest.get(path)
    if condition.value is None:
        return bool(found) or found == {} or not path
    if isinstance(found, bool):
        return condition.value == str(found).lower()
    return manifest.text(path, condition.default) == condition.value


def _expand(manifest: Manifest, field: Path) -> list[Path]:
    """The paths that a field stands for, with every entry of the lists on its way."""
    paths: list[Path] = [()]
    for step in field:
        if step == "*":
            paths = [each for path in paths for each in _list_below(manifest, path)]
        else:
            paths = [(*path, step) for path in paths]
    return paths


def _list_below(manifest: Manifest, path: Path) -> list[Path]:
    """The paths of the entries of the list or the mapping at `path`."""
    found = manifest.get(path)
    return [(*path, key) for key in found] if isinstance(found, dict) else manifest.list_paths(path)


def _read_role(manifest: Manifest, role: TemplatePath) -> list[Leaf]:
    """The leaves of a role; none where it has no pods, or pods that are created when the others run."""
    entries = _list_entries(manifest, role)
    found = find_holding(manifest, role.late) if entries and not manifest.counting else ()
    if found:
        others = [f"{other.name or other.noun}s" for other in manifest.kind.templates if other != role]
        manifest.tell("ordered-start", found, "late", name=role.name or role.noun, others=" and ".join(others))
        return []
    return [leaf for entry in entries if (leaf := _read_leaf(manifest, role, entry))]


def _read_leaf(manifest: Manifest, role: TemplatePath, entry: _RoleTemplate) -> Leaf | None:
    factors = tuple(_choose(manifest, role.factors or (), entry))
    pods = multiply(manifest, factors, entry.stars)
    counted = factors[0].field if factors else ""
    count_path = place(counted, entry.stars) or entry.path[:-1] or ("spec",)
    if manifest.refused:
        return None
    template = manifest.template(entry.path, pods, count_path, place(role.spec, entry.stars))
    if template is None or manifest.refused:
        return None
    if pods == 0:
        path, message = count_path, f"{role.noun} {entry.key} has no pods: it is left out of the gang"
        zero = _find_zero(manifest, factors) if len(manifest.kind.templates) == 1 and not entry.stars else ()
        if zero:
            path = zero
            message = f"{path[-1]} is {manifest.get(path) or 0}: no pods, so no group"
        manifest.note("group-without-pods", path, message)
        return None
    leaf = _find_minimum(manifest, role, entry, template)._replace(head=role.head)
    if leaf.min_count == pods and any(factor.first for factor in factors):
        first = tuple(factor.beginning for factor in factors)
        leaf = leaf._replace(min_count=min(multiply(manifest, first, entry.stars), pods))
    sets = [
        (label, _read_factor(manifest, factor, entry.stars))
        for label, factor in zip(role.index_labels, factors, strict=False)
        if factor.field
    ]
    replicas = prod(number for _, number in sets)
    if role.number_label:
        leaf = leaf._replace(number=add_labels(*sets, (role.number_label, pods // replicas)))
    if not sets:
        return leaf
    total = add_labels(*sets)
    by = divide(total, 1) if "*" in total else total
    return leaf._replace(replicas=replicas, by=by, **_find_unit(manifest, factors[: len(role.index_labels)], entry))


def _find_unit(manifest: Manifest, factors: tuple[Factor, ...], entry: _RoleTemplate) -> Fields:
    """The entry of a list that has the number of replicas: its name, and how many of them come first."""
    for factor in reversed(factors):
        path = place(factor.field, entry.stars)
        numbers = [place for place, step in enumerate(path) if isinstance(step, int)]
        if numbers:
            name = manifest.text((*path[: numbers[-1] + 1], "name"))
            first, every = (_read_factor(manifest, each, entry.stars) for each in (factor.beginning, factor))
            return {"unit": name, "first": min(first, every)}
    return {}


def _choose(manifest: Manifest, factors: tuple[Factor, ...], entry: _RoleTemplate) -> Iterator[Factor]:
    """The factors of an entry: of those in a list whose entries name roles, that of the entry that names it, or 1."""
    for factor in factors:
        if factor.names:
            steps = factor.names.split(".").index("*")
            lists = _expand(manifest, split_path(factor.names))
            number = next((str(path[steps]) for path in lists if entry.key in as_list(manifest.get(path))), "")
            field, first = factor.field.replace("*", number), factor.first.replace("*", number)
            yield factor._replace(field=field, first=first) if number else Factor()
        else:
            yield factor


def _find_zero(manifest: Manifest, factors: tuple[Factor, ...]) -> Path:
    """The field because of which the only role of a kind has no pods; () where its file says so."""
    fields = [field for factor in factors for field in (factor.field, factor.at_most)]
    paths = [place(field, ()) for field in fields if field and isinstance(field, str)]
    return next((path for path in paths if manifest.get(path) == 0), paths[0] if paths else ())


def _find_minimum(manifest: Manifest, role: TemplatePath, entry: _RoleTemplate, template: PodTemplate) -> Leaf:
    """The leaf with the lower bound of its pods: all of them, where the manifest has none."""
    pods, minimum = template.pods, tuple(_choose(manifest, role.minimum, entry))
    bound = place(minimum[0].field, entry.stars) if minimum else ()
    if not bound or manifest.get(bound) is None or (role.elastic and entry.key not in role.elastic):
        return manifest.leaf(entry.name, template, pods)
    least = multiply(manifest, minimum, entry.stars)
    if not role.elastic:
        return manifest.leaf(entry.name, template, min(least, pods))
    if least <= 1 < pods and not manifest.counting:
        manifest.tell("elastic-minimum", bound, field=bound[-1], one=entry.name)
    return Leaf(entry.name, (template,), min(least, pods))


def multiply(manifest: Manifest, factors: tuple[Factor, ...], stars: Path) -> int:
    """The product of numbers of the manifest, 0 with a note where one is below 0 or it is too large."""
    product = 1
    for factor in factors:
        product *= _read_factor(manifest, factor, stars)
        if not manifest.fits(product, place(factors[0].field, stars)):
            return 0
    return product


def _read_factor(manifest: Manifest, factor: Factor, stars: Path) -> int:
    """The lower bound is tested first, as controllers do: below it, the upper one does not count."""
    default = _read_bound(manifest, factor.default, stars, 1)
    if not factor.field:
        return default
    path = place(factor.field, stars)
    if factor.where and manifest.get(place(factor.where, stars)) is None:
        return 1
    if factor.entries:
        listed = manifest.get(path)
        number = len(listed) if isinstance(listed, dict | list) else default
    else:
        number = manifest.count(path, default, least=0)
    number += factor.plus - bool(factor.less and manifest.get(place(factor.less, stars)) is not None)
    if factor.over:
        number = max(number // max(manifest.count(place(factor.over, stars), 1, least=1), 1), 1)
    least = _read_bound(manifest, factor.at_least, stars, 0)
    most = _read_bound(manifest, factor.at_most, stars, number)
    return max(least if number < least else min(number, most), 0)


def _read_bound(manifest: Manifest, bound: int | str, stars: Path, absent: int) -> int:
    """A number, or that of the field with this path; `absent` where there is none."""
    if isinstance(bound, int):
        return bound
    return manifest.count(place(bound, stars), absent, least=0) if bound else absent


def _list_entries(manifest: Manifest, role: TemplatePath) -> list[_RoleTemplate]:
    """Where the manifest has pod templates of a role, with their names, which are those of the entries on the way."""
    if role.roles and not manifest.require(split_path(role.path.partition(".*")[0])):
        return []
    head, *parts = role.path.split(".*")
    found = [_RoleTemplate(split_path(head), (), role.name)]
    for part in parts:
        inner = [entry for each in found for entry in _list_inner(manifest, role, each)]
        found = [each._replace(path=(*each.path, *split_path(part[1:]))) for each in inner]
    if len(manifest.kind.templates) > 1:  # a role may be left out
        found = [entry for entry in found if manifest.get(entry.path) is not None]
    return [entry if entry.name else entry._replace(name=manifest.ref.kind.lower()) for entry in found]


def _list_inner(manifest: Manifest, role: TemplatePath, outer: _RoleTemplate) -> list[_RoleTemplate]:
    """The entries of the list or the mapping at the path of `outer`."""
    found = []
    for path in _list_below(manifest, outer.path):
        named = (*path, role.name_field)
        own = path[-1].lower() if isinstance(path[-1], str) else manifest.text(named)
        if not own and not manifest.kind.shipped:
            own = f"{outer.path[-1]}-{path[-1]}".lower()
        elif not own and manifest.get(named) in (None, ""):
            manifest.note("field-missing", named, f"a {role.noun} needs a {role.name_field}")
        found.append(_RoleTemplate(path, (*outer.stars, path[-1]), "-".join(filter(None, (outer.name, own)))))
    return found
