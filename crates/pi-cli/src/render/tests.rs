use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use pi_agent::Agent;
use pi_core::{AgentEvent, AgentTool, ToolCall, ToolDefinition, ToolError, ToolOutput, Usage};
use pi_testkit::{ScriptedProvider, block_on, model};
use serde_json::{Value, json};

use super::human::{Human, Streams};
use super::live::Live;
use super::{Json, Print, Render};
use crate::args::JsonForm;
use crate::output::Output;
use crate::terminal::Colours;

/// A stream that several writers share, as a terminal is.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A run with thinking, a call that works, one that fails, and text with a trick in it.
fn play(mut render: impl Render + 'static) {
    let provider = ScriptedProvider::new()
        .turn(|t| {
            t.thinking("Hm.")
                .text("Looking")
                .tool_call("c1", "look", json!({ "at": "a\x1b[2J.txt" }))
                .tool_call("c2", "fail", json!({}))
                .usage(Usage::new(10, 5, 0, 0))
        })
        .turn(|t| t.text("It says \x1b[31mhi.").usage(Usage::new(20, 5, 7, 0)));
    let object = || json!({ "type": "object" });
    let look = AgentTool::from_fn(ToolDefinition::new("look", "", object()), |_, _| async {
        Ok(ToolOutput::text("first\nsecond\nthird\n"))
    });
    let fail = AgentTool::from_fn(ToolDefinition::new("fail", "", object()), |_, _| async {
        Err(ToolError::new("no\x07pe"))
    });
    let agent = Agent::builder(provider, model())
        .tools([look, fail])
        .build();
    let render_events = Arc::new(Mutex::new(Vec::new()));
    let events = Arc::clone(&render_events);
    let _recording = agent.subscribe(move |event| events.lock().unwrap().push(event.clone()));
    let outcome = block_on(agent.prompt("go")).unwrap();
    for event in render_events.lock().unwrap().iter() {
        render.event(event);
    }
    render.finish(&outcome);
}

#[test]
fn a_terminal_shows_both_streams_in_order_and_without_tricks() {
    let screen = Screen::default();
    let streams = Streams {
        plain_text: true,
        one_screen: true,
        colours: Colours::new(false),
        live: Live::Off,
    };
    play(Human::new(
        Output::new(screen.clone()),
        screen.clone(),
        streams,
    ));
    let expected = "\
Hm.
Looking
→ look a [2J.txt
→ fail
← look: first (+2 lines)
← fail: no pe
It says [31mhi.
30 tokens in, 10 out, 7 from the cache
";
    assert_eq!(screen.text(), expected);
}

#[test]
fn a_file_gets_the_text_as_it_is_and_nothing_else() {
    let (out, err) = (Screen::default(), Screen::default());
    let streams = Streams {
        plain_text: false,
        one_screen: false,
        colours: Colours::new(true),
        live: Live::Off,
    };
    play(Human::new(Output::new(out.clone()), err.clone(), streams));
    assert_eq!(out.text(), "Looking\nIt says \x1b[31mhi.\n");
    assert!(
        err.text().contains("\x1b[31m← fail: no pe\x1b[0m\n"),
        "{}",
        err.text()
    );
}

#[test]
fn print_shows_the_final_reply_only() {
    let out = Screen::default();
    play(Print::new(Output::new(out.clone())));
    assert_eq!(out.text(), "It says \x1b[31mhi.\n");
}

#[test]
fn deltas_are_the_events_without_the_repeated_message() {
    let (full, deltas) = (Screen::default(), Screen::default());
    play(Json::new(Output::new(full.clone()), JsonForm::Full));
    play(Json::new(Output::new(deltas.clone()), JsonForm::Deltas));
    let read = |screen: &Screen| -> Vec<Value> {
        screen
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let (mut full, deltas) = (read(&full), read(&deltas));
    assert_eq!(full.len(), deltas.len());
    for (full, deltas) in full.iter_mut().zip(&deltas) {
        if full["type"] == "message_update" {
            full.as_object_mut()
                .unwrap()
                .remove("message")
                .expect("a snapshot");
            assert_eq!(full, deltas);
        }
    }
}

#[test]
fn a_closed_reader_is_noticed_and_nothing_more_is_written() {
    struct Closed(u32);

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            assert_eq!(self.0, 1, "written after a failure");
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let output = Output::new(Closed(0));
    play(Print::new(output.clone()));
    output.write(b"more");
    block_on(output.failed());
    assert_eq!(
        output.take_error().unwrap().kind(),
        io::ErrorKind::BrokenPipe
    );
}

/// A command that tells its output while it runs, and ends with all of it and a diff.
fn play_command(mut render: impl Render) {
    let Value::Object(arguments) = json!({ "command": "make\n", "timeout": 5 }) else {
        unreachable!("it is an object")
    };
    let call = Arc::new(ToolCall::new("c1", "bash", arguments));
    let output = |lines: u32| {
        let text = (1..=lines).map(|n| format!("\x1b{n}\n"));
        ToolOutput::text(text.collect::<String>())
    };
    render.event(&AgentEvent::ToolExecutionStart { call: call.clone() });
    for lines in [0, 1, 2] {
        render.event(&AgentEvent::ToolExecutionUpdate {
            call: call.clone(),
            partial_result: output(lines),
        });
    }
    render.event(&AgentEvent::ToolExecutionEnd {
        call,
        result: output(13).with_details(json!({ "diff": "-1 a\x07\n+1 b\n 2 c\n..." })),
        is_error: false,
        duration: None,
        suspended: false,
    });
}

const FOLDED: &str = "\
← bash:  1
   2
   3
   4
   5
  … 3 lines
   9
   10
   11
   12
   13
  -1 a 
  +1 b
   2 c
  ...
";

#[test]
fn the_output_of_a_command_is_one_row_until_its_end() {
    let screen = Screen::default();
    let streams = Streams {
        plain_text: true,
        one_screen: true,
        colours: Colours::new(false),
        live: Live::Row(|| 80),
    };
    play_command(Human::new(
        Output::new(screen.clone()),
        screen.clone(),
        streams,
    ));
    let clear = "\r\x1b[K";
    let expected = format!("→ bash make  timeout=5\n   1{clear}   2{clear}{FOLDED}");
    assert_eq!(screen.text(), expected);
}

#[test]
fn a_file_gets_the_end_of_a_command_only() {
    let (out, err) = (Screen::default(), Screen::default());
    let streams = Streams {
        plain_text: false,
        one_screen: false,
        colours: Colours::new(false),
        live: Live::Off,
    };
    play_command(Human::new(Output::new(out.clone()), err.clone(), streams));
    assert_eq!(err.text(), format!("→ bash make  timeout=5\n{FOLDED}"));
    assert_eq!(out.text(), "");
}

#[test]
fn the_lines_of_a_diff_are_coloured() {
    let screen = Screen::default();
    let streams = Streams {
        plain_text: true,
        one_screen: true,
        colours: Colours::new(true),
        live: Live::Lines,
    };
    play_command(Human::new(
        Output::new(screen.clone()),
        screen.clone(),
        streams,
    ));
    let expected = "  \x1b[31m-1 a \x1b[0m\n  \x1b[32m+1 b\x1b[0m\n  \x1b[2m 2 c\x1b[0m\n";
    assert!(screen.text().contains(expected), "{:?}", screen.text());
}
