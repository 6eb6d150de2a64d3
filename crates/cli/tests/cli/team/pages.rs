//! The pages in a real browser, signed in as three different users.

use loci_testkit::{Browser, BrowserPage, BrowserPageOptions};

use super::scene::{TeamHome, TeamServer};
use crate::web::content::home_with_sample_palace;
use crate::web::scene::{check_page, check_quiet};

const PASSWORD: &str = "a long enough password";

/// Signs in by the form, as people do.
#[track_caller]
fn sign_in(browser: &Browser, server: &TeamServer, name: &str) -> BrowserPage {
    let page = browser.new_page(BrowserPageOptions::default());
    page.goto(&server.url("/p/home/search?q=beans"));
    check_page(&page);
    assert_eq!(page.eval("location.pathname"), "/sign-in");
    page.eval(&format!(
        "document.querySelector('[name=name]').value = {name:?}; document.querySelector('[name=password]').value = {PASSWORD:?};"
    ));
    page.eval("document.querySelector('form[action=\"/sign-in\"]').requestSubmit()");
    page.wait_until("location.pathname !== '/sign-in' && document.readyState === 'complete'");
    page
}

fn start() -> (TeamHome, TeamServer) {
    let home = home_with_sample_palace();
    let palace = home.palace_reference();
    let team = TeamHome::in_home(home, &[("home", &palace), ("empty", "./empty")], "");
    for (name, grants) in [
        ("anna", vec!["*:read,write,delete,admin"]),
        ("ben", vec!["home:read"]),
        ("cleo", vec!["home/garden:read,write"]),
    ] {
        team.add_user(name, &grants);
        team.set_password(name, PASSWORD);
    }
    let server = team.serve();
    (team, server)
}

fn text(page: &BrowserPage) -> String {
    page.eval("document.body.innerText").as_str().unwrap().to_owned()
}

#[test]
fn one_who_administers_sees_and_does_everything() {
    let (_team, server) = start();
    let browser = Browser::start_prepared();
    let page = sign_in(&browser, &server, "anna");
    check_page(&page);
    for target in [
        "/",
        "/p/home/",
        "/p/home/search?q=roof",
        "/p/home/map",
        "/p/home/timeline",
        "/p/home/activity",
        "/p/home/doctor",
        "/p/home/add",
        "/p/home/list",
        "/p/empty/",
        "/admin",
    ] {
        page.goto(&server.url(target));
        check_page(&page);
    }
    // The links and scripts work below the name of the palace.
    page.goto(&server.url("/p/home/search?q=roof"));
    page.eval("document.querySelector('[data-item] a').click()");
    page.wait_until("location.pathname.startsWith('/p/home/') && !location.pathname.endsWith('/search')");
    check_quiet(&page);
    // A user and a token are made on the page, and the token is shown once.
    page.goto(&server.url("/admin"));
    page.eval(
        "{ const form = [...document.querySelectorAll('form')].find(form => form.querySelector('[value=add]')); \
         form.querySelector('[name=user]').value = 'dora'; form.querySelector('[name=rights]').value = 'home:read'; \
         form.requestSubmit(); }",
    );
    page.wait_until("document.body.innerText.includes('dora')");
    check_page(&page);
    page.eval(
        "{ const form = [...document.querySelectorAll('form')].find(form => form.querySelector('[value=token]') && \
         form.querySelector('[value=dora]')); form.requestSubmit(); }",
    );
    page.wait_until("document.querySelector('pre') !== null");
    check_page(&page);
    let token = page.eval("document.querySelector('pre').textContent.trim()");
    let ask = server.call(token.as_str().unwrap(), "home", "status", &serde_json::json!({}));
    server.send(&ask).is(200);
    page.goto(&server.url("/admin"));
    assert!(!text(&page).contains(token.as_str().unwrap()));
}

#[test]
fn one_who_reads_is_offered_no_acts() {
    let (_team, server) = start();
    let browser = Browser::start_prepared();
    let page = sign_in(&browser, &server, "ben");
    for target in ["/p/home/", "/p/home/list", "/p/home/map", "/p/home/doctor"] {
        page.goto(&server.url(target));
        check_page(&page);
        let acts = page.eval(
            "document.querySelectorAll('a[href*=\"/add\"], a[href*=\"/edit\"], a[href*=\"/delete\"], a[href*=\"/forget\"], \
             a[href*=\"/mine\"], [formaction*=\"/delete\"]').length",
        );
        assert_eq!(acts, 0, "{target}");
    }
    page.goto(&server.url("/"));
    assert!(!text(&page).contains("empty"));
    assert_eq!(
        page.eval("document.querySelectorAll('a[href=\"/admin\"]').length"),
        0
    );
}

#[test]
fn one_who_sees_a_wing_sees_no_other_and_adds_there() {
    let (_team, server) = start();
    let browser = Browser::start_prepared();
    let page = sign_in(&browser, &server, "cleo");
    page.goto(&server.url("/p/home/search?q=roof"));
    assert!(!text(&page).contains("Casa do Beco"));
    page.goto(&server.url("/p/home/map"));
    check_page(&page);
    assert!(!text(&page).contains("house"), "{}", text(&page));
    page.goto(&server.url("/p/home/add"));
    page.eval(
        "document.querySelector('textarea').value = 'The peas are up.'; \
         document.querySelector('form[action$=\"/add\"]').requestSubmit()",
    );
    page.wait_until("document.body.innerText.includes('The peas are up.')");
    check_page(&page);
    page.eval("document.querySelector('form[action=\"/sign-out\"], a.palace')?.click?.()");
    page.goto(&server.url("/"));
    page.eval("document.querySelector('form[action=\"/sign-out\"]').requestSubmit()");
    page.wait_until("location.pathname === '/sign-in'");
    page.goto(&server.url("/p/home/"));
    assert_eq!(page.eval("location.pathname"), "/sign-in");
}
