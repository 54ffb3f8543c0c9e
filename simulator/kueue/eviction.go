package main

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
)

// giveUp ends the jobs that are not in the question and whose Workloads Kueue has evicted: their pods end, and the
// Workloads give back their quota. For the others Kueue's own controllers of jobs do it.
func (made *store) giveUp(ctx context.Context) error {
	workloads := &kueue.WorkloadList{}
	if err := made.objects.List(ctx, workloads); err != nil {
		return err
	}
	for _, each := range workloads.Items {
		owner, known := made.of[each.Namespace+"/"+each.Name]
		evicted := meta.FindStatusCondition(each.Status.Conditions, kueue.WorkloadEvicted)
		if !known || evicted == nil || evicted.Status != "True" || !workload.HasQuotaReservation(&each) {
			continue
		}
		if err := made.endPods(ctx, each.Namespace, owner[strings.LastIndex(owner, "/")+1:]); err != nil {
			return err
		}
		again := evicted.Reason == kueue.WorkloadEvictedByPreemption
		workload.SetRequeuedCondition(&each, evicted.Reason, evicted.Message, again)
		workload.UnsetQuotaReservationWithCondition(&each, "Pending", evicted.Message, time.Now())
		if err := made.objects.Status().Update(ctx, &each); err != nil {
			return err
		}
	}
	return nil
}

// endPods deletes the pods that a label says are of a job.
func (made *store) endPods(ctx context.Context, space, job string) error {
	pods := &corev1.PodList{}
	if err := made.objects.List(ctx, pods, client.InNamespace(space)); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		for _, value := range pod.Labels {
			if value == job {
				if err := made.objects.Delete(ctx, &pod); client.IgnoreNotFound(err) != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}
