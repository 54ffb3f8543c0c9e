// krmfn-renderer builds many kustomizations in one process, with kustomize's own command `build`: most of the time of a
// small build is the start of kustomize and its reading of the API's schemas. It reads a line of JSON for each build,
// {"words": the arguments of `kustomize build`, "out": the file to write to}, and answers with a line,
// {"error": what kustomize says, empty where it built}. It ends with its input.
//
// It renders for the kustomize that is its argument: where that is built of other modules, it ends at once.
package main

import (
	"bufio"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"sigs.k8s.io/kustomize/kustomize/v5/commands/build"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

const kustomize = "sigs.k8s.io/kustomize/kustomize/v5"

type question struct {
	Words []string `json:"words"`
	Out   string   `json:"out"`
}

type answer struct {
	Error string `json:"error"`
}

func main() {
	if err := compare(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "krmfn-renderer:", err)
		os.Exit(2)
	}
	usual := openapi.GetSchemaVersion()
	answers := json.NewEncoder(os.Stdout)
	answers.SetEscapeHTML(false)
	questions := json.NewDecoder(bufio.NewReader(os.Stdin))
	for {
		var asked question
		if err := questions.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			os.Exit(2)
		}
		said := answer{}
		if err := run(asked); err != nil {
			said.Error = "Error: " + err.Error()
		}
		if err := answers.Encode(said); err != nil {
			os.Exit(2)
		}
		// The schemas that a kustomization names stay for the next build otherwise.
		if openapi.GetSchemaVersion() != usual {
			openapi.ResetOpenAPI()
		}
	}
}

func run(asked question) error {
	out, err := os.Create(asked.Out)
	if err != nil {
		return err
	}
	defer out.Close()
	command := build.NewCmdBuild(filesys.MakeFsOnDisk(), build.MakeHelp("kustomize", "build"), out)
	command.SetArgs(asked.Words)
	command.SetOut(io.Discard)
	command.SilenceErrors = true
	return command.Execute()
}

// compare says how a kustomize differs from this program in what makes its output: the modules of both.
func compare(words []string) error {
	if len(words) != 1 {
		return fmt.Errorf("usage: krmfn-renderer KUSTOMIZE")
	}
	theirs, err := buildinfo.ReadFile(words[0])
	if err != nil {
		return err
	}
	ours, ok := debug.ReadBuildInfo()
	if !ok {
		return fmt.Errorf("built without modules")
	}
	versions := list(theirs)
	for path, version := range list(ours) {
		if strings.Contains(version, "(devel)") || versions[path] != version {
			return fmt.Errorf("%s is %q there and %q here", path, versions[path], version)
		}
	}
	return nil
}

func list(info *debug.BuildInfo) map[string]string {
	versions := map[string]string{}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == "krmfn.dev/renderer" {
			continue
		}
		if module.Replace != nil {
			module = module.Replace
		}
		versions[module.Path] = module.Version + " " + module.Sum
	}
	return versions
}
