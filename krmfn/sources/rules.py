"""The rules behind the notes of sources, as rows of the catalogue. Each row becomes a page of the documentation."""

from __future__ import annotations

from collections.abc import Mapping

from krmfn.findings import Rule
from krmfn.krm.results import Severity

_READING = (
    Rule(
        "count-type",
        "operator",
        "error",
        "A field that decides the number of pods is not a whole number.",
        "The API server refuses the resource, and without the number nobody can say how many pods the gang has. "
        'In YAML a number in quotes is a string: replicas: "4" is not replicas: 4.',
        "Write the number without quotes.",
        sources=("kuberay config/crd/bases", "k8s.io/api batch/v1"),
    ),
    Rule(
        "count-overflow",
        "operator",
        "error",
        "The number of pods does not fit into 32 bits.",
        "Controllers multiply replicas by hosts and add groups in Go's int32, which wraps around without a word: "
        "1073741824 replicas of 2 hosts are -2147483648 pods. No minCount can be equal to that.",
        "Lower replicas, or numOfHosts.",
        sources=("kuberay controllers/ray/utils/util.go",),
    ),
    Rule(
        "count-negative",
        "operator",
        "error",
        "A field that decides the number of pods is negative.",
        "KubeRay refuses a cluster whose minReplicas or maxReplicas is negative and calculates with a negative "
        "numOfHosts; the API server refuses a Job with negative parallelism or completions.",
        "Use 0 for no pods.",
        sources=("kuberay controllers/ray/utils/validation.go", "k8s.io/kubernetes pkg/apis/batch/validation"),
    ),
    Rule(
        "field-type",
        "operator",
        "error",
        "A field that the gang depends on has the wrong type.",
        "The API server refuses the resource. The tool stops here rather than guess what was meant.",
        "Write the type that the message names.",
    ),
    Rule(
        "field-missing",
        "operator",
        "error",
        "A field without which there are no pods is missing.",
        "The API server or the operator refuses the resource, so no pod would ever be made for the gang.",
        "Add the field.",
        sources=("kuberay config/crd/bases", "kuberay controllers/ray/utils/validation.go"),
    ),
    Rule(
        "generated-name",
        "operator",
        "warning",
        "A resource with generateName cannot have a gang of its own.",
        "Its name is made up when it is created, so every apply makes another resource, and a group in Git would "
        "be shared by all of them: the pods of an old run would fill the gang of a new one.",
        "Give the resource a metadata.name.",
    ),
    Rule(
        "group-without-pods",
        "operator",
        "info",
        "A group without pods is left out of the gang.",
        "A gang needs at least one pod (minCount is 1 or more), and a tree that waits for a group without pods "
        "waits for ever. The group comes in by itself when it gets pods in Git.",
    ),
    Rule(
        "managed-elsewhere",
        "operator",
        "info",
        "Another controller has the resource, so it makes no pods in this cluster.",
        "With managedBy set to something like kueue.x-k8s.io/multikueue the ordinary controller ignores the "
        "resource. A group here would wait for pods that run elsewhere.",
    ),
)

_KUBERAY = (
    Rule(
        "ray-name",
        "operator",
        "error",
        "KubeRay refuses the name of a Ray resource.",
        "It builds names of pods, services and child resources behind it, so it takes DNS-1035 labels of at most "
        "53 characters for a RayCluster, 47 for a RayJob or a RayService and 36 for a RayCronJob. A refused "
        "resource gets an event and no pods.",
        "Shorten the name; start it with a letter.",
        sources=("kuberay controllers/ray/utils/validation.go",),
    ),
    Rule(
        "min-above-max",
        "operator",
        "error",
        "minReplicas of a worker group is greater than its maxReplicas.",
        "KubeRay refuses the whole cluster: a warning event, and no pods at all.",
        "Make minReplicas at most maxReplicas.",
        sources=("kuberay controllers/ray/utils/validation.go",),
    ),
    Rule(
        "suspend-with-autoscaling",
        "operator",
        "error",
        "A worker group is suspended although the cluster autoscales.",
        "KubeRay refuses the whole cluster: suspend of a group is meant for RayJob's deletion policies, and the "
        "autoscaler would start the group again.",
        "Set the replicas of the group to 0, or switch enableInTreeAutoscaling off.",
        sources=("kuberay controllers/ray/utils/validation.go",),
    ),
    Rule(
        "group-name-duplicate",
        "operator",
        "error",
        "Two worker groups of a cluster have the same groupName.",
        "KubeRay adds up the pods of both groups but finds existing pods by the label ray.io/group, which both "
        "share. With 2 and 2 replicas it makes 2 pods and is content; a gang of 4 can never be complete. Only the "
        "optional webhook refuses this.",
        "Give every worker group its own name.",
        sources=("kuberay controllers/ray/raycluster_controller.go", "ray-project/kuberay#718"),
    ),
    Rule(
        "group-name-reserved",
        "operator",
        "error",
        "A worker group is called headgroup.",
        "That is KubeRay's own value of the label ray.io/group on head pods. The head is then counted as a worker "
        "of the group, one worker fewer is made, and the gang can never be complete.",
        "Choose another groupName.",
        sources=("kuberay controllers/ray/common/pod.go",),
    ),
    Rule(
        "group-name-invalid",
        "operator",
        "error",
        "A groupName cannot be the value of a label.",
        "The CRD takes any string, and KubeRay writes it into the label ray.io/group of every pod. The API server "
        "then refuses the pods, long after the cluster was accepted. With numOfHosts above 1 a suffix of 6 "
        "characters is added.",
        "Use at most 63 letters, digits, -, _ and . (57 with numOfHosts above 1), with a letter or digit at both ends.",
        sources=("kuberay controllers/ray/common/pod.go", "ray-project/kuberay#5144"),
    ),
    Rule(
        "autoscaling-skipped",
        "operator",
        "warning",
        "A cluster that autoscales gets no gang by default.",
        "The Ray autoscaler changes the number of pods at run time, but minCount stays what Git says. After a "
        "scale-down a restarted pod would wait for pods that nobody makes.",
        "Set autoscaling: MinReplicas (or the annotation krmfn.dev/autoscaling) for a gang of what is always "
        "there: the head and minReplicas of every group. Pods above that are scheduled one by one.",
        sources=("kuberay controllers/ray/batchscheduler/kubernetes-was", "ray-project/kuberay#5002"),
    ),
    Rule(
        "field-pruned",
        "operator",
        "warning",
        "The API server drops a field that ray.io/v1alpha1 does not have.",
        "Both versions are stored as v1 without conversion, and the schema of the version that was sent decides "
        "what is kept. numOfHosts: 4 in a v1alpha1 manifest means one host.",
        "Use apiVersion: ray.io/v1.",
        sources=("kuberay config/crd/bases/ray.io_rayclusters.yaml",),
    ),
    Rule(
        "link-pruned",
        "operator",
        "warning",
        "The installed KubeRay CRDs drop the field that links pods to their group.",
        "Pod templates inside a CRD are pruned by the CRD's schema. The group exists, the pods never say that "
        "they belong to it and are scheduled one by one, and nothing reports it (a strict client says: unknown "
        "field). Helm does not upgrade CRDs together with the operator.",
        "Install newer CRDs by hand. workloadRef of Kubernetes 1.35 is kept by KubeRay 1.6 only, schedulingGroup "
        "of 1.36 and later by KubeRay 1.7 and later.",
        sources=("kuberay config/crd/bases v1.3.0 to v1.7.0",),
    ),
    Rule(
        "operator-manages",
        "operator",
        "info",
        "The operator creates the gang itself, so nothing is generated.",
        "Two owners of one gang fight: KubeRay replaces a link that it did not write, adopts a Volcano PodGroup "
        "of its name, or stops when it finds a foreign object in its place. The message predicts what the "
        "operator will create.",
        "To have it in Git instead, take the opt-in label off the resource, or switch the operator's batch "
        "scheduler off.",
        sources=("kuberay controllers/ray/batchscheduler",),
    ),
    Rule(
        "operator-schedules",
        "operator",
        "warning",
        "The operator gives all Ray pods to another scheduler, which does not read the groups of Kubernetes.",
        "KubeRay's batch scheduler setting is for the whole operator. It overwrites schedulerName in every Ray "
        "pod, whatever the template says, but makes a gang only of resources that carry its label.",
        "Label the resource so that the operator makes the gang, or run these clusters under an operator without "
        "that setting.",
        sources=("kuberay controllers/ray/batchscheduler/schedulermanager.go",),
    ),
    Rule(
        "operator-refuses",
        "operator",
        "error",
        "The operator never starts this resource with the batch scheduler it is set to.",
        "KubeRay has no scheduler-plugins integration for RayJobs, and none with KAI for RayJobs whose submitter "
        "is a Job: the RayJob stays Initializing for ever.",
        "Use another submissionMode, another batch scheduler, or a RayCluster.",
        sources=("kuberay controllers/ray/batchscheduler", "ray-project/kuberay#4418"),
    ),
)

_JOB = (
    Rule(
        "job-own-scheduling",
        "operator",
        "info",
        "The Job controller makes the groups of this Job itself.",
        "With spec.scheduling (Kubernetes 1.37, gate WorkloadWithJob) the controller creates a Workload and a "
        "PodGroup. A link in the pod template would switch that off silently, so none is written.",
        "Remove spec.scheduling to have the groups in Git.",
        releases=("1.37",),
        sources=("KEP-5547",),
    ),
    Rule(
        "job-no-gang",
        "operator",
        "info",
        "A Job whose pods do not need each other gets no gang unless it asks for one.",
        "A gang of one pod changes nothing. The pods of a work queue (parallelism without completions) are "
        "interchangeable: holding them back until all fit only delays the work. This concerns Jobs that select: "
        "All sweeps in.",
        'Annotate the Job with krmfn.dev/gang: "true".',
        sources=("KEP-5547",),
    ),
)

#: Every rule that a source can leave a note for.
RULES: tuple[Rule, ...] = (*_READING, *_KUBERAY, *_JOB)

#: The severity of each rule by its id.
SEVERITIES: Mapping[str, Severity] = {rule.id: rule.severity for rule in RULES}
