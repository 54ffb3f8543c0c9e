"""Functions that did not run, or are listed where they cannot work."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final

from krmfn.checks.rule import rule
from krmfn.config import Settings
from krmfn.config.selection import KUBERAY_LABEL, OPT_IN
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.marks import list_sources, name_source
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.values import as_list, as_mapping, dig
from krmfn.survey.census import Census

_CONFIG: Final = ("krmfn.dev", "GangScheduling")


@rule("function-skipped", "error", "A resource opts in, but no group was generated for it.")
def find_function_skipped(census: Census, settings: Settings) -> Iterator[Finding]:
    """A resource asks for a gang and has no group: the sign that the function did not run. KubeRay's own label is none:
    where krmfn made nothing at all, another scheduler reads it."""
    if census.kind(*_CONFIG) or census.kind("kustomize.config.k8s.io", "Kustomization"):
        return  # the sources of a build, not its output
    made = {source for item in census.objects for source in list_sources(item)} if census.asking else ()
    for item in census.asking:
        if name_source(item.ref) in made or _is_linked(item, census) or (not made and _is_kuberays(item, settings)):
            continue
        message = "no PodGroup was generated for it: krmfn probably did not run"
        hint = (
            "List krmfn under transformers: (krmfn init does it) and build with "
            "kustomize build --enable-alpha-plugins --enable-exec, or run krmfn generate."
        )
        path = ("metadata", "annotations", OPT_IN) if OPT_IN in item.annotations else ("metadata",)
        rendered = item.file.path in ("", "-")
        yield Finding(item, path, message, hint=hint, severity=None if rendered else "warning")


@rule("listed-as-generator", "error", "krmfn is listed under generators.")
def find_listed_as_generator(census: Census) -> Iterator[Finding]:
    for item, field, index, _config in _listings(census):
        if field == "generators":
            message = "kustomize passes no resources to generators, so krmfn receives none and fails"
            hint = "List krmfn under transformers: of the outermost kustomization."
            yield Finding(item, (field, index), message, hint=hint)


@rule("validator-returns-items", "error", "krmfn is listed under validators, but is configured to return items.")
def find_validator_returns_items(census: Census) -> Iterator[Finding]:
    for item, field, index, config in _listings(census):
        spec = as_mapping(config.value, "spec")
        if field == "validators" and (spec.get("mode") != "Validate" or spec.get("emitItems") != "None"):
            message = "kustomize refuses a validator that returns its items, because it adds annotations to them itself"
            hint = "Set mode: Validate and emitItems: None, or list it last under transformers:."
            yield Finding(item, (field, index), message, hint=hint)


def _is_kuberays(item: Item, settings: Settings) -> bool:
    """Whether nothing but KubeRay's label asks for the gang."""
    return settings.select.mode == "OptIn" and KUBERAY_LABEL in item.labels and OPT_IN not in item.annotations


def _is_linked(item: Item, census: Census) -> bool:
    for template in census.templates_of(item):
        if template.link or any(
            key in as_mapping(template.metadata.get(part)) for part, key in (row.link for row in SCHEDULERS.values())
        ):
            return True
    return dig(item.value, "spec", "scheduling") is not None


def _listings(census: Census) -> Iterator[tuple[Item, str, int, Item]]:
    """Where kustomizations of the input list a configuration of ours that is in the input, too: it, or its folder."""
    configs: dict[str, Item] = {}
    for config in census.kind(*_CONFIG):
        configs |= {config.file.path: config, posixpath.dirname(config.file.path): config}
    for item in census.kind("kustomize.config.k8s.io", "Kustomization"):
        folder = posixpath.dirname(item.file.path)
        for field in ("generators", "validators"):
            for index, entry in enumerate(as_list(item.value.get(field))):
                found = configs.get(posixpath.normpath(posixpath.join(folder, str(entry))))
                if found is not None:
                    yield item, field, index, found
