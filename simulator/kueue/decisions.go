package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	autoscaling "k8s.io/autoscaler/cluster-autoscaler/apis/provisioningrequest/autoscaling.x-k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// decision is what became of a job (namespace/Kind/name): its place among those that were admitted (0: before), what its
// pods got, whether they may have got something else, and the jobs that made room for it. Requests are what it asks an
// autoscaler for, if it waits for nothing else. Why is what refused it; Workload is what Kueue made of it, in the trial
// that tells its State.
type decision struct {
	Job       string          `json:"job"`
	State     string          `json:"state"`
	Otherwise bool            `json:"otherwise,omitempty"`
	Order     int             `json:"order"`
	PodSets   []podSet        `json:"podSets"`
	Choice    bool            `json:"choice"`
	Preempts  []string        `json:"preempts"`
	Requests  []request       `json:"requests,omitempty"`
	Why       string          `json:"why,omitempty"`
	Workload  json.RawMessage `json:"workload,omitempty"`
}

// podSet is what Kueue gives pods alike: with the flavors, labels to select nodes by and tolerations.
type podSet struct {
	Name        string              `json:"name"`
	Count       int32               `json:"count"`
	Flavors     []string            `json:"flavors"`
	Labels      map[string]string   `json:"labels"`
	Tolerations []corev1.Toleration `json:"tolerations"`
	Domains     []domain            `json:"domains"`
}

// domain is the labels of its nodes, and how many pods go there.
type domain struct {
	Labels map[string]string `json:"labels"`
	Pods   int32             `json:"pods"`
}

// request is a ProvisioningRequest: its class, and for how many pods it is.
type request struct {
	Class string `json:"class"`
	Pods  int32  `json:"pods"`
}

// decide sums up what became of the job of each Workload.
func (made *store) decide(ctx context.Context, found *result) ([]decision, error) {
	workloads, queues := &kueue.WorkloadList{}, &kueue.ClusterQueueList{}
	if err := made.objects.List(ctx, workloads); err != nil {
		return nil, err
	}
	if err := made.objects.List(ctx, queues); err != nil {
		return nil, err
	}
	listed := &kueue.ResourceFlavorList{}
	if err := made.objects.List(ctx, listed); err != nil {
		return nil, err
	}
	flavors := map[string]kueue.ResourceFlavorSpec{}
	for _, each := range listed.Items {
		flavors[each.Name] = each.Spec
	}
	choice, owners := map[string]bool{}, map[string]string{}
	for _, queue := range queues.Items {
		for _, group := range queue.Spec.ResourceGroups {
			choice[queue.Name] = choice[queue.Name] || len(group.Flavors) > 1
		}
	}
	for _, each := range workloads.Items {
		if owner, known := made.of[each.Namespace+"/"+each.Name]; known {
			owners[each.Namespace+"/"+each.Name] = owner
		}
		if owner := metav1.GetControllerOf(&each); owner != nil {
			owners[each.Namespace+"/"+each.Name] = fmt.Sprintf("%s/%s/%s", each.Namespace, owner.Kind, owner.Name)
		}
	}
	decisions, order := []decision{}, slices.Compact(slices.Clone(found.Admitted))
	for _, each := range workloads.Items {
		name := each.Namespace + "/" + each.Name
		one := decision{Job: owners[name], State: "waits", PodSets: []podSet{}, Preempts: []string{}}
		if one.Job == "" {
			continue
		}
		if meta.IsStatusConditionTrue(each.Status.Conditions, kueue.WorkloadQuotaReserved) {
			one.State, one.Requests = "held", made.listRequests(ctx, &each)
		}
		admitted := meta.IsStatusConditionTrue(each.Status.Conditions, kueue.WorkloadAdmitted)
		if each.Status.Admission != nil && (admitted || len(one.Requests) > 0) {
			if admitted {
				one.State, one.Order, one.Requests = "admitted", slices.Index(order, name)+1, nil
			}
			one.Choice = choice[string(each.Status.Admission.ClusterQueue)]
			for _, set := range each.Status.Admission.PodSetAssignments {
				one.PodSets = append(one.PodSets, readSet(set, flavors))
				one.Choice = one.Choice || set.TopologyAssignment != nil
			}
		}
		for _, gone := range found.Preempted {
			if strings.Contains(gone.Message, fmt.Sprintf("(UID: %s,", each.UID)) && !slices.Contains(one.Preempts, owners[gone.Workload]) {
				one.Preempts = append(one.Preempts, owners[gone.Workload])
			}
		}
		for _, value := range found.Workloads {
			if data := value["metadata"].(map[string]any); data["name"] == each.Name && data["namespace"] == each.Namespace {
				one.Workload = mustMarshal(value)
			}
		}
		decisions = append(decisions, one)
	}
	return decisions, nil
}

// listRequests has what Kueue asks an autoscaler for on behalf of a Workload; nothing if it waits for others, too.
func (made *store) listRequests(ctx context.Context, workload *kueue.Workload) []request {
	asked, found, waits := &autoscaling.ProvisioningRequestList{}, []request{}, 0
	must(made.objects.List(ctx, asked, client.InNamespace(workload.Namespace)))
	for _, each := range asked.Items {
		if metav1.IsControlledBy(&each, workload) {
			one := request{Class: each.Spec.ProvisioningClassName}
			for _, set := range each.Spec.PodSets {
				one.Pods += set.Count
			}
			found = append(found, one)
		}
	}
	for _, check := range workload.Status.AdmissionChecks {
		if check.State != kueue.CheckStateReady {
			waits++
		}
	}
	if waits != len(found) {
		return nil
	}
	return found
}

// judge tells of each job what becomes of it: in their order, with the last one first, and, when it is admitted in
// neither, alone in the empty cluster.
func judge(asked question, given trial) result {
	steps := make([][]map[string]any, len(given.Jobs))
	for number, job := range given.Jobs {
		steps[number] = []map[string]any{job}
	}
	shown := ask(asked, trial{Name: given.Name, Steps: steps})
	slices.Reverse(steps)
	other := ask(asked, trial{Steps: steps})
	alone, decided := map[string]decision{}, []decision{}
	for _, job := range given.Jobs {
		first, second := shown.find(job), other.find(job)
		switch {
		case first.State == "waits" && second.State == "waits":
			alike := describe(job)
			if _, known := alone[alike]; !known {
				lost := ask(asked, trial{Empty: true, Steps: [][]map[string]any{{job}}})
				alone[alike] = lost.find(job)
			}
			if one := alone[alike]; one.State == "waits" {
				first.State, first.Workload = "never", one.Workload
			}
		case first.State != second.State && (first.State == "admitted" || second.State == "admitted"):
			first.Otherwise = true
		}
		decided = append(decided, first)
	}
	for _, each := range shown.Jobs { // those of the dump
		if !slices.ContainsFunc(decided, func(other decision) bool { return other.Job == each.Job }) {
			decided = append(decided, each)
		}
	}
	shown.Jobs = decided
	return shown
}

// describe is what two jobs have in common that wait for the same.
func describe(job map[string]any) string {
	data := job["metadata"].(map[string]any)
	return string(mustMarshal([]any{job["kind"], job["spec"], data["namespace"], data["labels"], data["annotations"]}))
}

func (found result) find(job map[string]any) decision {
	data := job["metadata"].(map[string]any)
	name := fmt.Sprintf("%v/%v/%v", data["namespace"], job["kind"], data["name"])
	for _, each := range found.Jobs {
		if each.Job == name {
			return each
		}
	}
	one := decision{Job: name, State: "open", PodSets: []podSet{}, Preempts: []string{}, Why: found.Refused[name]}
	if one.Why != "" {
		one.State = "never"
	}
	return one
}

// ask gives a trial a process of its own: the manager cannot be stopped.
func ask(asked question, one trial) result {
	program, err := os.Executable()
	must(err)
	asked.Trials = []trial{one}
	child := exec.Command(program)
	child.Stdin, child.Stderr = bytes.NewReader(mustMarshal(asked)), os.Stderr
	text, err := child.Output()
	if err != nil {
		os.Exit(1) // it has said why
	}
	var said struct {
		Trials []result `json:"trials"`
	}
	must(json.Unmarshal(text, &said))
	return said.Trials[0]
}

func readSet(given kueue.PodSetAssignment, flavors map[string]kueue.ResourceFlavorSpec) podSet {
	set := podSet{
		Name: string(given.Name), Flavors: []string{}, Labels: map[string]string{}, Tolerations: []corev1.Toleration{}, Domains: []domain{},
	}
	if given.Count != nil {
		set.Count = *given.Count
	}
	for _, flavor := range given.Flavors {
		set.Flavors = append(set.Flavors, string(flavor))
	}
	slices.Sort(set.Flavors)
	set.Flavors = slices.Compact(set.Flavors)
	for _, name := range set.Flavors {
		maps.Copy(set.Labels, flavors[name].NodeLabels)
		set.Tolerations = append(set.Tolerations, flavors[name].Tolerations...)
	}
	if given.TopologyAssignment == nil {
		return set
	}
	for _, slice := range given.TopologyAssignment.Slices {
		for number := range int(slice.DomainCount) {
			one := domain{Labels: map[string]string{}}
			for level, key := range given.TopologyAssignment.Levels {
				one.Labels[key] = pick(slice.ValuesPerLevel[level], number)
			}
			if pods := slice.PodCounts; pods.Universal != nil {
				one.Pods = *pods.Universal
			} else {
				one.Pods = pods.Individual[number]
			}
			set.Domains = append(set.Domains, one)
		}
	}
	return set
}

func pick(values kueue.TopologyAssignmentSliceLevelValues, number int) string {
	if values.Universal != nil {
		return *values.Universal
	}
	text := values.Individual.Roots[number]
	if values.Individual.Prefix != nil {
		text = *values.Individual.Prefix + text
	}
	if values.Individual.Suffix != nil {
		text += *values.Individual.Suffix
	}
	return text
}
