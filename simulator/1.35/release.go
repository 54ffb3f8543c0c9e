package main

import (
	"context"

	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha1 "k8s.io/api/scheduling/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler"
)

const release = "1.35"

func rename(map[string]any) {}

func newFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0)
}

func isGroup(object runtime.Object) bool {
	_, ok := object.(*schedulingv1alpha1.Workload)
	return ok
}

func setPriority(runtime.Object, map[string]*schedulingv1.PriorityClass) {}

// createGroup stores a group.
func createGroup(ctx context.Context, client *fake.Clientset, object runtime.Object) error {
	group := object.(*schedulingv1alpha1.Workload)
	_, err := client.SchedulingV1alpha1().Workloads(group.Namespace).Create(ctx, group, metav1.CreateOptions{})
	return err
}
