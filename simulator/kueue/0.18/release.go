package main

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/expectations"
)

const release = "0.18.4"

// What the next line has besides.
var (
	ofCache      []schdcache.Option
	ofQueues     []qcache.Option
	ofScheduler  []scheduler.Option
	labelsToCopy = jobframework.WithLabelKeysToCopy
)

// setJobDefaults is what Kueue reads of them. The API server's own code registers gates that this line has, too.
func setJobDefaults(job *batchv1.Job) {
	if job.Spec.Completions == nil && job.Spec.Parallelism == nil {
		job.Spec.Completions = ptr.To[int32](1)
	}
	job.Spec.Parallelism = ptr.To(ptr.Deref(job.Spec.Parallelism, 1))
	job.Spec.Suspend = ptr.To(ptr.Deref(job.Spec.Suspend, false))
	job.Spec.BackoffLimit = ptr.To(ptr.Deref(job.Spec.BackoffLimit, 6))
	job.Spec.CompletionMode = ptr.To(ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion))
}

func controllerOptions(expected *expectations.Store) core.SetupControllersOpts {
	return core.SetupControllersOpts{PreemptionExpectations: expected}
}
