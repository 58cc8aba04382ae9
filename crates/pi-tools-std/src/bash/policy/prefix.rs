//! Rules by the first words of a command; feature `policy`.

#[cfg(test)]
mod tests;

use super::{CommandPolicy, CommandRequest, Decision};

/// Words that run what follows them in a way that no rule can see.
const HIDING: [&str; 5] = ["eval", "exec", "source", ".", "!"];

/// Stands in a word for `*`, `?` and `[` without quotes. No command can hold it itself.
const PATTERN: char = '\0';

/// A rule about commands that begin with some words.
///
/// # Examples
/// ```
/// use pi_tools_std::{Decision, PrefixPolicy, PrefixRule};
///
/// let policy = PrefixPolicy::new([
///     PrefixRule::allow(&[&["git"], &["status", "diff", "log"]]).with_match("git status --short"),
///     PrefixRule::allow(&[&["cargo"], &["test", "check"]]),
///     PrefixRule::deny(&[&["git"], &["push"]], "pushing is left to people").with_no_match("git pull"),
/// ])?;
/// assert_eq!(policy.decide_text("git diff && cargo test"), Decision::Allow);
/// assert!(matches!(policy.decide_text("git diff > x"), Decision::Ask { .. }));
/// # Ok::<(), pi_tools_std::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixRule {
    /// For each word, what it may be.
    words: Vec<Vec<String>>,
    decision: Decision,
    matches: Vec<String>,
    others: Vec<String>,
}

impl PrefixRule {
    /// Lets commands run that begin with these words; each has alternatives.
    #[must_use]
    pub fn allow(words: &[&[&str]]) -> Self {
        Self::new(words, Decision::Allow)
    }

    /// Refuses commands that begin with these words.
    #[must_use]
    pub fn deny(words: &[&[&str]], reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::new(words, Decision::Deny { reason })
    }

    /// Lets people decide on commands that begin with these words.
    #[must_use]
    pub fn ask(words: &[&[&str]], reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::new(words, Decision::Ask { reason })
    }

    fn new(words: &[&[&str]], decision: Decision) -> Self {
        let alternatives = |words: &&[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            words: words.iter().map(alternatives).collect(),
            decision,
            matches: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Adds a command to which the rule must apply, checked when the policy is made.
    #[must_use]
    pub fn with_match(mut self, command: impl Into<String>) -> Self {
        self.matches.push(command.into());
        self
    }

    /// Adds a command to which the rule must not apply, checked when the policy is made.
    #[must_use]
    pub fn with_no_match(mut self, command: impl Into<String>) -> Self {
        self.others.push(command.into());
        self
    }

    fn applies(&self, command: &[String]) -> bool {
        let is_strict = self.decision != Decision::Allow;
        command.len() >= self.words.len()
            && self.words.iter().zip(command).all(|(alternatives, word)| {
                // A word that the shell makes of file names may become any.
                alternatives.contains(word) || (is_strict && word.contains(PATTERN))
            })
    }
}

/// Why a policy cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A rule has no words, or a word without alternatives.
    #[error("rule {rule} has no words, or a word without alternatives")]
    Empty {
        /// The number of the rule, from 0.
        rule: usize,
    },
    /// An example says something else than its rule.
    #[error("rule {rule} does not fit its example: {example}")]
    Example {
        /// The number of the rule, from 0.
        rule: usize,
        /// The example.
        example: String,
    },
}

/// A policy of rules by the first words of a command. The strictest rule that applies wins: one
/// that denies, then one that asks, then one that allows.
///
/// A word with `*`, `?` or `[` may become any word: rules that deny or ask take it for theirs, rules
/// that allow do not.
///
/// Only plain commands, alone or joined by `&&`, `||`, `;`, `|` or a new line, can be allowed, and
/// each of them must be. People are asked about everything else: substitutions, variables,
/// redirections to a path, groups, `eval`, and what no rule names.
#[derive(Debug, Clone)]
pub struct PrefixPolicy {
    rules: Vec<PrefixRule>,
}

impl PrefixPolicy {
    /// Takes rules and checks them against their examples.
    ///
    /// # Errors
    /// If a rule has no words, or does not fit an example.
    pub fn new(rules: impl IntoIterator<Item = PrefixRule>) -> Result<Self, PolicyError> {
        let rules: Vec<_> = rules.into_iter().collect();
        for (number, rule) in rules.iter().enumerate() {
            if rule.words.is_empty() || rule.words.iter().any(Vec::is_empty) {
                return Err(PolicyError::Empty { rule: number });
            }
            let applies = |command: &String| {
                plain_commands(command)
                    .is_some_and(|commands| commands.iter().any(|command| rule.applies(command)))
            };
            let wrong = rule.matches.iter().find(|example| !applies(example));
            let wrong = wrong.or_else(|| rule.others.iter().find(|example| applies(example)));
            if let Some(example) = wrong {
                return Err(PolicyError::Example {
                    rule: number,
                    example: example.clone(),
                });
            }
        }
        Ok(Self { rules })
    }

    /// Decides on the text of a command.
    #[must_use]
    pub fn decide_text(&self, command: &str) -> Decision {
        let Some(commands) = plain_commands(command) else {
            return ask("it is no plain command");
        };
        let decisions = commands.iter().map(|command| self.decide_plain(command));
        decisions
            .max_by_key(strictness)
            .unwrap_or_else(|| ask("it is empty"))
    }

    fn decide_plain(&self, command: &[String]) -> Decision {
        let rules = self.rules.iter().filter(|rule| rule.applies(command));
        let strictest = rules
            .map(|rule| &rule.decision)
            .max_by_key(|rule| strictness(rule));
        match strictest {
            Some(decision) => decision.clone(),
            None => ask("no rule names it"),
        }
    }
}

impl CommandPolicy for PrefixPolicy {
    fn decide(&self, request: &CommandRequest) -> Decision {
        self.decide_text(&request.command)
    }
}

fn ask(reason: &str) -> Decision {
    Decision::Ask {
        reason: reason.to_owned(),
    }
}

fn strictness(decision: &Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask { .. } => 1,
        Decision::Deny { .. } => 2,
    }
}

/// Splits a text into plain commands; `None` if it is anything more.
fn plain_commands(text: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = Vec::new();
    for piece in pieces(text)? {
        let words = shell_words::split(&piece).ok()?;
        let Some(first) = words.first() else {
            continue;
        };
        // A word with `=` in front sets a variable, which may change what the command does.
        if HIDING.contains(&first.as_str()) || first.contains('=') {
            return None;
        }
        commands.push(words);
    }
    (!commands.is_empty()).then_some(commands)
}

/// Cuts a text at what joins commands; `None` if it has what is not plain.
fn pieces(text: &str) -> Option<Vec<String>> {
    if text.contains(PATTERN) {
        return None;
    }
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut chars = text.chars().peekable();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '$' | '`') => return None,
            (None, '\'' | '"') => quote = Some(c),
            (_, '\\') => {
                piece.push(c);
                piece.push(chars.next()?);
                continue;
            }
            (None, '*' | '?' | '[') => {
                piece.push(PATTERN);
                continue;
            }
            (None, '(' | ')' | '{' | '}' | '<' | '#') => return None,
            (None, '>') => {
                duplicate(&mut piece, &mut chars)?;
                continue;
            }
            (None, ';' | '\n' | '|' | '&') => {
                let doubled = matches!(c, '|' | '&') && chars.next_if_eq(&c).is_some();
                if c == '&' && !doubled {
                    return None;
                }
                pieces.push(std::mem::take(&mut piece));
                continue;
            }
            _ => {}
        }
        piece.push(c);
    }
    pieces.push(piece);
    quote.is_none().then_some(pieces)
}

/// Reads what stands behind `>` if it only joins two streams, as in `2>&1`; `None` otherwise.
fn duplicate(
    piece: &mut String,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> Option<()> {
    chars.next_if_eq(&'&')?;
    chars.next_if(char::is_ascii_digit)?;
    // Digits name a stream only where they are all of the word.
    let word = piece.trim_end_matches(|c: char| c.is_ascii_digit());
    if word.is_empty() || word.ends_with([' ', '\t']) {
        piece.truncate(word.len());
    }
    chars
        .peek()
        .is_none_or(|c| " ;|&\n".contains(*c))
        .then_some(())
}
