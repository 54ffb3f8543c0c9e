"""What there is to know of each kind that makes pods, one row per kind. Arithmetic is a function in krmfn/sources.

A row is all that a kind needs where its pods are counted by one field: who reads a manifest, a census, an update or
kustomize's name references takes it from here. Source: the CRDs and controllers of the projects, at the versions that
docs/reference/mapping.md names.
"""

from __future__ import annotations

from krmfn.krm.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

TYPE_CHECKING = False  # as typing spells it, without the 10 ms that importing it costs every build
if TYPE_CHECKING:
    from collections.abc import Mapping


class Template(NamedTuple):
    """A pod template of a kind. In paths `*` stands for every entry of a list or a mapping.

    `counted` is the field that says how many pods there are, `default` its value where it is absent (or the number,
    where there is no such field). Unless `alone`, more
    than this field decides, and only 0 is certain. A template that is `aside` makes pods that belong to no gang.
    `roles` are the keys that a mapping on the way can have.
    """

    path: str
    counted: str = ""
    default: int = 1
    alone: bool = True
    aside: bool = False
    roles: tuple[str, ...] = ()


class Kind(NamedTuple):
    """A kind that makes pods.

    `source` is the function of krmfn/sources that reads it, as module.function, empty where nothing is generated;
    `reason` and `hint` then say why, and what to do instead. `keeper` is the first release of its CRD that keeps the
    link in pod templates: None for kinds that always keep it, "" where no release is known to; `early_keeper` is the
    release that keeps the link of Kubernetes 1.35, "" where none does, None where that is not known. `drops` names a
    version of the API, and the project, of which no release does. `immutable` are fields of spec that cannot change;
    checks of the server may know more.
    `managed_by` is the path of the field that hands the resource to a controller, `manager` the kind's own controller.
    `staged` kinds start their templates one after the other, or leave one out on purpose. `renewed` kinds build new
    pods beside the old ones; `kept` kinds leave running pods alone when their template changes. `rival` is the path of
    a field that switches on another gang scheduler, which `rival_name` calls by name. `owns` is the path of the field
    by which the kind's own controller makes the groups.
    """

    group: str
    name: str
    templates: tuple[Template, ...]
    source: str = ""
    keeper: str | None = None
    early_keeper: str | None = None
    drops: tuple[str, str] = ("", "")
    immutable: tuple[str, ...] = ()
    managed_by: str = ""
    manager: str = ""
    staged: bool = False
    renewed: bool = False
    kept: bool = False
    rival: str = ""
    rival_name: str = ""
    owns: str = ""
    reason: str = ""
    hint: str = ""


_REPLICATED: Final = (Template("spec/template", "spec/replicas"),)


def _ray(name: str, base: str, source: str, *aside: str, **more: object) -> Kind:
    """A kind of KubeRay with its cluster at `base`. Which of its versions keeps the link: krmfn.config.crds."""
    templates = (
        Template(f"{base}/headGroupSpec/template", alone=False),
        Template(f"{base}/workerGroupSpecs/*/template", f"{base}/workerGroupSpecs/*/replicas", alone=False),
        *(Template(path, aside=True) for path in aside),
    )
    return Kind("ray.io", name, templates, source, owns=f"{base}/scheduling", **more)  # type: ignore[arg-type]  # fields of Kind


def _training(name: str, field: str, *roles: str) -> Kind:
    """A kind of the training operator with a mapping of roles."""
    base = f"spec/{field}/*"
    return Kind(
        "kubeflow.org",
        name,
        (Template(f"{base}/template", f"{base}/replicas", roles=roles),),
        "trainingoperator.read_trainingjob",
        keeper="training operator v1.9.4",
        managed_by="spec/runPolicy/managedBy",
        manager="kubeflow.org/training-operator",
        staged=True,
        kept=True,
        rival="spec/runPolicy/schedulingPolicy",
        rival_name="the operator's gang scheduler",
    )


def _spark(name: str, base: str) -> Kind:
    return Kind(
        "sparkoperator.k8s.io",
        name,
        (
            Template(f"{base}/driver/template"),
            Template(f"{base}/executor/template", f"{base}/executor/instances"),
        ),
        keeper="",
        staged=True,
        rival=f"{base}/batchScheduler",
        rival_name="its batch scheduler",
        reason="the driver creates the executors, so a gang of both is never scheduled, and Spark is not known to "
        "keep the link",
        hint="Use batchScheduler of the Spark operator.",
    )


_KINDS: Final = (
    Kind("", "Pod", (Template(""),), "pod.read_pod"),
    Kind("", "PodTemplate", (Template("template", aside=True),)),
    Kind("", "ReplicationController", _REPLICATED, kept=True),
    Kind(
        "apps",
        "Deployment",
        _REPLICATED,
        "deployment.read_deployment",
        immutable=("selector",),
        renewed=True,
    ),
    Kind("apps", "ReplicaSet", _REPLICATED, "deployment.read_replicaset", immutable=("selector",), kept=True),
    Kind("apps", "StatefulSet", _REPLICATED, "statefulset.read_statefulset"),
    Kind("apps", "DaemonSet", (Template("spec/template", alone=False),), immutable=("selector",)),
    Kind(
        "batch",
        "Job",
        (Template("spec/template", "spec/parallelism", alone=False),),
        "job.read_job",
        managed_by="spec/managedBy",
        manager="kubernetes.io/job-controller",
    ),
    Kind(
        "batch",
        "CronJob",
        (Template("spec/jobTemplate/spec/template", "spec/jobTemplate/spec/parallelism", alone=False),),
        "cronjob.read_cronjob",
        managed_by="spec/jobTemplate/spec/managedBy",
        manager="kubernetes.io/job-controller",
    ),
    _ray("RayCluster", "spec", "raycluster.read_raycluster", immutable=("managedBy",), kept=True),
    _ray("RayJob", "spec/rayClusterSpec", "rayjob.read_rayjob", "spec/submitterPodTemplate", immutable=("managedBy",)),
    _ray("RayService", "spec/rayClusterConfig", "rayservice.read_rayservice", immutable=("managedBy",), renewed=True),
    _ray(
        "RayCronJob",
        "spec/jobTemplate/rayClusterSpec",
        "raycronjob.read_raycronjob",
        "spec/jobTemplate/submitterPodTemplate",
    ),
    Kind(
        "jobset.x-k8s.io",
        "JobSet",
        (Template("spec/replicatedJobs/*/template/spec/template", "spec/replicatedJobs/*/replicas", alone=False),),
        "jobset.read_jobset",
        keeper="JobSet v0.12.0",
        early_keeper="JobSet v0.11",
        immutable=("replicatedJobs", "managedBy"),
        managed_by="spec/managedBy",
        manager="jobset.sigs.k8s.io/jobset-controller",
        owns="spec/scheduling",
        staged=True,
    ),
    Kind(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        (
            Template("spec/leaderWorkerTemplate/leaderTemplate", "spec/replicas"),
            Template("spec/leaderWorkerTemplate/workerTemplate", "spec/leaderWorkerTemplate/size", alone=False),
        ),
        "leaderworkerset.read_leaderworkerset",
        keeper="LeaderWorkerSet v0.9.0",
        early_keeper="",
        owns="spec/scheduling",
        staged=True,
    ),
    _training("JAXJob", "jaxReplicaSpecs", "Worker"),
    _training("PaddleJob", "paddleReplicaSpecs", "Master", "Worker"),
    _training("PyTorchJob", "pytorchReplicaSpecs", "Master", "Worker"),
    _training("TFJob", "tfReplicaSpecs", "Chief", "Evaluator", "Master", "PS", "Worker"),
    _training("XGBoostJob", "xgbReplicaSpecs", "Master", "Worker"),
    Kind("workload.codeflare.dev", "AppWrapper", (), "appwrapper.read_appwrapper"),
    # No group in Git can be linked to the pods of these: they are explained, and checked.
    Kind(
        "kubeflow.org",
        "MPIJob",
        (
            Template("spec/mpiReplicaSpecs/Launcher/template"),
            Template("spec/mpiReplicaSpecs/Worker/template", "spec/mpiReplicaSpecs/Worker/replicas", default=0),
        ),
        "mpijob.read_mpijob",
        managed_by="spec/runPolicy/managedBy",
        manager="kubeflow.org/mpi-operator",
        keeper="training operator v1.9.4",
        drops=("v2beta1", "the MPI operator"),
        staged=True,
        kept=True,
        rival="spec/runPolicy/schedulingPolicy",
        rival_name="the operator's gang scheduler",
    ),
    *(
        Kind(
            "trainer.kubeflow.org",
            name,
            (
                Template(
                    "spec/template/spec/replicatedJobs/*/template/spec/template",
                    "spec/template/spec/replicatedJobs/*/replicas",
                    alone=False,
                ),
            ),
            keeper="Kubeflow Trainer v2.2.1",
            staged=True,
            rival="spec/podGroupPolicy",
            rival_name="coscheduling or Volcano",
        )
        for name in ("TrainingRuntime", "ClusterTrainingRuntime")
    ),
    Kind(
        "trainer.kubeflow.org",
        "TrainJob",
        (),
        keeper="Kubeflow Trainer v2.2.1",
        immutable=("runtimeRef", "trainer"),
        staged=True,
        rival="spec/podGroupPolicy",
        rival_name="coscheduling or Volcano",
        reason="a TrainJob has no pod templates: its training runtime has them, which all TrainJobs share",
        hint="Use its podGroupPolicy, or a JobSet.",
    ),
    _spark("SparkApplication", "spec"),
    _spark("ScheduledSparkApplication", "spec/template"),
    Kind(
        "argoproj.io",
        "Workflow",
        (),
        reason="the steps of a workflow are pods that are created one after the other",
        hint="Let a step create a Job, JobSet or RayJob, and make that one a gang.",
    ),
    Kind(
        "batch.volcano.sh",
        "Job",
        (Template("spec/tasks/*/template", "spec/tasks/*/replicas"),),
        keeper="Volcano 1.16",
        reason="Volcano schedules this kind as a gang itself and ignores PodGroups of scheduling.k8s.io",
    ),
    Kind(
        "grove.io",
        "PodCliqueSet",
        (),
        keeper="",
        reason="its CRD drops the link from pod templates; Grove creates its own gangs",
    ),
)

#: (API group, kind) -> its row.
KINDS: Mapping[tuple[str, str], Kind] = {(kind.group, kind.name): kind for kind in _KINDS}


def find_kind(group: str, name: str) -> Kind | None:
    """The row of a kind, None where krmfn knows nothing of it."""
    return KINDS.get((group, name))


def list_linked() -> list[Kind]:
    """The kinds in whose pod templates a link to a group may stand and stay: those of Kubernetes, and those that krmfn
    generates for."""
    return [kind for kind in KINDS.values() if kind.source or "." not in kind.group]
