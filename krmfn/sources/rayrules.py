"""The rules behind the notes on Ray kinds, as rows of the catalogue."""

from __future__ import annotations

from krmfn.model.findings import Rule

KUBERAY: tuple[Rule, ...] = (
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
        "field-unknown",
        "operator",
        "warning",
        "A field of a Ray resource is probably mistyped.",
        "The CRD does not have the field, so the API server drops it, silently unless the client validates "
        "strictly. The field that was meant keeps its default, and the gang gets another size.",
        "Correct the name.",
        sources=("kuberay config/crd/bases",),
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
    Rule(
        "ray-job-refused",
        "operator",
        "error",
        "KubeRay refuses a RayJob.",
        "Some fields of a RayJob exclude each other. The operator answers with status ValidationFailed, and no "
        "pod is ever made.",
        "Remove one of the two fields that the message names.",
        sources=("kuberay controllers/ray/utils/validation.go",),
    ),
    Rule(
        "ray-service-refused",
        "operator",
        "error",
        "KubeRay refuses a RayService.",
        "KubeRay makes the name of the head service itself, because there are two clusters during an upgrade.",
        "Remove the field that the message names.",
        sources=("kuberay controllers/ray/utils/validation.go",),
    ),
    Rule(
        "ray-cluster-refused",
        "operator",
        "error",
        "KubeRay refuses the cluster of a RayJob or a RayService.",
        "A RayCluster with an owner is replaced by its owner, so it must not have an upgrade strategy of its own.",
        "Remove upgradeStrategy.type from the cluster.",
        sources=("kuberay controllers/ray/utils/validation.go",),
    ),
    Rule(
        "existing-cluster",
        "operator",
        "info",
        "A RayJob that uses an existing cluster has no gang of its own.",
        "With clusterSelector the job is submitted to a RayCluster that runs already. The pods, and the gang, are "
        "that cluster's; rayClusterSpec beside it is ignored.",
        sources=("kuberay apis/ray/v1/rayjob_types.go",),
    ),
)
