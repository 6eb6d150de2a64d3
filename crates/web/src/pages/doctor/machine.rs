//! The machine around the palace on the doctor's page: hooks, tools, backends.

use loci_core::{BackendDescriptor, Capability, MaintenanceKind};
use maud::{Markup, html};

use crate::context::PageContext;
use crate::parts::shown;

/// Shows what waits to be filed from hooks.
pub(super) fn hooks(context: PageContext<'_>) -> Markup {
    html! {
        section.panel aria-labelledby="hooks" {
            h2 #hooks { "Hooks" }
            @match context.host().spool() {
                Ok(None) => p.muted { "This palace has no spool of hooks on this machine." },
                Ok(Some(spool)) => {
                    @match spool.waiting {
                        0 => p { "Nothing waits to be filed." },
                        waiting => p { (shown::count(waiting, "conversation")) @if waiting == 1 { " waits" } @else { " wait" } " to be filed." },
                    }
                    @if let Some(trouble) = &spool.trouble { p.warning dir="auto" { (shown::text(trouble)) } }
                },
                Err(error) => p.warning dir="auto" { "The spool cannot be read: " (shown::text(&error.to_string())) },
            }
        }
    }
}

/// Shows which tools of agents know the palace.
pub(super) fn tools(context: PageContext<'_>) -> Markup {
    let tools = context.host().list_tools();
    html! {
        section.panel aria-labelledby="tools" {
            h2 #tools { "Tools" }
            @if tools.is_empty() { p.muted { "No tool of agents was found on this machine." } }
            @else {
                div.scroll-x { table.table { tbody {
                    @for tool in &tools {
                        tr {
                            th scope="row" { (shown::name(&tool.name)) }
                            td { @if tool.is_connected { "connected" } @else { span.muted { "not connected; " code { "loci connect" } " does it" } } }
                            td.small.muted dir="auto" { (shown::name(&tool.settings)) }
                        }
                    }
                } } }
            }
        }
    }
}

/// Shows the backends of this program with their abilities.
pub(super) fn backends(context: PageContext<'_>) -> Markup {
    let backends = context.host().list_backends();
    html! {
        @if !backends.is_empty() {
            section.panel aria-labelledby="backends" {
                h2 #backends { "Backends" }
                @for backend in &backends { (backend_row(backend)) }
            }
        }
    }
}

fn backend_row(backend: &BackendDescriptor) -> Markup {
    let version = backend.spec_version;
    html! {
        details.backend {
            summary { (shown::name(&backend.name)) " " span.muted.small { "contract " (version.major) "." (version.minor) } }
            dl.kv {
                dt { "Can" } dd { (tags(backend.capabilities.iter().map(Capability::name))) }
                dt { "Metrics" } dd { (tags(backend.metrics.iter().map(|metric| metric.name()))) }
                dt { "Maintenance" } dd { (tags(backend.maintenance.iter().map(MaintenanceKind::name))) }
            }
        }
    }
}

fn tags<'a>(names: impl Iterator<Item = &'a str>) -> Markup {
    let names: Vec<&str> = names.collect();
    html! {
        @if names.is_empty() { span.muted { "none" } }
        @for name in names { span.tag { (shown::name(&name.replace('_', " "))) } " " }
    }
}
