package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Served are kinds by group and version, as the discovery of a server lists them.
type Served map[string]map[string]any

var (
	groupName = regexp.MustCompile(`GroupName *= *"([^"]*)"`)
	removed   = regexp.MustCompile(`func \(in \*(\w+)\) APILifecycleRemoved\(\) \(major, minor int\) \{\s*return 1, (\d+)`)
	kept      = []string{"type", "items", "additionalProperties", "$ref", "x-kubernetes-go-type", "x-kubernetes-embedded", "x-kubernetes-key-type",
		"x-kubernetes-go-name", "x-kubernetes-pointer", "x-kubernetes-always-written", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
		"x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy", "default"}
)

// writeOthers writes the shapes of all built-in kinds that have no rules here: a file for each group and version, without
// anything but names, types, and how values are merged; and kinds.json, which says what a server has: by default, and when it is switched on.
// The packages of a module's kinds are in roots, by the path of the folder above those of groups.
func writeOthers(source *Source, files map[string]*File, homes, roots map[string]string, release, out string, known map[string]bool, byDefault, all Served) {
	minor, err := strconv.Atoi(strings.TrimPrefix(release, "1."))
	check(err)
	off := map[string][]string{}
	packages := map[string]string{}
	for above, root := range roots {
		folders, err := filepath.Glob(filepath.Join(root, "*", "v*"))
		check(err)
		for _, folder := range folders {
			packages[folder] = above + "/" + filepath.Base(filepath.Dir(folder)) + "/" + filepath.Base(folder)
		}
	}
	for folder, path := range packages {
		register, err := os.ReadFile(filepath.Join(folder, "register.go"))
		if err != nil {
			continue
		}
		group, version := string(groupName.FindSubmatch(register)[1]), filepath.Base(folder)
		name := strings.TrimPrefix(group+"/"+version, "/")
		gone := readRemoved(folder, minor)
		own := "others/" + strings.ReplaceAll(name, "/", ".")
		writer := &Writer{Source: source, Files: files, Own: own, Homes: homes, Group: filepath.Dir(path), Plain: true}
		defs := Object{}
		for kind, declared := range source.Package(path).Types {
			_, isServed := byDefault[name][kind]
			_, canBe := all[name][kind]
			if !slices.Contains(declared.Tags, "+genclient") || !canBe && (gone[kind] || group == "extensions") {
				continue
			}
			if !isServed {
				off[name] = append(off[name], kind)
			}
			if !known[group+"/"+kind] {
				defs[kind] = writer.Root(path, kind)
			}
		}
		if len(defs) == 0 {
			continue
		}
		for def, schema := range files[own].Defs {
			defs[def] = schema
		}
		text, err := json.Marshal(strip(Object{"$defs": defs}))
		check(err)
		target := filepath.Join(out, own+".json")
		check(os.MkdirAll(filepath.Dir(target), 0o755))
		check(os.WriteFile(target, append(text, '\n'), 0o644))
	}
	writeKinds(filepath.Join(out, "others", "kinds.json"), byDefault, off)
}

// readRemoved lists the kinds of a package that a release does not have any more.
func readRemoved(folder string, minor int) map[string]bool {
	gone := map[string]bool{}
	text, err := os.ReadFile(filepath.Join(folder, "zz_generated.prerelease-lifecycle.go"))
	if err != nil {
		return gone
	}
	for _, found := range removed.FindAllStringSubmatch(string(text), -1) {
		since, err := strconv.Atoi(found[2])
		check(err)
		gone[found[1]] = since <= minor
	}
	return gone
}

// strip leaves names, types, and how values are merged.
func strip(schema Object) Object {
	out := Object{}
	for key, value := range schema {
		switch {
		case key == "properties" || key == "$defs":
			inner := Object{}
			for name, field := range value.(Object) {
				if object, ok := field.(Object); ok {
					inner[name] = strip(object)
				}
			}
			out[key] = inner
		case key == "format" && schema["x-kubernetes-go-type"] != "v1.Time":
			out[key] = value
		case slices.Contains(kept, key) && value != false:
			if object, ok := value.(Object); ok {
				value = strip(object)
			}
			out[key] = value
		}
	}
	return out
}

func writeKinds(path string, byDefault Served, off map[string][]string) {
	served := Object{}
	for version, kinds := range byDefault {
		names := make([]string, 0, len(kinds))
		for kind := range kinds {
			names = append(names, kind)
		}
		sort.Strings(names)
		served[version] = strings.Join(names, " ")
	}
	switchable := Object{}
	for version, kinds := range off {
		sort.Strings(kinds)
		switchable[version] = strings.Join(kinds, " ")
	}
	check(os.WriteFile(path, render(Object{"served": served, "off": switchable}), 0o644))
}
