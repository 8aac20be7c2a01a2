//! The right to run a tool.

/// Something that passed the gate: a tool takes its call only in this form, and only the gate,
/// which has seen the guards' answers and the receipt of the append, can make one.
#[derive(Debug)]
pub struct Permitted<T>(T);

impl<T> Permitted<T> {
    /// What was permitted.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// Tests of tools have no log, and so no receipt.
    #[cfg(test)]
    pub(crate) fn for_test(value: T) -> Self {
        Self(value)
    }
}

/// Whoever holds the receipt of the event that says "this call starts" may let it start.
pub(crate) fn permit<T>(call: T, _receipt: &store::Receipt) -> Permitted<T> {
    Permitted(call)
}
