package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Package is the parsed source of one Go package: its type declarations and the string constants of named types.
type Package struct {
	Path    string
	Name    string
	Types   map[string]*Type
	Symbols map[string][]string // type name -> values of its constants, sorted
}

// Type is one type declaration with the file's imports, which its field types refer to.
type Type struct {
	Spec    *ast.TypeSpec
	Tags    []string
	Imports map[string]string
	Package *Package
}

// Source finds and parses packages below the folders of modules.
type Source struct {
	modules map[string]string
	cache   map[string]*Package
}

func NewSource(modules map[string]string) *Source {
	return &Source{modules: modules, cache: map[string]*Package{}}
}

func (s *Source) Package(path string) *Package {
	if found, ok := s.cache[path]; ok {
		return found
	}
	for module, folder := range s.modules {
		if path == module || strings.HasPrefix(path, module+"/") {
			found := parse(path, filepath.Join(folder, strings.TrimPrefix(path, module)))
			s.cache[path] = found
			return found
		}
	}
	check(fmt.Errorf("no module holds package %s", path))
	return nil
}

func parse(path, folder string) *Package {
	found := &Package{Path: path, Types: map[string]*Type{}, Symbols: map[string][]string{}}
	entries, err := os.ReadDir(folder)
	check(err)
	files := token.NewFileSet()
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_") || name == "generated.pb.go" {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join(folder, name), nil, parser.ParseComments)
		check(err)
		found.Name = file.Name.Name
		imports := map[string]string{}
		for _, spec := range file.Imports {
			target := strings.Trim(spec.Path.Value, `"`)
			alias := target[strings.LastIndex(target, "/")+1:]
			if spec.Name != nil {
				alias = spec.Name.Name
			}
			imports[alias] = target
		}
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					doc := spec.Doc
					if doc == nil {
						doc = general.Doc
					}
					found.Types[spec.Name.Name] = &Type{Spec: spec, Tags: tags(file, doc, spec.Pos(), files), Imports: imports, Package: found}
				case *ast.ValueSpec:
					ident, ok := spec.Type.(*ast.Ident)
					if !ok || general.Tok != token.CONST {
						continue
					}
					for _, value := range spec.Values {
						if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
							found.Symbols[ident.Name] = append(found.Symbols[ident.Name], strings.Trim(literal.Value, `"`))
						}
					}
				}
			}
		}
	}
	for _, values := range found.Symbols {
		sort.Strings(values)
	}
	return found
}

// tags are the lines `+name…` of a doc comment and of the comment block right above it.
func tags(file *ast.File, doc *ast.CommentGroup, pos token.Pos, files *token.FileSet) []string {
	var groups []*ast.CommentGroup
	if doc != nil {
		start := files.Position(doc.Pos()).Line
		for _, group := range file.Comments {
			end := files.Position(group.End()).Line
			if end == start-2 {
				groups = append(groups, group)
			}
		}
		groups = append(groups, doc)
	}
	var out []string
	for _, group := range groups {
		out = append(out, lines(group)...)
	}
	return out
}

func lines(group *ast.CommentGroup) []string {
	var out []string
	if group == nil {
		return nil
	}
	for _, comment := range group.List {
		line := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
		if strings.HasPrefix(line, "+") {
			out = append(out, line)
		}
	}
	return out
}
