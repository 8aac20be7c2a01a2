//! What all pods of a runtime use and none of them changes.

use std::sync::Arc;

use store::{AppendLog, ReadLog};

use crate::compactor::CompactorHandle;
use crate::hook_broker::HookBrokerHandle;
use crate::provider::Providers;
use crate::tool::Toolbox;

/// Frozen when the runtime starts.
pub(crate) struct House {
    pub(crate) reader: Arc<dyn ReadLog>,
    pub(crate) writer: Arc<dyn AppendLog>,
    pub(crate) providers: Providers,
    pub(crate) toolbox: Toolbox,
    pub(crate) hooks: HookBrokerHandle,
    pub(crate) compactor: CompactorHandle,
}
