//! The page `undoing`.

use crate::context::{PageContext, PageResult};
use crate::pages::problem;

/// Acts.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    problem::not_built_yet(context)
}
