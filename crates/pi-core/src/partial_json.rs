//! Parsing of tool arguments while they arrive.
//!
//! [`PartialJson`] reads the JSON text of a call's arguments in pieces and edits the map it is
//! given in place, so that a UI sees the arguments grow. It holds the state of the parser only;
//! the value lives in the message. No byte is read twice: the cost of a piece depends on its
//! length and on how deep the value is nested at that point, not on what has arrived before.
//!
//! What the map shows after a piece depends on the text so far, not on how it was cut:
//! - A string shows what has arrived of it, a container what it holds so far.
//! - A number or literal appears when its end is known. The digits so far would be another number,
//!   and a call that is cut there would keep it.
//! - A key appears with its value and stays. When it is repeated, the last value wins, and moves to
//!   the end of its object.
//!
//! Models and services write arguments that are not quite JSON. Nothing at all, blanks and `null`
//! mean no arguments; control characters in strings are kept; half a surrogate pair becomes U+FFFD;
//! a number too large for an `f64` becomes `null` and is reported as an error. Any other error stops
//! the reading: the map keeps what was read before it.

use std::mem;

use serde_json::map::Entry;
use serde_json::{Map, Value};

use self::token::{Input, NumberPart, Unescape};

mod token;

/// The deepest nesting of objects and arrays, the arguments' own object included.
pub const MAX_DEPTH: usize = 128;

/// Why the arguments of a tool call cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// The text ended inside a value.
    #[error("the tool arguments end before their JSON is complete")]
    Cut,
    /// The text is not JSON.
    #[error("the tool arguments are not valid JSON at byte {offset}")]
    Syntax {
        /// Where the first wrong byte is, counted from the beginning of the text.
        offset: usize,
    },
    /// The text holds a string, a number, a boolean or an array.
    #[error("the tool arguments are not a JSON object")]
    NotAnObject,
    /// Objects and arrays are nested deeper than [`MAX_DEPTH`].
    #[error("the tool arguments are nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The text goes on behind the end of the object.
    #[error("the tool arguments go on after the end of their JSON object")]
    TrailingData,
}

/// Parses complete arguments; returns what could be read and what is wrong with the rest.
///
/// It reads as [`PartialJson`] does.
///
/// # Examples
///
/// ```
/// # use pi_core::partial_json::{ArgumentsError, parse_arguments};
/// let (arguments, error) = parse_arguments(r#"{"path":"a.txt","text":"Hel"#);
/// assert_eq!(arguments["text"], "Hel");
/// assert_eq!(error, Some(ArgumentsError::Cut));
/// ```
pub fn parse_arguments(text: &str) -> (Map<String, Value>, Option<ArgumentsError>) {
    let mut arguments = Map::new();
    let mut parser = PartialJson::new();
    parser.push(&mut arguments, text);
    let error = parser.finish(&mut arguments).err();
    (arguments, error)
}

/// The state of a parser of tool arguments that arrive in pieces.
///
/// # Examples
///
/// ```
/// # use pi_core::partial_json::PartialJson;
/// let mut arguments = serde_json::Map::new();
/// let mut parser = PartialJson::new();
/// parser.push(&mut arguments, r#"{"text":"Hel"#);
/// assert_eq!(arguments["text"], "Hel");
/// parser.push(&mut arguments, r#"lo"}"#);
/// assert_eq!(arguments["text"], "Hello");
/// assert_eq!(parser.finish(&mut arguments), Ok(()));
/// ```
#[derive(Debug, Clone, Default)]
pub struct PartialJson {
    state: State,
    /// The containers that are open, outermost first.
    ///
    /// The way to the innermost one needs no keys: each is the last entry of the one around it.
    open: Vec<Container>,
    /// The key that waits for its value.
    key: String,
    /// The number being read.
    number: String,
    unescape: Unescape,
    /// The length of the text that was pushed.
    length: usize,
    /// The first error.
    error: Option<ArgumentsError>,
}

/// What is expected next.
#[derive(Debug, Clone, Copy, Default)]
enum State {
    /// The object itself.
    #[default]
    Start,
    /// `"` or, in an object that is empty so far, `}`.
    Key { or_end: bool },
    /// The rest of a key.
    KeyText,
    /// `:`.
    Colon,
    /// A value or, in an array that is empty so far, `]`.
    Value { or_end: bool },
    /// The rest of a string value.
    Text,
    /// The rest of a number.
    Number(NumberPart),
    /// These letters, and then this value (`None`: `null`) is complete.
    Literal(&'static [u8], Option<bool>),
    /// `,` or the end of the container.
    AfterValue,
    /// Nothing more.
    End,
    /// Nothing that is read: an error has stopped the parser.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

impl PartialJson {
    /// Creates the state before the first piece.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next piece of the text into `target`.
    ///
    /// `target` must be empty at first and the same map, not edited by others, at every call.
    /// Otherwise values can get lost or end up in a wrong place.
    pub fn push(&mut self, target: &mut Map<String, Value>, delta: &str) {
        let mut input = Input::new(delta, self.length);
        self.length += delta.len();
        while !input.is_empty() && !matches!(self.state, State::Stopped) {
            if let Err(error) = self.step(target, &mut input) {
                self.state = State::Stopped;
                self.error.get_or_insert(error);
            }
        }
    }

    /// Ends the text.
    ///
    /// A string that the end cut inside a surrogate pair gets its U+FFFD now. A number or literal
    /// that the end cut is left out.
    ///
    /// # Errors
    ///
    /// The first reason why the text is not one JSON object (or nothing, or `null`). `target` keeps
    /// what could be read.
    pub fn finish(&mut self, target: &mut Map<String, Value>) -> Result<(), ArgumentsError> {
        if matches!(self.state, State::Text)
            && let Some(text) = open_text(target, self.open.len())
        {
            self.unescape.end_pair(text);
        }
        match (&self.error, self.state) {
            (Some(error), _) => Err(error.clone()),
            (None, State::Start | State::End) => Ok(()),
            (None, _) => Err(ArgumentsError::Cut),
        }
    }

    /// Returns whether the object has been read to its end.
    pub fn is_complete(&self) -> bool {
        matches!(self.state, State::End)
    }

    /// Reads one token, or what the piece has of it.
    fn step(
        &mut self,
        target: &mut Map<String, Value>,
        input: &mut Input<'_>,
    ) -> Result<(), ArgumentsError> {
        match self.state {
            State::KeyText => {
                if self.unescape.read(input, &mut self.key)? {
                    self.state = State::Colon;
                }
            }
            State::Text => {
                let mut lost = String::new();
                let text = open_text(target, self.open.len()).unwrap_or(&mut lost);
                if self.unescape.read(input, text)? {
                    self.state = State::AfterValue;
                }
            }
            State::Number(part) => self.number(part, target, input)?,
            State::Literal(rest, value) => self.literal(rest, value, target, input)?,
            _ => {
                input.skip_whitespace();
                if let Some(byte) = input.peek() {
                    self.state = self.structure(byte, target, input)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a byte outside of strings, numbers and literals.
    fn structure(
        &mut self,
        byte: u8,
        target: &mut Map<String, Value>,
        input: &mut Input<'_>,
    ) -> Result<State, ArgumentsError> {
        let innermost = self.open.last().copied();
        let state = match (self.state, byte) {
            (State::Start, b'{') => {
                self.open.push(Container::Object);
                State::Key { or_end: true }
            }
            (State::Start, b'n') => State::Literal(b"ull", None),
            (State::Start, b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f') => {
                return Err(ArgumentsError::NotAnObject);
            }
            (State::End, _) => return Err(ArgumentsError::TrailingData),
            (State::Key { .. }, b'"') => State::KeyText,
            (State::Colon, b':') => State::Value { or_end: false },
            (State::Key { or_end: true }, b'}') | (State::Value { or_end: true }, b']') => {
                self.close()
            }
            (State::AfterValue, b'}') if innermost == Some(Container::Object) => self.close(),
            (State::AfterValue, b']') if innermost == Some(Container::Array) => self.close(),
            (State::AfterValue, b',') => match innermost {
                Some(Container::Object) => State::Key { or_end: false },
                _ => State::Value { or_end: false },
            },
            (State::Value { .. }, _) => self.begin_value(byte, target, input)?,
            _ => return Err(input.syntax_error()),
        };
        input.bump();
        Ok(state)
    }

    /// Reads the first byte of a value; a string or container appears in the map with it.
    fn begin_value(
        &mut self,
        byte: u8,
        target: &mut Map<String, Value>,
        input: &Input<'_>,
    ) -> Result<State, ArgumentsError> {
        match byte {
            b'"' => {
                self.insert(target, Value::String(String::new()));
                Ok(State::Text)
            }
            b'{' => {
                self.begin_container(target, Container::Object, Value::Object(Map::new()))?;
                Ok(State::Key { or_end: true })
            }
            b'[' => {
                self.begin_container(target, Container::Array, Value::Array(Vec::new()))?;
                Ok(State::Value { or_end: true })
            }
            b't' => Ok(State::Literal(b"rue", Some(true))),
            b'f' => Ok(State::Literal(b"alse", Some(false))),
            b'n' => Ok(State::Literal(b"ull", None)),
            _ => {
                let part = NumberPart::Start
                    .after(byte)
                    .ok_or_else(|| input.syntax_error())?;
                self.number.clear();
                self.number.push(char::from(byte));
                Ok(State::Number(part))
            }
        }
    }

    fn begin_container(
        &mut self,
        target: &mut Map<String, Value>,
        container: Container,
        empty: Value,
    ) -> Result<(), ArgumentsError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(ArgumentsError::TooDeep);
        }
        self.insert(target, empty);
        self.open.push(container);
        Ok(())
    }

    /// Ends the innermost container.
    fn close(&mut self) -> State {
        self.open.pop();
        if self.open.is_empty() {
            State::End
        } else {
            State::AfterValue
        }
    }

    fn number(
        &mut self,
        mut part: NumberPart,
        target: &mut Map<String, Value>,
        input: &mut Input<'_>,
    ) -> Result<(), ArgumentsError> {
        self.number.push_str(input.take_number(&mut part));
        let Some(end) = input.peek() else {
            self.state = State::Number(part);
            return Ok(());
        };
        // What is glued to a number makes all of it wrong, as in `01` or `1.5.2`.
        if !part.may_be_last() || !matches!(end, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
        {
            return Err(input.syntax_error());
        }
        let value = serde_json::from_str(&self.number).unwrap_or_else(|_| {
            // The form is right, so it is out of range. The end of the number is known, so the rest
            // can be read all the same.
            let offset = input.offset() - self.number.len();
            self.error.get_or_insert(ArgumentsError::Syntax { offset });
            Value::Null
        });
        self.insert(target, value);
        self.state = State::AfterValue;
        Ok(())
    }

    fn literal(
        &mut self,
        mut rest: &'static [u8],
        value: Option<bool>,
        target: &mut Map<String, Value>,
        input: &mut Input<'_>,
    ) -> Result<(), ArgumentsError> {
        while let [letter, tail @ ..] = rest {
            match input.peek() {
                Some(byte) if byte == *letter => input.bump(),
                Some(_) => return Err(input.syntax_error()),
                None => {
                    self.state = State::Literal(rest, value);
                    return Ok(());
                }
            }
            rest = tail;
        }
        if self.open.is_empty() {
            // The arguments are `null`, which means none.
            self.state = State::End;
        } else {
            self.insert(target, value.map_or(Value::Null, Value::Bool));
            self.state = State::AfterValue;
        }
        Ok(())
    }

    /// Puts a value behind the others of the innermost container.
    fn insert(&mut self, target: &mut Map<String, Value>, value: Value) {
        let key = mem::take(&mut self.key);
        match innermost(target, self.open.len()) {
            Some(Place::Array(array)) => array.push(value),
            Some(Place::Object(object)) => match object.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) => {
                    // To the end, where `innermost` looks for it.
                    let (key, _) = entry.swap_remove_entry();
                    object.insert(key, value);
                }
            },
            None => {}
        }
    }
}

/// A container inside the arguments.
enum Place<'a> {
    Object(&'a mut Map<String, Value>),
    Array(&'a mut Vec<Value>),
}

impl<'a> Place<'a> {
    /// Returns the entry that came last; this relies on maps that keep the order of insertion.
    fn into_last(self) -> Option<&'a mut Value> {
        match self {
            Place::Object(object) => object.values_mut().next_back(),
            Place::Array(array) => array.last_mut(),
        }
    }
}

/// Returns the innermost of `depth` open containers, `target` being the outermost.
fn innermost(target: &mut Map<String, Value>, depth: usize) -> Option<Place<'_>> {
    let mut place = Place::Object(target);
    for _ in 1..depth {
        place = match place.into_last()? {
            Value::Object(object) => Place::Object(object),
            Value::Array(array) => Place::Array(array),
            _ => return None,
        };
    }
    Some(place)
}

/// Returns the string value that is being read.
fn open_text(target: &mut Map<String, Value>, depth: usize) -> Option<&mut String> {
    match innermost(target, depth)?.into_last()? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
