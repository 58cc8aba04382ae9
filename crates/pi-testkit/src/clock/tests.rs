use std::sync::Mutex;
use std::task::Wake;

use super::*;
use crate::{Stepper, block_on};

const SECOND: Duration = Duration::from_secs(1);

struct Named(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Wake for Named {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}

#[test]
fn sleepers_wake_in_the_order_of_their_deadlines() {
    let clock = ManualClock::new();
    let woken = Arc::new(Mutex::new(Vec::new()));
    let mut naps: Vec<_> = [
        ("late", 3),
        ("early", 1),
        ("middle", 2),
        ("middle too", 2),
        ("far", 9),
    ]
    .into_iter()
    .map(|(name, seconds)| {
        let mut nap = clock.sleep(SECOND * seconds);
        let waker = Waker::from(Arc::new(Named(name, Arc::clone(&woken))));
        assert!(
            nap.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        nap
    })
    .collect();
    assert_eq!(clock.sleepers(), 5);

    clock.advance(SECOND * 3);

    assert_eq!(
        *woken.lock().unwrap(),
        ["early", "middle", "middle too", "late"]
    );
    assert_eq!(clock.sleepers(), 1);
    naps.truncate(4);
    assert_eq!(clock.sleepers(), 0, "a dropped sleep leaves nothing behind");
}

#[test]
fn the_wall_can_jump_without_waking_anyone() {
    let clock = ManualClock::at(1_000);
    let mut nap = Stepper::new(clock.sleep(SECOND));
    assert!(nap.step().is_pending());

    clock.set_now(10);
    assert!(nap.step().is_pending());
    assert_eq!((clock.now(), clock.monotonic()), (10, Duration::ZERO));

    clock.advance(SECOND);
    assert!(nap.step().is_ready());
    assert_eq!((clock.now(), clock.monotonic()), (1_010, SECOND));
}

#[test]
fn parts_of_a_millisecond_add_up() {
    let clock = ManualClock::new();
    for _ in 0..4 {
        clock.advance(Duration::from_micros(250));
    }
    assert_eq!(clock.now(), 1);
}

#[test]
fn a_run_turns_the_clock_by_itself() {
    let clock = ManualClock::new();
    let slept = clock.run(async {
        clock.sleep(SECOND * 3_600).await;
        let first = clock.monotonic();
        futures_util::future::join(clock.sleep(SECOND * 2), clock.sleep(SECOND)).await;
        (first, clock.monotonic())
    });
    assert_eq!(slept, (SECOND * 3_600, SECOND * 3_602));
    assert!(!clock.advance_to_next());
}

#[test]
fn a_sleep_of_nothing_is_over_at_once() {
    block_on(ManualClock::new().sleep(Duration::ZERO));
}
