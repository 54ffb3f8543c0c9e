// Says how Go reads YAML: as the API machinery does (sigs.k8s.io/yaml) and as kustomize and kpt do (go.yaml.in/yaml/v3).
//
// On stdin texts, each behind its length in four bytes. On stdout for each text two answers of the same form, each
// behind one byte: `=` before JSON, `!` before the message of a refusal.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"

	kyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// readMachinery gives the JSON that kubectl sends.
func readMachinery(text []byte) ([]byte, error) {
	return yaml.YAMLToJSON(text)
}

// readKustomize gives the values that are in the text that kustomize prints: it writes the nodes that it reads. Keys are
// as a decoder without a schema prints them.
func readKustomize(text []byte) ([]byte, error) {
	var node kyaml.Node
	if err := kyaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}
	written := text
	if !node.IsZero() {
		var err error
		if written, err = kyaml.Marshal(&node); err != nil {
			return nil, err
		}
	}
	var value any
	if err := kyaml.Unmarshal(written, &value); err != nil {
		return nil, err
	}
	return json.Marshal(plain(value))
}

func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			value[key] = plain(child)
		}
		return value
	case map[any]any:
		named := make(map[string]any, len(value))
		for key, child := range value {
			named[fmt.Sprint(key)] = plain(child)
		}
		return named
	case []any:
		for place, child := range value {
			value[place] = plain(child)
		}
		return value
	default:
		return value
	}
}

// guard turns a panic of a reader into a refusal.
func guard(read func([]byte) ([]byte, error), text []byte) (answer []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return read(text)
}

func write(out *bufio.Writer, answer []byte, err error) {
	sign := byte('=')
	if err != nil {
		sign, answer = '!', []byte(err.Error())
	}
	_ = binary.Write(out, binary.BigEndian, uint32(len(answer)+1))
	_ = out.WriteByte(sign)
	_, _ = out.Write(answer)
}

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		var size uint32
		if binary.Read(in, binary.BigEndian, &size) != nil {
			return
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return
		}
		for _, read := range []func([]byte) ([]byte, error){readMachinery, readKustomize} {
			answer, err := guard(read, append([]byte(nil), text...))
			write(out, answer, err)
		}
		if in.Buffered() == 0 {
			_ = out.Flush()
		}
	}
}
