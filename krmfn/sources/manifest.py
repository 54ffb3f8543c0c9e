"""A manifest as its source reads it: typed access by path, with the API server's idea of an absent field, and the
notes that are left on the way. Knows no kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from krmfn.config import GangOptions, Settings
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT, ResourceRef
from krmfn.model.findings import Note, NoteTuple
from krmfn.model.kinds import KINDS, KindRow, keeps_link, kuberay_keeps
from krmfn.model.placeholders import is_name_placeholder, is_number_placeholder, spell
from krmfn.model.rules import RULES, tell
from krmfn.model.tree import Group, Leaf, PodTemplate
from krmfn.model.values import Value
from krmfn.releases.release import first_release

#: The object of a group and kind, in a namespace ("" for a kind without), by its name.
Find = Callable[[str, str, str, str], Value | None]

MAX_INT32 = 2**31 - 1


class SourceReading(NamedTuple):
    """What a source made of a manifest: its tree, or None where there is nothing to schedule as a group, and why.

    The paths of the tree lead through `value`: the manifest, with the pod templates that it takes from another object.
    """

    group: Group | None
    notes: NoteTuple = ()
    value: Mapping[str, Any] = {}


class Manifest:
    """One manifest with what is asked of it. A value that cannot be read leaves a note and counts as absent.

    With `options` None nobody asks for a gang: the pods are counted, whatever may speak against one. `find` finds the
    objects that the manifest names.
    """

    def __init__(
        self, value: Value, ref: ResourceRef, options: GangOptions | None, settings: Settings, find: Find | None = None
    ) -> None:
        self.value = value
        self._find = find
        self.ref = ref
        self.options = options or settings.gang
        self.settings = settings
        self.counting = options is None
        self.notes: list[Note] = []

    @cached_property
    def kind(self) -> KindRow:
        """What there is to know of the manifest's kind."""
        return KINDS[self.ref.group_kind]

    def find(self, group: str, kind: str, namespace: str, name: str) -> Value | None:
        """The object that the manifest names, None where it is not known; `namespace` is "" for kinds without one."""
        return self._find(group, kind, namespace, name) if self._find else None

    def is_elsewhere(self, *inner: Path) -> bool:
        """Whether the resource is handed to another controller than its kind's own, by the field of its row or by one
        of `inner`, which a note then says."""
        for path in dict.fromkeys((self.kind.managed_by, *inner)):
            owner = self.text(path) if path else ""
            if owner not in ("", self.kind.manager):
                self.tell("managed-elsewhere", path, owner=owner)
                return True
        return False

    @property
    def bridged(self) -> bool:
        """Whether pods get their link when they are created, because the configuration says so, or because it leaves it
        open and their CRD is known to drop it."""
        settings = self.settings
        if settings.scheduler != "Kubernetes" or settings.link == "Template":
            return False
        return settings.link == "Bridge" or (settings.release.has("pod-groups") and self.drops_link)

    @property
    def drops_link(self) -> bool:
        """Whether the CRD of the kind, as configured, is known to drop the link."""
        if self.ref.group == "ray.io":
            return not kuberay_keeps(self.settings.kuberay.version, self.settings.release.link[0])
        version, project = self.kind.drops
        if project and (not version or self.ref.api_version.endswith(f"/{version}")):
            return True
        return keeps_link(self.kind, self.settings.operators) is False

    @property
    def refused(self) -> bool:
        """Whether a note of severity error was left: then there is no tree."""
        return any(RULES[note.rule].severity == "error" or note.rule == "value-unknown" for note in self.notes)

    def note(self, rule: str, path: Path, message: str, hint: str = "", proposed: Any = ABSENT) -> None:
        """Leave a note at `path`, with the value that stands there when it is a scalar."""
        found = self.get(path, ABSENT)
        current = ABSENT if isinstance(found, dict | list) else found
        told = Note(rule, path, message, current, proposed, hint)
        if is_number_placeholder(found) if rule == "count-type" else is_name_placeholder(found):
            told = Note("value-unknown", path, f"{spell(found)} is filled in later: no group until then", current)
        self.notes.append(told)

    def tell(self, rule: str, path: Path, case: str = "", proposed: Any = ABSENT, **about: Any) -> None:
        """Leave a note in the words of the rule's row or of one of its cases, which name the {kind} and `about`."""
        told = tell(rule, path, case, ABSENT, proposed, kind=self.ref.kind, **about)
        self.note(rule, path, told.message, told.hint, proposed)

    def decline(self, rule: str, path: Path, case: str = "", proposed: Any = ABSENT, **about: Any) -> bool:
        """Say why there will be no gang although there are pods. False, and no note, when pods are only counted."""
        if not self.counting:
            self.tell(rule, path, case, proposed, **about)
        return not self.counting

    def pass_over(self, reason: str, hint: str, path: Path = ("kind",)) -> None:
        """Say why nothing can be generated for a resource of this kind."""
        rule = "kind-not-supported" if self.options.requested else "kind-passed-over"
        self.note(rule, path, f"nothing is generated for this {self.ref.kind}: {reason}", hint)

    def get(self, path: Path, default: Any = None) -> Any:
        """The value at `path`, or `default` when there is none."""
        value: Any = self.value
        try:
            for part in path:
                value = value[part]
        except (KeyError, IndexError, TypeError):
            return default
        return value

    def count(self, path: Path, default: int, least: int | None = None) -> int:
        """The int32 at `path`; absent and null are `default`, as for the server. Noted where it is below `least`."""
        value = self._read_count(path, default)
        if least is not None and value < least:
            self.note("count-negative", path, f"{path[-1]} is {value}", f"Use {least} or more.")
        return value

    def _read_count(self, path: Path, default: int) -> int:
        value = self.get(path)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 4.0 in YAML is 4 in the JSON that the API server reads
        if isinstance(value, str) and value.isdecimal() and len(value) < 100 and not self.kind.shipped:
            value = int(value)  # its CRD says whether it has to be a string
        if isinstance(value, bool) or not isinstance(value, int):
            self.note("count-type", path, "should be a whole number", "Write a whole number.")
            return default
        return value if self.fits(value, path) else default

    def fits(self, value: int, path: Path) -> bool:
        """Whether `value`, read at or computed for `path`, is an int32; otherwise a note says so."""
        if -MAX_INT32 - 1 <= value <= MAX_INT32:
            return True
        too_much = f"{value} does" if value == self.get(path) else f"{value} pods do"
        self.note("count-overflow", path, f"{too_much} not fit into an int32", f"Use at most {MAX_INT32} pods.")
        return False

    def _expect(self, path: Path, form: type, what: str, hint: str = "") -> Any:
        """The value at `path` where it has this type; None where there is none or, with a note, one of another type."""
        value = self.get(path)
        if value is None or isinstance(value, form):
            return value
        self.note("field-type", path, f"should be {what}", hint)
        return None

    def text(self, path: Path, default: str = "") -> str:
        """The string at `path`; absent and null are `default`."""
        value = self.get(path)
        hint = "Write a string." if isinstance(value, dict | list) else f'Write it in quotes: "{value}".'
        found: str | None = self._expect(path, str, "a string", hint)
        return default if found is None else found

    def flag(self, path: Path) -> bool:
        """The boolean at `path`; absent and null are False."""
        return bool(self._expect(path, bool, "true or false", "Write true or false."))

    def list_paths(self, path: Path) -> list[Path]:
        """The paths of the mappings in the list at `path`; absent and null are an empty list."""
        found = []
        for index, element in enumerate(self._expect(path, list, "a list", "Write a list.") or ()):
            if isinstance(element, dict):
                found.append((*path, index))
            else:
                self.note("field-type", (*path, index), "should be a mapping")
        return found

    def require(self, path: Path) -> bool:
        """Whether there is a mapping at `path`; otherwise a note says that it is missing."""
        if self.get(path) is None:
            self.note("field-missing", path, "is required")
        return self._expect(path, dict, "a mapping") is not None

    def template(self, path: Path, pods: int, count_path: Path, apart: Path = ()) -> PodTemplate | None:
        """The pod template at `path`, with what all pods of a group must agree on. None when there is none. With
        `apart` it is an entry with annotations for the pods, and fields of their spec are there."""
        spec = apart or (*path, "spec")
        if not self.require(path) or not (apart or self.require(spec)):
            return None
        containers = (*spec, "containers")
        if not apart and not self.list_paths(containers) and self.get(containers) in (None, []):
            self.note("field-missing", containers, "needs at least one container")
        found = self.get(spec)
        found = found if isinstance(found, dict) else {}
        fields = ("priorityClassName", "schedulerName", "preemptionPolicy")
        priority, scheduler, policy = [self.text((*spec, field)) if field in found else "" for field in fields]
        return PodTemplate(0, path, pods, count_path, priority, scheduler, policy, self.bridged, apart=apart)

    def note_link_version(self, template: Path) -> None:
        """Say from which version on the CRD of a kind keeps the link, unless the installed one is known to."""
        settings = self.settings
        if settings.scheduler != "Kubernetes" or "customResourceDefinitions" in settings.cluster or self.bridged:
            return
        field, place = settings.release.link[0], (*template, "spec")
        if self.ref.group == "ray.io":
            if self.drops_link:
                bridge = "; or set link: Auto" if settings.release.has("pod-groups") else ""
                keepers = "1.6" if field == "workloadRef" else "1.7 or later"
                version = ".".join(map(str, settings.kuberay.version))
                self.tell("link-pruned", place, "KubeRay", version=version, field=field, keepers=keepers, bridge=bridge)
            return
        keeper, early = self.kind.keeper, self.kind.early_keeper
        known = keeps_link(self.kind, settings.operators) if field == "schedulingGroup" else None
        if keeper is None or known:
            return
        if known is False:
            version = ".".join(map(str, settings.operators[self.kind.project]))
            project = f"{keeper.rpartition(' ')[0]} {version}"
            self.tell("link-pruned", place, "installed", project=project, field=field, keeper=keeper)
        elif field != "schedulingGroup" and early == "":
            release = first_release("pod-groups")
            self.tell("link-pruned", place, "every", field=field, release=release, keeper=keeper)
        else:
            case = "older" if keeper and field == "schedulingGroup" else "early" if early else "unknown"
            self.tell("link-needs-version", place, case, field=field, keeper=keeper, early=early)

    def leaf(self, name: str, template: PodTemplate, minimum: int) -> Leaf:
        """The leaf of one template. `minimum` is the lower bound of its pods, the quorum where that is asked for."""
        quorum = minimum if self.options.min_count == "MinReplicas" else template.pods
        return Leaf(name, (template,), quorum)
