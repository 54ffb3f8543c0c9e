package main

import (
	"context"

	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler"
)

const release = "1.36"

func rename(map[string]any) {}

func newFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0)
}

func isGroup(object runtime.Object) bool {
	switch object.(type) {
	case *schedulingv1alpha2.PodGroup, *schedulingv1alpha2.Workload:
		return true
	}
	return false
}

// setPriority is what admission writes into groups.
func setPriority(object runtime.Object, classes map[string]*schedulingv1.PriorityClass) {
	if group, ok := object.(*schedulingv1alpha2.PodGroup); ok {
		group.Spec.Priority = new(int32)
		if class := classes[group.Spec.PriorityClassName]; class != nil {
			group.Spec.Priority = &class.Value
		}
	}
}

// createGroup stores a group.
func createGroup(ctx context.Context, client *fake.Clientset, object runtime.Object) (err error) {
	switch group := object.(type) {
	case *schedulingv1alpha2.PodGroup:
		_, err = client.SchedulingV1alpha2().PodGroups(group.Namespace).Create(ctx, group, metav1.CreateOptions{})
	case *schedulingv1alpha2.Workload:
		_, err = client.SchedulingV1alpha2().Workloads(group.Namespace).Create(ctx, group, metav1.CreateOptions{})
	}
	return err
}
