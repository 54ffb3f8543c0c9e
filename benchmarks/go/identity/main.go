// The least a KRM function in Go can do: kyaml reads every item, nothing is changed, kyaml writes every item.
package main

import (
	"os"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/fn/framework/command"
)

func main() {
	processor := framework.ResourceListProcessorFunc(func(*framework.ResourceList) error { return nil })
	if err := command.Build(processor, command.StandaloneDisabled, false).Execute(); err != nil {
		os.Exit(1)
	}
}
