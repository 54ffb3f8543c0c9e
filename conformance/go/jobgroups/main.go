// Which groups the Job controller of Kubernetes makes for Jobs (JSON on stdin, each with the Workloads beside it).
// Built beside pkg/controller/job/job_scheduling_manager.go of the release, whose package is renamed to main.
package main

import (
	"context"
	"encoding/json"
	"os"

	batch "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apiserver/pkg/util/feature"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1beta1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	_ "k8s.io/kubernetes/pkg/features"
)

var controllerKind = batch.SchemeGroupVersion.WithKind("Job")

type Controller struct {
	kubeClient          clientset.Interface
	recorder            record.EventRecorder
	workloadLister      schedulinglisters.WorkloadLister
	workloadStoreSynced cache.InformerSynced
	podGroupLister      schedulinglisters.PodGroupLister
	podGroupStoreSynced cache.InformerSynced
}

func findConditionByType(list []batch.JobCondition, cType batch.JobConditionType) *batch.JobCondition {
	for i := range list {
		if list[i].Type == cType {
			return &list[i]
		}
	}
	return nil
}

func main() {
	if err := feature.DefaultMutableFeatureGate.Set("GenericWorkload=true,WorkloadWithJob=true"); err != nil {
		panic(err)
	}
	var cases []struct {
		Job       batch.Job
		Workloads []schedulingv1beta1.Workload
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	answers := []map[string]any{}
	for i := range cases {
		each := &cases[i]
		idx := func() cache.Indexer {
			return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		}
		w, g := idx(), idx()
		for k := range each.Workloads {
			w.Add(&each.Workloads[k])
		}
		jm := &Controller{kubeClient: fake.NewClientset(), recorder: &record.FakeRecorder{}, workloadLister: schedulinglisters.NewWorkloadLister(w), podGroupLister: schedulinglisters.NewPodGroupLister(g)}
		pg, err := jm.ensureWorkloadAndPodGroup(context.Background(), &each.Job, []*v1.Pod{})
		answer := map[string]any{"name": each.Job.Name, "mode": int(getManagementMode(&each.Job))}
		if err != nil {
			answer["error"] = err.Error()
		}
		if pg != nil {
			answer["policy"] = pg.Spec.SchedulingPolicy
			answer["group"] = pg.Name
			answer["constraints"] = pg.Spec.SchedulingConstraints
		}
		answers = append(answers, answer)
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}
