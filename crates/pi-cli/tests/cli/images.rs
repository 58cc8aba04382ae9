//! Images with the prompt.

use crate::models::{ask, own_models};
use crate::runs::{Run, folder};
use crate::server::{Answer, Server};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

#[test]
fn images_go_with_the_prompt() {
    let dir = folder();
    std::fs::write(dir.path().join("a.txt"), PNG).unwrap();
    std::fs::write(dir.path().join("b"), b"GIF89a").unwrap();
    let server = Server::start(vec![Answer::text(&["A dot."])]);
    own_models(dir.path(), server.url());
    let options = &["--image", "a.txt", "--image", "b"];
    let mut command = ask(dir.path(), "openai/gpt-4.1-mini", options);
    let run = Run::from(command.env("OPENAI_API_KEY", "sk").output().unwrap());
    assert_eq!(run.status, Some(0), "{run:?}");
    let request = server.requests().remove(0);
    for part in [
        "data:image/png;base64,iVBORw0KGgo=",
        "data:image/gif;base64,R0lGODlh",
    ] {
        assert!(request.contains(part), "{request}");
    }
}

#[test]
fn what_cannot_be_shown_is_refused_before_a_request() {
    let dir = folder();
    std::fs::write(dir.path().join("a.png"), PNG).unwrap();
    std::fs::write(dir.path().join("huge.png"), vec![0; 20 * 1024 * 1024 + 1]).unwrap();
    let server = Server::start(vec![Answer::text(&["Hi."])]);
    own_models(dir.path(), server.url());
    for (model, file, said) in [
        (
            "openai/gpt-4.1-mini",
            "missing.png",
            "cannot read the image missing.png",
        ),
        (
            "openai/gpt-4.1-mini",
            "orchard",
            "cannot read the image orchard",
        ),
        ("openai/gpt-4.1-mini", "apple.txt", "apple.txt is no image"),
        ("openai/gpt-4.1-mini", "huge.png", "larger than 20 MiB"),
        ("lab/plain", "a.png", "plain takes no images"),
    ] {
        let mut command = ask(dir.path(), model, &["--image", file]);
        let run = Run::from(command.env("OPENAI_API_KEY", "sk").output().unwrap());
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run:?}");
        assert!(run.stderr.contains(said), "{run:?}");
    }
    assert_eq!(server.requests(), [""; 0]);
}
