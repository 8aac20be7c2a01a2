//! Which contents of old tool results could be left out.

use crate::estimate::{item_tokens, text_tokens};
use crate::{Item, ItemBody};

/// What may never be pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneConfig {
    /// The end of the items that keeps all its contents, in tokens.
    pub protected_tokens: u64,
    /// The least saving worth a prune, in tokens.
    pub min_savings: u64,
    /// Tools whose results keep their content.
    pub excluded_tools: Vec<String>,
}

impl Default for PruneConfig {
    fn default() -> Self {
        Self { protected_tokens: 8000, min_savings: 4096, excluded_tools: Vec::new() }
    }
}

/// The indices of the results whose content may be left out: before the protected end, not of an
/// excluded tool, with a content that is still there, and read by the model at least once.
pub fn prunable_indices<I: AsRef<Item>>(items: &[I], config: &PruneConfig) -> Vec<usize> {
    let mut protected = 0_u64;
    let mut read = false;
    let mut indices = Vec::new();
    for (index, item) in items.iter().enumerate().rev() {
        let item = item.as_ref();
        match &item.body {
            ItemBody::Text { .. } | ItemBody::Reasoning(_) | ItemBody::Call(_) | ItemBody::Opaque(_) => {
                read = true;
            }
            ItemBody::Result(result) => {
                let prunable = protected >= config.protected_tokens
                    && read
                    && result.content.as_ref().is_some_and(|content| !content.is_empty())
                    && !config.excluded_tools.contains(&result.tool);
                if prunable {
                    indices.push(index);
                }
            }
            ItemBody::User { .. } | ItemBody::System { .. } => {}
        }
        protected = protected.saturating_add(item_tokens(item));
    }
    indices.reverse();
    indices
}

/// Estimated tokens of the contents of these results.
pub fn content_tokens<I: AsRef<Item>>(items: &[I], indices: &[usize]) -> u64 {
    let content = |index: &usize| match &items.get(*index)?.as_ref().body {
        ItemBody::Result(result) => result.content.as_ref().map(|content| text_tokens(content.as_str())),
        ItemBody::User { .. }
        | ItemBody::System { .. }
        | ItemBody::Text { .. }
        | ItemBody::Reasoning(_)
        | ItemBody::Call(_)
        | ItemBody::Opaque(_) => None,
    };
    indices.iter().filter_map(content).sum()
}

impl AsRef<Self> for Item {
    fn as_ref(&self) -> &Self {
        self
    }
}
