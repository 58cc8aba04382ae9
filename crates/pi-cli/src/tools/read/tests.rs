use std::path::Path;

use pi_core::joined_text;

use super::*;

async fn read(
    dir: &Path,
    path: &str,
    offset: Option<u64>,
    limit: Option<u64>,
) -> Result<String, String> {
    let tool = Read::new(Arc::new(Folder::new(dir).unwrap()));
    let args = ReadArgs {
        path: path.to_owned(),
        offset,
        limit,
    };
    match tool.run(args, ToolContext::detached("c1")).await {
        Ok(output) => Ok(joined_text(&output.content).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn lines_are_shown_from_offset_to_limit() {
    let dir = tempfile::tempdir().unwrap();
    for (content, offset, limit, expected) in [
        ("", None, None, Ok("(empty file)")),
        ("a\nb\n", None, None, Ok("a\nb\n")),
        ("a\nb", None, None, Ok("a\nb")),
        ("\u{feff}a\r\nb\r\n", None, None, Ok("a\nb\n")),
        ("\n\n", Some(2), None, Ok("\n")),
        ("a\nb\nc\n", Some(2), Some(9), Ok("b\nc\n")),
        (
            "a\nb\nc\n",
            Some(2),
            Some(1),
            Ok("b\n\n[Showing lines 2-2 of 3. Use offset=3 to continue.]"),
        ),
        (
            "a\nb\n",
            Some(3),
            None,
            Err("Offset 3 is beyond end of file (2 lines total)"),
        ),
        (
            "a\n",
            Some(u64::MAX),
            None,
            Err("Offset 18446744073709551615 is beyond end of file (1 lines total)"),
        ),
    ] {
        fs::write(dir.path().join("f"), content).unwrap();
        let shown = read(dir.path(), "f", offset, limit).await;
        let shown = shown.as_deref().map_err(String::as_str);
        assert_eq!(shown, expected, "{content:?} {offset:?} {limit:?}");
    }
}

#[tokio::test]
async fn long_files_are_cut_with_a_way_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let many: String = (1..=2_500).map(|n| format!("{n}\n")).collect();
    fs::write(dir.path().join("many"), many).unwrap();
    let shown = read(dir.path(), "many", None, None).await.unwrap();
    assert!(
        shown.ends_with("2000\n\n[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]")
    );

    let wide: String = (1..=100).map(|_| "x".repeat(1023) + "\n").collect();
    fs::write(dir.path().join("wide"), wide).unwrap();
    let shown = read(dir.path(), "wide", None, None).await.unwrap();
    let notice = "[Showing lines 1-50 of 100 (50.0KB limit). Use offset=51 to continue.]";
    assert!(shown.ends_with(notice), "{}", &shown[shown.len() - 100..]);

    let one_line = "x".repeat(3 * MAX_BYTES) + "\nshort";
    fs::write(dir.path().join("line"), one_line).unwrap();
    assert_eq!(
        read(dir.path(), "line", None, None).await.unwrap_err(),
        "Line 1 of line exceeds the 50.0KB limit. Use offset=2 to go on behind it."
    );
    assert_eq!(
        read(dir.path(), "line", Some(2), None).await.unwrap(),
        "short"
    );
}

#[tokio::test]
async fn what_is_no_text_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("image"), b"\x89PNG\0\0").unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    for (path, expected) in [
        ("image", "image is a binary file (6B). It cannot be shown."),
        ("sub", "sub is a directory. Use ls to list it."),
        ("gone", "File not found: gone"),
    ] {
        assert_eq!(
            read(dir.path(), path, None, None).await.unwrap_err(),
            expected
        );
    }
    assert!(
        read(dir.path(), "../x", None, None)
            .await
            .unwrap_err()
            .contains("outside")
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_socket_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("s")).unwrap();
    assert_eq!(
        read(dir.path(), "s", None, None).await.unwrap_err(),
        "s is not a regular file."
    );
}

#[tokio::test]
async fn an_abort_ends_the_call() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "a").unwrap();
    let abort = CancellationToken::new();
    abort.cancel();
    let mut window = Window::new(None, None);
    let error = scan(&dir.path().join("f"), "f", &mut window, &abort).unwrap_err();
    assert_eq!(error.to_string(), "Operation aborted");
}

#[test]
fn pieces_make_no_difference() {
    let text = b"one\ntwo\n\nfour";
    let show = |size: usize| {
        let mut window = Window::new(Some(2), Some(2));
        text.chunks(size).for_each(|piece| window.push(piece));
        joined_text(&window.show("f").unwrap().content).into_owned()
    };
    for size in 1..text.len() {
        assert_eq!(show(size), show(text.len()), "{size}");
    }
}
