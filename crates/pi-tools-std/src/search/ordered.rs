//! Work on many items by several threads, with the results in the order of the items.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Items that a thread takes at once.
const BATCH: usize = 32;

/// Batches that may be ahead of the oldest one that is not ready.
const AHEAD: usize = 16;

/// The most threads.
const MAX_THREADS: usize = 8;

/// Works on every item of an iterator and hands the results on in the order of the items, until
/// `take` breaks. Each thread has a `W` of its own. The calling thread works, too.
pub(super) fn map_in_order<I, W, R>(
    items: I,
    new_worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, I::Item) -> R + Sync,
    take: impl FnMut(R) -> ControlFlow<()> + Send,
) -> I
where
    I: Iterator + Send,
    R: Send,
{
    let line = Line {
        source: Mutex::new(Source { items, next: 0 }),
        sink: Mutex::new(Sink {
            take,
            next: 0,
            ready: BTreeMap::new(),
            is_over: false,
        }),
        moved: Condvar::new(),
    };
    let threads = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MAX_THREADS);
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| line.run(&new_worker, &work));
        }
        line.run(&new_worker, &work);
    });
    let source = line.source.into_inner();
    source.unwrap_or_else(PoisonError::into_inner).items
}

struct Line<I, R, T> {
    source: Mutex<Source<I>>,
    sink: Mutex<Sink<R, T>>,
    /// Told when the oldest batch moves on.
    moved: Condvar,
}

struct Source<I> {
    items: I,
    /// The number of the next batch.
    next: usize,
}

struct Sink<R, T> {
    take: T,
    /// The number of the batch that is due.
    next: usize,
    ready: BTreeMap<usize, Vec<R>>,
    is_over: bool,
}

impl<I: Iterator, R, T: FnMut(R) -> ControlFlow<()>> Line<I, R, T> {
    fn run<W>(&self, new_worker: impl Fn() -> W, work: impl Fn(&mut W, I::Item) -> R) {
        // A thread that panics would leave the others waiting for its batch.
        let _over = OnUnwind(|| self.end());
        let mut worker = new_worker();
        while let Some((number, items)) = self.next_batch() {
            let results = items
                .into_iter()
                .map(|item| work(&mut worker, item))
                .collect();
            self.hand_on(number, results);
        }
    }

    fn next_batch(&self) -> Option<(usize, Vec<I::Item>)> {
        let mut source = lock(&self.source);
        let mut sink = lock(&self.sink);
        while !sink.is_over && source.next >= sink.next + AHEAD {
            sink = self
                .moved
                .wait(sink)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if sink.is_over {
            return None;
        }
        drop(sink);
        let items: Vec<_> = source.items.by_ref().take(BATCH).collect();
        if items.is_empty() {
            return None;
        }
        let number = source.next;
        source.next += 1;
        Some((number, items))
    }

    fn hand_on(&self, number: usize, results: Vec<R>) {
        let mut sink = lock(&self.sink);
        sink.ready.insert(number, results);
        loop {
            let due = sink.next;
            let Some(results) = sink.ready.remove(&due) else {
                break;
            };
            sink.next += 1;
            for result in results {
                if !sink.is_over && (sink.take)(result).is_break() {
                    sink.is_over = true;
                }
            }
        }
        drop(sink);
        self.moved.notify_all();
    }

    fn end(&self) {
        lock(&self.sink).is_over = true;
        self.moved.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something if the thread panics.
struct OnUnwind<F: Fn()>(F);

impl<F: Fn()> Drop for OnUnwind<F> {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.0)();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let mut results = Vec::new();
        map_in_order(
            0..10_000_u64,
            || (),
            |(), n| {
                // Some take longer than others.
                (0..n % 97).fold(n, |n, _| std::hint::black_box(n))
            },
            |n| {
                results.push(n);
                ControlFlow::Continue(())
            },
        );
        assert!(results.into_iter().eq(0..10_000));
    }

    #[test]
    fn a_break_ends_the_work_soon() {
        let mut results = Vec::new();
        let mut rest = map_in_order(
            0..,
            || (),
            |(), n: usize| n,
            |n| {
                results.push(n);
                if n == 5 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        );
        assert_eq!(results, [0, 1, 2, 3, 4, 5]);
        assert!(rest.next().unwrap() <= BATCH * (AHEAD + MAX_THREADS));
    }

    #[test]
    fn a_panic_does_not_leave_the_others_waiting() {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            map_in_order(
                0..,
                || (),
                |(), n: usize| assert_ne!(n, 7),
                |()| ControlFlow::Continue(()),
            );
        }));
        assert!(panicked.is_err());
    }
}
