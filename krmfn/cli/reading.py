"""What commands read: the worlds and manifests that their arguments name, with progress where that takes long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from krmfn.cli import Options, Words, streams
from krmfn.cli.configuration import Configurations
from krmfn.cli.options import UsageError, split_list
from krmfn.krm import Item, Result
from krmfn.krm.item import Items, list_holding
from krmfn.model.kept import Printed
from krmfn.model.marks import KIND_WORDS, PREFIX
from krmfn.model.values import Value
from krmfn.model.wording import count
from krmfn.workspace.disk import Disk
from krmfn.workspace.manifests import Inputs, load, read_paths
from krmfn.workspace.trees import InputMissing, LeftOut, RevisionMissing
from krmfn.workspace.world import Rendering
from krmfn.workspace.worlds import Worlds, find_worlds

if TYPE_CHECKING:
    from krmfn.workspace.sharding import Shard


def read_items(inputs: Inputs) -> list[Item]:
    """The objects of the files. Raises InputMissing for one that cannot be read."""
    found = load(inputs.files, inputs.left_out)
    if found.unreadable:
        problem = found.problems[0]
        raise InputMissing(problem.file.tell(problem.message) if problem.file else problem.message)
    return found.items


def read_file(path: str) -> bytes:
    """A file that the command line names. Raises UsageError and InputMissing."""
    tree = Disk(path)
    try:
        return tree.read(path)
    except FileNotFoundError:
        raise tree.miss(path, "file") from None
    except LeftOut as left:
        raise UsageError(str(left)) from None


def read_worlds(
    words: Words,
    options: Options,
    default: str = ".",
    complete: bool = False,
    done: Printed | None = None,
    shard: Shard | None = None,
) -> Worlds:
    """The worlds that the arguments name; PATH of `git:REV[:PATH]` defaults to `default`. States that are compared
    share `done`, and `shard` (see share). See find_worlds."""
    done, helm = Printed() if done is None else done, None
    if options.get("allow_helm"):
        from krmfn.workspace.helm import Helm

        helm = Helm(Configurations({**options, "cluster": ()}).find_version, done)
    rendering = Rendering(
        not options["no_render"],
        tuple(split_list(options["allow_exec"])),
        bool(options["require_render"]),
        tuple(split_list(options.get("exclude"))),
        done,
        shard=read_shard(options) if shard is None else shard,
        helm=helm,
    )
    found = find_worlds(words, rendering, default, complete, lambda files: streams.track(files, options))
    use_kinds(found.items)
    return found


def read_shard(options: Options) -> Shard | None:
    """The part that --shard names. Raises UsageError."""
    if not options.get("shard"):
        return None
    from krmfn.workspace.sharding import Shard

    number, _, of = options["shard"].partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise UsageError(f"--shard {options['shard']}: write which of how many parts, such as 3/16")
    return Shard(int(number), int(of))


def share(states: Iterable[tuple[Sequence[str], str]], options: Options) -> Shard | None:
    """The part of two states that --shard names, each with its default path: what both have is dealt out, the rest
    stays together. Raises UsageError and InputMissing."""
    shard = read_shard(options)
    if shard is None:
        return None
    keys = []
    for words, default in states:
        if "-" in words:
            raise UsageError("--shard reads two states twice, and stdin can be read only once: name a file")
        listed = read_worlds(words, options, default, shard=shard._replace(number=0))
        keys.append(frozenset(world.key for world in listed.worlds if world.name))
    return shard._replace(common=frozenset.intersection(*keys))


def use_kinds(items: Items) -> None:
    """Know the kinds of the user that are among objects. Raises ConfigError."""
    if list_holding(items, *KIND_WORDS):
        from krmfn.config.kinds import use_objects  # few have any

        use_objects(items)


def say_if_empty(items: Items, problems: Sequence[Result], words: Words, options: Options) -> None:
    """Why nothing is printed: in a wrong folder that is all there is to say."""
    if not items and not problems:
        streams.remark(f"no Kubernetes objects in {' '.join(words)}", options)


def say_if_unasked(number: int, options: Options) -> None:
    """How many resources without a group could be gangs, and how they become ones."""
    if number and options["output"] == "text":
        these = f"{count(number, 'resource')} without a group can become {'gangs' if number > 1 else 'a gang'}"
        streams.remark(f'{these}: with the annotation {PREFIX}gang: "true", which krmfn init writes', options)


def miss_state(missing: RevisionMissing, given: Sequence[str]) -> InputMissing:
    """The error for a revision that does not exist; a word as it was `given` may have been meant as a path."""
    if missing.word not in given:
        return missing
    path = Disk(missing.word).miss(missing.word)
    reason = str(missing).partition(": ")[2]
    return InputMissing(f"{path}, and {reason}", missing.word, [*missing.known, *path.known])


def read_definitions(path: str | None, excluded: Sequence[str] = ()) -> list[Value]:
    """The definitions in the files at a path, such as that of --crds."""
    read_now = load(read_paths([path] if path else [], excluded).files)
    return [item.value for item in read_now.items if item.kind == "CustomResourceDefinition"]


def read_crds(options: Options) -> list[Value]:
    """The definitions that --crds names. Raises UsageError where it names none."""
    found = read_definitions(options["crds"], split_list(options.get("exclude")))
    if options["crds"] and not found:
        raise UsageError(f"--crds {options['crds']}: no CustomResourceDefinition in it")
    return found
