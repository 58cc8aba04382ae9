//! Tool calls, put together from their pieces.

use std::collections::{HashMap, VecDeque};

use pi_core::AssistantEvent;

use super::delta::{CallDelta, FunctionDelta};

/// Makes the id of a call that came without one (`given` is empty), or with one that is taken. It
/// differs by the number of the call; `seed` is the id of the reply, as far as it is known.
pub(crate) type NewId = fn(given: &str, seed: &str, number: usize) -> String;

/// The tool calls of one reply.
///
/// A piece belongs to the call that has its id; a piece without id to the call last opened at its
/// index; one without either to the last call. A call whose arguments are whole takes no more of
/// them: what follows is another call. Services number every call 0, leave gaps, repeat ids and
/// names in each piece, or send them empty.
#[derive(Debug)]
pub(crate) struct Calls {
    new_id: NewId,
    calls: Vec<Call>,
    by_id: HashMap<String, usize>,
    by_index: HashMap<u64, usize>,
    /// The calls that got a piece since the last block began.
    touched: Vec<usize>,
    /// Encrypted reasoning by the id of the call that it belongs to, until that call ends.
    signatures: HashMap<String, String>,
}

#[derive(Debug)]
struct Call {
    /// The id that the service uses; empty if it gave none.
    wire_id: String,
    state: State,
    json: JsonEnd,
    is_touched: bool,
}

#[derive(Debug)]
enum State {
    /// The name has not come; arguments wait for it.
    Nameless {
        arguments: String,
    },
    Started {
        content_index: usize,
    },
    Ended,
}

impl Calls {
    pub(crate) fn new(new_id: NewId) -> Self {
        Self {
            new_id,
            calls: Vec::new(),
            by_id: HashMap::new(),
            by_index: HashMap::new(),
            touched: Vec::new(),
            signatures: HashMap::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Keeps the encrypted reasoning of a call until that call ends.
    pub(crate) fn sign(&mut self, id: &str, signature: String) {
        let call = self
            .by_id
            .get(id)
            .and_then(|number| self.calls.get(*number));
        if call.is_some_and(|call| matches!(call.state, State::Ended)) {
            tracing::debug!("encrypted reasoning came after the end of its tool call");
        }
        self.signatures.insert(id.to_owned(), signature);
    }

    /// Opens a call with its first piece, which is pushed afterwards. Returns its number.
    pub(crate) fn open(&mut self, piece: &CallDelta<'_>) -> usize {
        let number = self.calls.len();
        let wire_id = piece.id.to_owned();
        if !wire_id.is_empty() {
            self.by_id.entry(wire_id.clone()).or_insert(number);
        }
        if let Some(index) = piece.index {
            self.by_index.insert(index, number);
        }
        self.calls.push(Call {
            wire_id,
            state: State::Nameless {
                arguments: String::new(),
            },
            json: JsonEnd::default(),
            is_touched: false,
        });
        number
    }

    /// Finds the call that a piece belongs to; `None` if it begins a new one.
    pub(crate) fn find(&self, piece: &CallDelta<'_>) -> Option<usize> {
        let has_name = piece
            .function
            .as_ref()
            .is_some_and(|function| !function.name.is_empty());
        let at_index = match piece.index {
            Some(index) => self.by_index.get(&index).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let has_id = |number: &usize| {
            self.calls
                .get(*number)
                .is_some_and(|call| call.wire_id == *piece.id)
        };
        if piece.id.is_empty() {
            return at_index.filter(|number| !self.is_another(*number, piece));
        }
        if at_index.as_ref().is_some_and(has_id) {
            return at_index;
        }
        match self.by_id.get(&*piece.id) {
            // Two calls that were given one id: they differ in their index, and both are named.
            Some(_) if has_name && piece.index.is_some() => None,
            Some(number) => Some(*number),
            // An id that comes late, or a new call.
            None => at_index.filter(|number| {
                !has_name
                    && self
                        .calls
                        .get(*number)
                        .is_some_and(|call| call.wire_id.is_empty())
            }),
        }
    }

    /// Returns true for a piece that names a call and has arguments, where those of the call
    /// `number` are whole.
    fn is_another(&self, number: usize, piece: &CallDelta<'_>) -> bool {
        let is_whole = |call: &Call| call.json.is_whole();
        let is_call = |function: &FunctionDelta<'_>| {
            !function.name.is_empty() && !function.arguments.0.trim().is_empty()
        };
        self.calls.get(number).is_some_and(is_whole) && piece.function.as_ref().is_some_and(is_call)
    }

    /// Appends the events of a piece of the call `number`.
    pub(crate) fn push(
        &mut self,
        number: usize,
        function: FunctionDelta<'_>,
        seed: &str,
        next_block: &mut usize,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let FunctionDelta { name, arguments } = function;
        let Some(call) = self.calls.get_mut(number) else {
            return;
        };
        call.json.push(&arguments.0);
        if !std::mem::replace(&mut call.is_touched, true) {
            self.touched.push(number);
        }
        match &mut call.state {
            State::Nameless { arguments: waiting } => {
                waiting.push_str(&arguments.0);
                if !name.is_empty() {
                    self.start(number, &name, seed, next_block, events);
                }
            }
            State::Started { content_index } => {
                events.push_back(AssistantEvent::ToolCallDelta {
                    content_index: *content_index,
                    delta: arguments.0.into_owned(),
                });
            }
            State::Ended => {
                tracing::debug!(
                    bytes = arguments.0.len(),
                    "skipped a piece of an ended tool call"
                );
            }
        }
    }

    fn start(
        &mut self,
        number: usize,
        name: &str,
        seed: &str,
        next_block: &mut usize,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        let Some(call) = self.calls.get_mut(number) else {
            return;
        };
        let State::Nameless { arguments } = &mut call.state else {
            return;
        };
        let delta = std::mem::take(arguments);
        let content_index = *next_block;
        *next_block += 1;
        call.state = State::Started { content_index };
        let is_first = self.by_id.get(&call.wire_id) == Some(&number);
        let id = match call.wire_id.as_str() {
            id if is_first => id.to_owned(),
            id => (self.new_id)(id, seed, number),
        };
        self.by_id.entry(id.clone()).or_insert(number);
        events.push_back(AssistantEvent::ToolCallStart {
            content_index,
            id,
            tool_name: name.to_owned(),
        });
        events.push_back(AssistantEvent::ToolCallDelta {
            content_index,
            delta,
        });
    }

    /// Ends the calls whose arguments are whole, before another block begins. The others may go
    /// on: services may send the pieces of several calls in turn.
    pub(crate) fn end_whole(
        &mut self,
        seed: &str,
        next_block: &mut usize,
        events: &mut VecDeque<AssistantEvent>,
    ) {
        for number in std::mem::take(&mut self.touched) {
            self.start(number, "", seed, next_block, events);
            let Some(call) = self.calls.get_mut(number) else {
                continue;
            };
            call.is_touched = false;
            if call.json.is_whole() {
                events.extend(self.end(number).map(|(_, event)| event));
            }
        }
    }

    /// Ends all calls; returns the events with the index of their block.
    pub(crate) fn end_all(
        &mut self,
        seed: &str,
        next_block: &mut usize,
        events: &mut VecDeque<AssistantEvent>,
    ) -> Vec<(usize, AssistantEvent)> {
        let mut ends = Vec::new();
        for number in 0..self.calls.len() {
            self.start(number, "", seed, next_block, events);
            ends.extend(self.end(number));
        }
        ends
    }

    fn end(&mut self, number: usize) -> Option<(usize, AssistantEvent)> {
        let call = self.calls.get_mut(number)?;
        let State::Started { content_index } = call.state else {
            return None;
        };
        call.state = State::Ended;
        let thought_signature = self.signatures.remove(&call.wire_id);
        let event = AssistantEvent::ToolCallEnd {
            content_index,
            thought_signature,
            tool_call: None,
        };
        Some((content_index, event))
    }
}

/// Tells when the JSON text of an object or a list has come to its end, each byte seen once.
#[derive(Debug, Default)]
struct JsonEnd {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    has_begun: bool,
}

impl JsonEnd {
    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => {
                    self.depth += 1;
                    self.has_begun = true;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.has_begun && self.depth == 0 && !self.in_string
    }
}
