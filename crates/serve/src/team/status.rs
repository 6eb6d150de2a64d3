//! What monitors and clients ask of the server itself: whether it is ready, its figures, and where tokens come from.

use std::sync::Arc;

use hyper::{Response, StatusCode};
use serde_json::json;

use super::hall::PalaceHall;
use super::metrics::MEDIA_TYPE;
use super::router::{TeamRouter, json_response, run_blocking, typed_response};
use crate::http::seats::ConnectionSeat;
use crate::web::page_body::PageBody;

impl TeamRouter {
    /// Answers whether every palace can be read, the accounts, and the audit log written. Names no palace.
    pub(super) async fn answer_ready(self: &Arc<Self>, hall: Arc<PalaceHall>) -> Response<PageBody> {
        let router = Arc::clone(self);
        let checked = run_blocking(move || {
            let failing = hall
                .settings
                .palaces
                .iter()
                .filter(|served| served.palace.exists().is_err())
                .count();
            let accounts = router.desk.accounts().list_users().is_ok();
            (failing, accounts, router.trail.log().head().is_ok())
        });
        let (failing, accounts, audit) = checked.await.unwrap_or((1, false, false));
        let is_ready = failing == 0 && accounts && audit;
        let status = if is_ready {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        };
        let said = json!({
            "ready": is_ready, "failing_palaces": failing, "accounts": accounts, "audit": audit,
        });
        json_response(status, said.to_string())
    }

    /// Answers the figures in the text format of Prometheus.
    pub(super) fn answer_metrics(&self, seat: &ConnectionSeat) -> Response<PageBody> {
        let counters = self.trail.log().counters();
        let text = self.metrics.render(counters, seat.count_connections());
        typed_response(StatusCode::OK, MEDIA_TYPE, text)
    }

    /// Answers the metadata of a protected resource (RFC 9728). It is the same whether there is such a palace or not.
    pub(super) fn answer_metadata(&self, palace: Option<&str>, hall: &PalaceHall) -> Response<PageBody> {
        let base = &self.gate.base_url;
        let resource = match palace {
            Some(name) => format!("{base}/p/{name}/mcp"),
            None => base.clone(),
        };
        let issuers: Vec<&str> = hall.settings.issuers.list_issuers().collect();
        let said = json!({
            "resource": resource,
            "resource_name": "Loci",
            "authorization_servers": issuers,
            "bearer_methods_supported": ["header"],
        });
        json_response(StatusCode::OK, said.to_string())
    }
}
