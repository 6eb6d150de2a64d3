//! The site of one palace: answers every request of its visitors.

use std::fmt;
use std::sync::Arc;

use loci_core::{Error, ErrorKind};
use loci_engine::Palace;

use crate::acts::ActBoard;
use crate::context::PageContext;
use crate::host::SiteHost;
use crate::jobs::JobBoard;
use crate::pages::problem;
use crate::reply::PageReply;
use crate::request::{PageMethod, PageRequest};
use crate::routes::{RouteAction, find_route};
use crate::visit::Visit;

/// The pages of one palace. Shared by all its visitors.
pub struct Site {
    palace: Palace,
    host: Arc<dyn SiteHost>,
    jobs: JobBoard,
    acts: ActBoard,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("palace", &self.palace)
            .finish_non_exhaustive()
    }
}

impl Site {
    /// Makes the site of a palace, which has the rights of its visitors.
    pub fn new(palace: Palace, host: Arc<dyn SiteHost>) -> Self {
        Self {
            palace,
            host,
            jobs: JobBoard::default(),
            acts: ActBoard::default(),
        }
    }

    /// Answers a request. Blocks while the palace is read or written; never panics on any request.
    ///
    /// A POST without the secret of its visit is refused before anything else is looked at.
    pub fn answer(&self, request: &PageRequest, visit: &Visit) -> PageReply {
        let context = PageContext {
            site: self,
            request,
            visit,
        };
        let reply = self.route(context);
        reply
            .unwrap_or_else(|error| problem::render(context, &error))
            .below(&request.base)
    }

    fn route(&self, context: PageContext<'_>) -> crate::context::PageResult {
        let request = context.request;
        let is_post = request.method == PageMethod::Post;
        if is_post
            && !context
                .visit
                .accepts_form(request.form.exact_value("form_secret"))
        {
            let error = Error::new(ErrorKind::Conflict, "this form does not belong to your visit");
            return Err(error.with_hint("nothing was changed; open the page again and repeat what you did"));
        }
        let Some(route) = find_route(&request.path) else {
            let error = Error::new(ErrorKind::NotFound, "this page does not exist");
            return Err(error.with_hint("search, or choose a page above"));
        };
        match (request.method, route.get, route.post) {
            (PageMethod::Get, Some(RouteAction(show)), _) => show(context),
            (PageMethod::Post, _, Some(RouteAction(act))) => {
                if route.writes && self.palace.access().is_read_only() {
                    self.palace.access().check_writable()?;
                }
                act(context)
            }
            _ => Ok(problem::wrong_method(context, &route)),
        }
    }

    /// Asks every long operation to stop, because the server ends.
    pub fn stop_jobs(&self) {
        self.jobs.stop_all();
    }

    pub(crate) fn palace(&self) -> &Palace {
        &self.palace
    }

    pub(crate) fn host(&self) -> &dyn SiteHost {
        self.host.as_ref()
    }

    pub(crate) fn acts(&self) -> &ActBoard {
        &self.acts
    }

    pub(crate) fn jobs(&self) -> &JobBoard {
        &self.jobs
    }
}
