// Command threeway computes what kubectl apply would send: a strategic merge patch from the last applied manifest, the new
// manifest and the live object, with the merge keys of the released Go types; and what a server makes of the live object by it.
//
// Reads one JSON object a line {"original": {}, "modified": {}, "current": {}}, writes one a line {"patch": {}, "result": {}}
// or {"error": ""}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

type request struct {
	Original json.RawMessage `json:"original"`
	Modified json.RawMessage `json:"modified"`
	Current  json.RawMessage `json:"current"`
}

type answer struct {
	Patch  json.RawMessage `json:"patch,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

func patch(line []byte) (given answer, err error) {
	// The library panics on some lists of scalars where it expects objects; kubectl ends with the same panic.
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return given, err
	}
	// The type of the live object decides: a manifest of another type is refused before anything is computed.
	live := &unstructured.Unstructured{}
	if err := live.UnmarshalJSON(asked.Current); err != nil {
		return given, err
	}
	typed, err := scheme.Scheme.New(live.GroupVersionKind())
	if err != nil {
		return given, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return given, err
	}
	given.Patch, err = strategicpatch.CreateThreeWayMergePatch(asked.Original, asked.Modified, asked.Current, meta, true)
	if err != nil {
		return given, err
	}
	given.Result, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(asked.Current, given.Patch, meta)
	return given, err
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return
		}
		given, err := patch(line)
		if err != nil {
			given.Error = err.Error()
		}
		if err := out.Encode(given); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
