//! Which providers there are, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use events::{Item, Spec};

use super::{Anthropic, Body, OpenAi, Provider, Script};

/// The providers that a program knows, by the name that stands before the colon of a model.
#[derive(Clone, Default)]
pub struct Providers {
    by_name: BTreeMap<String, Arc<dyn Provider>>,
}

/// A model of a provider that nobody registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no provider `{name}`; known are {known}")]
pub struct UnknownProvider {
    /// The name that was asked for.
    pub name: String,
    /// The names that there are.
    pub known: String,
}

impl Providers {
    /// None at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// The providers that podwork comes with: `openai`, `anthropic` and `script`. Keys and
    /// addresses come from `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `ANTHROPIC_API_KEY` and
    /// `ANTHROPIC_BASE_URL`, which are asked for here and never again.
    pub fn standard(env: &impl Fn(&str) -> Option<String>) -> Self {
        let mut providers = Self::none();
        providers.register("openai", Arc::new(OpenAi::from_env(env)));
        providers.register("anthropic", Arc::new(Anthropic::from_env(env)));
        providers.register("script", Arc::new(Script::files()));
        providers
    }

    /// Adds a provider, or puts it in the place of the one that had its name.
    pub fn register(&mut self, name: &str, provider: Arc<dyn Provider>) {
        self.by_name.insert(name.to_owned(), provider);
    }

    /// The provider of a pod's model.
    pub fn of(&self, spec: &Spec) -> Result<Arc<dyn Provider>, UnknownProvider> {
        self.by_name.get(&spec.model.provider).cloned().ok_or_else(|| UnknownProvider {
            name: spec.model.provider.clone(),
            known: self.by_name.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }

    /// The body of a request with these items: the same bytes as when it was sent.
    pub fn render<I: AsRef<Item>>(
        &self,
        spec: &Spec,
        items: impl IntoIterator<Item = I>,
    ) -> Result<Body, UnknownProvider> {
        let mut renderer = self.of(spec)?.renderer(spec);
        for item in items {
            renderer.push(item.as_ref());
        }
        Ok(renderer.body())
    }
}

impl std::fmt::Debug for Providers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_provider_is_named_with_the_known_ones() {
        let providers = Providers::standard(&|_| None);
        let spec = Spec::new("nobody:x".parse().expect("a model"));
        let error = providers.render(&spec, Vec::<Arc<Item>>::new()).expect_err("unknown");
        assert_eq!(error.name, "nobody");
        assert!(error.to_string().ends_with("known are anthropic, openai, script"), "{error}");
    }
}
