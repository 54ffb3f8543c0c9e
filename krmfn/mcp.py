"""krmfn for coding agents: its commands as tools of the Model Context Protocol, over stdin and stdout.

Each call is a process of its own, so nothing of one is left for the next. No tool writes a file; the paths that a tool
is given have to be below the folder in which the server was started. Needs the extra `krmfn[mcp]`.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

_SECONDS = 300
_INSTRUCTIONS = """\
Gang scheduling for Kubernetes (Workload, PodGroup, CompositePodGroup) without a cluster. Do not write fields of
scheduling.k8s.io from memory: use generate, or look them up with explain. Validate what you have written: the answer
has the edits for what is wrong, and `fixed`, the text after all of them.
"""


class _StrictServer(MCPServer):
    async def call_tool(self, name: str, arguments: dict[str, Any], *rest: Any) -> Any:
        """Refuses arguments that the tool does not have; the library would drop them, and answer another question."""
        known = [
            key for each in await self.list_tools() if each.name == name for key in each.input_schema["properties"]
        ]
        if known and (unknown := sorted(arguments.keys() - known)):
            raise ToolError(f"{name} has no argument {', '.join(unknown)}; it has {', '.join(known)}")
        if "paths" in known and "manifests" not in arguments and not arguments.get("paths"):
            arguments = {**arguments, "paths": ["."]}
        return await super().call_tool(name, arguments, *rest)


server = _StrictServer("krmfn", instructions=_INSTRUCTIONS)
# Below a text is `str` alone: for any other type the library reads JSON first, and makes a mapping of a manifest.
#: Agents need not ask anybody before they call a tool that only reads.
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@server.tool(annotations=_READS)
def validate(
    manifests: str = "", paths: list[str] | None = None, kubernetes: str = "", against: str = ""
) -> dict[str, Any]:
    """Check Kubernetes manifests as the API server would, and find gangs that would be accepted and never start.

    Give the text as `manifests`, or `paths` of files, folders and kustomizations. `kubernetes` is the version of the
    cluster, such as 1.37. `against` is an older state, a revision of git or a path: then the update is checked, too.
    Results have `message`, `severity`, `file`, `tags.rule`, `tags.hint` and, where the change is sure, `edit`. With
    `manifests`, `fixed` is the text after all edits.
    """
    options = {"--kubernetes": kubernetes, "--against": _confine(against) if os.path.exists(against) else against}
    told = _run("validate", [*_place(manifests, paths), "-o", "json"], options, manifests)
    answer: dict[str, Any] = json.loads(told)
    if not paths:
        answer["fixed"] = make_edits(manifests, answer["results"])
    return answer


@server.tool(annotations=_READS)
def generate(manifests: str = "", paths: list[str] | None = None, kubernetes: str = "") -> str:
    """Print manifests with the groups and links that they ask for with the annotation krmfn.dev/gang: "true".

    Nothing is written. A RayCluster, Job, JobSet or other kind becomes a gang; `kubernetes` is the version of the
    cluster.
    """
    return _run("generate", _place(manifests, paths), {"--kubernetes": kubernetes}, manifests)


@server.tool(annotations=_READS)
def diff(old: str, new: str = "", kubernetes: str = "") -> str:
    """What an apply of `new` over `old` would do: which objects are updated, refused or have to be replaced.

    Each is a path, or a revision of git such as main; without `new`, the work tree.
    """
    states = [_confine(each) if os.path.exists(each) else each for each in (old, new) if each]
    return _run("diff", states, {"--kubernetes": kubernetes})


@server.tool(annotations=_READS)
def why(object: str, cluster: str, kubernetes: str = "") -> str:
    """Why an object of a cluster, such as job/ml/train, does not run, and what to change.

    `cluster` is the path of a dump: kubectl get all,podgroups,nodes,events -A -o yaml.
    """
    return _run("why", [object], {"--cluster": _confine(cluster), "--kubernetes": kubernetes})


@server.tool(annotations=_READS)
def fit(cluster: str, manifests: str = "", paths: list[str] | None = None, kubernetes: str = "") -> str:
    """Which gangs of the manifests would run in the cluster of a dump, on which nodes, and why others would not."""
    options = {"--cluster": _confine(cluster), "--kubernetes": kubernetes}
    return _run("fit", _place(manifests, paths), options, manifests)


@server.tool(annotations=_READS)
def explain(field: str, kubernetes: str = "", recursive: bool = False) -> str:
    """What a kind or field may contain, such as PodGroup.spec.schedulingPolicy: types, limits, rules.

    With `recursive`, one line for each field below.
    """
    return _run("explain", [field, *["--recursive"] * recursive], {"--kubernetes": kubernetes})


@server.tool(annotations=_READS)
def rules(rule: str = "") -> str:
    """The page of a rule: what goes wrong, an example, how to fix it, sources. Without one, a line for each rule."""
    return _run("rules", [rule] if rule else [], {})


def make_edits(text: str, results: Sequence[Mapping[str, Any]]) -> str:
    """A text after the edits of all results, which do not meet; those that several results have are made once."""
    starts = [0]
    for line in io.StringIO(text, newline=""):
        starts.append(starts[-1] + len(line))

    def find(place: Mapping[str, int]) -> int:
        return starts[place["line"] - 1] + place["column"] - 1

    edits = {json.dumps(each["edit"]): each["edit"] for each in results if "edit" in each}
    for edit in sorted(edits.values(), key=lambda edit: -find(edit["start"])):
        text = text[: find(edit["start"])] + edit["text"] + text[find(edit["end"]) :]
    return text


def _place(manifests: str, paths: Sequence[str] | None) -> list[str]:
    """The arguments that name what is read. Raises ToolError for both, and for a path elsewhere."""
    if manifests and paths:
        raise ToolError("give either manifests or paths")
    return [_confine(path) for path in paths or ()] or ["-"]


def _confine(path: str) -> str:
    """A path below the folder of the server. Raises ToolError for any other."""
    here = os.path.realpath(os.curdir)
    real = os.path.realpath(path.replace("\0", "?"))
    if path.startswith("-") or os.path.commonpath([here, real]) != here:
        raise ToolError(f"{path}: only paths below {here} are read")
    return os.path.relpath(real, here)


def _run(command: str, words: Sequence[str], options: Mapping[str, str], stdin: str = "") -> str:
    """The output of a command; what it says aside stands before it. Raises ToolError with its words where it fails."""
    given = [f"{name}={value}" for name, value in options.items() if value]
    if any(word.startswith("-") and word not in ("-", "-o", "--recursive") for word in words):
        raise ToolError("an argument begins with a dash")
    called = [sys.executable, "-m", "krmfn", command, *given, *words]
    done = subprocess.run(called, input=stdin.encode(), capture_output=True, check=False, timeout=_SECONDS)
    out, err = done.stdout.decode(), done.stderr.decode("utf-8", "replace")
    if done.returncode > 1 and not (out and command == "validate"):
        raise ToolError(err.strip() or f"krmfn {command} failed")
    return out if command == "validate" else f"{err}{out}"
