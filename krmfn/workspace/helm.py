"""Charts as helm renders them, of the work tree or of a revision.

A chart is a program's input: helm gets a copy of it, and no plugin, repository, registry, cluster or network.
Sources: Helm 4.3, `helm template` and its environment; charts v2 (`dependencies`, `crds`, `# Source:` in the output).
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import tempfile
from collections.abc import Callable, Iterator, MutableMapping
from typing import NamedTuple

from krmfn.krm import FileRef, Item, Unreadable
from krmfn.model.values import Value, as_list, as_mapping, as_text
from krmfn.workspace.overlays import spell_json
from krmfn.workspace.processes import Background, Failed, find_program, hold_signals, isolate
from krmfn.workspace.trees import CHART, Lacking, LeftOut, NotRendered, Tree, is_chart
from krmfn.workspace.witness import spell_program

#: Of a chart with its subcharts; the largest public ones have a few hundred files and print 5 MB.
_MOST_ENTRIES = 10_000
_MOST_COPIED = 64 * 2**20
_MOST_PRINTED = 32 * 2**20
_MOST_SECONDS = 60.0
_MOST_MEMORY = 4 * 2**30
_DEEPEST = 32
_INSTALL = "Install Helm 3.8 or newer, or check the output of helm template."
_VENDOR = "Keep them in the repository: helm dependency build writes them into the chart."
_LACKS = re.compile(r"missing in charts/ directory: (.*)")
_SOURCE = re.compile(rb"^---\n# Source: (.*)\n", re.MULTILINE)


class Chart(NamedTuple):
    """A chart in a folder of the tree, and what is given to it: values (a path in the tree, a text, or the values
    themselves; later ones win), the options of helm that set one value, and others. `lacking` are values that are not
    in the repository."""

    folder: str
    release: str
    namespace: str = ""
    values: tuple[str | bytes | Value, ...] = ()
    settings: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()  # a value's name, and the path of its text
    words: tuple[str, ...] = ("--include-crds",)
    replaces: bool = False  # the values of the chart itself do not count
    lacking: tuple[str, ...] = ()


class Helm(NamedTuple):
    """How charts are rendered: `find_release` gives the exact version of Kubernetes for a folder; `done` is what helm
    printed for other states, by the digest of all that it was given."""

    find_release: Callable[[Tree, str], str]
    done: MutableMapping[bytes, bytes]


def inflate(tree: Tree, chart: Chart, helm: Helm, root: str) -> list[tuple[str, bytes]]:
    """What a chart renders: texts, each with the path of its template (of Chart.yaml where the template is in no file
    of the tree). The copy is made below `root`, and stays. Raises NotRendered."""
    program = find_program("helm")
    if not program:
        raise NotRendered("needs helm, which is not on the PATH", _INSTALL)
    try:
        copy = _ChartCopy(tree, tempfile.mkdtemp(dir=root))
        words = [program, *_spell(copy, chart, helm.find_release(tree, chart.folder))]
        spelled = repr((spell_program(program), [word.replace(copy.root, "") for word in words])).encode()
        digest = hashlib.sha256(spelled + copy.digest.digest()).digest()
        if digest not in helm.done:
            helm.done[digest] = _run(words, root, copy)
    except OSError as error:
        raise NotRendered(f"cannot be copied: {error.strerror}") from None
    parts = _SOURCE.split(helm.done[digest])
    return [
        (copy.find(name.decode("utf-8", "replace")), text) for name, text in zip(parts[1::2], parts[2::2], strict=True)
    ]


class _ChartCopy:
    """A chart as helm reads it, below an empty folder."""

    def __init__(self, tree: Tree, root: str) -> None:
        self.root = root
        self.digest = hashlib.sha256()
        self._tree = tree
        self._folder = ""
        self._moved: dict[str, str] = {}  # subcharts that the chart names in another folder, by their place in it
        self._entries = 0
        self._size = 0

    def add_chart(self, folder: str, *, empty: bool) -> str:
        """Copies the chart, without its own values if they are `empty`; where it is."""
        self._folder = folder
        self._add(folder, "chart", 0)
        if empty:
            self.write("chart/values.yaml", b"")
        return os.path.join(self.root, "chart")

    def add_file(self, path: str, name: str) -> str:
        """Copies one file; where it is."""
        try:
            return self.write(name, self._tree.read(path))
        except LeftOut as left:
            raise NotRendered(f"uses {left}") from None
        except FileNotFoundError:
            raise Lacking(path) from None

    def write(self, name: str, data: bytes) -> str:
        self._size += len(data)
        if self._size > _MOST_COPIED:
            raise NotRendered(f"is a chart of more than {_MOST_COPIED // 2**20} MiB")
        self.digest.update(repr((name, len(data))).encode() + data)
        place = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as stream:
            stream.write(data)
        return place

    def find(self, source: str) -> str:
        """The path in the tree of a template, as helm calls it: the name of the chart, and the path in it."""
        inner = posixpath.normpath(source.partition("/")[2])
        for place, folder in self._moved.items():
            if inner.startswith(place + "/"):
                return posixpath.join(folder, inner[len(place) + 1 :])
        path = posixpath.join(self._folder, inner)
        is_here = not inner.startswith("../") and self._tree.kind(path) == "file"
        return path if is_here else posixpath.join(self._folder, CHART)

    def _add(self, folder: str, place: str, depth: int) -> None:
        for name, _ in self._tree.entries(folder):
            path = posixpath.join(folder, name)
            kind = self._tree.kind(path)
            self._entries += 1
            if depth > _DEEPEST or self._entries > _MOST_ENTRIES:
                raise NotRendered(f"is a chart of more than {_MOST_ENTRIES:,} files, or {_DEEPEST} levels of folders")
            if kind == "folder" and not name.startswith("."):
                self._add(path, f"{place}/{name}", depth + 1)
            elif kind != "folder":
                self.add_file(path, f"{place}/{name}")
        for name, path in self._list_neighbours(folder):
            if self._tree.kind(f"{folder}/charts/{name}") != "folder" and is_chart(self._tree, path):
                self._moved[f"{place}/charts/{name}".removeprefix("chart/")] = path
                self._add(path, f"{place}/charts/{name}", depth + 1)

    def _list_neighbours(self, folder: str) -> Iterator[tuple[str, str]]:
        """The subcharts of a chart that are elsewhere in the repository, as `file://` says: names and folders."""
        data = self._tree.find(f"{folder}/{CHART}")
        try:
            head = Item.parse(data, CHART).value if data else {}
        except Unreadable:  # helm says so
            return
        for each in map(as_mapping, as_list(head, "dependencies")):
            name, where = as_text(each, "name"), as_text(each, "repository")
            if where.startswith("file://") and re.fullmatch(r"[\w-]+", name):
                yield name, posixpath.normpath(posixpath.join(folder, where.removeprefix("file://")))


def _spell(copy: _ChartCopy, chart: Chart, release: str) -> Iterator[str]:
    """The words of helm. A name that begins with a dash is none of its options."""
    folder = copy.add_chart(chart.folder, empty=chart.replaces)
    yield from ("template", f"--kube-version={release}", f"--namespace={chart.namespace or 'default'}", *chart.words)
    for number, given in enumerate(chart.values):
        name = f"values/{number}.yaml"
        place = (
            copy.add_file(given, name)
            if isinstance(given, str)
            else copy.write(name, given if isinstance(given, bytes) else spell_json(given))
        )
        yield f"--values={place}"
    yield from chart.settings
    for number, (key, path) in enumerate(chart.files):
        if re.search("[,=]", key):  # behind these, helm reads the name and the file of another value
            raise NotRendered(f"gives a file to {key}, which is not the name of one value")
        yield f"--set-file={key}={copy.add_file(path, f'files/{number}')}"
    yield from ("--", chart.release, folder)


def _run(words: list[str], root: str, copy: _ChartCopy) -> bytes:
    homes = [f"HELM_{each}" for each in ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "PLUGINS")]
    environment = {**isolate(root, homes), "KUBECONFIG": os.devnull}
    with hold_signals():
        running = Background(words, environment, copy.root, root, _MOST_MEMORY, offline=True)
    try:
        data = running.end(_MOST_SECONDS)
    except Failed as failure:
        raise _explain(failure, copy) from None
    if len(data) > _MOST_PRINTED:
        raise NotRendered(f"is rendered to more than {_MOST_PRINTED // 2**20} MiB")
    return data


def _explain(failure: Failed, copy: _ChartCopy) -> NotRendered:
    """What helm said, with the names of the user's files."""
    begin = next((number for number, line in enumerate(failure.lines) if line.startswith("Error:")), -1)
    said, *more = failure.lines[begin:] or [str(failure)]
    said = said.removeprefix("Error: ") + (" " + " ".join(more[:2]) if said.endswith(":") else "")
    if found := _LACKS.search(said):
        return NotRendered(f"depends on charts that are not in its folder charts: {found[1]}", _VENDOR)
    said = said.replace(copy.root + os.sep, "")
    place = None
    for word in said.replace("(", " ").split():
        path, _, line = word.partition(":")
        number = line.partition(":")[0]
        if "/templates/" in path and number.isdecimal() and len(number) < 9:
            place = place or FileRef(copy.find(path), 0, int(number))
    return NotRendered(f"cannot be rendered by helm: {said}", place=place)
