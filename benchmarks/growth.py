"""`./dev bench growth`: how time and memory grow with the input, for every shape that input may have.

Each shape is run at one size and at four times that size; what counts is the cost of a unit at the larger size against
that at the smaller one, the start-up taken off. Must not know how the work is done.
"""

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import programs
from benchmarks.clock import Program, run_once

FACTOR = 4
#: What a unit may cost more at the larger size: 15 %, for time and for memory.
BOUND = 1.15
#: Time and memory below these are not judged.
MOMENT = 0.01
STOCK = 4_000_000

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
JOB = """- apiVersion: batch/v1
  kind: Job
  metadata:
    name: job-{n}
    annotations: {{krmfn.dev/gang: "true"{more}}}
  spec:
    completions: 4
    parallelism: 4
    completionMode: Indexed
    template:
      spec:
        restartPolicy: Never
        containers: [{{name: main, image: "train:{n}"}}]
"""
RAY_CLUSTER = """- apiVersion: ray.io/v1
  kind: RayCluster
  metadata: {{name: a, annotations: {{krmfn.dev/gang: "true"}}}}
  spec:
    headGroupSpec: {{template: {pods}}}
    workerGroupSpecs:
"""
GROUP = """apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: group-{n}}}
spec: {{schedulingPolicy: {{gang: {{minCount: {count}}}}}{more}}}
"""
COMPOSITE = """apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {{name: group-{n}}}
spec: {{schedulingPolicy: {{gang: {{minGroupCount: 1}}}}{more}}}
"""


class Shape(NamedTuple):
    """Input of `n` units, a file or the files of a folder, and the command that reads it."""

    words: Sequence[str]
    write: Callable[[int], str | Mapping[str, str]]
    n: int

    def put(self, folder: Path, n: int) -> tuple[list[str], Path | None]:
        """Writes the input; the words of the command then, and the file that the function reads from stdin."""
        written = self.write(n)
        names = {"FILE": "input.yaml", "EMPTY": "empty.yaml", "FOLDER": f"units-{n}"}
        files = {"input.yaml": written} if isinstance(written, str) else written
        place = folder if isinstance(written, str) else folder / names["FOLDER"]
        for name, text in {**files, "empty.yaml": ""}.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        parts = [word.partition("/") for word in self.words]
        words = [
            str(folder / names[top] / rest) if top in names else word
            for word, (top, _, rest) in zip(self.words, parts, strict=True)
        ]
        return words, None if words else folder / "input.yaml"


def repeat(line: str) -> Callable[[int], str]:
    return lambda n: "".join(line.format(n=k) for k in range(n))


def list_of(line: str, before: str = "", behind: str = "") -> Callable[[int], str]:
    return lambda n: HEAD + before + repeat(line)(n) + behind


def one_job(more: Callable[[int], str]) -> Callable[[int], str]:
    return lambda n: HEAD + JOB.format(n=0, more="") + more(n)


def annotated(n: int) -> str:
    return HEAD + JOB.format(n=0, more="".join(f', krmfn.dev/x{k}: "1"' for k in range(n)))


def ray_groups(n: int) -> str:
    pods = "{spec: {containers: [{name: a, image: b}]}}"
    head = RAY_CLUSTER.format(pods=pods)
    return (
        HEAD + head + "".join(f"    - groupName: g{k}\n      replicas: 2\n      template: {pods}\n" for k in range(n))
    )


def chain(n: int) -> str:
    """A composite in a composite, and so on, with a group at the end."""
    groups = [COMPOSITE.format(n=0, more="")]
    groups += [COMPOSITE.format(n=k, more=f", parentCompositePodGroupName: group-{k - 1}") for k in range(1, n)]
    return "---\n".join([*groups, GROUP.format(n=n, count=1, more=f", parentCompositePodGroupName: group-{n - 1}")])


def circle(n: int) -> str:
    """Composites, the parents of each other."""
    return "---\n".join(
        COMPOSITE.format(n=k, more=f", parentCompositePodGroupName: group-{(k + 1) % n}") for k in range(n)
    )


def documents(line: str) -> Callable[[int], str]:
    return lambda n: "---\n".join(line.format(n=k, count=4, more="") for k in range(n))


def pods(n: int) -> str:
    spec = "{schedulingGroup: {podGroupName: group-0}, containers: [{name: a, image: b}]}"
    return "".join(f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{k}}}\nspec: {spec}\n" for k in range(n))


JOB_DOCUMENT = "\n".join(line[2:] for line in JOB.splitlines()) + "\n"
JOB_OF_SPACE = JOB_DOCUMENT.replace("  name: job-{n}\n", "  name: job\n  namespace: s-{n}\n")
BAD_GROUP = (
    '{{"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {{"name": "g{n}"}}, "spec": {{}}}}'
)
WORKLOAD = """apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {{name: w-{n}}}
spec: {{podGroupTemplates: [{{name: a, schedulingPolicy: {{gang: {{minCount: 2}}}}}}]}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: g-{n}}}
spec: {{workloadRef: {{workloadName: w-{n}, templateName: a}}, schedulingPolicy: {{gang: {{minCount: 2}}}}}}
"""


def kustomizations(n: int, use: Callable[[int], str]) -> dict[str, str]:
    """Folders with a kustomization each; the last one, which is not used by `use`, holds a manifest."""
    files = {f"{k}/kustomization.yaml": f"kind: Kustomization\nresources: [{use(k)}]\n" for k in range(n)}
    last = {
        f"{n}/kustomization.yaml": "kind: Kustomization\nresources: [a.yaml]\n",
        f"{n}/a.yaml": JOB_DOCUMENT.format(n=0, more=""),
    }
    return {**files, **last}


GENERATED = GROUP.replace("metadata: {{", "metadata: {{annotations: {{krmfn.dev/generated-from: Job.batch/job-{n}}}, ")


def resources(n: int, gangs: bool = True) -> dict[str, str]:
    """A kustomization with `n` Jobs, each in a file of its own; without `gangs` beside what was generated for it."""
    job = JOB_DOCUMENT if gangs else JOB_DOCUMENT.replace('"true"', '"false"')
    files = {f"{k}.yaml": job.format(n=k, more="") for k in range(n)}
    files |= {} if gangs else {f"{k}-gang.yaml": GENERATED.format(n=k, count=1, more="") for k in range(n)}
    return {**files, "kustomization.yaml": "kind: Kustomization\nresources:\n" + "".join(f"- {k}\n" for k in files)}


JOBSET = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec:\n  replicatedJobs:\n"
JOBSET_JOB = """  - name: j{n}
    replicas: {replicas}
    template: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: b}}]}}}}}}}}
"""
KAI = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: a}\nspec:\n  queue: q\n  subGroups:\n"
PLAIN = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c-{n}\n  data:\n    a: {n}\n"


def jobset(replicas: int, n: int) -> str:
    jobs = (JOBSET_JOB.format(n=k, replicas=replicas) for k in range(n))
    return JOBSET + "".join(jobs)


IGNORING = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: a}\nspec:\n  rules:\n    ignore:\n"
IGNORE = "    - {{rules: [field-*], paths: [x{n}.yaml], reason: x}}\n"


def ignores(n: int) -> dict[str, str]:
    """A configuration with `n` ignores that match none of as many findings."""
    return {"krmfn.yaml": IGNORING + repeat(IGNORE)(n), "a.yaml": documents(GROUP.replace("{count}", "0"))(n)}


DEVICES = """---
apiVersion: v1
kind: Node
metadata: {{name: n-{n}}}
status: {{allocatable: {{cpu: 8, pods: 110}}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: s-{n}}}
spec: {{driver: a, nodeName: n-{n}, pool: {{name: n{n}, generation: 1, resourceSliceCount: 1}}, devices: [{{name: d}}]}}
"""
CLAIM = """---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: t-{n}}}
spec: {{spec: {{devices: {{requests: [{{name: a, exactly: {{deviceClassName: gpu}}}}]}}}}}}
"""
CLAIMING = JOB_DOCUMENT + "      resourceClaims: [{{name: a, resourceClaimTemplateName: t-{n}}}]\n" + CLAIM
FUNCTION: Sequence[str] = ()
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: 8, pods: 110}}\n"
RUNNING = """---
apiVersion: v1
kind: Pod
metadata: {{name: job-{n}-0, namespace: default, labels: {{job-name: job-{n}}}}}
spec: {{nodeName: n, containers: [{{name: main, image: a}}]}}
"""
SPACE = """apiVersion: v1
kind: Namespace
metadata: {{name: s-{n}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {{name: a, namespace: s-{n}}}
spec: {{hard: {{pods: 10}}}}
---
"""
running = repeat(RUNNING)
VALIDATE = ("validate", "--stage", "server", "FILE")
FOLDER = ("validate", "FOLDER")
SHAPES: Mapping[str, Shape] = {
    "items that do not matter": Shape(FUNCTION, list_of(PLAIN), 20_000),
    "Jobs with a gang": Shape(FUNCTION, list_of(JOB.replace("{more}", "")), 500),
    "groups of one RayCluster": Shape(FUNCTION, ray_groups, 150),
    "lines of one string": Shape(FUNCTION, one_job(lambda n: "- data: |\n" + "    - a: [ 'x\n" * n), 40_000),
    "words of one flow": Shape(FUNCTION, one_job(lambda n: "  data: [" + "{a: 'b c', d: 1}, " * n + "]\n"), 2_000),
    "brackets in brackets in a string": Shape(
        FUNCTION, one_job(lambda n: "- data: |\n    " + "[ { " * n + "\n"), 500_000
    ),
    "quotes over several lines": Shape(FUNCTION, list_of("- a: 'b\n    c {n}'\n", JOB.format(n=0, more="")), 1_500),
    "items in CR LF": Shape(
        FUNCTION, lambda n: list_of(PLAIN, JOB.format(n=0, more=""))(n).replace("\n", "\r\n"), 20_000
    ),
    "items that are not ASCII": Shape(
        FUNCTION, list_of(PLAIN.replace("c-{n}", "ä{n}"), JOB.format(n=0, more="")), 8_000
    ),
    "a list in flow style": Shape(
        FUNCTION,
        lambda n: "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [" + "{a: b}, " * n + "]\n",
        3_000,
    ),
    "a list in JSON": Shape(
        FUNCTION,
        lambda n: (
            '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": ['
            + ", ".join(f'{{"apiVersion": "v1", "kind": "A", "metadata": {{"name": "a{k}"}}}}' for k in range(n))
            + "]}"
        ),
        4_000,
    ),
    "an alias of one item in others": Shape(
        FUNCTION,
        list_of(
            JOB.replace("name: job-{n}", "name: job-{n}\n    labels: *x").replace("{more}", ""), "- a: &x {b: c}\n"
        ),
        150,
    ),
    "an anchor defined again by every item": Shape(
        FUNCTION,
        list_of(JOB.replace("name: job-{n}", "name: job-{n}\n    labels: &x {{a: b{n}}}").replace("{more}", "")),
        150,
    ),
    "aliases in one item": Shape(
        FUNCTION, one_job(lambda n: "".join(f"  k{k}: {'&a {b: c}' if not k else '*a'}\n" for k in range(n))), 1_500
    ),
    "unknown annotations": Shape(FUNCTION, annotated, 400),
    "duplicate keys": Shape(
        VALIDATE, lambda n: GROUP.format(n=0, count=1, more="") + "  a: 1\n" * 0 + "x: {" + "a: 1, " * n + "}\n", 1_500
    ),
    "comments": Shape(
        FUNCTION, lambda n: HEAD + JOB.format(n=0, more="").replace("  spec:\n", "  spec:\n" + "    # c\n" * n), 30_000
    ),
    "groups in one stream": Shape(VALIDATE, documents(GROUP), 800),
    "Jobs in one stream": Shape(VALIDATE, documents(JOB_DOCUMENT), 400),
    "findings in one line of JSON": Shape(
        VALIDATE,
        lambda n: (
            '{"apiVersion": "v1", "kind": "List", "items": ['
            + ", ".join(BAD_GROUP.format(n=k) for k in range(n))
            + "]}"
        ),
        300,
    ),
    "findings in one stream": Shape(VALIDATE, documents(GROUP.replace("{count}", "0")), 400),
    "ignores and findings": Shape(FOLDER, ignores, 400),
    "a v1/List": Shape(
        VALIDATE, lambda n: "apiVersion: v1\nkind: List\n" + list_of(JOB.replace("{more}", ""))(n)[len(HEAD) - 7 :], 300
    ),
    "all stages over Jobs": Shape(("validate", "FILE"), documents(JOB_DOCUMENT), 300),
    "a chain of composites, all stages": Shape(("validate", "FILE"), chain, 800),
    "composites in a circle": Shape(("validate", "FILE"), circle, 800),
    "words of one name": Shape(
        ("validate", "FILE"),
        lambda n: GROUP.format(n="a-" * n + "a", count=4, more="") + "---\n" + JOB_DOCUMENT.format(n=0, more=""),
        4_000,
    ),
    "tree of Jobs": Shape(("tree", "FILE"), documents(JOB_DOCUMENT), 400),
    "tree of Workloads and groups": Shape(("tree", "FILE"), documents(WORKLOAD), 300),
    "tree of a chain of composites": Shape(("tree", "FILE"), chain, 3_000),
    "generate over files": Shape(("generate", "FILE"), documents(JOB_DOCUMENT), 300),
    "what generate changes in a file": Shape(("generate", "--check", "FILE"), documents(JOB_DOCUMENT), 300),
    "what generate changes in a kustomization": Shape(("generate", "--check", "FOLDER"), resources, 100),
    "what generate takes out of a kustomization": Shape(
        ("generate", "--check", "FOLDER"), lambda n: resources(n, gangs=False), 200
    ),
    "convert of groups": Shape(("convert", "--to", "1.36", "FILE"), documents(WORKLOAD), 300),
    "a chain of kustomizations": Shape(FOLDER, lambda n: kustomizations(n, lambda k: f"../{k + 1}"), 1_500),
    "kustomizations in a circle": Shape(FOLDER, lambda n: kustomizations(n, lambda k: f"../{(k + 1) % n}"), 1_500),
    "convert of groups to 1.35": Shape(("convert", "--to", "1.35", "FILE"), documents(WORKLOAD), 300),
    "pods of one group": Shape(("validate", "FILE"), lambda n: GROUP.format(n=0, count=2, more="") + pods(n), 6_000),
    "an update of one list with keys": Shape(
        ("validate", "--against", "FOLDER/old.yaml", "FOLDER/new.yaml"),
        lambda n: {"old.yaml": jobset(1, n), "new.yaml": jobset(2, n)},
        400,
    ),
    "sub-groups of KAI in each other": Shape(
        ("validate", "FILE"),
        lambda n: KAI + "".join(f"  - {{name: e{k}, parent: e{k - 1}}}\n" for k in range(1, n + 1)),
        1_000,
    ),
    "Jobs and their pods in a cluster": Shape(
        ("fit", "--prove", "--cluster", "FOLDER/cluster.yaml", "FOLDER/jobs.yaml"),
        lambda n: {"cluster.yaml": NODE + running(n), "jobs.yaml": documents(JOB_DOCUMENT)(n)},
        150,
    ),
    "why of a Job beside other Jobs and their pods": Shape(
        ("why", "job/job-0", "--prove", "--cluster", "FOLDER/cluster.yaml"),
        lambda n: {"cluster.yaml": NODE + running(n) + "---\n" + documents(JOB_DOCUMENT)(n)},
        150,
    ),
    "devices and gangs with claims": Shape(
        ("fit", "--prove", "--cluster", "FOLDER/cluster.yaml", "FOLDER/jobs.yaml"),
        lambda n: {"cluster.yaml": repeat(DEVICES)(n), "jobs.yaml": documents(CLAIMING)(n)},
        100,
    ),
    "namespaces with quotas": Shape(("validate", "FILE"), documents(SPACE + JOB_OF_SPACE), 100),
    "diff of Jobs with nothing": Shape(("diff", "EMPTY", "FILE"), documents(JOB_DOCUMENT), 200),
}


def measure(shape: Shape, n: int, folder: Path, rounds: int) -> tuple[float, int]:
    """Processor seconds and bytes of memory of the best run over input of `n` units. On one processor: where several
    share the larger input, making copies would look like growth."""
    words, stdin = shape.put(folder, n)
    program = Program(programs.krmfn(*words), stdin, alone=True)
    runs = [run_once(program, allowed=(0, 1)) for _ in range(rounds)]
    return min(run.processor for run in runs), min(run.memory for run in runs)


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in SHAPES]
    if unknown:
        print(f"no such shape: {', '.join(unknown)}; there are {', '.join(SHAPES)}", file=sys.stderr)
        return 2
    missed = 0
    print("| input | units | time of a unit | memory of a unit | at most |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label in names or SHAPES:
            shape = SHAPES[label]
            none = measure(shape, 1, folder, 3)
            small, large = (measure(shape, n, folder, 3) for n in (shape.n, FACTOR * shape.n))
            seconds = (large[0] - none[0]) / FACTOR / (small[0] - none[0]) if small[0] - none[0] > MOMENT else 0
            bytes_small, bytes_large = small[1] - none[1], large[1] - none[1]
            # Small amounts are what the interpreter had in stock.
            memory = bytes_large / FACTOR / bytes_small if bytes_small > STOCK else 0
            missed += max(seconds, memory) > BOUND
            marks = ["" if ratio <= BOUND else " (missed)" for ratio in (seconds, memory)]
            times = f"{small[0] - none[0]:.2f} s → {large[0] - none[0]:.2f} s"
            units = f"{shape.n:,} → {FACTOR * shape.n:,}"
            amount = f"{memory:.2f}{marks[1]} ({bytes_small / 1e6:.0f} MB → {bytes_large / 1e6:.0f} MB)"
            print(f"| {label} | {units} | {seconds:.2f}{marks[0]} ({times}) | {amount} | {BOUND} |", flush=True)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
