package main

import (
	"context"

	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	defaults "k8s.io/kubernetes/pkg/apis/scheduling/v1beta1"
	"k8s.io/kubernetes/pkg/scheduler"
)

const release = "1.38"

// rename writes groups in the version that the scheduler watches.
func rename(value map[string]any) {
	if value["apiVersion"] == "scheduling.k8s.io/v1alpha3" {
		value["apiVersion"] = "scheduling.k8s.io/v1beta1"
	}
}

func newFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0, nil)
}

func isGroup(object runtime.Object) bool {
	switch object.(type) {
	case *schedulingv1beta1.PodGroup, *schedulingv1beta1.CompositePodGroup, *schedulingv1beta1.Workload:
		return true
	}
	return false
}

// setPriority is what defaults and admission write into groups.
func setPriority(object runtime.Object, classes map[string]*schedulingv1.PriorityClass) {
	switch group := object.(type) {
	case *schedulingv1beta1.PodGroup:
		defaults.SetObjectDefaults_PodGroup(group)
		spec := &group.Spec
		spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = resolve(spec.PriorityClassName, classes)
	case *schedulingv1beta1.CompositePodGroup:
		defaults.SetObjectDefaults_CompositePodGroup(group)
		spec := &group.Spec
		spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = resolve(spec.PriorityClassName, classes)
	}
}

// resolve is the class of this name, or the one for all that name none, with its priority and its policy.
func resolve(name string, classes map[string]*schedulingv1.PriorityClass) (string, *int32, *schedulingv1beta1.PreemptionPolicy) {
	class := classes[name]
	for _, each := range classes {
		if name == "" && each.GlobalDefault {
			class = each
		}
	}
	policy := schedulingv1beta1.PreemptLowerPriority
	if class == nil {
		return name, new(int32), &policy
	}
	if class.PreemptionPolicy != nil {
		policy = schedulingv1beta1.PreemptionPolicy(*class.PreemptionPolicy)
	}
	return class.Name, &class.Value, &policy
}

// createGroup stores a group. A composite without a Workload is none: the API server refuses it, and the scheduler, which
// takes the Workload for granted, would end.
func createGroup(ctx context.Context, client *fake.Clientset, object runtime.Object) (err error) {
	switch group := object.(type) {
	case *schedulingv1beta1.PodGroup:
		_, err = client.SchedulingV1beta1().PodGroups(group.Namespace).Create(ctx, group, metav1.CreateOptions{})
	case *schedulingv1beta1.CompositePodGroup:
		if group.Spec.WorkloadRef == nil {
			return nil
		}
		_, err = client.SchedulingV1beta1().CompositePodGroups(group.Namespace).Create(ctx, group, metav1.CreateOptions{})
	}
	return err
}
