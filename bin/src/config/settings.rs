//! From the merged configuration to what a pod is made with.

use events::spec::{ContextLimits, Limits, Prices};
use events::{Model, Spec};

use crate::config::{Config, Origin, Value, builtin, model_key};
use crate::exit::Problem;

/// What the configuration says of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelSettings {
    /// Its window in tokens.
    pub(crate) window_tokens: Option<u64>,
    /// Output tokens of one reply.
    pub(crate) output_tokens_max: Option<u64>,
    /// Tokens to reason with.
    pub(crate) reasoning_tokens: Option<u64>,
    /// What it costs.
    pub(crate) prices: Option<Prices>,
}

impl Config {
    /// The model to ask, if one is configured.
    pub(crate) fn model(&self) -> Result<Model, Problem> {
        let none = || {
            Problem::usage("no model is configured").hint(
                "Pass --model PROVIDER:NAME, set PODWORK_MODEL, or write `model = \"PROVIDER:NAME\"` into \
                 podwork.toml.\nWithout a key: `podwork demo` shows what podwork does.",
            )
        };
        let model = self.text("model").ok_or_else(none)?;
        model.parse().map_err(|error| Problem::usage(format!("model: {error}")))
    }

    /// What the configuration says of this model.
    pub(crate) fn model_settings(&self, model: &Model) -> Result<ModelSettings, Problem> {
        let name = model.to_string();
        let whole = |leaf| self.whole(&model_key(&name, leaf));
        let price = |leaf: &str| self.amount(&model_key(&name, &format!("prices.{leaf}")));
        let all = [price("input"), price("cached_read"), price("cached_write"), price("output")];
        let prices = match all {
            [None, None, None, None] => None,
            [Some(input), read, write, Some(output)] => Some(Prices {
                input,
                cached_read: read.unwrap_or(input),
                cached_write: write.unwrap_or(input),
                output,
            }),
            _ => {
                let text = format!(
                    "prices of {name} are incomplete: `input` and `output` are needed, in US dollars for a \
                     million tokens (`cached_read` and `cached_write` are the price of input when left out)"
                );
                return Err(Problem::usage(text));
            }
        };
        Ok(ModelSettings {
            window_tokens: whole("window_tokens"),
            output_tokens_max: whole("output_tokens_max"),
            reasoning_tokens: whole("reasoning_tokens"),
            prices,
        })
    }

    /// The same configuration with the window that this model has, unless a flag or a variable
    /// says otherwise.
    pub(crate) fn for_model(&self, model: &Model) -> Self {
        let overruled =
            matches!(self.origin("context.window_tokens"), Some(Origin::Flag(_) | Origin::Variable(_)));
        let of_model = self.entries.get(&model_key(&model.to_string(), "window_tokens"));
        let mut config = self.clone();
        if let (false, Some(window)) = (overruled, of_model) {
            config.entries.insert("context.window_tokens".to_owned(), window.clone());
            let fitted: Vec<String> = config
                .entries
                .iter()
                .filter(|(_, entry)| entry.origin == Origin::Fitted)
                .map(|(key, _)| key.clone())
                .collect();
            let built_in = builtin::layer();
            for key in fitted {
                if let Some(entry) = built_in.get(&key) {
                    config.entries.insert(key, entry.clone());
                }
            }
            builtin::fit_to_window(&mut config.entries);
        }
        config
    }

    /// A pod for this model: all of its spec but the system prompt, the tools and the directory.
    pub(crate) fn spec(&self, model: Model) -> Result<Spec, Problem> {
        let settings = self.model_settings(&model)?;
        let config = self.for_model(&model);
        let mut spec = Spec::new(model);
        spec.context = config.context();
        spec.limits = config.limits();
        spec.output_tokens_max = settings.output_tokens_max;
        spec.reasoning_tokens = settings.reasoning_tokens;
        spec.prices = settings.prices;
        Ok(spec)
    }

    /// What will not work as its author may think, for the configured model.
    pub(crate) fn warnings(&self) -> Result<Vec<String>, Problem> {
        let of_model = match self.model() {
            Ok(model) => {
                self.model_settings(&model)?;
                self.for_model(&model)
            }
            Err(_) => self.clone(),
        };
        Ok(warnings(&of_model.context()))
    }

    /// Prune and compaction.
    pub(crate) fn context(&self) -> ContextLimits {
        let built_in = ContextLimits::default();
        let whole = |leaf: &str, otherwise| self.whole(&format!("context.{leaf}")).unwrap_or(otherwise);
        let excluded = match self.value("context.prune_excluded_tools") {
            Some(Value::Names(names)) => names.clone(),
            _ => built_in.prune_excluded_tools,
        };
        ContextLimits {
            window_tokens: whole("window_tokens", built_in.window_tokens),
            prune_protected_tokens: whole("prune_protected_tokens", built_in.prune_protected_tokens),
            prune_min_savings: whole("prune_min_savings", built_in.prune_min_savings),
            prune_excluded_tools: excluded,
            compact_threshold: self.whole("context.compact_threshold"),
            compact_request_threshold: self.whole("context.compact_request_threshold"),
            retained_tokens: whole("retained_tokens", built_in.retained_tokens),
            auto_read_budget: whole("auto_read_budget", built_in.auto_read_budget),
        }
    }

    fn limits(&self) -> Limits {
        let built_in = Limits::default();
        let whole = |leaf: &str| self.whole(&format!("limits.{leaf}"));
        let narrow = |leaf: &str, otherwise: u32| {
            whole(leaf).and_then(|number| u32::try_from(number).ok()).unwrap_or(otherwise)
        };
        Limits {
            requests_per_turn: narrow("requests_per_turn", built_in.requests_per_turn),
            retries: narrow("retries", built_in.retries),
            tool_seconds: whole("tool_seconds").unwrap_or(built_in.tool_seconds),
            tool_output_bytes: whole("tool_output_bytes").unwrap_or(built_in.tool_output_bytes),
            children: narrow("children", built_in.children),
            depth: narrow("depth", built_in.depth),
            max_requests: whole("max_requests"),
            max_tokens: whole("max_tokens"),
            max_cost_usd: self.amount("limits.max_cost_usd"),
            max_seconds: whole("max_seconds"),
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.value(key)? {
            Value::Text(text) => Some(text),
            Value::Whole(_) | Value::Amount(_) | Value::Names(_) | Value::Off(_) => None,
        }
    }

    fn whole(&self, key: &str) -> Option<u64> {
        match self.value(key)? {
            Value::Whole(number) => Some(*number),
            Value::Text(_) | Value::Amount(_) | Value::Names(_) | Value::Off(_) => None,
        }
    }

    fn amount(&self, key: &str) -> Option<f64> {
        match self.value(key)? {
            Value::Amount(number) => Some(*number),
            Value::Text(_) | Value::Whole(_) | Value::Names(_) | Value::Off(_) => None,
        }
    }
}

/// What is not wrong but will not work as its author may think.
pub(crate) fn warnings(context: &ContextLimits) -> Vec<String> {
    let mut warnings = Vec::new();
    let window = context.window_tokens;
    let thresholds = [
        ("compact_threshold", context.compact_threshold),
        ("compact_request_threshold", context.compact_request_threshold),
    ];
    for (name, threshold) in thresholds {
        if let Some(threshold) = threshold.filter(|threshold| *threshold > window) {
            warnings.push(format!(
                "{name} ({threshold} tokens) lies above the window ({window} tokens): the window overflows \
                 before the pod compacts"
            ));
        }
    }
    if let (Some(between_turns), Some(between_requests)) =
        (context.compact_threshold, context.compact_request_threshold)
        && between_requests < between_turns
    {
        warnings.push(format!(
            "compact_request_threshold ({between_requests} tokens) lies below compact_threshold \
             ({between_turns} tokens): the safety net comes before the ordinary compaction"
        ));
    }
    let least = context.compact_threshold.or(context.compact_request_threshold).unwrap_or(window);
    if context.retained_tokens >= least.min(window) {
        warnings.push(format!(
            "retained_tokens ({} tokens) leaves nothing to compact below {} tokens",
            context.retained_tokens,
            least.min(window)
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Entry, Layer, file};

    fn config(text: &str, flags: Layer) -> Config {
        let layer = file::read(Path::new("podwork.toml"), text).expect("reads");
        Config::merge([layer, flags])
    }

    fn spec(text: &str) -> Spec {
        let config = config(text, Layer::new());
        config.spec(config.model().expect("a model")).expect("a spec")
    }

    const MODEL: &str = "model = \"openai:x\"\n";

    #[test]
    fn without_any_configuration_a_pod_has_the_limits_that_podwork_comes_with() {
        let spec = spec(MODEL);
        assert_eq!(spec.limits, Limits::default());
        assert_eq!(spec.context, ContextLimits::default());
        assert_eq!(spec.prices, None);
    }

    #[test]
    fn window_and_prices_come_from_the_model_s_own_section() {
        let text = format!(
            "{MODEL}[context]\nwindow_tokens = 100\n[models.\"openai:x\"]\nwindow_tokens = 32000\n\
             output_tokens_max = 7\nprices = {{ input = 2, cached_read = 0.5, output = 8 }}\n"
        );
        let spec = spec(&text);
        assert_eq!(spec.context.window_tokens, 32_000);
        assert_eq!(spec.context.compact_threshold, Some(20_000));
        assert_eq!(spec.output_tokens_max, Some(7));
        let prices = Prices { input: 2.0, cached_read: 0.5, cached_write: 2.0, output: 8.0 };
        assert_eq!(spec.prices, Some(prices));
    }

    #[test]
    fn the_window_flag_overrules_the_model_s_section() {
        let entry = Entry { value: Value::Whole(4096), origin: Origin::Flag("--window") };
        let flags = Layer::from([("context.window_tokens".to_owned(), entry)]);
        let config = config(&format!("{MODEL}[models.\"openai:x\"]\nwindow_tokens = 32000\n"), flags);
        let spec = config.spec(config.model().expect("a model")).expect("a spec");
        assert_eq!(spec.context.window_tokens, 4096);
    }

    #[test]
    fn a_threshold_that_is_off_is_none() {
        let spec = spec(&format!("{MODEL}[context]\ncompact_threshold = \"off\"\n"));
        assert_eq!(spec.context.compact_threshold, None);
        assert_eq!(spec.context.compact_request_threshold, Some(110_000));
    }

    #[test]
    fn half_of_the_prices_is_refused() {
        let config = config(&format!("{MODEL}[models.\"openai:x\"]\nprices.input = 2\n"), Layer::new());
        let problem = config.spec(config.model().expect("a model")).expect_err("refused");
        assert!(problem.message.contains("`input` and `output` are needed"), "{}", problem.message);
    }

    #[test]
    fn no_model_is_a_problem_that_says_what_to_do() {
        let problem = Config::merge([]).model().expect_err("none");
        assert_eq!(problem.exit.code(), 2);
        assert!(problem.message.contains("--model"), "{}", problem.message);
    }

    #[test]
    fn thresholds_that_cannot_work_are_warned_of() {
        let context = |between_turns, between_requests, window_tokens| ContextLimits {
            compact_threshold: Some(between_turns),
            compact_request_threshold: Some(between_requests),
            window_tokens,
            ..ContextLimits::default()
        };
        assert_eq!(warnings(&ContextLimits::default()), Vec::<String>::new());
        let upside_down = warnings(&context(90_000, 80_000, 128_000));
        assert!(upside_down[0].starts_with("compact_request_threshold (80000"), "{upside_down:?}");
        assert_eq!(warnings(&context(80_000, 110_000, 100_000)).len(), 1);
        assert_eq!(warnings(&context(7_000, 110_000, 128_000)).len(), 1);
    }
}
