// krmfn-simulator-kueue is the manager of Kueue in one process and without a cluster: its controllers, webhooks and
// scheduler on an API server that is a store in memory. It reads a question from stdin and prints what became of the
// Workloads; see README.md.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// question is what to simulate. Configuration is the manager's (config.kueue.x-k8s.io); without it, its defaults with
// every kind of job. Steps are objects in the order in which they are created: those of a step without a pause, the next
// step when nothing moves any more. Each trial begins with the Steps of all, in a cluster of its own. Now is the time of
// the first step (RFC 3339; the clock of the machine without it).
type question struct {
	Configuration map[string]any     `json:"configuration"`
	Gates         map[string]bool    `json:"gates"`
	Steps         [][]map[string]any `json:"steps"`
	Now           time.Time          `json:"now"`
	Trials        []trial            `json:"trials"`
}

// trial is a cluster of its own, with more steps; or Jobs, each a step, whose fate is to be told in any order and alone.
// Empty leaves out the Workloads and pods that are there.
type trial struct {
	Name  string             `json:"name"`
	Empty bool               `json:"empty"`
	Steps [][]map[string]any `json:"steps"`
	Jobs  []map[string]any   `json:"jobs"`
}

type answer struct {
	Release string            `json:"release"`
	Trials  []json.RawMessage `json:"trials"`
}

// result is what came of a trial. Admitted has the names of Workloads in the order in which Kueue admitted them. Settled
// is false when something still moved at the end.
type result struct {
	Name      string            `json:"name"`
	Jobs      []decision        `json:"jobs"`
	Workloads []map[string]any  `json:"workloads"`
	Admitted  []string          `json:"admitted"`
	Preempted []preemption      `json:"preempted"`
	Refused   map[string]string `json:"refused"`
	Queues    []map[string]any  `json:"queues"`
	Settled   bool              `json:"settled"`
}

// preemption is a Workload that made room, and what Kueue says of it.
type preemption struct {
	Workload string `json:"workload"`
	Message  string `json:"message"`
}

func main() {
	version := flag.Bool("version", false, "print the release of Kueue")
	verbose := flag.Bool("verbose", false, "print what the manager logs")
	flag.Parse()
	if *version {
		fmt.Println(release)
		return
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctrl.SetLogger(logr.Discard())
	if *verbose {
		klog.LogToStderr(true)
		ctrl.SetLogger(klog.Background())
	} else {
		utilruntime.ErrorHandlers = nil
	}
	var asked question
	must(json.NewDecoder(os.Stdin).Decode(&asked))
	if len(asked.Trials) != 1 || asked.Trials[0].Jobs != nil {
		all := answer{release, []json.RawMessage{}}
		for _, each := range asked.Trials {
			if each.Jobs != nil {
				all.Trials = append(all.Trials, mustMarshal(judge(asked, each)))
			} else {
				all.Trials = append(all.Trials, mustMarshal(ask(asked, each)))
			}
		}
		must(json.NewEncoder(os.Stdout).Encode(all))
		return
	}
	if asked.Trials[0].Empty {
		for _, step := range asked.Steps {
			for _, value := range step {
				if value["kind"] == "Workload" || value["kind"] == "Pod" {
					value["kind"] = "" // no kind that Kueue looks at
				}
			}
		}
	}
	asked.Steps = append(asked.Steps, asked.Trials[0].Steps...)
	number := 0
	for _, step := range asked.Steps {
		number += len(step)
	}
	// A watch of the store panics when its buffer is full: there is room for many events of every object.
	watch.DefaultChanSize = int32(1000 + 50*number)
	if asked.Now.IsZero() {
		asked.Now = time.Now()
	}
	runtime.GOMAXPROCS(1) // the same question is to have the same answer
	// A bubble's clock advances when every goroutine waits: Kueue's pauses take no time. The process ends inside it.
	synctest.Test(new(testing.T), func(*testing.T) {
		found, err := run(asked)
		must(err)
		must(json.NewEncoder(os.Stdout).Encode(answer{release, []json.RawMessage{mustMarshal(found)}}))
		os.Exit(0)
	})
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "krmfn-simulator-kueue:", err)
		os.Exit(1)
	}
}
