"""`krmfn kinds [KIND]`: the kinds that krmfn knows, one as a file to start from, or a draft from a definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from krmfn.cli import Options, Words, streams
from krmfn.cli.options import UsageError
from krmfn.config.karta import translate
from krmfn.config.kinds import is_karta
from krmfn.config.problems import ask_about
from krmfn.krm import Item
from krmfn.model.drafts import draft, list_strays
from krmfn.model.kinds import KINDS, KindRow
from krmfn.model.marks import KIND_KIND, PREFIX
from krmfn.model.values import as_text
from krmfn.model.wording import join


def list_words() -> Iterable[str]:
    return dict.fromkeys(name for _, name in KINDS)


def run(words: Words, options: Options) -> int:
    """Writes to stdout. Raises UsageError for a kind that is not known, and a file that defines none."""
    if options["from"]:
        if words:
            raise UsageError("--from drafts the kind that the file defines: leave out KIND")
        streams.write("---\n".join(_draft(options["from"])))
        return 0
    if words:
        name, _, group = words[0].partition(".")
        found = [key for key in KINDS if key[1].lower() == name.lower() and (not group or key[0] == group)]
        if not found:
            hint = ask_about(name, list_words()) or "krmfn kinds lists them."
            raise UsageError(f"there is no kind {words[0]!r}. {hint} krmfn kinds --from drafts the file of another one")
        streams.write("---\n".join(map(KINDS.read_file, found)))
        return 0
    rows = {f"{row.name}.{row.group}".rstrip("."): _say(row) for row in KINDS.values()}
    width = max(map(len, rows))
    for name, said in rows.items():
        streams.write(f"{name:{width}}  {said}\n")
    return 0


def _say(row: KindRow) -> str:
    if row.has_gangs:
        return "gangs on request" if row.gang == "OnRequest" else "gangs"
    return f"no gang: {row.reason}" if row.reason else "only checked"


def _draft(path: str) -> Iterator[str]:
    from krmfn.cli.reading import read_items
    from krmfn.workspace.manifests import read_paths

    items = read_items(read_paths([path]))
    definitions = [item for item in items if item.kind == "CustomResourceDefinition" or is_karta(item)]
    if not definitions:
        raise UsageError(f"{path}: contains no CustomResourceDefinition and no Karta")
    specs = [(item, translate(item.value) if is_karta(item) else draft(item.value)) for item in definitions]
    found = [(item, spec) for item, spec in specs if spec.get("roles") or "reason" in spec]
    if not found:
        hint = "write the file by hand; krmfn kinds JobSet prints one"
        names = join((as_text(spec, "kind") or item.name for item, spec in specs), "or")
        raise UsageError(f"{path}: the schema of {names} has no pod template: {hint}")
    for item, spec in found:
        local = {"config.kubernetes.io/local-config": "true"}  # kustomize and kpt send it to no cluster
        metadata = {"name": item.name, "annotations": local}
        head = {"apiVersion": f"{PREFIX}v1alpha1", "kind": KIND_KIND, "metadata": metadata}
        once = [role["template"] for role in spec.get("roles", ()) if "count" not in role]
        notes = [
            f"# No field of the schema seems to count the pods of {each}: it is taken for one pod.\n" for each in once
        ]
        strays = [] if is_karta(item) else list_strays(item.value, spec.get("roles", []))
        if strays:
            notes.append(f"# Multiply these where they count pods, too: {', '.join(strays)}.\n")
        yield "".join(notes) + Item.new({**head, "spec": spec}).text
