//! What a hook is given can be read, and that is all.

use actors::hook::Summary;
use events::TurnNumber;

fn rewrite(summary: &Summary) {
    summary.turn = TurnNumber(9);
}

fn main() {}
