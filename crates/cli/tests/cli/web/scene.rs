//! A palace, its pages served by the real binary, and a real browser whose every page is checked.

use std::cell::OnceCell;

use loci_testkit::{Browser, BrowserPage, BrowserPageOptions, BrowserTheme, TempHome};
use serde_json::json;

use super::content::home_with_sample_palace;
use super::running::{RawVisitor, WebServer};
use crate::new_home;

/// Faults that a checked page must not have, besides what it asks for and says: the elements, attributes and addresses
/// that no page makes.
const FOREIGN: &str = r#"(() => {
    const made = new Set(`HTML HEAD META TITLE LINK SCRIPT NOSCRIPT BODY A HEADER NAV MAIN SECTION ARTICLE ASIDE FOOTER DIV SPAN P H1 H2 H3
        H4 UL OL LI DL DT DD FORM FIELDSET LEGEND LABEL INPUT SELECT OPTION DATALIST TEXTAREA BUTTON DETAILS SUMMARY DIALOG TABLE THEAD
        TBODY TFOOT TR TH TD CAPTION TIME ABBR BDI KBD CODE PRE MARK METER PROGRESS OUTPUT STRONG EM DEL INS BR HR`.split(/\s+/));
    const faults = [];
    const isOwn = address => /^[/#](?![/\\])/.test(address) || address === '';
    for (const element of document.querySelectorAll('*')) {
        const name = element.outerHTML.slice(0, 160);
        if (!made.has(element.tagName) || element.namespaceURI !== 'http://www.w3.org/1999/xhtml') faults.push(`element ${name}`);
        for (const { name: key, value } of element.attributes) {
            if (key.startsWith('on') || key === 'style' || key === 'srcdoc' || key === 'srcset') faults.push(`attribute ${key} of ${name}`);
            if (['href', 'src', 'action', 'formaction', 'cite', 'data', 'ping', 'poster'].includes(key) && !isOwn(value))
                faults.push(`address ${value.slice(0, 80)} of ${name}`);
        }
    }
    const scripts = [...document.scripts];
    if (scripts.some(one => one.textContent !== '' || !/^(\/p\/[^/]+)?\/assets\//.test(one.getAttribute('src')))) faults.push('a script');
    if (typeof pwned !== 'undefined') faults.push('a script of a text ran');
    return faults;
})()"#;

/// A palace, its server, and a browser.
pub(crate) struct WebScene {
    pub(crate) home: TempHome,
    pub(crate) server: WebServer,
    visitor: OnceCell<RawVisitor>,
    browser: OnceCell<Browser>,
}

impl WebScene {
    /// Serves the sample palace; `args` are further arguments of `loci web`.
    #[track_caller]
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::serve(home_with_sample_palace(), args)
    }

    /// Serves a palace that does not exist yet.
    #[track_caller]
    pub(crate) fn start_without_palace(args: &[&str]) -> Self {
        Self::serve(new_home(), args)
    }

    /// Serves the palace of a home.
    #[track_caller]
    pub(crate) fn serve(home: TempHome, args: &[&str]) -> Self {
        let server = WebServer::start(&home, args);
        Self::of_server(home, server)
    }

    /// Makes the scene of a server that runs.
    pub(crate) fn of_server(home: TempHome, server: WebServer) -> Self {
        Self {
            server,
            home,
            visitor: OnceCell::new(),
            browser: OnceCell::new(),
        }
    }

    /// The signed-in visitor; it uses up the link. In the browser it is the same visit.
    #[track_caller]
    pub(crate) fn visitor(&self) -> &RawVisitor {
        self.visitor.get_or_init(|| self.server.sign_in())
    }

    /// The browser.
    #[track_caller]
    pub(crate) fn browser(&self) -> &Browser {
        self.browser.get_or_init(Browser::start_prepared)
    }

    /// Opens the first page as the signed-in visitor.
    #[track_caller]
    pub(crate) fn open_signed_in(&self, options: BrowserPageOptions) -> BrowserPage {
        let (name, value) = self.visitor().cookie.split_once('=').unwrap();
        let page = self.browser().new_page(options);
        let cookie = json!({
            "name": name, "value": value, "url": self.server.url("/"), "httpOnly": true, "sameSite": "Strict",
        });
        page.ask("Network.setCookie", &cookie);
        page.goto(&self.server.url("/"));
        page
    }

    /// Goes to a page of the server and checks it.
    #[track_caller]
    pub(crate) fn visit(&self, page: &BrowserPage, target: &str) {
        page.goto(&self.server.url(target));
        check_page(page);
    }
}

/// Checks the page that is open in both themes: it asked for nothing elsewhere and said nothing, no text of the palace
/// became more than text, and axe-core finds no fault.
#[track_caller]
pub(crate) fn check_page(page: &BrowserPage) {
    check_quiet(page);
    for theme in [BrowserTheme::Dark, BrowserTheme::Light] {
        page.set_theme(theme);
        let faults = page.find_accessibility_faults();
        assert!(faults.is_empty(), "{theme:?}: {faults:#?}\n{}", page.describe());
    }
    check_quiet(page);
}

/// Checks the same without axe-core, which takes the most time.
#[track_caller]
pub(crate) fn check_quiet(page: &BrowserPage) {
    let origin = page.eval("location.origin");
    let origin = format!("{}/", origin.as_str().unwrap());
    let elsewhere: Vec<String> = page
        .requests()
        .into_iter()
        .filter(|asked| !asked.starts_with(&origin))
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}\n{}", page.describe());
    assert!(page.messages().is_empty(), "{}", page.describe());
    assert!(
        page.dialogs().is_empty(),
        "{:?}\n{}",
        page.dialogs(),
        page.describe()
    );
    let foreign = page.eval(FOREIGN);
    assert_eq!(foreign, json!([]), "{}", page.describe());
}

/// Returns the ids of the drawers that the page lists, in their order.
#[track_caller]
pub(crate) fn listed_ids(page: &BrowserPage) -> Vec<String> {
    let ids =
        page.eval("[...document.querySelectorAll('[data-item][data-id]')].map(item => item.dataset.id)");
    serde_json::from_value(ids).unwrap()
}
