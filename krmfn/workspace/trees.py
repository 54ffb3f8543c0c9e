"""A tree of files as commands read it, on disk or in a revision of git: what both can do, and what they leave out.

Paths are spelled as the user named them, relative to the working directory, so that two states compare. Nothing is read
that is outside of the tree's boundary, and nothing that is not an ordinary file; what is left out for that is told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from krmfn.krm.results import FileRef
from krmfn.model.patterns import Pattern, is_ignored, is_inside, read_patterns
from krmfn.model.values import Names

#: What the name of a revision of git begins with, as in `git:main`.
GIT = "git:"
MISSING = "which does not exist"
#: The kind of a folder entry in a revision, where the work tree has the folder of another repository.
SUBMODULE = "a submodule"
SUFFIXES = (".yaml", ".yml", ".json")
#: The names of kustomizations, in the order in which kustomize looks for them.
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
#: Of a file. Dumps of clusters with thousands of nodes are smaller. Reading takes five times as much memory, and a
#: commit needs next to nothing to bring a file of one byte that is repeated.
MOST_BYTES = 256 * 2**20
#: Of data about a cluster that the user names: kubectl prints 8 kB for a pod, of which little is kept.
MOST_OF_CLUSTERS = 4 * 2**30
#: Of a path: systems refuse longer ones (PATH_MAX), but only after a look at each part.
MOST_CHARACTERS = 4096
#: The file that a folder with a Helm chart has.
CHART = "Chart.yaml"
#: How charts are counted that are not rendered.
CHARTS = "Helm charts"
#: What a Helm chart renders from, and more names beside that which are no manifests.
_MARKS_OF_CHART = {(CHART, "file"), ("templates", "folder")}
_IN_CHART = (CHART, "templates", "charts", "ci")
#: What `go mod vendor` writes into the folder `vendor`.
_GO_MODULES = ("modules.txt", "file")
#: Folders with the data of tests: `testdata` (the go command passes it over, too), `tests/data`, `test-data`, and
#: `src/test/resources` of Maven and Gradle.
_TEST_DATA = r"(?i)(?:^|/)(?:test[-_]?data|tests?/(?:data|fixtures)|src/test/resources)/"
#: The files with patterns of what is passed over.
_IGNORES = (".gitignore", ".krmfnignore")
#: How it is counted that a file is not there because the repository is not to have it.
_UNTRACKED = "files that git ignores"
#: What the name of a template has, and not that of the file that is made from it: `job.env.in`, `job.tpl.env`.
_TEMPLATE = re.compile(r"\.(?:tpl|tmpl|template|tftpl|in|j2|example|sample|dist)(?=\.|$)")
#: As many folders above one may have patterns.
_MOST_ABOVE = 64
#: Deeper folders are not read: to find one takes as long as all above it together.
_DEEPEST_READ = 250


class ManifestFile(NamedTuple):
    """The bytes of a file. `path` is spelled as the user named it (`-` for stdin)."""

    path: str
    data: bytes


class InputMissing(Exception):
    """An argument names nothing that can be read. The message says which, and what would be accepted. `word` is a name
    that may be mistyped, `known` are those that exist."""

    def __init__(self, message: str, word: str = "", known: Iterable[str] = ()) -> None:
        """`message` begins with what was named."""
        super().__init__(message)
        self.word = word
        self.known = tuple(known)


class RevisionMissing(InputMissing):
    """The repository has no such revision, or there is no repository."""


class WriteFailed(Exception):
    """Files could not be written. The message says why, and which were."""


class LeftOut(Exception):
    """A file that exists, but is not read. `severe`: somebody has to do something about it. `sort` says what such files
    are, in the plural, when they are counted."""

    def __init__(self, path: str, reason: str, severe: bool = False, sort: str = "links and special files") -> None:
        """`reason` follows the path in a message."""
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason
        self.severe = severe
        self.sort = sort


class NotRendered(Exception):
    """A kustomization that is not rendered. The message says why, `hint` what to do about it, and `place` where.

    `part` names what cannot be rendered, if it only adds objects to the rest. `sort` says what is missing, in the
    plural, where that is somewhere else on purpose. `entry` is what leads to nothing, as it is written there.
    """

    entry = ""

    def __init__(
        self, reason: str, hint: str = "", place: FileRef | None = None, part: str = "", sort: str = ""
    ) -> None:
        """`reason` follows the name of the kustomization."""
        super().__init__(reason)
        self.hint = hint
        self.place = place
        self.part = part
        self.sort = sort

    def of_whole(self) -> NotRendered:
        """This, where nothing of the kustomization can be checked."""
        self.part, self.sort = "", f"kustomizations that need {self.sort}" if self.sort else ""
        return self


def lack(entry: str, part: str = "", sort: str = "") -> NotRendered:
    """What is raised for an entry that leads to nothing."""
    reason = NotRendered(f"uses {entry}, {MISSING}", part=part, sort=sort)
    reason.entry = entry
    return reason


class FolderEntry(NamedTuple):
    """A name in a folder. `kind` is "file", "folder", "link", or else words for what it is, such as "a named pipe"."""

    name: str
    kind: str


class Tree:
    """Files below a boundary. What `walk` left out is in `left_out`, in the order in which it was met."""

    #: What follows a path of this tree in a message, to say which tree it is.
    where = ""

    def __init__(self, here: str, boundary: str) -> None:
        """`here` is the working directory, `boundary` the repository or what else may be read; both without links."""
        self.here = here
        self.boundary = boundary
        self.left_out: list[LeftOut] = []
        #: Patterns of files that are passed over, besides those of _IGNORES.
        self.excluded: Names = ()
        #: What an editor has instead of files, by their real paths.
        self.unsaved: Mapping[str, bytes] = {}
        #: The size of the largest file that is read.
        self.most_bytes = MOST_BYTES

    def refuse_large(self, path: str, size: int) -> None:
        """Raise LeftOut for a file that is too large to be read."""
        if size > self.most_bytes:
            raise LeftOut(path, f"is larger than {self.most_bytes // 2**20} MiB", severe=True)

    def kind(self, path: str) -> str:
        """What a path leads to: "file", "folder", or "" for nothing that is read. Links within the boundary count."""
        raise NotImplementedError

    def entries(self, folder: str) -> Iterable[FolderEntry]:
        """What is in a folder, in any order; nothing where it is not a folder."""
        raise NotImplementedError

    def read(self, path: str) -> bytes:
        """A file's bytes. Raises LeftOut where it is not read, and FileNotFoundError where it is not there."""
        raise NotImplementedError

    def resolve(self, path: str) -> str:
        """The path without links. Raises LeftOut where they leave the boundary, FileNotFoundError where they end."""
        raise NotImplementedError

    def miss(self, path: str, what: str = "file or folder") -> InputMissing:
        """The error for a path that leads to nothing, or to something else."""
        kind = self.kind(path)
        if kind and kind not in what:
            return InputMissing(f"{path}: a {kind}, not a {what}{self.where}")
        folder, name = os.path.split(path.rstrip("/"))
        known = [entry.name for entry in self.entries(folder or ".")]
        return InputMissing(f"{path}: no such {what}{self.where}", name, known)

    def find(self, path: str) -> bytes | None:
        """The bytes of a file, None where there is no file that is read."""
        try:
            return self.read(path)
        except (LeftOut, FileNotFoundError):
            return None

    def locate(self, path: str) -> str:
        """A path from the top, as the tree spells it."""
        return join_path(os.path.relpath(self.boundary, self.here), path.lstrip("/"))

    def use(self, path: str) -> bytes:
        """The bytes of a file from which something is rendered. Raises NotRendered."""
        try:
            return self.read(path)
        except LeftOut as left:
            raise NotRendered(f"uses {left}") from None
        except FileNotFoundError:
            raise lack(path) from None

    def walk(self, folder: str) -> list[str]:
        """The manifests below a folder, sorted: files with one of SUFFIXES, and kustomizations.

        What is hidden or ignored is passed over; links to files are followed, links to folders are not. What a Helm
        chart renders, copies of Go modules and the data of tests are left out.
        """
        found: list[str] = []
        waiting = [(folder, self._find_patterns(folder))]
        while waiting:
            here, patterns = waiting.pop()
            entries = list(self.entries(here))
            patterns = [*patterns, *self._read_patterns(here, (name for name, _ in entries))]
            if _GO_MODULES in entries and here != folder and here.rpartition("/")[2] == "vendor":
                reason = "lists the modules that go mod vendor copied beside it: they are another repository's"
                self.left_out.append(LeftOut(join_path(here, _GO_MODULES[0]), reason, sort="copies of Go modules"))
                continue
            is_chart = {*entries} >= _MARKS_OF_CHART
            if is_chart:
                reason = "is a Helm chart: helm template shows what it would be"
                self.left_out.append(LeftOut(join_path(here, CHART), reason, sort=CHARTS))
            for name, kind in entries:
                path = join_path(here, name)
                if is_chart and name == "charts":
                    waiting += [(each, patterns) for each in self._list_definitions(path)]
                if is_chart and (name in _IN_CHART or name.startswith("values")):
                    continue
                if not _is_looked_at(name, kind) or is_ignored(patterns, path, kind == "folder"):
                    continue
                if kind != "folder":
                    found += [path] if self._is_read(path, kind) else []
                elif path.count("/") > _DEEPEST_READ:
                    self.left_out.append(LeftOut(path, f"is in more than {_DEEPEST_READ} folders", severe=True))
                else:
                    waiting.append((path, patterns))
        # Who names a folder with the data of tests wants to see it.
        return sorted({*found} if re.search(_TEST_DATA, f"{folder}/") else self._leave_out_test_data(found))

    def _leave_out_test_data(self, paths: list[str]) -> set[str]:
        data = list(filter(re.compile(_TEST_DATA).search, paths))
        reason = "is the data of a test, which nobody applies"
        self.left_out += [LeftOut(path, reason, sort="data of tests") for path in data]
        return set(paths).difference(data)

    def _list_definitions(self, folder: str) -> Iterator[str]:
        """The folders `crds` of charts in a folder `charts`, which helm applies as they are."""
        if folder.count("/") >= _DEEPEST_READ:
            return
        for chart in [join_path(folder, name) for name, kind in self.entries(folder) if kind == "folder"]:
            inside = set(self.entries(chart))
            if ("crds", "folder") in inside:
                yield join_path(chart, "crds")
            if ("charts", "folder") in inside:
                yield from self._list_definitions(join_path(chart, "charts"))

    def find_sort(self, path: str) -> str:
        """What a path with nothing at it is counted as: files of which the repository has templates, files that git
        ignores, or "" for neither."""
        folder, name = os.path.dirname(path) or ".", os.path.basename(path)
        beside = [entry.name for each in (folder, join_path(folder, "templates")) for entry in self.entries(each)]
        if any(_TEMPLATE.sub("", each) == name for each in beside):
            return "files that templates fill in"
        while self.kind(folder) != "folder" and folder not in (".", "/", ""):
            folder = os.path.dirname(folder) or "."
        patterns = [*self._find_patterns(folder), *self._read_patterns(folder, _IGNORES)]
        return _UNTRACKED if is_inside(patterns, os.path.normpath(path)) else ""

    def _find_patterns(self, folder: str) -> list[Pattern]:
        """The patterns that hold in a folder: those of the folders above it within the boundary, and `excluded`."""
        above: list[str] = []
        try:
            here, top = folder, self.resolve(self.locate("."))
            while self.resolve(here) != top and len(above) < _MOST_ABOVE:
                here = join_path(here, "..")
                above.append(here)
        except (LeftOut, FileNotFoundError, ValueError):
            pass
        patterns: list[Pattern] = []
        for each in reversed(above):
            patterns += self._read_patterns(each, _IGNORES)
        if is_ignored(patterns, os.path.normpath(folder), True):
            patterns = []  # who names a folder that is ignored wants to see it
        return patterns + [each for text in self.excluded for each in read_patterns(text, ".")]

    def _read_patterns(self, folder: str, names: Iterable[str]) -> Iterator[Pattern]:
        """The patterns of a folder in which files have these names."""
        for name in sorted({*names}.intersection(_IGNORES)):
            try:
                data = self.read(join_path(folder, name))
                yield from read_patterns(data.decode("utf-8", "replace"), os.path.normpath(folder))
            except FileNotFoundError:
                continue
            except LeftOut as left:
                self.left_out.append(left)

    def _is_read(self, path: str, kind: str) -> bool:
        """Whether an entry that is not a folder is a file, or a link to one; otherwise what is left out is noted."""
        if kind == "file":
            return True
        try:
            if kind != "link":
                raise LeftOut(path, f"is {kind}")
            leads = self.kind(self.resolve(path))
            if not leads:
                raise LeftOut(path, "is a link whose target cannot be read")
            return leads == "file"
        except LeftOut as left:
            self.left_out.append(LeftOut(path, left.reason, left.severe))
        except FileNotFoundError:
            self.left_out.append(LeftOut(path, "is a link to nothing"))
        return False


def _is_looked_at(name: str, kind: str) -> bool:
    """Whether a folder entry may be, or may contain, a manifest."""
    is_folder = kind in ("folder", SUBMODULE)
    return not name.startswith(".") and (is_folder or name.endswith(SUFFIXES) or name in KUSTOMIZATIONS)


def is_chart(tree: Tree, folder: str) -> bool:
    """Whether a Helm chart is in a folder."""
    return tree.kind(join_path(folder, CHART)) == "file"


def find_around(path: str, folders: Container[str]) -> str | None:
    """The nearest of the folders that a file is in, None if it is in none of them."""
    folder = os.path.dirname(path) or "."
    while folder not in folders:
        above = os.path.dirname(folder) or "."
        if above == folder:
            return None
        folder = above
    return folder


def join_path(folder: str, name: str) -> str:
    """The normal path of a name in a folder."""
    return os.path.normpath(os.path.join(folder, name))
