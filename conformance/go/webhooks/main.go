// What the webhooks of JobSet and LeaderWorkerSet say of objects: a JSON object a line in, its refusal a line out, empty
// where it is taken. Defaults are filled in first, as in a cluster.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsets "sigs.k8s.io/jobset/pkg/webhooks"
	lws "sigs.k8s.io/lws/api/leaderworkerset/v1"
	workersets "sigs.k8s.io/lws/pkg/webhooks"
)

type webhook interface {
	Default(context.Context, runtime.Object) error
	ValidateCreate(context.Context, runtime.Object) (admission.Warnings, error)
}

func main() {
	ofJobSets, err := jobsets.NewJobSetWebhook(nil)
	check(err)
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var head struct{ Kind string }
		check(json.Unmarshal(in.Bytes(), &head))
		var object runtime.Object = &jobset.JobSet{}
		var asked webhook = ofJobSets
		if head.Kind == "LeaderWorkerSet" {
			object, asked = &lws.LeaderWorkerSet{}, &workersets.LeaderWorkerSetWebhook{}
		}
		check(json.Unmarshal(in.Bytes(), object))
		check(asked.Default(context.Background(), object))
		told := ""
		if _, err := asked.ValidateCreate(context.Background(), object); err != nil {
			told = err.Error()
		}
		check(out.Encode(told))
	}
	check(in.Err())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
