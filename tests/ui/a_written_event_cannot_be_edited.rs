//! An envelope has a place in the log: its fields can be read, and nothing sets them.

use events::{Envelope, Seq};

fn edit(envelope: &mut Envelope) {
    envelope.seq = Seq(1);
}

fn main() {}
