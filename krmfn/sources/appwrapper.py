"""AppWrapper (workload.codeflare.dev/v1beta2): the trees of the objects that it wraps, which start together.

Source: project-codeflare/appwrapper `api/v1beta2/appwrapper_types.go`. Its CRD keeps the wrapped objects as they are.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.krm.results import ResourceRef
from krmfn.model.tree import Composite, Group, Leaf
from krmfn.sources import is_read, read_group
from krmfn.sources.manifest import Manifest

_COMPONENTS: Path = ("spec", "components")


def read_appwrapper(manifest: Manifest) -> Group | None:
    """The tree of the one wrapped object that makes pods, or a composite of several."""
    groups = [group for path in manifest.list_paths(_COMPONENTS) if (group := _read_component(manifest, path))]
    if len(groups) < 2:
        return groups[0] if groups else None
    ordered = any(isinstance(group, Composite) and group.min_group_count is None for group in groups)
    if ordered and manifest.decline("ordered-start-deadlock", _COMPONENTS, "wrapped"):
        return None
    return Composite("appwrapper", tuple(groups), len(groups))


def _read_component(manifest: Manifest, component: Path) -> Group | None:
    """The tree of a wrapped object, as if it stood alone. Notes and paths are those of the wrapper."""
    path = (*component, "template")
    value = manifest.get(path)
    if not isinstance(value, dict):
        return None
    kind, name = manifest.text((*path, "kind")), manifest.text((*path, "metadata", "name"))
    ref = ResourceRef(manifest.text((*path, "apiVersion")), kind, name)
    if not is_read(ref) or kind == manifest.ref.kind:
        return None
    inner = Manifest(value, ref, None if manifest.counting else manifest.options, manifest.settings)
    group = read_group(inner)
    manifest.notes += [note._replace(path=(*path, *note.path)) for note in inner.notes]
    return _move(group, path)._replace(name=f"{kind.lower()}-{name}") if group else None


def _move(group: Group, prefix: Path) -> Group:
    """The tree with `prefix` before the paths of its pod templates."""
    if isinstance(group, Leaf):
        moved = [
            template._replace(
                path=(*prefix, *template.path),
                count_path=(*prefix, *template.count_path),
                beside=tuple(((*prefix, *path), value) for path, value in template.beside),
            )
            for template in group.templates
        ]
        return group._replace(templates=tuple(moved))
    return group._replace(children=tuple(_move(child, prefix) for child in group.children))
