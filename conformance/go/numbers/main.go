// Numbers answers how Go and Kubernetes read a text: one JSON request per line on stdin, one answer per line on stdout.
//
//	{"as": "quantity", "text": "1Gi"}   {"ok": true, "value": "1Gi", "compared": …}
//
// `as` names a reader below. An answer has `ok`, and `value` (the canonical form) or `error` (Go's message).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/util/parsers"

	"github.com/robfig/cron/v3"
)

type request struct {
	As    string `json:"as"`
	Text  string `json:"text"`
	Other string `json:"other,omitempty"`
}

type answer struct {
	OK    bool   `json:"ok"`
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

func told(value string, err error) answer {
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{OK: true, Value: value}
}

func judged(problems []string) answer {
	if len(problems) > 0 {
		return answer{Error: strings.Join(problems, "\n")}
	}
	return answer{OK: true}
}

func listed(problems field.ErrorList) answer {
	details := make([]string, 0, len(problems))
	for _, problem := range problems {
		details = append(details, problem.Detail)
	}
	return judged(details)
}

// A time as its type writes it after reading it from JSON.
func reread(text string, at interface{ IsZero() bool }) answer {
	data, _ := json.Marshal(text)
	if err := json.Unmarshal(data, at); err != nil {
		return told("", err)
	}
	if at.IsZero() {
		return answer{OK: true, Value: "null"}
	}
	written, err := json.Marshal(at)
	return told(strings.Trim(string(written), `"`), err)
}

var readers = map[string]func(request) answer{
	// resource.ParseQuantity of plain text, such as an annotation.
	"quantity": func(r request) answer {
		q, err := resource.ParseQuantity(r.Text)
		return told(q.String(), err)
	},
	// A quantity as a JSON value: `text` is the JSON itself, as a client sends it.
	"json-quantity": func(r request) answer {
		var q resource.Quantity
		err := json.Unmarshal([]byte(r.Text), &q)
		return told(q.String(), err)
	},
	// What a pod requests, as servers store it: to thousandths.
	"rounded": func(r request) answer {
		q, err := resource.ParseQuantity(r.Text)
		q.RoundUp(resource.Milli)
		return told(q.String(), err)
	},
	// -1, 0 or 1 as `text` is less than, equal to or greater than `other`.
	"compare": func(r request) answer {
		a, err := resource.ParseQuantity(r.Text)
		if err != nil {
			return told("", err)
		}
		b, err := resource.ParseQuantity(r.Other)
		return told(strconv.Itoa(a.Cmp(b)), err)
	},
	"int": func(r request) answer {
		number, err := strconv.Atoi(r.Text)
		return told(strconv.Itoa(number), err)
	},
	"time":      func(r request) answer { return reread(r.Text, &metav1.Time{}) },
	"microtime": func(r request) answer { return reread(r.Text, &metav1.MicroTime{}) },
	"base64": func(r request) answer {
		text, _ := json.Marshal(r.Text)
		var data []byte
		return told("", json.Unmarshal(text, &data))
	},
	"duration": func(r request) answer {
		found, err := time.ParseDuration(r.Text)
		return told(strconv.FormatInt(int64(found), 10), err)
	},
	"label-key":   func(r request) answer { return judged(validation.IsQualifiedName(r.Text)) },
	"label-value": func(r request) answer { return judged(validation.IsValidLabelValue(r.Text)) },
	"dns-label":   func(r request) answer { return judged(validation.IsDNS1123Label(r.Text)) },
	"dns-name":    func(r request) answer { return judged(validation.IsDNS1123Subdomain(r.Text)) },
	"dns-1035":    func(r request) answer { return judged(validation.IsDNS1035Label(r.Text)) },
	"relaxed":     func(r request) answer { return judged(validation.IsDNS1123SubdomainWithUnderscore(r.Text)) },
	"port-name":   func(r request) answer { return judged(validation.IsValidPortName(r.Text)) },
	"percent":     func(r request) answer { return judged(validation.IsValidPercent(r.Text)) },
	"config-key":  func(r request) answer { return judged(validation.IsConfigMapKey(r.Text)) },
	"decimal":     func(r request) answer { return judged(content.IsDecimalInteger(r.Text)) },
	"ip":          func(r request) answer { return listed(validation.IsValidIPForLegacyField(nil, r.Text, false, nil)) },
	"ip-strict":   func(r request) answer { return listed(validation.IsValidIPForLegacyField(nil, r.Text, true, nil)) },
	"cidr":        func(r request) answer { return listed(validation.IsValidCIDRForLegacyField(nil, r.Text, false, nil)) },
	"cidr-strict": func(r request) answer { return listed(validation.IsValidCIDRForLegacyField(nil, r.Text, true, nil)) },
	"selector": func(r request) answer {
		found, err := labels.Parse(r.Text)
		if err != nil {
			return told("", err)
		}
		requirements, _ := found.Requirements()
		return answer{OK: true, Value: strconv.Itoa(len(requirements))}
	},
	"quote": func(r request) answer { return answer{OK: true, Value: strconv.Quote(r.Text)} },
	"schedule": func(r request) answer {
		found, err := parsers.ParseCronScheduleWithPanicRecovery(r.Text)
		if err != nil {
			return told("", err)
		}
		if spec, ok := found.(*cron.SpecSchedule); ok {
			bits := []uint64{spec.Minute, spec.Hour, spec.Dom, spec.Month, spec.Dow}
			return answer{OK: true, Value: strings.Trim(fmt.Sprintf("%x", bits), "[]")}
		}
		return answer{OK: true, Value: fmt.Sprintf("every %d", int64(found.(cron.ConstantDelaySchedule).Delay.Seconds()))}
	},
	"timezone": func(r request) answer {
		_, err := time.LoadLocation(r.Text)
		return told(r.Text, err)
	},
}

func main() {
	if len(os.Args) > 1 {
		names := make([]string, 0, len(readers))
		for name := range readers {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Println(strings.Join(names, "\n"))
		return
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<26)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for input.Scan() {
		var asked request
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		read, ok := readers[asked.As]
		if !ok {
			fmt.Fprintln(os.Stderr, "no reader", asked.As)
			os.Exit(2)
		}
		if err := encoder.Encode(read(asked)); err != nil {
			os.Exit(2)
		}
	}
}
