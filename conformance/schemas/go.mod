module krmfn.dev/conformance/schemas

go 1.24
