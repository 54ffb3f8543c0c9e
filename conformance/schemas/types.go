package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"reflect"
	"strings"
)

// Object is a JSON object; the key "\x00order" holds the order of its other keys where it matters.
type Object map[string]any

func (o Object) MarshalJSON() ([]byte, error) {
	plain := map[string]any{}
	for key, value := range o {
		if key != "\x00order" {
			plain[key] = value
		}
	}
	return json.Marshal(plain)
}

// File is one schema file: the kind it describes (nil for a file of shared types) and its definitions.
type File struct {
	Root Object
	Defs Object
}

// Writer turns Go types into definitions. Types of the packages in Homes go to that file, all others to the kind's Own.
type Writer struct {
	Source *Source
	Files  map[string]*File
	Own    string
	Homes  map[string]string
	// Group is the folder of the kind's API group: its versions share one file, so their names are written without package.
	Group string
	// Plain leaves out all tags of validation, and adds nothing to files of other kinds.
	Plain bool
}

// Types with an unmarshaler of their own: what JSON they take and the name that Go prints.
var special = map[string]Object{
	"meta/v1.Time":             {"type": "string", "format": "date-time", "x-kubernetes-go-type": "v1.Time"},
	"meta/v1.MicroTime":        {"type": "string", "format": "date-time", "x-kubernetes-go-type": "v1.MicroTime"},
	"meta/v1.Duration":         {"type": "string", "x-kubernetes-go-type": "v1.Duration"},
	"meta/v1.FieldsV1":         {"x-kubernetes-go-type": "v1.FieldsV1"},
	"api/resource.Quantity":    {"type": Strings{"string", "number"}, "x-kubernetes-go-type": "resource.Quantity"},
	"util/intstr.IntOrString":  {"type": Strings{"integer", "string"}, "x-kubernetes-go-type": "intstr.IntOrString"},
	"pkg/runtime.RawExtension": {"x-kubernetes-go-type": "runtime.RawExtension"},
	// The server reads these without a look at unknown fields.
	"apiextensions/v1.JSON":                         {"x-kubernetes-go-type": "runtime.RawExtension"},
	"apiextensions/v1.JSONSchemaPropsOrArray":       {"x-kubernetes-go-type": "runtime.RawExtension"},
	"apiextensions/v1.JSONSchemaPropsOrBool":        {"x-kubernetes-go-type": "runtime.RawExtension"},
	"apiextensions/v1.JSONSchemaPropsOrStringArray": {"x-kubernetes-go-type": "runtime.RawExtension"},
}

type Strings []string

var scalars = map[string]Object{
	"string":  {"type": "string"},
	"bool":    {"type": "boolean"},
	"int32":   {"type": "integer", "format": "int32"},
	"int64":   {"type": "integer", "format": "int64"},
	"int":     {"type": "integer", "format": "int64"},
	"float64": {"type": "number"},
}

func (w *Writer) home(path string) string {
	for prefix, file := range w.Homes {
		if path == prefix {
			return file
		}
	}
	return w.Own
}

func (w *Writer) file(name string) *File {
	file, ok := w.Files[name]
	if !ok {
		file = &File{Defs: Object{}}
		w.Files[name] = file
	}
	return file
}

// Root returns the schema of a kind, in place of a definition.
func (w *Writer) Root(path, name string) Object {
	w.file(w.Own)
	declared := w.Source.Package(path).Types[name]
	return w.structure(declared, name, w.Own)
}

// reference returns a schema that points at the definition of a struct, which it makes if need be.
func (w *Writer) reference(declared *Type, name string) Object {
	definition := name
	home := w.home(declared.Package.Path)
	file := w.file(home)
	if _, ok := file.Defs[name]; !ok && w.Plain {
		home, file = w.Own, w.file(w.Own)
		if !strings.HasPrefix(declared.Package.Path, w.Group+"/") {
			definition = declared.Package.Path[strings.LastIndex(strings.TrimSuffix(declared.Package.Path, "/"+declared.Package.Name), "/")+1:] + "." + name
			definition = strings.ReplaceAll(definition, "/", ".")
		}
	}
	if _, ok := file.Defs[definition]; !ok {
		file.Defs[definition] = Object{} // recursion ends here
		file.Defs[definition] = w.structure(declared, name, home)
	}
	pointer := "#/$defs/" + definition
	if home != w.Own {
		pointer = home + ".json" + pointer
		if strings.Contains(w.Own, "/") {
			pointer = "../" + pointer
		}
	}
	return Object{"$ref": pointer}
}

// goType is the name Go prints for a type: the package is left out for those that belong to the API version of the object.
func (w *Writer) goType(declared *Type, name string) string {
	if strings.HasPrefix(declared.Package.Path, w.Group+"/v1") && strings.HasSuffix(w.Group, "/scheduling") {
		return name
	}
	return declared.Package.Name + "." + name
}

// structure returns the schema of a struct, as it stands in the file home.
func (w *Writer) structure(declared *Type, name, home string) Object {
	inner := *w
	inner.Own = home
	fields := declared.Spec.Type.(*ast.StructType)
	properties := Object{}
	var order []string
	out := Object{"type": "object", "additionalProperties": false, "x-kubernetes-go-type": inner.goType(declared, name)}
	var required, union []string
	inner.fields(declared, fields, "", properties, &order, &required, &union)
	properties["\x00order"] = order
	out["properties"] = properties
	for _, tag := range declared.Tags {
		if tag == "+structType=atomic" {
			out["x-kubernetes-map-type"] = "atomic"
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	if len(union) > 0 {
		out["x-kubernetes-union"] = union
	}
	return out
}

// fields adds the fields of a struct; inside is the name by which the struct is embedded in another, if it is.
func (w *Writer) fields(declared *Type, fields *ast.StructType, inside string, properties Object, order, required, union *[]string) {
	for _, field := range fields.Fields.List {
		tag := ""
		if field.Tag != nil {
			tag = reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
		}
		json, options, _ := strings.Cut(tag, ",")
		if json == "-" {
			continue
		}
		if len(field.Names) == 0 && json == "" {
			embedded := w.resolve(declared, field.Type)
			for embedded.Spec.Assign.IsValid() {
				embedded = w.resolve(embedded, embedded.Spec.Type)
			}
			w.fields(embedded, embedded.Spec.Type.(*ast.StructType), strings.TrimPrefix(inside+"."+embedded.Spec.Name.Name, "."), properties, order, required, union)
			continue
		}
		goName := json
		if len(field.Names) > 0 {
			goName = field.Names[0].Name
		} else if selector, ok := field.Type.(*ast.SelectorExpr); ok {
			goName = selector.Sel.Name
		}
		if json == "" {
			json = goName
		}
		schema := w.expression(declared, field.Type)
		if goName != strings.ToUpper(json[:1])+json[1:] {
			schema["x-kubernetes-go-name"] = goName
		}
		if inside != "" {
			schema["x-kubernetes-embedded"] = inside
		}
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			schema["x-kubernetes-always-written"] = true
		}
		tagged := lines(field.Doc)
		if strings.HasSuffix(declared.Package.Path, "/core/v1") {
			tagged = shapeOnly(tagged) // pods are decoded and merged by these schemas, not validated
		}
		if w.Plain {
			tagged = append(shapeOnly(lines(field.Doc)), defaultOnly(lines(field.Doc))...)
		}
		isRequired, isMember := apply(tagged, schema)
		if isRequired {
			*required = append(*required, json)
		}
		if isMember {
			*union = append(*union, json)
		}
		properties[json] = schema
		*order = append(*order, json)
	}
}

func (w *Writer) resolve(declared *Type, expr ast.Expr) *Type {
	switch expr := expr.(type) {
	case *ast.Ident:
		return declared.Package.Types[expr.Name]
	case *ast.SelectorExpr:
		path := declared.Imports[expr.X.(*ast.Ident).Name]
		return w.Source.Package(path).Types[expr.Sel.Name]
	}
	check(fmt.Errorf("cannot resolve %T in %s", expr, declared.Spec.Name.Name))
	return nil
}

func (w *Writer) expression(declared *Type, expr ast.Expr) Object {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		schema := w.expression(declared, expr.X)
		schema["x-kubernetes-pointer"] = true
		return schema
	case *ast.ArrayType:
		if ident, ok := expr.Elt.(*ast.Ident); ok && ident.Name == "byte" {
			return Object{"type": "string", "format": "byte"}
		}
		return Object{"type": "array", "items": w.expression(declared, expr.Elt)}
	case *ast.MapType:
		schema := Object{"type": "object", "additionalProperties": w.expression(declared, expr.Value)}
		if key, ok := expr.Key.(*ast.Ident); !ok || key.Name != "string" {
			named := w.resolve(declared, expr.Key)
			schema["x-kubernetes-key-type"] = w.goType(named, named.Spec.Name.Name)
		}
		return schema
	case *ast.Ident:
		if scalar, ok := scalars[expr.Name]; ok && declared.Package.Types[expr.Name] == nil {
			return clone(scalar)
		}
	}
	named := w.resolve(declared, expr)
	if named == nil {
		check(fmt.Errorf("unknown type in %s.%s: %v", declared.Package.Path, declared.Spec.Name.Name, expr))
	}
	name := named.Spec.Name.Name
	parts := strings.Split(named.Package.Path, "/")
	if known, ok := special[strings.Join(parts[len(parts)-2:], "/")+"."+name]; ok {
		return clone(known)
	}
	switch under := named.Spec.Type.(type) {
	case *ast.StructType:
		return w.reference(named, name)
	default:
		schema := w.expression(named, under)
		if named.Spec.Assign.IsValid() {
			return schema // another name for a type
		}
		schema["x-kubernetes-go-type"] = w.goType(named, name)
		for _, tag := range named.Tags {
			if tag == "+k8s:enum" {
				schema["enum"] = Strings(named.Package.Symbols[name])
			}
		}
		return schema
	}
}

func clone(object Object) Object {
	out := Object{}
	for key, value := range object {
		out[key] = value
	}
	return out
}
