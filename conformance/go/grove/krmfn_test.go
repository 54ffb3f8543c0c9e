package podgang

// Asks Grove which PodGangs it makes of PodCliqueSets: one JSON object a line in the file that KRMFN_ASK names, one
// answer a line in that of KRMFN_ANSWER. It lies in Grove's own package, whose functions are not exported.

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	grovecorev1alpha1 "github.com/ai-dynamo/grove/operator/api/core/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/utils/ptr"
)

type clique struct {
	Name         string `json:"name"`
	Replicas     int32  `json:"replicas"`
	MinAvailable int32  `json:"minAvailable"`
}

type gang struct {
	Name    string   `json:"name"`
	Cliques []clique `json:"cliques"`
}

func TestAnswer(t *testing.T) {
	asked, err := os.Open(os.Getenv("KRMFN_ASK"))
	if err != nil {
		t.Skip(err)
	}
	answers, err := os.Create(os.Getenv("KRMFN_ANSWER"))
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	lines := bufio.NewScanner(asked)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var set grovecorev1alpha1.PodCliqueSet
		if err := json.Unmarshal(lines.Bytes(), &set); err != nil {
			t.Fatal(err)
		}
		fill(&set)
		sync := &syncContext{pcs: &set, logger: logr.Discard()}
		if err := (_resource{}).computeExpectedPodGangs(sync); err != nil {
			t.Fatal(err)
		}
		made := []gang{}
		for _, each := range sync.expectedPodGangs {
			found := gang{Name: each.fqn}
			for _, pods := range each.pclqs {
				found.Cliques = append(found.Cliques, clique{pods.fqn, pods.replicas, pods.minAvailable})
			}
			made = append(made, found)
		}
		if err := json.NewEncoder(answers).Encode(made); err != nil {
			t.Fatal(err)
		}
	}
}

// What the definition and the webhook (internal/webhook/admission/pcs/defaulting) fill in before a controller sees it.
func fill(set *grovecorev1alpha1.PodCliqueSet) {
	for _, each := range set.Spec.Template.Cliques {
		if each.Spec.Replicas == 0 {
			each.Spec.Replicas = 1
		}
		if each.Spec.MinAvailable == nil {
			each.Spec.MinAvailable = ptr.To(each.Spec.Replicas)
		}
	}
	groups := set.Spec.Template.PodCliqueScalingGroupConfigs
	for number := range groups {
		if groups[number].Replicas == nil {
			groups[number].Replicas = ptr.To(int32(1))
		}
		if groups[number].MinAvailable == nil {
			groups[number].MinAvailable = ptr.To(int32(1))
		}
	}
}
