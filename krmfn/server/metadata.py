"""The rules of `metadata`, the same for every kind: names, labels, annotations, owners, finalizers, managed fields.

Values are normal (see decode). What differs between releases is an argument that the schema of ObjectMeta carries.

Source: k8s.io/apimachinery/pkg/api/validation/objectmeta.go and pkg/apis/meta/v1/validation, plus the finalizer rule of
k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Value
from krmfn.server.formats import (
    Form,
    check_label_key,
    check_label_value,
    check_long_name,
    check_path_segment,
    check_short_name,
    count_bytes,
)
from krmfn.server.schema import Kind, Type
from krmfn.server.spell import to_api, write_json
from krmfn.server.verdict import Causes, forbidden, invalid, invalid_text, refuse_text, required, too_long

_ANNOTATIONS = 256 * 1024
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_NOTHING: Mapping[str, str] = {}
_OWNERS = ("metadata", "ownerReferences")
#: What rows say of an owner, by how a release names it.
_OWNER_PARTS = {"plain": "plainOwner", "indexed": "indexedOwner", "declared": "declaredOwner"}
_FINALIZERS = ("metadata", "finalizers")
_MANAGED = ("metadata", "managedFields")


def check_new_metadata(of: Type, meta: Value, check: Form = check_long_name, kind: Kind | None = None) -> Causes:
    """What a create refuses, once name and namespace are filled in. `check`: what names are. No `kind`: custom."""
    yield from _check_names(meta, check, kind)
    yield from _check_common(of, meta)
    if kind:
        yield from _check_kube_finalizers(meta, kind)


def check_shared_metadata(of: Type, meta: Value) -> Causes:
    """What a create of any kind refuses. Kinds differ in what names they take and whether they have a namespace."""
    if not meta.get("name") and not meta.get("generateName"):
        yield required(("metadata", "name"), "name or generateName is required", "metadata-name")
    yield from _check_common(of, meta)


def check_changed_metadata(of: Type, meta: Value, old: Value, kind: Kind) -> Causes:
    """What an update refuses. Both have the system's fields filled in."""
    if meta == old:
        return
    check = check_long_name if kind.names_on_update else check_path_segment
    yield from _check_names(meta, check, kind, changed=True)
    yield from _check_common(of, meta)
    if "deletionTimestamp" in old:
        added = sorted(set(meta.get("finalizers", ())) - set(old.get("finalizers", ())))
        if added:
            listed = ", ".join(quote(name) for name in added)
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers"
            yield forbidden(_FINALIZERS, f"{detail} []string{{{listed}}}", "metadata-finalizer")
    for name in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if meta.get(name) != old.get(name):
            text = write_json(meta.get(name))
            yield invalid_text(("metadata", name), text, "field is immutable", "metadata-immutable")
    yield from _check_kube_finalizers(meta, kind)


def _check_names(meta: Value, check: Form, kind: Kind | None, changed: bool = False) -> Causes:
    prefix = "" if kind and kind.plain_prefix and not changed else meta.get("generateName")
    if prefix:
        wrong = check(prefix if check is check_path_segment else _mask_dash(prefix))
        yield from refuse_text(("metadata", "generateName"), prefix, wrong, "metadata-name")
    name = meta.get("name")
    if not name:
        yield required(("metadata", "name"), "name or generateName is required", "metadata-name")
    else:
        yield from refuse_text(("metadata", "name"), name, check(name), "metadata-name")
    namespace = meta.get("namespace")
    if kind and kind.cluster:
        return
    if not namespace:
        yield required(("metadata", "namespace"), rule="metadata-namespace")
    else:
        yield from refuse_text(("metadata", "namespace"), namespace, check_short_name(namespace), "metadata-namespace")


def _mask_dash(prefix: str) -> str:
    """A trailing dash and the byte before it become `a`, because five characters will follow."""
    text = prefix.encode("utf-8", "surrogatepass")
    return (text[:-2] + b"a").decode("utf-8", "replace") if len(text) > 1 and text[-1:] == b"-" else prefix


def _check_common(of: Type, meta: Value) -> Causes:
    generation = meta.get("generation", 0)
    if generation < 0:
        yield invalid(
            ("metadata", "generation"), generation, "must be greater than or equal to 0", "metadata-generation"
        )
    if "labels" in meta or "annotations" in meta:
        yield from check_template_metadata(meta, ("metadata",))
    if "ownerReferences" in meta:
        yield from _check_owners(of, meta["ownerReferences"])
    if "finalizers" in meta:
        yield from _check_finalizers(meta["finalizers"])
    if "managedFields" in meta:
        from krmfn.server.cases import check_each  # few manifests have them

        # Entries that the server cannot read never get here: see strategy.forget_unreadable_managers.
        yield from check_each(None, "managedEntry", meta["managedFields"], _MANAGED, "metadata-managed-fields")


def check_template_metadata(meta: Value, path: Path) -> Causes:
    """The labels and annotations at a path: those of an object, or of a template."""
    labels, annotations, size = (*path, "labels"), (*path, "annotations"), 0
    for key, value in meta.get("labels", _NOTHING).items():
        yield from refuse_text(labels, key, check_label_key(key), "metadata-label")
        yield from refuse_text(labels, value, check_label_value(value), "metadata-label")
    for key, value in meta.get("annotations", _NOTHING).items():
        yield from refuse_text(annotations, key, check_label_key(key.lower()), "metadata-annotation")
        size += count_bytes(key) + count_bytes(value)
    if size > _ANNOTATIONS:
        yield too_long(annotations, _ANNOTATIONS, rule="metadata-annotation")


def _check_owners(of: Type, owners: list[Any]) -> Causes:
    way: str = of.keywords["x-kubernetes-owner-references"]
    from krmfn.server.cases import check_part  # few objects have owners

    controller = ""
    owners = to_api(of.fields["ownerReferences"].type, owners)
    for index, owner in enumerate(owners):
        at = _OWNERS if way == "plain" else (*_OWNERS, index)
        yield from check_part(None, _OWNER_PARTS[way], owner, at, "metadata-owner")
        if owner.get("controller"):
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                why = 'Only one reference can have Controller set to true. Found "true" in references for'
                yield invalid_text(_OWNERS, write_json(owners), f"{why} {controller} and {name}", "metadata-owner")
            else:
                controller = name


def _check_finalizers(finalizers: list[str]) -> Causes:
    for name in finalizers:
        yield from refuse_text(_FINALIZERS, name, check_label_key(name), "metadata-finalizer")
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield invalid_text(_FINALIZERS, write_json(finalizers), detail, "metadata-finalizer")


def _check_kube_finalizers(meta: Value, kind: Kind) -> Causes:
    for index, name in enumerate(() if kind.any_finalizer else meta.get("finalizers", ())):
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid((*_FINALIZERS, index), name, detail, "metadata-finalizer")
