// Volcano's real scheduler in one process: a world of objects per line on stdin, one answer per line on stdout.
//
// A world is {"conf": text of volcano-scheduler.conf, "queues": […], "podGroups": […], "pods": […], "nodes": […],
// "hyperNodes": […]}. The answer says of every PodGroup its last phase, its conditions, and whether it ran at some time:
// {"groups": {name: {"phase", "conditions", "ran", "alone"}}, "pods": {name: {"node", "conditions"}}, "events": […]}.
// "alone" is whether it runs when the other PodGroups and their pods are not there; asked of what did not run.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topology "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
)

type world struct {
	Conf       string                `json:"conf"`
	Queues     []*v1beta1.Queue      `json:"queues"`
	PodGroups  []*v1beta1.PodGroup   `json:"podGroups"`
	Pods       []*v1.Pod             `json:"pods"`
	Nodes      []*v1.Node            `json:"nodes"`
	HyperNodes []*topology.HyperNode `json:"hyperNodes"`
}

func main() {
	flags := flag.NewFlagSet("volcano", flag.ExitOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(os.Stderr)
	if os.Getenv("KRMFN_VOLCANO_LOG") == "" {
		null, _ := os.Open(os.DevNull)
		klog.SetOutput(null)
	}
	metrics.InitKubeSchedulerRelatedMetrics()
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<24)
	for input.Scan() {
		var asked world
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		made, err := answer(asked)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		line, _ := json.Marshal(made)
		fmt.Println(string(line))
	}
}

type groupAnswer struct {
	Phase      v1beta1.PodGroupPhase       `json:"phase"`
	Conditions []v1beta1.PodGroupCondition `json:"conditions,omitempty"`
	Ran        bool                        `json:"ran"`
	Alone      *bool                       `json:"alone,omitempty"`
}

type podAnswer struct {
	Node       string            `json:"node,omitempty"`
	Conditions []v1.PodCondition `json:"conditions,omitempty"`
}

type worldAnswer struct {
	Groups map[string]*groupAnswer `json:"groups"`
	Pods   map[string]*podAnswer   `json:"pods"`
	Events []told                  `json:"events"`
}

// answer runs a world as it is, and then each group alone that did not run in it.
func answer(asked world) (*worldAnswer, error) {
	first, err := run(asked)
	if err != nil {
		return nil, err
	}
	for _, group := range asked.PodGroups {
		said := first.Groups[group.Name]
		if said.Ran {
			continue
		}
		alone := asked
		alone.PodGroups, alone.Pods = []*v1beta1.PodGroup{group}, nil
		for _, pod := range asked.Pods {
			if pod.Annotations[v1beta1.KubeGroupNameAnnotationKey] == group.Name {
				alone.Pods = append(alone.Pods, pod)
			}
		}
		second, err := run(alone)
		if err != nil {
			return nil, err
		}
		said.Alone = &second.Groups[group.Name].Ran
	}
	return first, nil
}

func run(asked world) (*worldAnswer, error) {
	actions, tiers, configurations, _, err := scheduler.UnmarshalSchedulerConf(asked.Conf)
	if err != nil {
		return nil, err
	}
	cluster, err := start(asked)
	if err != nil {
		return nil, err
	}
	defer cluster.stop()
	for cycle := 0; cycle < 4; cycle++ {
		cluster.runOnce(actions, tiers, configurations)
	}
	return cluster.report(), nil
}
