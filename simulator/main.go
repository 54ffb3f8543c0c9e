// krmfn-simulator is the kube-scheduler of one Kubernetes release, in one process and without a cluster: the API server
// is a store in memory. It reads a question from stdin and prints what the scheduler did; see README.md.

//go:debug randseednop=0
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

// question is what to simulate: objects of a cluster (nodes, classes, volumes, quotas, pods that are bound already), the
// groups and pods that are waiting, and how often to try.
type question struct {
	Gates   map[string]bool  `json:"gates"`
	Objects []map[string]any `json:"objects"`
	Trials  []trial          `json:"trials"`
	Seconds float64          `json:"seconds"`
}

// trial is one run in a cluster of its own. Pods names the waiting pods that take part (namespace/name; all without it),
// Empty leaves out pods that are bound already, but for those in Pods. Seed 0 keeps the order of the objects, another one shuffles it.
type trial struct {
	Name  string   `json:"name"`
	Pods  []string `json:"pods"`
	Empty bool     `json:"empty"`
	Seed  int64    `json:"seed"`
}

// answer is what came of a trial: by pod its node, or what the scheduler said of it. Settled is false when time ran out.
type answer struct {
	Name         string               `json:"name"`
	Pods         map[string]placement `json:"pods"`
	Preempted    []string             `json:"preempted,omitempty"`
	Settled      bool                 `json:"settled"`
	Milliseconds int64                `json:"milliseconds"`
}

type placement struct {
	Node    string `json:"node,omitempty"`
	Message string `json:"message,omitempty"`
	Refused string `json:"refused,omitempty"`
}

func main() {
	klog.InitFlags(nil)
	// What the scheduler logs about gangs that do not fit is in the answer.
	_ = flag.Set("logtostderr", "false")
	_ = flag.Set("stderrthreshold", "FATAL")
	version := flag.Bool("version", false, "print the release of the scheduler")
	flag.Parse()
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil // they also slow down whoever makes errors, by the clock on the wall
	if *version {
		fmt.Println(release)
		return
	}
	var asked question
	must(json.NewDecoder(os.Stdin).Decode(&asked))
	must(utilfeature.DefaultMutableFeatureGate.SetFromMap(known(asked.Gates)))
	// A scheduler with nothing else to do tries at once what is to wait a second: then a trial's clock would never advance.
	must(utilfeature.DefaultMutableFeatureGate.SetFromMap(known(map[string]bool{"SchedulerPopFromBackoffQ": false})))
	objects := read(asked.Objects)
	// A fake watch panics when its buffer is full: there is room for several events of every object.
	watch.DefaultChanSize = int32(1000 + 8*len(asked.Objects))
	limit := time.Duration(asked.Seconds * float64(time.Second))
	if limit == 0 {
		limit = 5 * time.Minute
	}
	// The scheduler listens for a signal, too. What waits for signals belongs to the process, not to the first trial.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2)
	// Half of the time would go into collecting garbage, for little memory.
	debug.SetGCPercent(200)
	// One after the other: chance belongs to the process, and the same question is to have the same answer.
	runtime.GOMAXPROCS(1)
	answers := []*answer{}
	for _, each := range asked.Trials {
		result, err := run(objects, each, limit)
		must(err)
		answers = append(answers, result)
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{"release": release, "trials": answers}))
}

// known leaves out gates that this release does not have: facts may come from another component.
func known(gates map[string]bool) map[string]bool {
	kept := map[string]bool{}
	for name, on := range gates {
		for _, feature := range utilfeature.DefaultFeatureGate.KnownFeatures() {
			if len(feature) > len(name) && feature[:len(name)] == name && feature[len(name)] == '=' {
				kept[name] = on
			}
		}
	}
	return kept
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "krmfn-simulator:", err)
		os.Exit(1)
	}
}
