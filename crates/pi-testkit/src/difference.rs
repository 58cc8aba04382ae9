//! The first difference between two transcripts, for people.

use std::fmt;

/// Lines shown before and after the first difference.
const CONTEXT: usize = 3;

/// The first difference between an expected transcript and the actual one.
#[derive(Debug)]
pub(crate) struct Difference<'a, 'b> {
    expected: &'a [String],
    actual: &'b [String],
    /// The first line that differs, from 0.
    line: usize,
}

/// How the lines go on after the first difference.
#[derive(Clone, Copy)]
enum Shape {
    /// One line has other words.
    Changed,
    /// One line is not in the actual transcript.
    Missing,
    /// One line is not in the expected transcript.
    Added,
    /// None of these.
    Unlike,
}

impl<'a, 'b> Difference<'a, 'b> {
    /// Compares line by line; `None` if nothing differs.
    pub(crate) fn between(expected: &'a [String], actual: &'b [String]) -> Option<Self> {
        let same = expected
            .iter()
            .zip(actual)
            .take_while(|(left, right)| left == right)
            .count();
        let differs = same < expected.len() || same < actual.len();
        differs.then_some(Self {
            expected,
            actual,
            line: same,
        })
    }

    fn shape(&self) -> Shape {
        let next = self.line + 1;
        match (self.expected.get(self.line), self.actual.get(self.line)) {
            (Some(expected), Some(actual)) => {
                if self.expected.get(next) == self.actual.get(next) {
                    Shape::Changed
                } else if self.expected.get(next) == Some(actual) {
                    Shape::Missing
                } else if self.actual.get(next) == Some(expected) {
                    Shape::Added
                } else {
                    Shape::Unlike
                }
            }
            (Some(_), None) => Shape::Missing,
            (None, _) => Shape::Added,
        }
    }

    fn title(&self, shape: Shape) -> String {
        let number = self.line + 1;
        match shape {
            _ if self.actual.is_empty() => "the transcript is empty".to_owned(),
            Shape::Changed => format!("the transcript differs in line {number}"),
            Shape::Unlike => format!("the transcript differs from line {number} on"),
            Shape::Missing if self.line == self.actual.len() => {
                format!("the transcript ends before line {number}")
            }
            Shape::Missing => format!("the transcript lacks line {number}"),
            Shape::Added if self.line == self.expected.len() => {
                format!("the transcript goes on after its last expected line, in line {number}")
            }
            Shape::Added => format!("the transcript has an unexpected line {number}"),
        }
    }
}

impl fmt::Display for Difference<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.shape();
        writeln!(f, "{} (- expected, + actual)\n", self.title(shape))?;
        let before = self.line.saturating_sub(CONTEXT);
        rows(f, ' ', self.actual, before, self.line)?;
        match shape {
            Shape::Changed => {
                rows(f, '-', self.expected, self.line, self.line + 1)?;
                rows(f, '+', self.actual, self.line, self.line + 1)?;
                if let Some(column) = self.column() {
                    writeln!(f, "       {:column$}^", "")?;
                }
                rows(f, ' ', self.actual, self.line + 1, self.line + 1 + CONTEXT)
            }
            Shape::Missing => {
                // Where the actual transcript is over, all that it lacks is of interest.
                let is_over = self.line >= self.actual.len();
                let lacking = if is_over { 1 + CONTEXT } else { 1 };
                rows(f, '-', self.expected, self.line, self.line + lacking)?;
                rows(f, ' ', self.actual, self.line, self.line + CONTEXT)
            }
            Shape::Added => {
                let is_over = self.line >= self.expected.len();
                let more = if is_over { 1 + CONTEXT } else { 1 };
                rows(f, '+', self.actual, self.line, self.line + more)?;
                let after = if is_over { 0 } else { CONTEXT };
                rows(f, ' ', self.actual, self.line + 1, self.line + 1 + after)
            }
            Shape::Unlike => {
                rows(f, '-', self.expected, self.line, self.line + 1 + CONTEXT)?;
                rows(f, '+', self.actual, self.line, self.line + 1 + CONTEXT)
            }
        }
    }
}

impl Difference<'_, '_> {
    /// Returns the first character in which the line differs.
    fn column(&self) -> Option<usize> {
        let (expected, actual) = (self.expected.get(self.line)?, self.actual.get(self.line)?);
        let same = expected
            .chars()
            .zip(actual.chars())
            .take_while(|(left, right)| left == right);
        Some(same.count())
    }
}

fn rows(
    f: &mut fmt::Formatter<'_>,
    mark: char,
    lines: &[String],
    from: usize,
    to: usize,
) -> fmt::Result {
    for (index, line) in lines.iter().enumerate().take(to).skip(from) {
        writeln!(f, "{:>4} {mark} {line}", index + 1)?;
    }
    Ok(())
}

/// Splits an expected text into lines, without its common indentation, the space at the end of its
/// lines and the empty lines around it.
pub(crate) fn normalize(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let indentation = lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let mut lines: Vec<String> = lines
        .iter()
        .map(|line| line.get(indentation..).unwrap_or("").to_owned())
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let leading = lines.iter().take_while(|line| line.is_empty()).count();
    lines.drain(..leading);
    lines
}

#[cfg(test)]
mod tests;
