//! Which page answers which path.

use std::fmt;

use crate::assets;
use crate::context::{PageContext, PageResult};
use crate::pages::{
    activity, add, changing, diary, doctor, drawer, embedder, exporting, forgetting, home, job, list, map,
    mine, moving, removing, search, source, theme, timeline, undoing, wake_up, why_not,
};

/// A function that answers a request.
#[derive(Clone, Copy)]
pub(crate) struct RouteAction(pub(crate) fn(PageContext<'_>) -> PageResult);

impl fmt::Debug for RouteAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RouteAction")
    }
}

/// A path and what answers it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageRoute {
    pub(crate) path: &'static str,
    /// Answers a GET, which changes nothing.
    pub(crate) get: Option<RouteAction>,
    /// Answers a POST.
    pub(crate) post: Option<RouteAction>,
    /// Whether a POST changes something, so that visitors who may change nothing are refused.
    pub(crate) writes: bool,
}

const fn page(path: &'static str, get: fn(PageContext<'_>) -> PageResult) -> PageRoute {
    PageRoute {
        path,
        get: Some(RouteAction(get)),
        post: None,
        writes: false,
    }
}

/// A page with a form: a GET shows it, a POST acts.
const fn act(
    path: &'static str,
    get: fn(PageContext<'_>) -> PageResult,
    post: fn(PageContext<'_>) -> PageResult,
) -> PageRoute {
    PageRoute {
        post: Some(RouteAction(post)),
        writes: true,
        ..page(path, get)
    }
}

/// A page that takes its fields from an address or a form, which may hold more, and changes nothing.
const fn reading_form(path: &'static str, show: fn(PageContext<'_>) -> PageResult) -> PageRoute {
    PageRoute {
        post: Some(RouteAction(show)),
        ..page(path, show)
    }
}

/// A button: only a POST is answered.
const fn button(path: &'static str, post: fn(PageContext<'_>) -> PageResult, writes: bool) -> PageRoute {
    PageRoute {
        path,
        get: None,
        post: Some(RouteAction(post)),
        writes,
    }
}

/// Every path of the site, but for its assets.
const ROUTES: &[PageRoute] = &[
    page("/", home::show),
    page("/search", search::show),
    page("/why-not", why_not::show),
    page("/drawer", drawer::show),
    page("/list", list::show),
    page("/source", source::show),
    page("/source/part", source::show_part),
    page("/map", map::show),
    page("/timeline", timeline::show),
    page("/activity", activity::show),
    page("/activity/feed", activity::show_feed),
    page("/diary", diary::show),
    page("/wake-up", wake_up::show),
    page("/doctor", doctor::show),
    button("/doctor/verify", doctor::start_verify, false),
    button("/doctor/maintain", doctor::start_maintenance, true),
    reading_form("/export", exporting::show),
    reading_form("/export/file", exporting::download),
    act("/add", add::show, add::act),
    act("/edit", changing::show, changing::act),
    act("/move", moving::show, moving::act),
    act("/delete", removing::show, removing::act),
    act("/forget", forgetting::show, forgetting::act),
    button("/undo", undoing::act, true),
    act("/mine", mine::show, mine::act),
    act("/embedder", embedder::show, embedder::act),
    page("/job", job::show),
    button("/job/stop", job::stop, false),
    button("/theme", theme::act, false),
];

/// Finds what answers a path.
pub(crate) fn find_route(path: &str) -> Option<PageRoute> {
    if path.starts_with(assets::PREFIX) {
        return Some(page(assets::PREFIX, assets::show));
    }
    ROUTES.iter().find(|route| route.path == path).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_is_answered_twice() {
        for (at, route) in ROUTES.iter().enumerate() {
            assert!(
                ROUTES.iter().skip(at + 1).all(|other| other.path != route.path),
                "{}",
                route.path
            );
        }
    }
}
