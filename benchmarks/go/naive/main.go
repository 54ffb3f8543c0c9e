// A naive version of krmfn's main job on kyaml: one gang per RayCluster (its head and all workers), a Workload and a
// PodGroup for Kubernetes 1.37, and the link in every pod template. No options, no defaults beyond replicas and
// numOfHosts, no checks. It is what a benchmark compares with, not something to use.
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/fn/framework/command"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const objects = `apiVersion: scheduling.k8s.io/v1beta1
kind: %s
metadata:
  name: %s
  namespace: %s
  labels:
    app.kubernetes.io/managed-by: naive
spec:
%s`

const workloadSpec = `  podGroupTemplates:
  - name: cluster
    schedulingPolicy:
      gang:
        minCount: %d
`

const podGroupSpec = `  workloadRef:
    workloadName: %s
    templateName: cluster
  schedulingPolicy:
    gang:
      minCount: %d
`

type worker struct {
	Replicas   *int `yaml:"replicas"`
	NumOfHosts *int `yaml:"numOfHosts"`
}

type rayCluster struct {
	Spec struct {
		WorkerGroupSpecs []worker `yaml:"workerGroupSpecs"`
	} `yaml:"spec"`
}

func orDefault(value *int, otherwise int) int {
	if value == nil {
		return otherwise
	}
	return *value
}

func link(item *yaml.RNode, name string, path ...string) error {
	template, err := item.Pipe(yaml.Lookup(path...))
	if err != nil || template == nil {
		return err
	}
	return template.PipeE(
		yaml.LookupCreate(yaml.MappingNode, "spec", "schedulingGroup"),
		yaml.SetField("podGroupName", yaml.NewStringRNode(name)),
	)
}

func convert(item *yaml.RNode) ([]*yaml.RNode, error) {
	text, err := item.String()
	if err != nil {
		return nil, err
	}
	var cluster rayCluster
	if err := yaml.Unmarshal([]byte(text), &cluster); err != nil {
		return nil, err
	}
	pods := 1
	for _, group := range cluster.Spec.WorkerGroupSpecs {
		pods += orDefault(group.Replicas, 0) * orDefault(group.NumOfHosts, 1)
	}
	name := "raycluster-" + item.GetName()
	if err := link(item, name, "spec", "headGroupSpec", "template"); err != nil {
		return nil, err
	}
	for index := range cluster.Spec.WorkerGroupSpecs {
		if err := link(item, name, "spec", "workerGroupSpecs", fmt.Sprint(index), "template"); err != nil {
			return nil, err
		}
	}
	workload, err := yaml.Parse(fmt.Sprintf(objects, "Workload", name, item.GetNamespace(), fmt.Sprintf(workloadSpec, pods)))
	if err != nil {
		return nil, err
	}
	group, err := yaml.Parse(fmt.Sprintf(objects, "PodGroup", name, item.GetNamespace(), fmt.Sprintf(podGroupSpec, name, pods)))
	return []*yaml.RNode{workload, group}, err
}

func main() {
	processor := framework.ResourceListProcessorFunc(func(list *framework.ResourceList) error {
		var created []*yaml.RNode
		for _, item := range list.Items {
			if item.GetKind() != "RayCluster" {
				continue
			}
			objects, err := convert(item)
			if err != nil {
				return err
			}
			created = append(created, objects...)
		}
		list.Items = append(list.Items, created...)
		return nil
	})
	if err := command.Build(processor, command.StandaloneDisabled, false).Execute(); err != nil {
		os.Exit(1)
	}
}
