use serde_json::json;

use crate::testing::Place;
use crate::{Limits, ReadConfig};

fn numbered(lines: std::ops::RangeInclusive<u32>) -> String {
    let lines: Vec<_> = lines.map(|n| format!("line {n}")).collect();
    lines.join("\n")
}

fn small(lines: usize, bytes: usize) -> Limits {
    Limits {
        output_lines: lines,
        output_bytes: bytes,
        ..Limits::default()
    }
}

#[tokio::test]
async fn a_small_file_is_shown_as_it_is() {
    let place = Place::new();
    for content in ["a", "a\n", "a\nb", "\u{fc}\n\n"] {
        place.file("f", content);
        assert_eq!(place.ok("read", json!({ "path": "f" })).await, content);
    }
}

#[tokio::test]
async fn windows_name_what_is_left() {
    let place = Place::with(|set| set.limits(small(4, 1000)));
    place.file("f", numbered(1..=10) + "\n");
    for (arguments, expected) in [
        (
            json!({ "path": "f" }),
            numbered(1..=4) + "\n\n[Showing lines 1-4 of 10. Use offset=5 to continue.]",
        ),
        (
            json!({ "path": "f", "offset": 5 }),
            numbered(5..=8) + "\n\n[Showing lines 5-8 of 10. Use offset=9 to continue.]",
        ),
        (
            json!({ "path": "f", "offset": "2", "limit": 3 }),
            numbered(2..=4) + "\n\n[6 more lines in file. Use offset=5 to continue.]",
        ),
        (json!({ "path": "f", "offset": 7 }), numbered(7..=10) + "\n"),
        (
            json!({ "path": "f", "offset": 7, "limit": 9_007_199_254_740_991_i64 }),
            numbered(7..=10) + "\n",
        ),
        (
            json!({ "path": "f", "offset": -5, "limit": 1 }),
            "line 1\n\n[9 more lines in file. Use offset=2 to continue.]".to_owned(),
        ),
        (
            json!({ "path": "f", "offset": 10, "limit": 1 }),
            "line 10\n".to_owned(),
        ),
    ] {
        assert_eq!(
            place.ok("read", arguments.clone()).await,
            expected,
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn an_empty_line_at_the_end_of_a_window_is_kept() {
    let place = Place::new();
    place.file("f", "a\n\nb\n");
    assert_eq!(
        place.ok("read", json!({ "path": "f", "limit": 2 })).await,
        "a\n\n\n[1 more lines in file. Use offset=3 to continue.]"
    );
}

#[tokio::test]
async fn the_limit_on_bytes_keeps_whole_lines() {
    let place = Place::with(|set| set.limits(small(100, 1024)));
    let line = "x".repeat(499);
    place.file("f", format!("{line}\n{line}\n{line}\n"));
    assert_eq!(
        place.ok("read", json!({ "path": "f" })).await,
        format!(
            "{line}\n{line}\n\n[Showing lines 1-2 of 3 (1.0KB limit). Use offset=3 to continue.]"
        )
    );
    let details = place.call("read", json!({ "path": "f" })).await.details;
    assert_eq!(
        details["truncation"],
        json!({
            "truncated": true, "truncatedBy": "bytes", "totalLines": 3, "totalBytes": 1500,
            "outputLines": 2, "outputBytes": 1000,
        })
    );
}

#[tokio::test]
async fn a_first_line_over_the_limit_is_only_named() {
    let place = Place::with(|set| set.limits(small(100, 1024)));
    place.file("it's", format!("short\n{}\nshort\n", "x".repeat(3000)));
    assert_eq!(
        place
            .ok("read", json!({ "path": "it's", "offset": 2 }))
            .await,
        "[Line 2 is 2.9KB, exceeds 1.0KB limit. Use grep to find the part you need.]"
    );
}

#[tokio::test]
async fn what_cannot_be_shown_gets_a_clear_error() {
    let place = Place::new();
    place.file("three.txt", "a\nb\nc");
    place.file("empty.txt", "");
    place.file("bin", b"ab\0cd");
    place.file("README.md", "x");
    place.file("dir/x", "x");
    for (arguments, expected) in [
        (
            json!({ "path": "three.txt", "offset": 4 }),
            "Offset 4 is beyond end of file (3 lines total)",
        ),
        (
            json!({ "path": "empty.txt", "offset": 2 }),
            "Offset 2 is beyond end of file (0 lines total)",
        ),
        (
            json!({ "path": "three.txt", "limit": 0 }),
            "limit must be at least 1.",
        ),
        (
            json!({ "path": "three.txt", "offset": 1.5 }),
            "offset must be a whole number.",
        ),
        (json!({ "path": "" }), "path must not be empty."),
        (
            json!({ "path": "nothing.xyz" }),
            "File not found: nothing.xyz",
        ),
        (
            json!({ "path": "thre.txt" }),
            "File not found: thre.txt Did you mean three.txt?",
        ),
        (
            json!({ "path": "readme.MD" }),
            "File not found: readme.MD Did you mean README.md?",
        ),
        (
            json!({ "path": "dir" }),
            "dir is a directory. Use ls to list it.",
        ),
        (
            json!({ "path": "bin" }),
            "bin is a binary file (5B). Use bash (for example file, xxd or strings) to inspect it.",
        ),
    ] {
        assert_eq!(
            place.fails("read", arguments.clone()).await,
            expected,
            "{arguments}"
        );
    }
    assert_eq!(
        place.ok("read", json!({ "path": "empty.txt" })).await,
        "(empty file)"
    );
}

#[tokio::test]
async fn encodings_and_line_ends_are_told() {
    let place = Place::new();
    let utf16 = |text: &str, le: bool| -> Vec<u8> {
        std::iter::once(0xfeff)
            .chain(text.encode_utf16())
            .flat_map(|unit| {
                if le {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            })
            .collect()
    };
    let cases: [(Vec<u8>, &str, &str, &str); 10] = [
        (b"a\nb\n".into(), "a\nb\n", "utf-8", "lf"),
        (b"a\r\nb\r\n".into(), "a\nb\n", "utf-8", "crlf"),
        (b"a\rb\r".into(), "a\rb\r", "utf-8", "cr"),
        (b"a\r\nb\n".into(), "a\nb\n", "utf-8", "mixed"),
        (b"a".into(), "a", "utf-8", "none"),
        (b"\xef\xbb\xbfa\n".into(), "a\n", "utf-8", "lf"),
        (
            utf16("h\u{e9}\u{1f3af}\r\n", true),
            "h\u{e9}\u{1f3af}\n\n[Decoded from UTF-16LE.]",
            "utf-16le",
            "crlf",
        ),
        (
            utf16("h\u{e9}\u{1f3af}\n", false),
            "h\u{e9}\u{1f3af}\n\n[Decoded from UTF-16BE.]",
            "utf-16be",
            "lf",
        ),
        (
            b"caf\xe9 \xf0\x9f ok\n".into(),
            "caf\u{fffd} \u{fffd}\u{fffd} ok\n\n[3 invalid UTF-8 bytes shown as U+FFFD.]",
            "utf-8",
            "lf",
        ),
        (b"a\r\r\n".into(), "a\r\n", "utf-8", "mixed"),
    ];
    for (content, text, encoding, ending) in cases {
        place.file("f", &content);
        let answered = place.call("read", json!({ "path": "f" })).await;
        assert_eq!(answered.text, text);
        assert_eq!(
            answered.details,
            json!({ "encoding": encoding, "lineEnding": ending }),
            "{content:?}"
        );
    }
}

#[tokio::test]
async fn line_numbers_are_put_before_lines_on_request() {
    let place = Place::with(|set| set.read(ReadConfig::default().with_line_numbers(true)));
    place.file("f", "a\nb\n");
    assert_eq!(
        place.ok("read", json!({ "path": "f" })).await,
        "     1\ta\n     2\tb\n"
    );
}

#[tokio::test]
async fn a_file_found_by_another_spelling_is_named_in_the_details() {
    let place = Place::new();
    place.file("it\u{2019}s", "x");
    let answered = place.call("read", json!({ "file_path": "it's" })).await;
    assert_eq!(answered.text, "x");
    let resolved = answered.details["resolvedPath"].as_str().unwrap();
    assert!(resolved.ends_with("it\u{2019}s"), "{resolved}");
}

#[cfg(feature = "images")]
#[tokio::test]
async fn images_are_told_by_their_content_and_shown() {
    use pi_core::{ToolContext, UserContent};

    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(3, 2)
        .write_to(&mut png, image::ImageFormat::Png)
        .unwrap();
    let place = Place::new();
    place.file("picture.txt", png.get_ref());
    let tool = place.set.tool("read").unwrap();
    let call = tool.prepare(
        [("path".into(), "picture.txt".into())]
            .into_iter()
            .collect(),
    );
    let output = tool
        .run(call.unwrap(), ToolContext::detached("c"))
        .await
        .unwrap();
    let [UserContent::Text(text), UserContent::Image(image)] = &output.content[..] else {
        panic!("{:?}", output.content);
    };
    assert_eq!(text.text, "Read image file [image/png]");
    assert_eq!(image.mime_type, "image/png");

    let limits = Limits {
        image_file_bytes: 10,
        ..Limits::default()
    };
    let place = Place::with(|set| set.limits(limits));
    place.file("picture.png", png.get_ref());
    let text = place.ok("read", json!({ "path": "picture.png" })).await;
    let size = crate::size::shown(png.get_ref().len() as u64);
    assert_eq!(
        text,
        format!("Read image file [image/png]\n[Image omitted: file is {size}, limit is 10B.]")
    );
}

#[tokio::test]
async fn the_pieces_in_which_a_file_is_read_do_not_show() {
    // Lines of all lengths, so that ends of pieces fall everywhere, also between CR and LF.
    let place = Place::with(|set| set.limits(small(10_000, 10 << 20)));
    let mut content = String::new();
    for n in 0..700 {
        content += &"\u{fc}".repeat(n);
        content += "\r\n";
    }
    place.file("f", &content);
    let answered = place.call("read", json!({ "path": "f" })).await;
    assert_eq!(answered.text, content.replace("\r\n", "\n"));
    assert_eq!(answered.details["lineEnding"], "crlf");
}
