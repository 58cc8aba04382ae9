//! One scenario, played.

use std::any::Any;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use pi_core::{BoxFuture, CancellationToken, Request};

use super::alarm::{pause, within};
use super::case::Count;
use super::reading::Reading;
use super::{Case, Expected, Outcome, Scenario, checks};
use crate::gate::Gates;
use crate::transcript::{Transcript, TranscriptOptions};

/// How soon an abort or a drop must have its effect.
const PROMPT: Duration = Duration::from_millis(500);

/// How long a provider is watched that should do nothing.
const QUIET: Duration = Duration::from_millis(30);

/// One scenario with one provider.
pub(super) struct Trial {
    scenario: Scenario,
    case: Case,
    expected: Expected,
    readings: Vec<Reading>,
    problems: Vec<String>,
}

impl Trial {
    pub(super) fn new(scenario: Scenario, mut case: Case) -> Self {
        let expected = case.expected.take();
        Self {
            scenario,
            case,
            expected: expected.unwrap_or_else(|| scenario.expected()),
            readings: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Plays the scenario, for so long at most.
    pub(super) async fn run(&mut self, patience: Duration) {
        let played = within(patience, AssertUnwindSafe(self.play()).catch_unwind()).await;
        match played {
            Some(Ok(())) => {}
            Some(Err(panic)) => self.problem(format!("it panics: {}", text_of(&*panic))),
            None => {
                let seconds = patience.as_secs_f64();
                self.problem(format!("it has not ended after {seconds} s"));
            }
        }
        // Here, since a stream may need the runtime to go away.
        self.readings.iter_mut().for_each(Reading::close);
    }

    /// Says what came of it.
    pub(super) fn judge(mut self) -> Outcome {
        let model = &self.case.request.model;
        for (number, reading) in (1..).zip(&self.readings) {
            let problems = checks::problems(&reading.shown, &self.expected, model);
            self.problems.extend(match self.readings.len() {
                1 => problems,
                _ => problems
                    .iter()
                    .map(|problem| format!("stream {number}: {problem}"))
                    .collect(),
            });
        }
        if self.problems.is_empty() {
            return Outcome::Pass;
        }
        let options = TranscriptOptions::new();
        let replies = self.readings.iter();
        Outcome::Fail {
            problems: self.problems,
            transcripts: replies
                .map(|reading| Transcript::of_reply(&reading.shown.events, &options))
                .collect(),
        }
    }

    async fn play(&mut self) {
        match self.scenario {
            Scenario::AbortBeforeStart => self.abort_before_start().await,
            Scenario::AbortInMidStream => self.abort_in_mid_stream().await,
            Scenario::DropInMidStream => self.drop_in_mid_stream().await,
            Scenario::NothingBeforePoll => self.nothing_before_poll().await,
            Scenario::TwoStreams => self.two_streams().await,
            _ => self.begin(self.case.request.clone()).finish().await,
        }
    }

    async fn abort_before_start(&mut self) {
        let token = CancellationToken::new();
        token.cancel();
        let reading = self.begin(self.case.request.clone().with_abort(token));
        if within(PROMPT, reading.finish()).await.is_none() {
            self.problem(late("the abort did not end the stream"));
        }
        if let Some(sent @ 1..) = count(self.case.requests.as_ref()) {
            self.problem(format!("{sent} requests were sent after the abort"));
        }
    }

    async fn abort_in_mid_stream(&mut self) {
        let token = CancellationToken::new();
        let request = self.case.request.clone().with_abort(token.clone());
        let blocks = self.expected.blocks.clone();
        let reading = self.begin(request);
        if !reading.until(&blocks).await {
            return self.problem("it ended before it could be aborted");
        }
        // Each is polled only when it is woken itself, so the abort must wake the reader.
        let gates = Gates::new();
        let reader = poll_fn(|cx| {
            while let Poll::Ready(goes_on) = reading.poll_event(cx) {
                if !goes_on {
                    gates.open("reader waits");
                    return Poll::Ready(());
                }
            }
            gates.open("reader waits");
            Poll::Pending
        });
        let canceller = async {
            gates.pass("reader waits").await;
            token.cancel();
        };
        let both: [BoxFuture<'_, ()>; 2] = [Box::pin(reader), Box::pin(canceller)];
        let mut both: FuturesUnordered<_> = both.into_iter().collect();
        let ended = within(PROMPT, async { while both.next().await.is_some() {} }).await;
        drop(both);
        if ended.is_none() {
            self.problem(late("the abort did not end the stream"));
        }
    }

    async fn drop_in_mid_stream(&mut self) {
        if self.case.open_replies.is_none() {
            return self.problem("nobody counts open replies: see Case::with_open_replies");
        }
        let blocks = self.expected.blocks.clone();
        let reading = self.begin(self.case.request.clone());
        if !reading.until(&blocks).await {
            return self.problem("it ended before it could be dropped");
        }
        let open = count(self.case.open_replies.as_ref());
        if let Some(reading) = self.readings.last_mut() {
            reading.close();
        }
        if open == Some(0) {
            return self.problem("no reply was counted as open in mid-reply");
        }
        let closed = async {
            while count(self.case.open_replies.as_ref()) != Some(0) {
                pause(Duration::from_millis(1)).await;
            }
        };
        if within(PROMPT, closed).await.is_none() {
            self.problem(late(
                "the reply was still open after its stream was dropped,",
            ));
        }
    }

    async fn nothing_before_poll(&mut self) {
        if self.case.requests.is_none() {
            return self.problem("nobody counts requests: see Case::with_requests");
        }
        let unpolled = self.case.provider.stream(self.case.request.clone());
        pause(QUIET).await;
        drop(unpolled);
        let early = count(self.case.requests.as_ref());
        if let Some(sent @ 1..) = early {
            self.problem(format!("{sent} requests were sent before the first poll"));
        }
        self.begin(self.case.request.clone()).finish().await;
        if count(self.case.requests.as_ref()) == early {
            self.problem("no request was counted when the stream was polled");
        }
    }

    async fn two_streams(&mut self) {
        for _ in 0..2 {
            self.begin(self.case.request.clone());
        }
        if let [first, second] = self.readings.as_mut_slice() {
            join(in_turns(first), in_turns(second)).await;
        }
    }

    fn begin(&mut self, request: Request) -> &mut Reading {
        let stream = self.case.provider.stream(request);
        self.readings.push(Reading::new(stream));
        self.readings.last_mut().expect("it was just pushed")
    }

    fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }
}

/// Reads to the end, and lets others go on after each event, so that two streams really overlap.
async fn in_turns(reading: &mut Reading) {
    while reading.next().await {
        let mut is_over = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut is_over, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

fn count(count: Option<&Count>) -> Option<usize> {
    count.map(|count| count())
}

fn late(what: &str) -> String {
    format!("{what} within {} s", PROMPT.as_secs_f64())
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    let text = panic.downcast_ref::<&str>().copied().or_else(owned);
    text.unwrap_or("no text")
}
