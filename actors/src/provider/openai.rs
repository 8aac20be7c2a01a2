//! OpenAI's Chat Completions, as any compatible server speaks it.

pub(crate) mod wire;
