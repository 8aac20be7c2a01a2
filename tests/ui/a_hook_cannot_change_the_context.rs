//! A hook looks at a summary. It cannot write to it, and it cannot ask for one that it may.

use actors::hook::{Hook, Summary, Verdict};
use events::TurnNumber;
use events::event::hook::{HookPoint, HookRole};
use futures_util::future::BoxFuture;

struct Meddler;

impl Hook for Meddler {
    fn name(&self) -> &str {
        "meddler"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::BeforeRequest]
    }

    fn role(&self) -> HookRole {
        HookRole::Guard
    }

    fn ask<'a>(&'a self, summary: &'a mut Summary) -> BoxFuture<'a, Verdict> {
        summary.turn = TurnNumber(9);
        Box::pin(async { Verdict::Continue })
    }
}

fn main() {}
