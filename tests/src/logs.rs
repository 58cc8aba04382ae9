//! What is logged: a subscriber that keeps all spans and events, and a logger that keeps the records of
//! crates that use `log`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::ThreadId;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// Fields by their names, as text.
pub type Fields = BTreeMap<String, String>;

/// One span.
#[derive(Debug, Clone)]
pub struct Span {
    /// The name in the code.
    pub name: &'static str,
    /// The span around it, by its place in [`Logs::spans`].
    pub parent: Option<usize>,
    /// All fields that were recorded.
    pub fields: Fields,
    /// Whether nobody holds it any more.
    pub is_closed: bool,
    /// How often it was entered without having been left.
    pub depth: usize,
    /// Whether it was ever entered.
    pub was_entered: bool,
    handles: usize,
    metadata: &'static Metadata<'static>,
}

/// One event.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it comes from.
    pub target: String,
    /// The span that it happened in, by its place in [`Logs::spans`].
    pub span: Option<usize>,
    /// All fields, the text under `message`.
    pub fields: Fields,
}

/// A subscriber that keeps everything, at all levels. Clones share what they keep.
#[derive(Debug, Clone, Default)]
pub struct Logs(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    spans: Vec<Span>,
    events: Vec<Entry>,
    /// The spans that each thread is in, the innermost last.
    entered: BTreeMap<Thread, Vec<usize>>,
}

/// A thread, in an order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Thread(String);

impl Thread {
    fn current() -> Self {
        let id: ThreadId = std::thread::current().id();
        Self(format!("{id:?}"))
    }
}

impl Logs {
    /// Creates a subscriber that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns all spans so far, in the order in which they were opened.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        self.lock().spans.clone()
    }

    /// Returns the spans of a name.
    #[must_use]
    pub fn spans_named(&self, name: &str) -> Vec<Span> {
        let mut spans = self.spans();
        spans.retain(|span| span.name == name);
        spans
    }

    /// Returns all events so far.
    #[must_use]
    pub fn events(&self) -> Vec<Entry> {
        self.lock().events.clone()
    }

    /// Returns all that was kept, as text.
    #[must_use]
    pub fn text(&self) -> String {
        let kept = self.lock();
        format!("{:#?}\n{:#?}", kept.spans, kept.events)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place(id: &Id) -> usize {
    usize::try_from(id.into_u64() - 1).unwrap_or(usize::MAX)
}

fn id(place: usize) -> Id {
    Id::from_u64(place as u64 + 1)
}

impl Kept {
    fn current(&self) -> Option<usize> {
        self.entered.get(&Thread::current())?.last().copied()
    }

    fn parent(&self, is_contextual: bool, explicit: Option<&Id>) -> Option<usize> {
        match is_contextual {
            true => self.current(),
            false => explicit.map(place),
        }
    }
}

impl Subscriber for Logs {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut kept = self.lock();
        let mut fields = Fields::new();
        attributes.record(&mut Keep(&mut fields));
        let parent = kept.parent(attributes.is_contextual(), attributes.parent());
        kept.spans.push(Span {
            name: attributes.metadata().name(),
            parent,
            fields,
            is_closed: false,
            depth: 0,
            was_entered: false,
            handles: 1,
            metadata: attributes.metadata(),
        });
        id(kept.spans.len() - 1)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some(span) = self.lock().spans.get_mut(place(span)) {
            values.record(&mut Keep(&mut span.fields));
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut kept = self.lock();
        let mut fields = Fields::new();
        event.record(&mut Keep(&mut fields));
        let span = kept.parent(event.is_contextual(), event.parent());
        kept.events.push(Entry {
            target: event.metadata().target().to_owned(),
            span,
            fields,
        });
    }

    fn enter(&self, span: &Id) {
        let mut kept = self.lock();
        let place = place(span);
        kept.entered
            .entry(Thread::current())
            .or_default()
            .push(place);
        if let Some(span) = kept.spans.get_mut(place) {
            span.depth += 1;
            span.was_entered = true;
        }
    }

    fn exit(&self, span: &Id) {
        let mut kept = self.lock();
        let place = place(span);
        if let Some(entered) = kept.entered.get_mut(&Thread::current())
            && let Some(at) = entered.iter().rposition(|span| *span == place)
        {
            entered.remove(at);
        }
        if let Some(span) = kept.spans.get_mut(place) {
            span.depth = span.depth.saturating_sub(1);
        }
    }

    fn clone_span(&self, span: &Id) -> Id {
        if let Some(span) = self.lock().spans.get_mut(place(span)) {
            span.handles += 1;
        }
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut kept = self.lock();
        let Some(span) = kept.spans.get_mut(place(&span)) else {
            return false;
        };
        span.handles = span.handles.saturating_sub(1);
        span.is_closed = span.handles == 0;
        span.is_closed
    }

    fn current_span(&self) -> Current {
        let kept = self.lock();
        let current = kept
            .current()
            .and_then(|place| Some((id(place), kept.spans.get(place)?.metadata)));
        match current {
            Some((id, metadata)) => Current::new(id, metadata),
            None => Current::none(),
        }
    }
}

/// Writes fields as text.
struct Keep<'a>(&'a mut Fields);

impl Visit for Keep<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

/// A logger that keeps the records of crates that use `log`, from all threads.
#[derive(Debug)]
struct Records;

static RECORDS: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl log::Log for Records {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}", record.target(), record.args());
        RECORDS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }

    fn flush(&self) {}
}

/// Begins to keep the records of crates that use `log`, at all levels, for the whole process.
pub fn keep_records() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Whoever has set a logger before keeps it.
        if log::set_logger(&Records).is_ok() {
            log::set_max_level(log::LevelFilter::Trace);
        }
    });
}

/// Returns the records so far.
#[must_use]
pub fn records() -> Vec<String> {
    RECORDS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}
