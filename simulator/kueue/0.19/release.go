package main

import (
	"k8s.io/apimachinery/pkg/util/sets"
	batchdefaults "k8s.io/kubernetes/pkg/apis/batch/v1"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/expectations"
)

const release = "0.19.2"

// What this line has and the one before it has not: amounts in messages are spelled by a formatter that is handed on.
var (
	formatter      = resources.NewResourceFormatter()
	ofCache        = []schdcache.Option{schdcache.WithResourceFormatter(formatter)}
	ofQueues       = []qcache.Option{qcache.WithResourceFormatter(formatter)}
	ofScheduler    = []scheduler.Option{scheduler.WithResourceFormatter(formatter)}
	setJobDefaults = batchdefaults.SetObjectDefaults_Job
	labelsToCopy   = func(keys []string) jobframework.Option { return jobframework.WithLabelKeysToCopy(sets.New(keys...)) }
)

func controllerOptions(expected *expectations.Store) core.SetupControllersOpts {
	return core.SetupControllersOpts{PreemptionExpectations: expected, ResourceFormatter: formatter}
}
