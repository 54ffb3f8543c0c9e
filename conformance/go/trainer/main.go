// Trainer answers which JobSet Kubeflow Trainer makes: one JSON request {"runtime": …, "trainJob": …} per line on stdin,
// both in the namespace default and the runtime a TrainingRuntime; one answer per line on stdout: the spec of the JobSet,
// or {"error": …}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"github.com/kubeflow/trainer/v2/pkg/util/testing"
	"sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"
)

type request struct {
	Runtime  trainer.TrainingRuntime `json:"runtime"`
	TrainJob trainer.TrainJob        `json:"trainJob"`
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<20)
	for input.Scan() {
		var asked request
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		made, err := answer(asked)
		if err != nil {
			made = map[string]string{"error": err.Error()}
		}
		line, _ := json.Marshal(made)
		fmt.Println(string(line))
	}
}

func answer(asked request) (any, error) {
	ctx := context.Background()
	builder := testing.NewClientBuilder().WithObjects(&asked.Runtime)
	runtime, err := core.NewTrainingRuntime(ctx, builder.Build(), testing.AsIndex(builder), nil)
	if err != nil {
		return nil, err
	}
	objects, err := runtime.NewObjects(ctx, &asked.TrainJob)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if jobSet, ok := object.(*v1alpha2.JobSetApplyConfiguration); ok {
			return jobSet.Spec, nil
		}
	}
	return nil, fmt.Errorf("no JobSet")
}
