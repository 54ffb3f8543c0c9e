// Patterns answers whether Go finds a pattern in a text: one JSON request [pattern, text] per line on stdin, one answer
// per line on stdout: true, false, or null for a pattern that Go does not read.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
)

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<20)
	for input.Scan() {
		var asked [2]string
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		pattern, err := regexp.Compile(asked[0])
		if err != nil {
			fmt.Println("null")
			continue
		}
		fmt.Println(pattern.MatchString(asked[1]))
	}
}
