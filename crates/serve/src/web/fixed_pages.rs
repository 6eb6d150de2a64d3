//! The pages that a stranger gets. They hold nothing of the palace, and need no style sheet, which strangers do not get.

use hyper::StatusCode;

use crate::http::refusal::HttpRefusal;

const HTML: &str = "text/html; charset=utf-8";

fn write_page(title: &str, head: &str, paragraphs: &[&str]) -> String {
    let body: String = paragraphs.iter().map(|text| format!("<p>{text}</p>\n")).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n{head}<title>{title} · Loci</title>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

/// Tells a stranger how to sign in.
pub(super) fn sign_in_required() -> HttpRefusal {
    let page = write_page(
        "Sign in",
        "",
        &[
            "These pages open with a link that <code>loci web</code> prints in the terminal. Open that link in this browser.",
            "Each link works once. If it has been used, press Enter in that terminal for a new one, or stop \
             <code>loci web</code> with Ctrl-C and start it again.",
        ],
    );
    HttpRefusal::with_body(StatusCode::UNAUTHORIZED, HTML, page)
}

/// Tells that a link does not sign in.
pub(super) fn link_refused() -> HttpRefusal {
    let page = write_page(
        "This link does not sign in",
        "",
        &[
            "It has been used already, or another <code>loci web</code> made it: each link works once.",
            "For a new one, press Enter in the terminal in which <code>loci web</code> runs, or stop it with Ctrl-C and \
             start it again.",
            "If you did not use this link yourself, somebody else on this machine may have: stop \
             <code>loci web</code> and start it again.",
        ],
    );
    HttpRefusal::with_body(StatusCode::UNAUTHORIZED, HTML, page)
}

/// Tells that a link is for the user who runs the server.
pub(super) fn link_of_another_user() -> HttpRefusal {
    let page = write_page(
        "This link is for somebody else",
        "",
        &[
            "It was made for the browser of the user who runs <code>loci web</code>, and is still unused. Use the link that \
             <code>loci web</code> prints in the terminal.",
        ],
    );
    HttpRefusal::with_body(StatusCode::UNAUTHORIZED, HTML, page)
}

/// Goes to the first page by itself. A redirect would not do where another site opened the link: a browser leaves the
/// new cookie out of requests that such a site began.
pub(super) fn go_to_first_page() -> String {
    let head = "<meta http-equiv=\"refresh\" content=\"0; url=/\">\n";
    write_page("Signed in", head, &["<a href=\"/\">Go on to the search</a>"])
}
