// Command schemas writes the schema files of one Kubernetes release from the released Go types.
//
// It reads source only (go/parser), so it needs the modules' folders and no build of Kubernetes. What the types cannot say
// (the hand-written rules, what a strategy does) is merged in from handwritten.json beside this file.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

func main() {
	api := flag.String("api", "", "folder of the module k8s.io/api")
	machinery := flag.String("machinery", "", "folder of the module k8s.io/apimachinery")
	extensions := flag.String("extensions", "", "folder of the module k8s.io/apiextensions-apiserver")
	aggregator := flag.String("aggregator", "", "folder of the module k8s.io/kube-aggregator")
	release := flag.String("release", "", "Kubernetes release, such as 1.37")
	overlay := flag.String("handwritten", "handwritten.json", "file with the keywords that no tag states")
	discovered := flag.String("served", "../data/served.json", "file with the kinds that servers list")
	out := flag.String("out", "", "folder to write")
	flag.Parse()

	text, err := os.ReadFile(*overlay)
	check(err)
	facts, own := read(text, *release)

	roots := map[string]string{
		"k8s.io/api": *api,
		"k8s.io/apiextensions-apiserver/pkg/apis": filepath.Join(*extensions, "pkg", "apis"),
		"k8s.io/kube-aggregator/pkg/apis":         filepath.Join(*aggregator, "pkg", "apis"),
	}
	modules := map[string]string{"k8s.io/apimachinery": *machinery}
	maps.Copy(modules, roots)
	source := NewSource(modules)
	files := map[string]*File{}
	kinds := make([]string, 0, len(facts.Kinds))
	for name := range facts.Kinds {
		kinds = append(kinds, name)
	}
	sort.Strings(kinds)
	for _, name := range kinds {
		kind := facts.Kinds[name]
		writer := &Writer{Source: source, Files: files, Own: name, Homes: facts.Homes, Group: filepath.Dir(kind.Package)}
		root := writer.Root(kind.Package, kind.Type)
		root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		root["$id"] = name + ".json"
		root["title"] = kind.Type + " of Kubernetes " + *release
		merge(root, kind.Keywords)
		files[name].Root = root
	}
	used := map[string]bool{}
	for name, file := range files {
		for def, keywords := range facts.Defs {
			target, ok := file.Defs[def].(Object)
			if !ok {
				continue
			}
			drop(target, keywords)
			merge(target, keywords)
			used[def] = true
		}
		document := Object{}
		for key, value := range file.Root {
			document[key] = value
		}
		if file.Root == nil {
			document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
			document["$id"] = name + ".json"
			document["title"] = "Types shared by the kinds of Kubernetes " + *release
			document["x-kubernetes-gates"] = facts.Gates
		}
		document["$defs"] = file.Defs
		path := filepath.Join(*out, name+".json")
		check(os.MkdirAll(filepath.Dir(path), 0o755))
		check(os.WriteFile(path, render(document), 0o644))
	}
	text, err = os.ReadFile(*discovered)
	check(err)
	var served map[string]Served
	check(json.Unmarshal(text, &served))
	known := map[string]bool{}
	for _, kind := range facts.Kinds {
		group, _ := kind.Keywords["x-kubernetes-group"].(string)
		known[group+"/"+kind.Type] = true
	}
	writeOthers(source, files, facts.Homes, roots, *release, *out, known, served[*release+" default"], served[*release+" everything"])
	for def := range own {
		if !used[def] {
			check(fmt.Errorf("handwritten.json speaks of %s, which no schema defines", def))
		}
	}
}

// read returns what is said of a release, on top of what is said of every release, and the definitions that it speaks of
// by itself.
func read(text []byte, release string) (Handwritten, map[string]any) {
	var all struct {
		Every    map[string]any
		Releases map[string]map[string]any
	}
	check(json.Unmarshal(text, &all))
	own, ok := all.Releases[release]
	if !ok {
		check(fmt.Errorf("handwritten.json does not know release %q", release))
	}
	overlay(all.Every, own)
	merged, err := json.Marshal(all.Every)
	check(err)
	var facts Handwritten
	check(json.Unmarshal(merged, &facts))
	defs, _ := own["defs"].(map[string]any)
	return facts, defs
}

func overlay(target, more map[string]any) {
	for key, value := range more {
		inner, isObject := value.(map[string]any)
		existing, exists := target[key].(map[string]any)
		if isObject && exists {
			overlay(existing, inner)
			continue
		}
		target[key] = value
	}
}

// Handwritten is what no tag in the types says of one release.
type Handwritten struct {
	// Homes says in which file the types of a package live; other packages live in the file of the kind that uses them.
	Homes map[string]string `json:"homes"`
	Kinds map[string]struct {
		Package  string `json:"package"`
		Type     string `json:"type"`
		Keywords Object `json:"keywords"`
	} `json:"kinds"`
	// Defs are keywords to add, by definition; below "properties" by field. What a release lacks is left out.
	Defs map[string]Object `json:"defs"`
	// Gates are those of fields and rules of pods and of the kinds that make them that are on by default.
	Gates []string `json:"gates"`
}

// drop takes out of the keywords the fields that a definition does not have.
func drop(target, keywords Object) {
	fields, _ := keywords["properties"].(map[string]any)
	known, _ := target["properties"].(Object)
	for name := range fields {
		if _, ok := known[name]; !ok {
			delete(fields, name)
		}
	}
}

func merge(target, keywords Object) {
	for key, value := range keywords {
		inner, isObject := value.(map[string]any)
		existing, exists := target[key].(Object)
		if isObject && exists {
			merge(existing, inner)
			continue
		}
		target[key] = value
	}
}

// render writes the document with one definition's property per line, in the order of the Go fields.
func render(document Object) []byte {
	var b strings.Builder
	write(&b, document, 0)
	b.WriteString("\n")
	return []byte(b.String())
}

var leading = []string{"$schema", "$id", "title", "description", "$ref", "type", "format", "enum"}

func keys(object Object) []string {
	if order, ok := object["\x00order"].([]string); ok {
		return order
	}
	rank := map[string]int{}
	for i, key := range leading {
		rank[key] = i - len(leading)
	}
	rank["properties"] = 1
	rank["$defs"] = 2
	names := make([]string, 0, len(object))
	for key := range object {
		names = append(names, key)
	}
	sort.Slice(names, func(i, j int) bool {
		if rank[names[i]] != rank[names[j]] {
			return rank[names[i]] < rank[names[j]]
		}
		return names[i] < names[j]
	})
	return names
}

func write(b *strings.Builder, value any, depth int) {
	object, ok := value.(Object)
	if plain, isMap := value.(map[string]any); isMap {
		object, ok = Object(plain), true
	}
	if !ok {
		text, err := json.Marshal(value)
		check(err)
		b.Write(text)
		return
	}
	compact, err := json.Marshal(object)
	check(err)
	_, hasProperties := object["properties"]
	_, ordered := object["\x00order"]
	if !hasProperties && !ordered && depth > 1 && len(compact) < 400 {
		b.WriteString("{")
		for i, key := range keys(object) {
			if i > 0 {
				b.WriteString(", ")
			}
			text, _ := json.Marshal(key)
			b.Write(text)
			b.WriteString(": ")
			write(b, object[key], depth+1)
		}
		b.WriteString("}")
		return
	}
	b.WriteString("{\n")
	for i, key := range keys(object) {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString(strings.Repeat(" ", depth+1))
		text, _ := json.Marshal(key)
		b.Write(text)
		b.WriteString(": ")
		write(b, object[key], depth+1)
	}
	b.WriteString("\n" + strings.Repeat(" ", depth) + "}")
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}
