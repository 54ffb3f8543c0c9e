package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var (
	gate      = regexp.MustCompile(`^\+k8s:(ifEnabled|ifDisabled)\("?([A-Za-z]+)"?\)=(\+.*)$`)
	stability = regexp.MustCompile(`^\+k8s:(alpha|beta)\([^)]*\)=(\+.*)$`)
)

// apply puts the tags of a field on its schema. It reports whether the field is required and whether it is a union's member,
// which are keywords of the struct around it. An unknown `+k8s:` tag ends the program: it needs a keyword first.
func apply(lines []string, schema Object) (required, member bool) {
	// +optional, +required and +listType speak to OpenAPI; the API server's own validation obeys the +k8s: tags alone.
	for _, line := range lines {
		if i := strings.Index(line, " #"); i > 0 && strings.HasPrefix(line, "+k8s:") {
			line = strings.TrimSpace(line[:i])
		}
		if found := gate.FindStringSubmatch(line); found != nil {
			keyword := "x-kubernetes-if-enabled"
			if found[1] == "ifDisabled" {
				keyword = "x-kubernetes-if-disabled"
			}
			inner := Object{}
			if found[3] == "+k8s:forbidden" {
				inner["x-kubernetes-forbidden"] = true
			} else {
				innerRequired, innerMember := apply([]string{found[3]}, inner)
				if innerRequired || innerMember {
					check(fmt.Errorf("a gated required or union member needs a keyword: %s", line))
				}
			}
			if len(inner) == 0 {
				continue // optional is the default
			}
			gates, _ := schema[keyword].(Object)
			if gates == nil {
				gates = Object{}
			}
			existing, _ := gates[found[2]].(Object)
			if existing == nil {
				existing = Object{}
			}
			for key, value := range inner {
				existing[key] = value
			}
			gates[found[2]] = existing
			schema[keyword] = gates
			continue
		}
		if found := stability.FindStringSubmatch(line); found != nil {
			keyword := "x-kubernetes-" + found[1]
			list, _ := schema[keyword].([]string)
			schema[keyword] = append(list, strings.TrimPrefix(found[2], "+k8s:"))
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		switch name {
		case "+k8s:required":
			required = true
		case "+k8s:unionMember":
			member = true
		case "+k8s:format":
			schema["format"] = value
		case "+k8s:minimum":
			schema["minimum"] = json.Number(value)
		case "+k8s:maximum":
			schema["maximum"] = json.Number(value)
		case "+k8s:maxItems":
			schema["maxItems"] = json.Number(value)
		case "+k8s:maxLength":
			schema["maxLength"] = json.Number(value)
		case "+k8s:maxBytes":
			schema["x-kubernetes-max-bytes"] = json.Number(value)
		case "+k8s:immutable":
			schema["x-kubernetes-immutable"] = true
		case "+k8s:update":
			list, _ := schema["x-kubernetes-update"].([]string)
			schema["x-kubernetes-update"] = append(list, value)
		case "+k8s:opaqueType":
			schema["x-kubernetes-opaque"] = true
		case "+k8s:listType":
			schema["x-kubernetes-declarative-list-type"] = value
		case "+listType":
			schema["x-kubernetes-list-type"] = value
		case "+listMapKey":
			list, _ := schema["x-kubernetes-list-map-keys"].([]string)
			schema["x-kubernetes-list-map-keys"] = append(list, value)
		case "+patchMergeKey":
			schema["x-kubernetes-patch-merge-key"] = value
		case "+patchStrategy":
			schema["x-kubernetes-patch-strategy"] = value
		case "+featureGate":
			schema["x-kubernetes-feature-gate"] = value
		case "+structType", "+mapType":
			schema["x-kubernetes-map-type"] = value
		case "+default":
			var parsed any
			if json.Unmarshal([]byte(value), &parsed) == nil {
				schema["default"] = parsed
			}
		case "+k8s:optional", "+k8s:listMapKey", "+k8s:deprecated", "+k8s:customValidation", "+k8s:enum":
		default:
			if strings.HasPrefix(name, "+k8s:") && !strings.HasPrefix(name, "+k8s:openapi") && !strings.HasPrefix(name, "+k8s:conversion") {
				check(fmt.Errorf("no keyword for the tag %s", line))
			}
		}
	}
	return required, member
}

// shapeOnly keeps the tags that say how a value is merged.
func shapeOnly(lines []string) []string {
	return only(lines, "+listType=", "+listMapKey=", "+structType=", "+mapType=", "+patchMergeKey=", "+patchStrategy=")
}

func defaultOnly(lines []string) []string {
	return only(lines, "+default=")
}

func only(lines []string, prefixes ...string) []string {
	var out []string
	for _, line := range lines {
		for _, prefix := range prefixes {
			if strings.HasPrefix(line, prefix) {
				out = append(out, line)
			}
		}
	}
	return out
}
