// KAI's real scheduler in one process: a world of objects per line on stdin, one answer per line on stdout.
//
// A world is {"queues": […], "podGroups": […], "pods": […], "nodes": […], "priorityClasses": […], "topologies": […]}.
// The answer says of every PodGroup whether its pods were bound, and its conditions; of every pod its node:
// {"groups": {name: {"ran", "alone", "conditions"}}, "pods": {name: node}}. "alone" is whether the group runs when the
// other PodGroups and their pods are not there; asked of what did not run.
// A line {"shares": […]} has pods instead, and the answer lists what the webhook refuses of the parts of GPUs that they
// ask for: a text for each, empty where nothing.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"

	kaifake "github.com/kai-scheduler/KAI-scheduler/pkg/apis/client/clientset/versioned/fake"
	topology "github.com/kai-scheduler/KAI-scheduler/pkg/apis/kai/v1alpha1"
	queues "github.com/kai-scheduler/KAI-scheduler/pkg/apis/scheduling/v2"
	groups "github.com/kai-scheduler/KAI-scheduler/pkg/apis/scheduling/v2alpha2"
	shares "github.com/kai-scheduler/KAI-scheduler/pkg/binder/plugins/gpusharing/gpu-request"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/actions"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/cache"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/conf"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/conf_util"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/framework"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/log"
	"github.com/kai-scheduler/KAI-scheduler/pkg/scheduler/plugins"
)

const groupAnnotation = "pod-group-name"

type world struct {
	Queues          []*queues.Queue               `json:"queues"`
	PodGroups       []*groups.PodGroup            `json:"podGroups"`
	Pods            []*v1.Pod                     `json:"pods"`
	Nodes           []*v1.Node                    `json:"nodes"`
	PriorityClasses []*schedulingv1.PriorityClass `json:"priorityClasses"`
	Topologies      []*topology.Topology          `json:"topologies"`
	Shares          []*v1.Pod                     `json:"shares"`
}

type groupAnswer struct {
	Ran        bool                         `json:"ran"`
	Alone      *bool                        `json:"alone,omitempty"`
	Conditions []groups.SchedulingCondition `json:"conditions,omitempty"`
}

type worldAnswer struct {
	Groups map[string]*groupAnswer `json:"groups"`
	Pods   map[string]string       `json:"pods"`
}

func main() {
	verbosity := -1
	if os.Getenv("KRMFN_KAI_LOG") != "" {
		verbosity = 6
	}
	check(log.InitLoggers(verbosity, false))
	actions.InitDefaultActions()
	plugins.InitDefaultPlugins()
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<24)
	for input.Scan() {
		var asked world
		check(json.Unmarshal(input.Bytes(), &asked))
		var said any
		if asked.Shares != nil {
			said = refuse(asked.Shares)
		} else {
			said = answer(asked)
		}
		line, err := json.Marshal(said)
		check(err)
		fmt.Println(string(line))
	}
}

// refuse says what is wrong with the parts of GPUs that pods ask for.
func refuse(pods []*v1.Pod) []string {
	said := make([]string, len(pods))
	for index, pod := range pods {
		if err := shares.ValidateGpuRequests(pod); err != nil {
			said[index] = err.Error()
		}
	}
	return said
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// answer runs a world as it is, and then each group alone that did not run in it.
func answer(asked world) *worldAnswer {
	first := run(asked)
	for _, group := range asked.PodGroups {
		said := first.Groups[group.Name]
		if said.Ran {
			continue
		}
		alone := asked
		alone.PodGroups, alone.Pods = []*groups.PodGroup{group}, nil
		for _, pod := range asked.Pods {
			if pod.Annotations[groupAnnotation] == group.Name {
				alone.Pods = append(alone.Pods, pod)
			}
		}
		said.Alone = &run(alone).Groups[group.Name].Ran
	}
	return first
}

// run makes a cluster of the objects, and lets the scheduler try three times.
func run(asked world) *worldAnswer {
	kube, kai := store(asked)
	config, err := conf_util.GetDefaultSchedulerConf()
	check(err)
	// The snapshot plugin serves a page, and nothing else.
	for tier := range config.Tiers {
		var kept []conf.PluginOption
		for _, plugin := range config.Tiers[tier].Plugins {
			if plugin.Name != "snapshot" {
				kept = append(kept, plugin)
			}
		}
		config.Tiers[tier].Plugins = kept
	}
	parameters := conf.SchedulerParams{
		SchedulerName: "kai-scheduler", PartitionParams: &conf.SchedulingNodePoolParams{},
		MaxNumberConsolidationPreemptees: 16, FullHierarchyFairness: true, AllowConsolidatingReclaim: true,
		NumOfStatusRecordingWorkers: 1, DetailedFitErrors: true, GlobalDefaultStalenessGracePeriod: time.Minute,
	}
	stop := make(chan struct{})
	defer close(stop)
	state := cache.New(&cache.SchedulerCacheParams{
		KubeClient: kube, KAISchedulerClient: kai, SchedulerName: parameters.SchedulerName,
		NodePoolParams: parameters.PartitionParams, DetailedFitErrors: true, FullHierarchyFairness: true,
		AllowConsolidatingReclaim: true, NumOfStatusRecordingWorkers: 1, DiscoveryClient: kube.Discovery(),
	})
	state.Run(stop)
	state.WaitForCacheSync(stop)
	chosen, err := conf_util.GetActionsFromConfig(config)
	check(err)
	for cycle := 0; cycle < 3; cycle++ {
		session, err := framework.OpenSession(state, config, &parameters, fmt.Sprint(cycle), &http.ServeMux{})
		check(err)
		for _, action := range chosen {
			action.Execute(session)
		}
		framework.CloseSession(session)
		// Statuses are written, and informers hear of bindings, behind the session.
		state.WaitForWorkers(stop)
		time.Sleep(30 * time.Millisecond)
	}
	return report(asked, kai)
}

func store(asked world) (*fake.Clientset, *kaifake.Clientset) {
	var plain, own []runtime.Object
	for _, each := range asked.Nodes {
		plain = append(plain, each.DeepCopy())
	}
	for _, each := range asked.Pods {
		plain = append(plain, each.DeepCopy())
	}
	for _, each := range asked.PriorityClasses {
		plain = append(plain, each.DeepCopy())
	}
	for _, each := range asked.Queues {
		own = append(own, each.DeepCopy())
	}
	for _, each := range asked.PodGroups {
		own = append(own, each.DeepCopy())
	}
	for _, each := range asked.Topologies {
		own = append(own, each.DeepCopy())
	}
	kube := fake.NewSimpleClientset(plain...)
	kube.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{Major: "1", Minor: "34"}
	return kube, kaifake.NewSimpleClientset(own...)
}

func report(asked world, kai *kaifake.Clientset) *worldAnswer {
	made := &worldAnswer{Groups: map[string]*groupAnswer{}, Pods: map[string]string{}}
	for _, group := range asked.PodGroups {
		stored, err := kai.SchedulingV2alpha2().PodGroups(group.Namespace).Get(context.TODO(), group.Name, metav1.GetOptions{})
		check(err)
		made.Groups[group.Name] = &groupAnswer{Conditions: stored.Status.SchedulingConditions}
	}
	bound, err := kai.SchedulingV1alpha2().BindRequests("").List(context.TODO(), metav1.ListOptions{})
	check(err)
	for _, each := range bound.Items {
		made.Pods[each.Spec.PodName] = each.Spec.SelectedNode
	}
	for _, pod := range asked.Pods {
		if made.Pods[pod.Name] != "" {
			made.Groups[pod.Annotations[groupAnnotation]].Ran = true
		}
	}
	return made
}
