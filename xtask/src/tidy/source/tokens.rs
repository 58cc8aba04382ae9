//! Attributes and macros that must not be left in the code.
//!
//! Looks at tokens and not at the syntax tree, because the arguments and the rules of macros are
//! nothing but tokens to a parser.

use proc_macro2::{Ident, TokenStream, TokenTree};

use crate::report::Violation;

const LEFTOVERS: &[&str] = &["todo", "unimplemented", "dbg"];

/// Checks all tokens of a file, however deep.
pub(super) fn check(path: &str, tokens: TokenStream) -> Vec<Violation> {
    let mut violations = Vec::new();
    walk(path, tokens, &mut violations);
    violations
}

fn walk(path: &str, tokens: TokenStream, violations: &mut Vec<Violation>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for start in 0..tokens.len() {
        match &tokens[start..] {
            [TokenTree::Ident(name), mark, TokenTree::Group(_), ..] if is_punct(mark, '!') => {
                violations.extend(leftover(path, name));
            }
            [hash, TokenTree::Group(group), ..] if is_punct(hash, '#') => {
                attribute(path, group.stream(), violations);
            }
            [hash, mark, TokenTree::Group(group), ..]
                if is_punct(hash, '#') && is_punct(mark, '!') =>
            {
                attribute(path, group.stream(), violations);
            }
            [TokenTree::Group(group), ..] => walk(path, group.stream(), violations),
            _ => {}
        }
    }
}

/// Judges the name of a macro that is called.
fn leftover(path: &str, name: &Ident) -> Option<Violation> {
    LEFTOVERS
        .iter()
        .find(|leftover| name == **leftover)
        .map(|leftover| {
            Violation::at(
                path,
                name.span().start().line,
                format!("`{leftover}!` must not be committed"),
            )
        })
}

/// Judges what stands between the brackets of an attribute.
fn attribute(path: &str, tokens: TokenStream, violations: &mut Vec<Violation>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let Some(TokenTree::Ident(name)) = tokens.first() else {
        return;
    };
    let line = name.span().start().line;
    let arguments = tokens.get(1);
    match name.to_string().as_str() {
        "cfg_attr" => {
            if let Some(TokenTree::Group(group)) = arguments {
                for part in split_at_commas(group.stream()) {
                    attribute(path, part, violations);
                }
            }
        }
        "ignore" => violations.push(Violation::at(
            path,
            line,
            "`#[ignore]` hides a test: make it pass, or delete it",
        )),
        "allow" if arguments.is_some() => violations.push(Violation::at(
            path,
            line,
            "use `#[expect(..., reason = \"...\")]` in place of `allow`",
        )),
        "expect" if arguments.is_some_and(|arguments| !gives_reason(arguments)) => {
            violations.push(Violation::at(path, line, "`#[expect]` needs a `reason`"));
        }
        _ => {}
    }
}

fn gives_reason(arguments: &TokenTree) -> bool {
    let TokenTree::Group(group) = arguments else {
        return false;
    };
    split_at_commas(group.stream()).into_iter().any(|part| {
        let mut tokens = part.into_iter();
        let is_key = matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "reason");
        is_key && tokens.next().is_some_and(|token| is_punct(&token, '='))
    })
}

fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    for token in tokens {
        if is_punct(&token, ',') {
            parts.push(TokenStream::new());
        } else if let Some(part) = parts.last_mut() {
            part.extend([token]);
        }
    }
    parts
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}
