//! Whoever may only read has no verb that writes, and a proof of a write cannot be made up.

use std::sync::Arc;

use store::{ReadLog, Receipt};

fn write(log: Arc<dyn ReadLog>) {
    log.append(Vec::new(), Vec::new());
}

fn forge() -> Receipt {
    Receipt::new(Vec::new())
}

fn main() {}
