//! The files of the viewer, which are part of the program.
//!
//! Thread: control.

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asset {
    /// Content type.
    pub(super) kind: &'static str,
    /// Tells one version from another.
    pub(super) tag: &'static str,
    /// Content.
    pub(super) bytes: &'static [u8],
}

type File = (&'static str, &'static str, &'static [u8]);

/// Path, tag and content of every file of the viewer as it was built; none without one.
static BUILT: &[File] = include!(concat!(env!("OUT_DIR"), "/viewer_files.rs"));

/// What stands in for a viewer that was not built.
static STAND_IN: &[File] = &[("index.html", "\"stand-in\"", STAND_IN_PAGE.as_bytes())];

const STAND_IN_PAGE: &str = r#"<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>hapticd</title></head>
<body>
<h1>hapticd runs, its viewer was not built</h1>
<p>This program was built without the page that belongs here. To build it, Node is needed: in the source of hapticd run
<code>viewer/build</code>, then <code>cargo build --release</code> again, and start the new program.</p>
<p>Everything else is there: <a href="/scene.json">the scene</a>, <a href="/oscquery">all OSC addresses</a>, and the
WebSocket at <code>/ws</code>.</p>
</body>
</html>
"#;

/// The file at a path of the page, without its first slash.
pub(super) fn find(path: &str) -> Option<Asset> {
    let files = if BUILT.iter().any(|(name, ..)| *name == "index.html") { BUILT } else { STAND_IN };
    let (name, tag, bytes) = files.iter().find(|(name, ..)| *name == path)?;
    Some(Asset { kind: kind(name), tag, bytes })
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_page_and_it_has_nothing_inline() {
        let page = find("index.html").expect("a page");
        assert_eq!(page.kind, "text/html; charset=utf-8");
        let text = std::str::from_utf8(page.bytes).expect("text");
        // The page may name its scripts and styles, not hold them: the policy of the server forbids it.
        assert!(!text.contains("<style") && !text.contains("style="), "{text}");
        assert!(text.split("<script").skip(1).all(|after| after.contains("src=")), "{text}");
        assert!(find("../Cargo.toml").is_none() && find("").is_none());
    }

    #[test]
    fn kinds_are_told_by_the_ending() {
        assert_eq!(kind("assets/main.1f.js"), "text/javascript; charset=utf-8");
        assert_eq!(kind("x"), "application/octet-stream");
    }
}
