//! The style sheet and the scripts, served under paths that change with their content.

use std::sync::LazyLock;

use loci_core::{Error, ErrorKind};

use crate::context::{PageContext, PageResult};
use crate::reply::{PageReply, ReplyCaching};

/// The beginning of every asset's path.
pub(crate) const PREFIX: &str = "/assets/";

/// The style sheet, in the order in which its parts apply.
const STYLE: &str = concat!(
    include_str!("../assets/style/base.css"),
    include_str!("../assets/style/frame.css"),
    include_str!("../assets/style/search.css"),
    include_str!("../assets/style/timeline.css"),
    include_str!("../assets/style/source.css"),
    include_str!("../assets/style/views.css"),
    include_str!("../assets/style/acts.css"),
);

/// The scripts. Each is a function of its own and leaves the page usable if it fails.
const SCRIPT: &str = concat!(
    include_str!("../assets/script/comfort.js"),
    include_str!("../assets/script/source.js"),
    include_str!("../assets/script/live.js"),
    include_str!("../assets/script/acts.js"),
);

/// One asset.
#[derive(Debug)]
pub(crate) struct SiteAsset {
    pub(crate) path: String,
    media_type: &'static str,
    content: &'static str,
}

impl SiteAsset {
    fn new(name: &str, ending: &str, media_type: &'static str, content: &'static str) -> Self {
        let hash = blake3::hash(content.as_bytes()).to_hex();
        let short: String = hash.chars().take(12).collect();
        Self {
            path: format!("{PREFIX}{name}-{short}.{ending}"),
            media_type,
            content,
        }
    }
}

/// The style sheet of every page.
pub(crate) static STYLE_SHEET: LazyLock<SiteAsset> =
    LazyLock::new(|| SiteAsset::new("loci", "css", "text/css; charset=utf-8", STYLE));

/// The script of every page.
pub(crate) static SCRIPT_FILE: LazyLock<SiteAsset> =
    LazyLock::new(|| SiteAsset::new("loci", "js", "text/javascript; charset=utf-8", SCRIPT));

/// The icon of the site.
pub(crate) static ICON: LazyLock<SiteAsset> =
    LazyLock::new(|| SiteAsset::new("loci", "svg", "image/svg+xml", include_str!("../assets/icon.svg")));

/// Serves an asset.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    find_asset(&context.request.path).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, "this file does not exist")
            .with_hint("reload the page that asked for it")
    })
}

/// Returns the style sheet, script or icon at a path. They hold nothing of any palace.
pub fn find_asset(path: &str) -> Option<PageReply> {
    let assets = [&*STYLE_SHEET, &*SCRIPT_FILE, &*ICON];
    let asset = assets.into_iter().find(|asset| asset.path == path)?;
    Some(PageReply {
        caching: ReplyCaching::Forever,
        ..PageReply::with_body(asset.media_type, asset.content.as_bytes().to_vec())
    })
}
