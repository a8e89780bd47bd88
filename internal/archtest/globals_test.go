package archtest

import (
	"go/ast"
	"go/token"
)

// mutatedGlobals finds package-level variables that are changed by a function
// of their package, or whose type exists to be changed. It goes by names, not
// types; a name declared again inside a function is told apart.
func mutatedGlobals(pkg sourcePackage) []finding {
	var found []finding
	globals := map[string]*ast.ValueSpec{}
	for _, file := range pkg.files {
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.VAR {
				continue
			}
			for _, spec := range general.Specs {
				value := spec.(*ast.ValueSpec)
				for _, name := range value.Names {
					if name.Name != "_" {
						globals[name.Name] = value
					}
					if kind := stateful(file, value); kind != "" {
						found = append(found, finding{name.Pos(), name.Name + " is a " + kind + " at package level"})
					}
				}
			}
		}
	}
	for _, file := range pkg.files {
		ast.Inspect(file, func(node ast.Node) bool {
			for _, target := range changed(node) {
				id := rootName(target)
				if id == nil || globals[id.Name] == nil {
					continue
				}
				// unresolved in this file, or resolved to the global itself
				if id.Obj == nil || id.Obj.Decl == globals[id.Name] {
					found = append(found, finding{id.Pos(), "changes the package-level variable " + id.Name})
				}
			}
			return true
		})
	}
	return found
}

// stateful returns the type's name if it is one of sync or sync/atomic, or a
// channel.
func stateful(file *ast.File, value *ast.ValueSpec) string {
	switch kind := value.Type.(type) {
	case *ast.ChanType:
		return "channel"
	case *ast.SelectorExpr:
		id, ok := kind.X.(*ast.Ident)
		if ok && (id.Name == importName(file, "sync") || id.Name == importName(file, "sync/atomic")) {
			return id.Name + "." + kind.Sel.Name
		}
	}
	return ""
}

// changed lists the expressions that a statement assigns to.
func changed(node ast.Node) []ast.Expr {
	switch node := node.(type) {
	case *ast.AssignStmt:
		if node.Tok != token.DEFINE {
			return node.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{node.X}
	case *ast.RangeStmt:
		if node.Tok == token.ASSIGN {
			return []ast.Expr{node.Key, node.Value}
		}
	case *ast.CallExpr:
		if id, ok := node.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(node.Args) > 0 {
			return node.Args[:1]
		}
	}
	return nil
}

// rootName returns a in a, a.b, a[i] and *a.
func rootName(expression ast.Expr) *ast.Ident {
	for {
		switch e := expression.(type) {
		case *ast.Ident:
			return e
		case *ast.SelectorExpr:
			expression = e.X
		case *ast.IndexExpr:
			expression = e.X
		case *ast.StarExpr:
			expression = e.X
		case *ast.ParenExpr:
			expression = e.X
		default:
			return nil
		}
	}
}
