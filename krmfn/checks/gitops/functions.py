"""Functions that did not run, or are listed where they cannot work."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from krmfn.checks.rule import Matches, rule, tell
from krmfn.config import Settings
from krmfn.config.selection import KUBERAY_LABEL, OPT_IN
from krmfn.krm.item import Item
from krmfn.model.marks import list_sources, name_source
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.values import as_list, as_mapping, dig
from krmfn.survey.census import Census

_CONFIG = ("krmfn.dev", "GangScheduling")


@rule("function-skipped")
def find_function_skipped(census: Census, settings: Settings) -> Matches:
    """A resource asks for a gang and has no group: the sign that the function did not run. KubeRay's own label is none:
    where krmfn made nothing at all, another scheduler reads it."""
    if census.kind(*_CONFIG) or census.kind("kustomize.config.k8s.io", "Kustomization"):
        return  # the sources of a build, not its output
    made = {source for item in census.objects for source in list_sources(item)} if census.asking else ()
    for item in census.asking:
        asks = OPT_IN in item.annotations
        by_label = settings.select.mode == "OptIn" and KUBERAY_LABEL in item.labels and not asks
        if name_source(item.ref) in made or _is_linked(item, census) or (not made and by_label):
            continue
        path = ("metadata", "annotations", OPT_IN) if asks else ("metadata",)
        yield tell(item, path, warning=item.file.path not in ("", "-"))


@rule("listed-as-generator")
def find_listed_as_generator(census: Census) -> Matches:
    for item, field, index, _config in _listings(census):
        if field == "generators":
            yield tell(item, (field, index))


@rule("validator-returns-items")
def find_validator_returns_items(census: Census) -> Matches:
    for item, field, index, config in _listings(census):
        spec = as_mapping(config.value, "spec")
        if field == "validators" and (spec.get("mode") != "Validate" or spec.get("emitItems") != "None"):
            yield tell(item, (field, index))


def _is_linked(item: Item, census: Census) -> bool:
    templates, links = census.templates_of(item), [row.link for row in SCHEDULERS.values()]
    others = any(dig(each.metadata, *link) is not None for each in templates for link in links)
    return others or any(each.link for each in templates) or dig(item.value, "spec", "scheduling") is not None


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
