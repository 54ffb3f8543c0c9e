"""From the command line and `krmfn.yaml` to settings. Must not know what settings mean."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from krmfn.cli import Options, Words
from krmfn.cli.options import UsageError, spell_command, split_list
from krmfn.config import ConfigError, Ruling, Rulings, Settings, check_feature_gates, read_ruling, read_settings
from krmfn.config.schema import descend, find_problems, load_schema
from krmfn.config.settings import RULED
from krmfn.krm import Item, Stream, Unreadable
from krmfn.krm.results import SEVERITIES
from krmfn.model.kinds import KINDS
from krmfn.model.marks import FACTS_KIND, KIND_KIND, KIND_WORDS, PREFIX
from krmfn.model.values import Value
from krmfn.pipeline import read_functions
from krmfn.releases.release import Release, complete, find_release, list_releases
from krmfn.workspace.disk import Disk, read_stream
from krmfn.workspace.manifests import read_tree
from krmfn.workspace.trees import SUFFIXES, LeftOut, ManifestFile, Tree, join_path
from krmfn.workspace.world import World

FILE = "krmfn.yaml"


class Configurations:
    """The settings of the worlds of a command. Every file is read once, and every configuration understood once."""

    def __init__(self, options: Options) -> None:
        """Reads what --cluster names. Raises InputMissing, and UsageError and ConfigError for the command line itself,
        also where there is nothing to check."""
        self._options = options
        self._here = Disk(".")
        self._find_elsewhere = cache(Disk)
        self._usual = read_settings(None)
        self._paths: dict[tuple[Tree, str], str] = {}
        self._read: dict[tuple[Tree, str], Settings] = {}
        self._read_facts = cache(_read_facts)
        self._gates = parse_gates(options["feature_gates"]) if options.get("feature_gates") else {}
        check_feature_gates(self._gates)
        if options.get("kubernetes"):
            find_release(options["kubernetes"])
        self._named = self._read_named(options["config"]) if options.get("config") else None
        self._given = _read_facts(options["cluster"]) if options.get("cluster") else {}

    def find(self, world: World, as_cluster: bool = False, kubernetes: str = "") -> Settings:
        """The settings of a world, with `kubernetes` (--kubernetes) and --feature-gates on top.

        They are those of --config; else of the function that the world was rendered with; else of the krmfn.yaml in its
        folder or above, in the same state; else of the one configuration among its objects. With `as_cluster`, gates
        are read as kube-apiserver reads its flag (releases.release.complete). Until the next call, the kinds of the
        user are known that the functions of the world know; with --config, or without functions, all.

        Raises UsageError for a file that cannot be read and ConfigError for one that says something wrong.
        """
        KINDS.put_aside()
        settings = self._named or self._find(world)
        if KINDS.own and world.configurations and not self._named:
            read_functions(world.items, world.configurations)
        version = kubernetes or self._options.get("kubernetes")
        if version:
            settings = settings._replace(release=find_release(version), assumed=False)
        if self._gates:
            gates = complete(self._gates, settings.release) if as_cluster else self._gates
            settings = settings._replace(feature_gates={**settings.feature_gates, **gates})
        if self._given:
            from krmfn.workspace.clusters import merge

            settings = settings._replace(cluster=merge([settings.cluster, self._given]))
        return settings

    def find_version(self, tree: Tree, folder: str) -> str:
        """The exact version of Kubernetes that is set for a folder."""
        return self.find(World("", "", (), tree, folder)).release.version

    def find_rulings(self, tree: Tree | None, folder: str) -> Rulings:
        """Which findings count in a folder, of a tree or else of the work tree, whatever is in it."""
        if self._named:
            return self._named.rules
        found = self._find_above(tree or self._open(folder), folder)
        return found.rules if found else Rulings()

    def _find(self, world: World) -> Settings:
        tree = world.tree or self._open(world.folder)
        if world.configurations and all(each == world.configurations[0] for each in world.configurations):
            return self._understand(world.configurations[0], None, tree, world.folder)
        found = self._find_above(tree, world.folder)
        if found is None and not tree.where:  # the work tree, somewhere else
            found = self._find_above(self._here, ".")
        if found is not None:
            return found
        # A kustomization's functionConfig lies beside its manifests; with several, none of them speaks for all.
        # One whose kind is misspelled is refused, and not passed over.
        ours = (item for item in world.items if item.api_version.startswith(PREFIX))
        among = [item for item in ours if item.kind not in (FACTS_KIND, KIND_KIND)]
        return self._understand(among[0].value, among[0], tree, world.folder) if len(among) == 1 else self._usual

    def _open(self, folder: str) -> Disk:
        """The work tree, or a folder that the user named outside of it."""
        try:
            self._here.resolve(folder)
        except LeftOut:
            return self._find_elsewhere(folder)
        except OSError:
            pass
        return self._here

    def _find_above(self, tree: Tree, folder: str) -> Settings | None:
        """What the krmfn.yaml in a folder of a tree, or the nearest one above, says; None when there is none."""
        path = self.find_file(tree, folder)
        if path and (tree, path) not in self._read:
            item = _read(tree, path)
            self._read[tree, path] = self._understand(item.value, item, tree, posixpath.dirname(path))
            self.use_kinds_beside(tree, posixpath.dirname(path))
        return self._read[tree, path] if path else None

    def find_file(self, tree: Tree, folder: str) -> str:
        """The krmfn.yaml in a folder of a tree, or in the nearest one above; empty when there is none."""
        if (tree, folder) not in self._paths:
            path = join_path(folder, FILE)
            above = join_path(folder, "..")
            try:
                if tree.kind(path) != "file":
                    path = "" if tree.resolve(above) == tree.resolve(folder) else self.find_file(tree, above)
            except (LeftOut, FileNotFoundError):
                path = ""
            self._paths[tree, folder] = path
        return self._paths[tree, folder]

    def _read_named(self, path: str) -> Settings:
        try:
            data = read_stream(path)
            disk = Disk(path)
            item = _read(disk, path) if data is None else _parse(data, path)
        except FileNotFoundError:
            raise Disk(path).miss(path, "file") from None
        self.use_kinds_beside(disk, posixpath.dirname(path))
        return self._understand(item.value, item, disk, posixpath.dirname(path))

    def _understand(self, value: Value, item: Item | None, tree: Tree, folder: str) -> Settings:
        """The settings of a configuration, with the kinds of `spec.kinds` and the files of `spec.cluster.from`, which
        are named as seen from its folder, as are the paths of `spec.rules`."""
        try:
            settings = read_settings(value)
        except ConfigError as error:
            raise ConfigError(
                problem._replace(place=item.locate(problem.path).spell() if item else f"a functionConfig of {folder}")
                for problem in error.problems
            ) from None
        rules = settings.rules._replace(folder=folder or ".")
        if item is not None:
            select, ignore, severity = (_place(getattr(rules, key), item, key) for key in RULED)
            rules = Rulings(select, ignore, severity, rules.folder)
        settings = settings._replace(rules=rules)
        for name in settings.kind_files if item else ():  # our function opens none
            path = join_path(folder, name)
            if not use_kinds_in(read_tree(tree, path).files):
                raise UsageError(f"{path}: contains no object of kind WorkloadKind, but spec.kinds names it")
        paths = settings.cluster.get("from")
        if not paths:
            return settings
        from krmfn.workspace.clusters import merge

        places = tuple(join_path(folder, path) for path in paths)
        own = {key: entry for key, entry in settings.cluster.items() if key != "from"}
        return settings._replace(cluster=merge([self._read_facts(places, tree), own]))

    def use_kinds_beside(self, tree: Tree, folder: str) -> None:
        """Know the kinds in the files of a folder, in which or below which somebody works."""
        names = (entry.name for entry in tree.entries(folder) if entry.kind == "file")
        paths = [join_path(folder, name) for name in names if name.endswith(SUFFIXES)]
        use_kinds_in(ManifestFile(path, data) for path in sorted(paths) if (data := tree.find(path)))


def use_kinds_in(files: Iterable[ManifestFile]) -> bool:
    """Know the kinds that files describe; whether there are any. Raises UsageError and ConfigError."""
    items: list[Item] = []
    for file, data in files:
        try:
            items += Stream.parse(data, file).items if any(word in data for word in KIND_WORDS) else ()
        except Unreadable as error:
            raise UsageError(error.spell(file)) from None
    if not items:
        return False
    from krmfn.config.kinds import is_karta, is_workload_kind, use_objects

    use_objects(items)
    return any(is_workload_kind(item) or is_karta(item) for item in items)


def _read_facts(paths: Sequence[str], tree: Tree | None = None) -> Value:
    from krmfn.survey.condensing import Cutter
    from krmfn.workspace.clusters import read_clusters

    return merge_facts(read_clusters(paths, Cutter(), tree))


def merge_facts(found: Iterable[tuple[str, Any]]) -> Value:
    """The facts of several files, each with its path, as `spec.cluster` of one. Raises ConfigError for mistakes."""
    from krmfn.workspace.clusters import merge

    found = list(found)
    schema = descend(load_schema(), "spec", "cluster")
    problems = [
        problem._replace(place=path) for path, facts in found for problem in find_problems(facts, schema, ("spec",))
    ]
    if problems:
        raise ConfigError(problems)
    return merge(facts for _, facts in found)


def read_rulings(options: Options) -> Rulings:
    """--select, --ignore and --severity. Raises UsageError."""
    return Rulings(
        tuple(map(read_ruling, split_list(options.get("select")))),
        tuple(map(read_ruling, split_list(options.get("ignore")))),
        tuple(map(_read_severity, split_list(options.get("severity")))),
    )


def refuse_assumed(command: str, target: Release, words: Words) -> UsageError:
    """For a `command` whose answer depends on the release that the cluster runs today, which nobody gave."""
    older = list_releases()[: list_releases().index(target.name)] or [target.name]
    example = spell_command(f"krmfn {command} {target.name} --kubernetes {older[-1]}", words)
    return UsageError(f"--kubernetes is missing: the version that the cluster runs before the upgrade: {example}")


def parse_gates(text: str) -> dict[str, bool]:
    """`A=true,B=false` as a mapping. Raises UsageError for anything else."""
    gates = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if not name or value.lower() not in {"true", "false"}:
            raise UsageError(f"--feature-gates: {part!r} is not Name=true or Name=false")
        gates[name] = value.lower() == "true"
    return gates


def _read_severity(word: str) -> Ruling:
    rule, equals, level = word.rpartition("=")
    severity = next((each for each in SEVERITIES if each == level), None)
    if not equals or not rule or severity is None:
        raise UsageError(f"--severity: {word!r} is not RULE=error, RULE=warning or RULE=info")
    return read_ruling(rule, severity)


def _place(entries: Sequence[Ruling], item: Item, key: str) -> tuple[Ruling, ...]:
    """The entries of a file with their lines in it."""
    path = ("spec", "rules", key)
    return tuple(entry._replace(place=item.locate((*path, index))) for index, entry in enumerate(entries))


def _read(tree: Tree, path: str) -> Item:
    try:
        return _parse(tree.read(path), path)
    except LeftOut as left:
        raise UsageError(f"the configuration {left}") from None


def _parse(data: bytes, path: str) -> Item:
    try:
        items = Stream.parse(data, path).items
    except Unreadable as error:
        raise UsageError(error.spell(path)) from None
    if any(item.kind == KIND_KIND for item in items):
        from krmfn.config.kinds import use_objects

        use_objects(items)
    ours = [item for item in items if item.api_version.startswith(PREFIX) and item.kind != KIND_KIND]
    chosen = ours or items
    if len(chosen) != 1:
        raise UsageError(
            f"{path}: contains {len(chosen)} objects; the configuration is one object of kind GangScheduling"
        )
    return chosen[0]
