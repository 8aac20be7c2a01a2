//! Tells readers how far the log is durable, for as long as it can grow.

use std::sync::{Mutex, PoisonError};

use events::Position;
use tokio::sync::watch;

/// The position of the last durable event.
#[derive(Debug)]
pub(crate) struct Committed {
    /// Gone when the store has closed: that is what ends those who follow.
    sender: Mutex<Option<watch::Sender<Position>>>,
    receiver: watch::Receiver<Position>,
}

impl Committed {
    pub(crate) fn new(position: Position) -> Self {
        let (sender, receiver) = watch::channel(position);
        Self { sender: Mutex::new(Some(sender)), receiver }
    }

    /// Tells of events up to this position.
    pub(crate) fn advance(&self, position: Position) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = sender.as_ref() {
            sender.send_if_modified(|told| {
                let grown = position > *told;
                *told = position.max(*told);
                grown
            });
        }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Position> {
        self.receiver.clone()
    }

    /// Nothing more will come.
    pub(crate) fn end(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
