//! What flags of `resume` change about a pod.

use events::spec::{ContextLimits, Prices};
use events::{Model, Spec, ToolSpec};
use serde::{Deserialize, Serialize};

/// What is to be different from now on; what is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SpecPatch {
    /// Another model, with what the configuration says of it.
    pub(crate) model: Option<ModelPatch>,
    /// Another window, and the limits that go with it.
    pub(crate) context: Option<ContextLimits>,
    /// Another system prompt.
    pub(crate) system: Option<String>,
    /// Another directory, absolute.
    pub(crate) directory: Option<String>,
    /// Other tools.
    pub(crate) tools: Option<Vec<ToolSpec>>,
    /// Another limit of requests.
    pub(crate) max_requests: Option<u64>,
    /// Another limit of tokens.
    pub(crate) max_tokens: Option<u64>,
    /// Another limit of cost.
    pub(crate) max_cost_usd: Option<f64>,
    /// Another limit of a turn's time.
    pub(crate) max_seconds: Option<u64>,
}

/// Another model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelPatch {
    /// The model.
    pub(crate) model: Model,
    /// What it costs.
    pub(crate) prices: Option<Prices>,
    /// Output tokens of one reply.
    pub(crate) output_tokens_max: Option<u64>,
    /// Tokens to reason with.
    pub(crate) reasoning_tokens: Option<u64>,
}

impl SpecPatch {
    /// The spec with the changes; none when nothing changes.
    pub(crate) fn apply(&self, spec: &Spec) -> Option<Spec> {
        let mut changed = spec.clone();
        if let Some(patch) = &self.model {
            changed.model = patch.model.clone();
            changed.prices = patch.prices;
            changed.output_tokens_max = patch.output_tokens_max;
            changed.reasoning_tokens = patch.reasoning_tokens;
        }
        if let Some(context) = &self.context {
            changed.context = context.clone();
        }
        if let Some(system) = &self.system {
            changed.system.clone_from(system);
        }
        if let Some(directory) = &self.directory {
            changed.directory.clone_from(directory);
        }
        if let Some(tools) = &self.tools {
            changed.tools.clone_from(tools);
        }
        let limits = &mut changed.limits;
        limits.max_requests = self.max_requests.or(limits.max_requests);
        limits.max_tokens = self.max_tokens.or(limits.max_tokens);
        limits.max_cost_usd = self.max_cost_usd.or(limits.max_cost_usd);
        limits.max_seconds = self.max_seconds.or(limits.max_seconds);
        (changed != *spec).then_some(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_stays() {
        let spec = Spec::new("openai:x".parse().expect("a model"));
        assert_eq!(SpecPatch::default().apply(&spec), None);
        let patch = SpecPatch { max_tokens: Some(5), ..SpecPatch::default() };
        let changed = patch.apply(&spec).expect("changed");
        assert_eq!(changed.limits.max_tokens, Some(5));
        assert_eq!(Spec { limits: spec.limits.clone(), ..changed.clone() }, spec);
        assert_eq!(patch.apply(&changed), None, "the same once more is no change");
    }

    #[test]
    fn another_model_brings_its_own_prices() {
        let mut spec = Spec::new("openai:x".parse().expect("a model"));
        spec.prices = Some(Prices { input: 1.0, cached_read: 1.0, cached_write: 1.0, output: 1.0 });
        let model = ModelPatch {
            model: "openai:y".parse().expect("a model"),
            prices: None,
            output_tokens_max: Some(9),
            reasoning_tokens: None,
        };
        let changed = SpecPatch { model: Some(model), ..SpecPatch::default() }.apply(&spec).expect("changed");
        assert_eq!((changed.prices, changed.output_tokens_max), (None, Some(9)));
    }
}
