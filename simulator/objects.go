package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // conversions between the versions of core
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	podstrategy "k8s.io/kubernetes/pkg/registry/core/pod"
)

// store is what a cluster holds: things that nobody waits for, groups, pods that are bound and pods that wait.
type store struct {
	things  []runtime.Object
	groups  []runtime.Object
	bound   []*v1.Pod
	waiting []*v1.Pod
	refused map[string]string
}

// read turns JSON values into objects as the API server would store them.
func read(values []map[string]any) *store {
	found := &store{refused: map[string]string{}}
	classes := map[string]*schedulingv1.PriorityClass{}
	runtimes := map[string]*nodev1.RuntimeClass{}
	limits := map[string][]v1.LimitRangeItem{}
	var pods []*v1.Pod
	for _, value := range last(values) {
		rename(value)
		item := unstructured.Unstructured{Object: value}
		object, err := clientscheme.Scheme.New(item.GroupVersionKind())
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(value, object)
		}
		if err != nil { // what cannot be read is not stored, and everything else is as it would be without it
			if item.GetKind() == "Pod" {
				found.refused[item.GetNamespace()+"/"+item.GetName()] = err.Error()
			}
			continue
		}
		meta := object.(metav1.Object)
		if meta.GetUID() == "" {
			meta.SetUID(types.UID(item.GetKind() + "/" + meta.GetNamespace() + "/" + meta.GetName()))
		}
		switch typed := object.(type) {
		case *v1.Pod:
			pods = append(pods, typed)
			continue
		case *schedulingv1.PriorityClass:
			classes[typed.Name] = typed
		case *nodev1.RuntimeClass:
			runtimes[typed.Name] = typed
		case *v1.LimitRange:
			limits[typed.Namespace] = append(limits[typed.Namespace], typed.Spec.Limits...)
		case *v1.PersistentVolumeClaim:
			if typed.Status.Phase == "" && typed.Spec.VolumeName != "" {
				typed.Status.Phase = v1.ClaimBound
			}
		}
		if isGroup(object) {
			found.groups = append(found.groups, object)
		} else {
			found.things = append(found.things, object)
		}
	}
	for _, group := range found.groups {
		setPriority(group, classes)
	}
	for _, pod := range pods {
		name := pod.Namespace + "/" + pod.Name
		stored, refusal := admit(pod, classes, runtimes, limits[pod.Namespace])
		switch {
		case refusal != "":
			found.refused[name] = refusal
		case stored.Spec.NodeName != "":
			found.bound = append(found.bound, stored)
		default:
			found.waiting = append(found.waiting, stored)
		}
	}
	return found
}

// last leaves out objects that a later one of the same name replaces, as an apply does.
func last(values []map[string]any) []map[string]any {
	seen := map[string]int{}
	var kept []map[string]any
	for _, value := range values {
		item := unstructured.Unstructured{Object: value}
		key := item.GroupVersionKind().GroupKind().String() + "/" + item.GetNamespace() + "/" + item.GetName()
		if index, ok := seen[key]; ok {
			kept[index] = value
			continue
		}
		seen[key] = len(kept)
		kept = append(kept, value)
	}
	return kept
}

// fill puts into a cluster what is there before the trial. In the order of the question: the scheduler looks at nodes in
// the order in which it learns of them.
func (found *store) fill(client *fake.Clientset, asked trial) error {
	objects := slices.Clone(found.things)
	for _, pod := range found.bound {
		if !asked.Empty || takesPart(pod.Namespace+"/"+pod.Name, asked) {
			objects = append(objects, pod)
		}
	}
	for _, object := range objects {
		if err := client.Tracker().Add(object.DeepCopyObject()); err != nil {
			return err
		}
	}
	return nil
}

// admit is what the API server does to a pod that is created, as far as a scheduler can tell: the defaults, the
// priority, the runtime class, the LimitRanges' defaults, and the strategy of the registry. The text says why it refuses.
func admit(pod *v1.Pod, classes map[string]*schedulingv1.PriorityClass, runtimes map[string]*nodev1.RuntimeClass, limits []v1.LimitRangeItem) (*v1.Pod, string) {
	pod = pod.DeepCopy()
	phase, conditions := pod.Status.Phase, pod.Status.Conditions
	corev1.SetObjectDefaults_Pod(pod)
	if refusal := setPodPriority(pod, classes); refusal != "" {
		return nil, refusal
	}
	if name := pod.Spec.RuntimeClassName; name != nil {
		class := runtimes[*name]
		if class == nil {
			return nil, fmt.Sprintf("pod rejected: RuntimeClass %q not found", *name)
		}
		if class.Overhead != nil {
			pod.Spec.Overhead = class.Overhead.PodFixed
		}
		if class.Scheduling != nil {
			for key, value := range class.Scheduling.NodeSelector {
				if pod.Spec.NodeSelector == nil {
					pod.Spec.NodeSelector = map[string]string{}
				}
				pod.Spec.NodeSelector[key] = value
			}
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, class.Scheduling.Tolerations...)
		}
	}
	for _, item := range limits {
		if item.Type == v1.LimitTypeContainer {
			fill(pod.Spec.Containers, item)
			fill(pod.Spec.InitContainers, item)
		}
	}
	internal := &core.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, internal, nil); err != nil {
		return nil, err.Error()
	}
	ctx := context.Background()
	podstrategy.Strategy.PrepareForCreate(ctx, internal)
	if pod.Spec.NodeName == "" { // what runs was accepted when it was created
		if problems := podstrategy.Strategy.Validate(ctx, internal); len(problems) > 0 {
			return nil, problems.ToAggregate().Error()
		}
	}
	stored := &v1.Pod{}
	if err := legacyscheme.Scheme.Convert(internal, stored, nil); err != nil {
		return nil, err.Error()
	}
	if pod.Spec.NodeName != "" {
		stored.Status.Phase, stored.Status.Conditions = phase, conditions
	}
	return stored, ""
}

func setPodPriority(pod *v1.Pod, classes map[string]*schedulingv1.PriorityClass) string {
	priority, policy := int32(0), v1.PreemptLowerPriority
	class := classes[pod.Spec.PriorityClassName]
	if class == nil && pod.Spec.PriorityClassName == "" {
		for _, each := range classes {
			if each.GlobalDefault {
				class = each
			}
		}
	}
	switch {
	case class != nil:
		pod.Spec.PriorityClassName, priority = class.Name, class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
	case pod.Spec.PriorityClassName == "system-node-critical":
		priority = 2000001000
	case pod.Spec.PriorityClassName == "system-cluster-critical":
		priority = 2000000000
	case pod.Spec.PriorityClassName != "" && pod.Spec.NodeName == "":
		return fmt.Sprintf("no PriorityClass with name %s was found", pod.Spec.PriorityClassName)
	}
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != policy && pod.Spec.NodeName == "" {
		return fmt.Sprintf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, policy)
	}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = &priority, &policy
	return ""
}

// fill gives containers what a LimitRange says for those that say nothing.
func fill(containers []v1.Container, item v1.LimitRangeItem) {
	limits, requests := v1.ResourceList{}, v1.ResourceList{}
	for _, list := range []v1.ResourceList{item.Max, item.Default} {
		for name, amount := range list {
			limits[name] = amount
		}
	}
	for _, list := range []v1.ResourceList{item.Min, limits, item.DefaultRequest} {
		for name, amount := range list {
			requests[name] = amount
		}
	}
	for index := range containers {
		resources := &containers[index].Resources
		resources.Limits = merge(resources.Limits, limits)
		resources.Requests = merge(resources.Requests, requests)
	}
}

func merge(given, defaults v1.ResourceList) v1.ResourceList {
	for name, amount := range defaults {
		if _, ok := given[name]; !ok {
			if given == nil {
				given = v1.ResourceList{}
			}
			given[name] = amount
		}
	}
	return given
}
