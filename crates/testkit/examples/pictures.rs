//! Takes pictures of pages in three widths and both themes:
//! `cargo run -p loci-testkit --example pictures -- FOLDER LINK PATH…`
//!
//! LINK is what `loci web` prints; each PATH, such as `/map`, is a page of that server.

#![allow(clippy::unwrap_used, reason = "a failure ends the run")]

use std::path::PathBuf;

use loci_testkit::{Browser, BrowserPageOptions, BrowserTheme};

/// The widths: a telephone, a tablet or half a screen, and a screen.
const WIDTHS: [u32; 3] = [360, 900, 1600];
/// The height from which a picture is cut off.
const LONGEST: u32 = 2400;

fn main() {
    let mut args = std::env::args().skip(1);
    let (folder, link) = (PathBuf::from(args.next().unwrap()), args.next().unwrap());
    let (origin, _) = link.split_once("/sign-in").unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    let browser = Browser::start_prepared();
    let page = browser.new_page(BrowserPageOptions::default());
    page.goto(&link);
    for path in args {
        let letters = path
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
        let name: String = letters.take(60).collect();
        for (theme, theme_name) in [(BrowserTheme::Light, "light"), (BrowserTheme::Dark, "dark")] {
            for width in WIDTHS {
                page.set_theme(theme);
                page.resize(width, 900);
                page.goto(&format!("{origin}{path}"));
                let file = format!("{}-{width}-{theme_name}.png", name.trim_matches('-'));
                page.save_picture(&folder.join(file), LONGEST);
            }
        }
    }
}
