package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
	autoscaling "k8s.io/autoscaler/cluster-autoscaler/apis/provisioningrequest/autoscaling.x-k8s.io/v1"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1beta1 "sigs.k8s.io/kueue/apis/config/v1beta1"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueuev1beta1 "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/config"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/admissionchecks/provisioning"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs" // every kind of job
	"sigs.k8s.io/kueue/pkg/controller/tas"
	tasindexer "sigs.k8s.io/kueue/pkg/controller/tas/indexer"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption/fairsharing"
	"sigs.k8s.io/kueue/pkg/util/expectations"
	"sigs.k8s.io/kueue/pkg/util/kubeversion"
	"sigs.k8s.io/kueue/pkg/util/waitforpodsready"
	"sigs.k8s.io/kueue/pkg/webhooks"
)

// frameworks are the kinds of jobs of a manager without a configuration: all but those that are pods of their own.
var frameworks = []string{
	"batch/job", "jobset.x-k8s.io/jobset", "ray.io/rayjob", "ray.io/raycluster", "kubeflow.org/mpijob", "kubeflow.org/paddlejob",
	"kubeflow.org/pytorchjob", "kubeflow.org/tfjob", "kubeflow.org/xgboostjob", "kubeflow.org/jaxjob", "trainer.kubeflow.org/trainjob",
	"workload.codeflare.dev/appwrapper",
}

// manager is Kueue's, with a recorder that keeps its events.
type manager struct {
	ctrl.Manager
	noted *recorder
}

func (made manager) GetEventRecorder(string) events.EventRecorder { return made.noted }

// recorder keeps the names of what Kueue admitted and preempted.
type recorder struct {
	sync.Mutex
	admitted  []string
	preempted []preemption
}

func (noted *recorder) Eventf(about runtime.Object, _ runtime.Object, _, reason, _, note string, words ...any) {
	workload, ok := about.(*kueue.Workload)
	if !ok {
		return
	}
	noted.Lock()
	defer noted.Unlock()
	name := workload.Namespace + "/" + workload.Name
	switch reason {
	case "Admitted":
		noted.admitted = append(noted.admitted, name)
	case "Preempted":
		noted.preempted = append(noted.preempted, preemption{name, fmt.Sprintf(note, words...)})
	}
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, kueue.AddToScheme, kueuev1beta1.AddToScheme, configv1beta1.AddToScheme, configapi.AddToScheme,
		autoscaling.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	utilruntime.Must(jobframework.ForEachIntegration(func(_ string, each jobframework.IntegrationCallbacks) error {
		if each.AddToScheme != nil {
			return each.AddToScheme(scheme)
		}
		return nil
	}))
	return scheme
}

// configure reads the manager's configuration as the manager does.
func configure(scheme *runtime.Scheme, asked question) (ctrl.Options, *configapi.Configuration, error) {
	given := asked.Configuration
	if given == nil {
		given = map[string]any{
			"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
			"integrations": map[string]any{"frameworks": frameworks},
		}
	}
	file, err := os.CreateTemp("", "kueue-*.json")
	if err != nil {
		return ctrl.Options{}, nil, err
	}
	defer os.Remove(file.Name())
	if err := errors.Join(os.WriteFile(file.Name(), mustMarshal(given), 0o600), file.Close()); err != nil {
		return ctrl.Options{}, nil, err
	}
	options, settings, err := config.Load(scheme, file.Name())
	if err != nil {
		return options, nil, fmt.Errorf("configuration: %w", err)
	}
	gates := map[string]bool{}
	for _, given := range []map[string]bool{settings.FeatureGates, asked.Gates} {
		for name, on := range given {
			gates[name] = on
		}
	}
	// Kueue's other way to write: the store in memory cannot tell the fields of one writer from those of another.
	gates[string(features.WorkloadRequestUseMergePatch)] = true
	if err := config.LoadAndValidateFeatureGates("", gates).ToAggregate(); err != nil {
		return options, nil, fmt.Errorf("feature gates: %w", err)
	}
	return options, &settings, nil
}

// start puts the manager together as its command does, on the store.
func start(ctx context.Context, made *store, options ctrl.Options, settings *configapi.Configuration) (*recorder, error) {
	options.LeaderElection, options.PprofBindAddress, options.HealthProbeBindAddress = false, "", "0"
	options.Metrics.BindAddress = "0"
	options.WebhookServer = made
	options.Cache.NewInformer = made.inform
	options.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapAll(made.scheme), nil }
	options.NewClient = func(_ *rest.Config, given client.Options) (client.Client, error) {
		return cached{made.objects, given.Cache.Reader}, nil
	}
	inner, err := ctrl.NewManager(&rest.Config{Host: "http://store.invalid", Transport: nothing{}}, options)
	if err != nil {
		return nil, err
	}
	mgr := manager{inner, &recorder{admitted: []string{}, preempted: []preemption{}}}
	expected, requeuer := preemptexpectations.New(), qcache.NewRequeuer()
	cache := schdcache.New(mgr.GetClient(), cacheOptions(settings)...)
	queues := qcache.NewManager(mgr.GetClient(), cache, requeuer, append(queueOptions(settings), qcache.WithPreemptionExpectations(expected))...)
	jobs := []jobframework.Option{jobframework.WithEnabledFrameworks(settings.Integrations.Frameworks)}
	if err := errors.Join(
		mgr.Add(requeuer), indexer.Setup(ctx, mgr.GetFieldIndexer()), provisioning.SetupIndexer(ctx, mgr.GetFieldIndexer()), tasindexer.SetupIndexes(ctx, mgr.GetFieldIndexer()),
		jobframework.SetupIndexes(ctx, mgr.GetFieldIndexer(), jobs...),
	); err != nil {
		return nil, err
	}
	if failed, err := core.SetupControllers(mgr, queues, cache, settings, controllerOptions(expected)); err != nil {
		return nil, fmt.Errorf("controller %s: %w", failed, err)
	}
	if features.Enabled(features.TopologyAwareScheduling) {
		if failed, err := tas.SetupControllers(mgr, queues, cache, settings, nil); err != nil {
			return nil, fmt.Errorf("controller %s: %w", failed, err)
		}
	}
	requests, err := provisioning.NewController(mgr.GetClient(), mgr.noted, nil)
	if err != nil {
		return nil, err
	}
	if err := requests.SetupWithManager(mgr); err != nil {
		return nil, err
	}
	more, err := jobOptions(settings, cache, queues)
	if err != nil {
		return nil, err
	}
	if err := jobframework.SetupControllers(ctx, mgr, ctrl.Log, append(jobs, more...)...); err != nil {
		return nil, err
	}
	if failed, err := webhooks.Setup(mgr, nil); err != nil {
		return nil, fmt.Errorf("webhook %s: %w", failed, err)
	}
	go queues.CleanUpOnContext(ctx)
	go cache.CleanUpOnContext(ctx)
	if err := mgr.Add(scheduler.New(queues, cache, mgr.GetClient(), mgr.noted, schedulerOptions(settings, expected)...)); err != nil {
		return nil, err
	}
	go func() { must(mgr.Start(ctx)) }()
	return mgr.noted, nil
}

// mapAll knows the path of every kind of the scheme: all definitions are installed.
func mapAll(scheme *runtime.Scheme) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	for kind := range scheme.AllKnownTypes() {
		scope := meta.RESTScopeNamespace
		switch kind.Kind {
		case "Namespace", "Node", "PersistentVolume", "PriorityClass", "RuntimeClass", "ResourceFlavor", "ClusterQueue", "Cohort",
			"WorkloadPriorityClass", "AdmissionCheck", "Topology", "MultiKueueCluster", "MultiKueueConfig", "ProvisioningRequestConfig",
			"DeviceClass", "ResourceSlice", "ClusterTrainingRuntime":
			scope = meta.RESTScopeRoot
		}
		mapper.Add(kind, scope)
	}
	return mapper
}

// nothing answers whoever asks past the store.
type nothing struct{}

func (nothing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("there is no API server but the store")
}

func cacheOptions(settings *configapi.Configuration) []schdcache.Option {
	wait := settings.WaitForPodsReady
	blocks := waitforpodsready.Enabled(wait) && wait.BlockAdmission != nil && *wait.BlockAdmission
	options := append(
		ofCache, schdcache.WithPodsReadyTracking(blocks), schdcache.WithFairSharing(fairsharing.Enabled(settings.FairSharing)),
		schdcache.WithAdmissionFairSharing(settings.AdmissionFairSharing),
	)
	if given := settings.Resources; given != nil {
		options = append(options, schdcache.WithExcludedResourcePrefixes(given.ExcludeResourcePrefixes), schdcache.WithResourceTransformations(given.Transformations))
	}
	return options
}

func queueOptions(settings *configapi.Configuration) []qcache.Option {
	options := append(ofQueues, qcache.WithPodsReadyRequeuingTimestamp(timestamp(settings)))
	if settings.AdmissionFairSharing != nil {
		options = append(options, qcache.WithAdmissionFairSharing(settings.AdmissionFairSharing))
	}
	if given := settings.Resources; given != nil {
		options = append(options, qcache.WithExcludedResourcePrefixes(given.ExcludeResourcePrefixes), qcache.WithResourceTransformations(given.Transformations))
	}
	return options
}

func timestamp(settings *configapi.Configuration) configapi.RequeuingTimestamp {
	if wait := settings.WaitForPodsReady; wait != nil && wait.RequeuingStrategy != nil && wait.RequeuingStrategy.Timestamp != nil {
		return *wait.RequeuingStrategy.Timestamp
	}
	return configapi.EvictionTimestamp
}

func jobOptions(settings *configapi.Configuration, cache *schdcache.Cache, queues *qcache.Manager) ([]jobframework.Option, error) {
	fetcher := kubeversion.NewServerVersionFetcher(&fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{GitVersion: "v1.37.0"}})
	if err := fetcher.FetchServerVersion(); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(settings.ManagedJobsNamespaceSelector)
	return []jobframework.Option{
		jobframework.WithManageJobsWithoutQueueName(settings.ManageJobsWithoutQueueName), jobframework.WithWaitForPodsReady(settings.WaitForPodsReady),
		jobframework.WithKubeServerVersion(fetcher), jobframework.WithManagerName(constants.KueueName),
		labelsToCopy(settings.Integrations.LabelKeysToCopy), jobframework.WithCache(cache),
		jobframework.WithQueues(queues), jobframework.WithManagedJobsNamespaceSelector(selector),
	}, err
}

// run creates the objects step by step and reads what became of the Workloads.
func run(asked question) (*result, error) {
	time.Sleep(time.Until(asked.Now)) // of the bubble's own clock
	scheme, ctx := newScheme(), context.Background()
	made, err := newStore(scheme)
	if err != nil {
		return nil, err
	}
	options, settings, err := configure(scheme, asked)
	if err != nil {
		return nil, err
	}
	made.spaces[*settings.Namespace] = true
	if err := made.objects.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: *settings.Namespace}}); err != nil {
		return nil, err
	}
	noted, err := start(ctx, made, options, settings)
	if err != nil {
		return nil, err
	}
	found := &result{
		Name: asked.Trials[0].Name, Workloads: []map[string]any{}, Queues: []map[string]any{}, Refused: map[string]string{}, Settled: wait(made, calm),
	}
	for _, step := range asked.Steps {
		for _, value := range step {
			if data, ok := value["metadata"].(map[string]any); ok {
				made.asked[fmt.Sprintf("%v/%v/%v", data["namespace"], value["kind"], data["name"])] = true
			}
		}
	}
	for _, step := range asked.Steps {
		for _, value := range step {
			if err := made.put(ctx, value); err != nil {
				data, _ := value["metadata"].(map[string]any)
				found.Refused[fmt.Sprintf("%v/%v/%v", data["namespace"], value["kind"], data["name"])] = err.Error()
			}
			time.Sleep(10 * time.Millisecond) // a request takes so long: informers have seen the last object
		}
		wait(made, calm)
	}
	found.Settled = wait(made, 2*calm)
	found.Admitted, found.Preempted = noted.admitted, noted.preempted
	if err := made.read(ctx, found); err != nil {
		return nil, err
	}
	found.Jobs, err = made.decide(ctx, found)
	return found, err
}

// calm is longer than the second after which Kueue tries again what it put back when something changed.
const calm = 1500 * time.Millisecond

// wait returns when nothing was written for so long: true; or when half a minute of the bubble's clock is over: the head
// of a strict queue is tried without end.
func wait(made *store, quiet time.Duration) bool {
	end, seen, since := time.Now().Add(30*time.Second), made.writes.Load(), time.Now()
	for time.Now().Before(end) {
		time.Sleep(100 * time.Millisecond)
		if now := made.writes.Load(); now != seen {
			seen, since = now, time.Now()
			must(made.giveUp(context.Background()))
		}
		if time.Since(since) >= quiet {
			return true
		}
	}
	return false
}

// read writes the Workloads and the queues into the answer.
func (made *store) read(ctx context.Context, into *result) error {
	for _, each := range []struct {
		list client.ObjectList
		kind string
		rows *[]map[string]any
	}{
		{&kueue.WorkloadList{}, "Workload", &into.Workloads}, {&kueue.ClusterQueueList{}, "ClusterQueue", &into.Queues},
		{&kueue.LocalQueueList{}, "LocalQueue", &into.Queues},
	} {
		if err := made.objects.List(ctx, each.list); err != nil {
			return err
		}
		if err := meta.EachListItem(each.list, func(object runtime.Object) error {
			value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			value["apiVersion"], value["kind"] = kueue.SchemeGroupVersion.String(), each.kind
			*each.rows = append(*each.rows, value)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func schedulerOptions(settings *configapi.Configuration, expected *expectations.Store) []scheduler.Option {
	strategy := configapi.QuotaCheckBlockUndeclared
	if given := settings.Resources; features.Enabled(features.QuotaCheckStrategy) && given != nil && given.QuotaCheckStrategy != nil {
		strategy = *given.QuotaCheckStrategy
	}
	return append(
		ofScheduler, scheduler.WithPodsReadyRequeuingTimestamp(timestamp(settings)), scheduler.WithFairSharing(settings.FairSharing),
		scheduler.WithAdmissionFairSharing(settings.AdmissionFairSharing), scheduler.WithQuotaCheckStrategy(strategy),
		scheduler.WithPreemptionExpectations(expected),
	)
}
