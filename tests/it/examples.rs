//! The examples of `pi-agent`, run as they stand.
#![expect(unreachable_pub, reason = "an example is a program of its own")]

#[path = "../../crates/pi-agent/examples/approval.rs"]
mod approval;
#[path = "../../crates/pi-agent/examples/budget.rs"]
mod budget;
#[path = "../../crates/pi-agent/examples/custom_messages.rs"]
mod custom_messages;
#[path = "../../crates/pi-agent/examples/own_loop.rs"]
mod own_loop;
#[path = "../../crates/pi-agent/examples/quickstart.rs"]
mod quickstart;
#[path = "../../crates/pi-agent/examples/steering.rs"]
mod steering;
#[path = "../../crates/pi-agent/examples/swap_provider.rs"]
mod swap_provider;
#[path = "../../crates/pi-agent/examples/tools.rs"]
mod tools;

#[test]
fn every_example_runs() {
    approval::main().unwrap();
    budget::main().unwrap();
    custom_messages::main().unwrap();
    own_loop::main();
    quickstart::main().unwrap();
    steering::main().unwrap();
    swap_provider::main().unwrap();
    tools::main().unwrap();
}

#[test]
fn every_example_fits_on_a_screen() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/pi-agent/examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 60, "{} has {lines} lines", path.display());
        seen += 1;
    }
    assert_eq!(seen, 8, "each example is run above");
}
