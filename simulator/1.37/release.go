package main

import (
	"context"

	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler"
)

const release = "1.37"

// rename writes a PodGroup in the version that the scheduler watches.
func rename(value map[string]any) {
	if value["apiVersion"] == "scheduling.k8s.io/v1alpha3" && (value["kind"] == "PodGroup" || value["kind"] == "Workload") {
		value["apiVersion"] = "scheduling.k8s.io/v1beta1"
	}
}

func newFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0, nil)
}

func isGroup(object runtime.Object) bool {
	switch object.(type) {
	case *schedulingv1beta1.PodGroup, *schedulingv1alpha3.CompositePodGroup, *schedulingv1beta1.Workload:
		return true
	}
	return false
}

// setPriority is what admission writes into groups.
func setPriority(object runtime.Object, classes map[string]*schedulingv1.PriorityClass) {
	find := func(name string) *int32 {
		if class := classes[name]; class != nil {
			return &class.Value
		}
		return new(int32)
	}
	switch group := object.(type) {
	case *schedulingv1beta1.PodGroup:
		group.Spec.Priority = find(group.Spec.PriorityClassName)
	case *schedulingv1alpha3.CompositePodGroup:
		group.Spec.Priority = find(group.Spec.PriorityClassName)
	}
}

// createGroup stores a group.
func createGroup(ctx context.Context, client *fake.Clientset, object runtime.Object) (err error) {
	switch group := object.(type) {
	case *schedulingv1beta1.PodGroup:
		_, err = client.SchedulingV1beta1().PodGroups(group.Namespace).Create(ctx, group, metav1.CreateOptions{})
	case *schedulingv1alpha3.CompositePodGroup:
		_, err = client.SchedulingV1alpha3().CompositePodGroups(group.Namespace).Create(ctx, group, metav1.CreateOptions{})
	}
	return err
}
