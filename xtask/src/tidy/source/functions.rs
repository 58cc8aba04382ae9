//! The size of functions.

use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, ItemFn, ItemImpl, ItemMod, Meta, Signature, TraitItemFn};

use crate::report::Violation;

const MAX_FUNCTION_LINES: usize = 70;

/// Checks every function of a file that is not test code.
pub(super) fn check(path: &str, syntax: &syn::File) -> Vec<Violation> {
    let mut functions = Functions {
        path,
        violations: Vec::new(),
    };
    functions.visit_file(syntax);
    functions.violations
}

struct Functions<'a> {
    path: &'a str,
    violations: Vec<Violation>,
}

impl Functions<'_> {
    /// Counts from the line of `fn` to the closing brace: docs and attributes are free.
    fn measure(&mut self, signature: &Signature, body: &Block) {
        let start = signature.fn_token.span.start().line;
        let end = body.brace_token.span.close().end().line;
        let lines = end + 1 - start;
        if lines > MAX_FUNCTION_LINES {
            let name = &signature.ident;
            self.violations.push(Violation::at(
                self.path,
                start,
                format!("fn {name} has {lines} lines, at most {MAX_FUNCTION_LINES}; split it"),
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        if !is_test(&block.attrs) {
            visit::visit_item_impl(self, block);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if !is_test(&function.attrs) {
            self.measure(&function.sig, &function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, method: &'ast ImplItemFn) {
        if !is_test(&method.attrs) {
            self.measure(&method.sig, &method.block);
            visit::visit_impl_item_fn(self, method);
        }
    }

    fn visit_trait_item_fn(&mut self, method: &'ast TraitItemFn) {
        if let Some(body) = &method.default {
            self.measure(&method.sig, body);
        }
        visit::visit_trait_item_fn(self, method);
    }
}

/// Recognises `#[test]`, `#[tokio::test]` and `#[cfg(test)]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => ends_in_test(path),
        Meta::List(list) if list.path.is_ident("cfg") => list
            .parse_args::<syn::Path>()
            .is_ok_and(|path| path.is_ident("test")),
        Meta::List(list) => ends_in_test(&list.path),
        Meta::NameValue(_) => false,
    })
}

fn ends_in_test(path: &syn::Path) -> bool {
    path.segments
        .last()
        .is_some_and(|segment| segment.ident == "test")
}
