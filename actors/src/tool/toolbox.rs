//! The tools of a runtime: registered at start, frozen, found by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use events::ToolSpec;

use super::nearest::nearest;
use super::{Tool, standard};

/// Tools by name. A copy is cheap and shares them.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<(ToolSpec, Arc<dyn Tool>)>,
    places: BTreeMap<String, usize>,
}

/// Why tools do not make a toolbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolboxError {
    /// Two tools have one name, and a model could only call one of them.
    #[error("there are two tools named `{name}`")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Not every provider takes this name.
    #[error("`{name}` is no name for a tool: use 1 to 64 of a-z, A-Z, 0-9, _ and -")]
    Name {
        /// The name.
        name: String,
    },
    /// Arguments are an object, and the schema must say so.
    #[error("the schema of tool `{name}` must be an object with \"type\": \"object\"")]
    Schema {
        /// The tool.
        name: String,
    },
    /// There is no tool of this name.
    #[error("there is no tool named `{name}`{}", hint(.near.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The name that was probably meant.
        near: Option<String>,
    },
}

fn hint(near: Option<&str>) -> String {
    near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

impl Toolbox {
    /// The longest name that every provider takes.
    const NAME_BYTES_MAX: usize = 64;

    /// A toolbox with these tools, in this order.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, ToolboxError> {
        tools.into_iter().try_fold(Self::default(), Self::with)
    }

    /// The tools that podwork comes with.
    pub fn standard() -> Self {
        Self::new(standard()).expect("the standard tools have different names")
    }

    /// The same toolbox and one more tool. What the tool says of itself is read once, here.
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Result<Self, ToolboxError> {
        let spec = tool.spec();
        let name = spec.name.clone();
        let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > Self::NAME_BYTES_MAX || !name.bytes().all(good) {
            return Err(ToolboxError::Name { name });
        }
        if spec.schema.get("type").and_then(serde_json::Value::as_str) != Some("object") {
            return Err(ToolboxError::Schema { name });
        }
        if self.places.contains_key(&name) {
            return Err(ToolboxError::Duplicate { name });
        }
        self.places.insert(name, self.tools.len());
        self.tools.push((spec, tool));
        Ok(self)
    }

    /// Only the tools of these names, in the order in which they are named.
    pub fn only<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Self, ToolboxError> {
        let find = |name: &str| self.find(name).cloned().ok_or_else(|| self.unknown(name));
        names.into_iter().try_fold(Self::default(), |toolbox, name| toolbox.with(find(name)?))
    }

    /// What a model is told of the tools, in order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|(spec, _)| spec.clone()).collect()
    }

    /// The tool of this name.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.places.get(name).map(|place| &self.tools[*place].1)
    }

    /// What to say to whoever asked for a tool that is not there.
    pub fn unknown(&self, name: &str) -> ToolboxError {
        let names: Vec<&str> = self.tools.iter().map(|(spec, _)| spec.name.as_str()).collect();
        ToolboxError::Unknown { name: name.to_owned(), near: nearest(name, &names).map(str::to_owned) }
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|(spec, _)| &spec.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use events::item::Call;
    use events::spec::Effect;
    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::permit::Permitted;
    use crate::tool::{Scene, ToolOutput};

    /// A tool that only has a name and a schema.
    struct Named(&'static str, serde_json::Value);

    impl Tool for Named {
        fn spec(&self) -> ToolSpec {
            let (name, schema) = (self.0.to_owned(), self.1.clone());
            ToolSpec { name, description: String::new(), schema, effect: Effect::Other }
        }

        fn run(&self, _: Permitted<Call>, _: Scene) -> BoxFuture<'static, ToolOutput> {
            unreachable!("it is never called")
        }
    }

    fn named(name: &'static str) -> Arc<dyn Tool> {
        Arc::new(Named(name, json!({"type": "object"})))
    }

    fn names(toolbox: &Toolbox) -> Vec<String> {
        toolbox.specs().into_iter().map(|spec| spec.name).collect()
    }

    #[test]
    fn the_standard_tools_stand_in_the_order_of_the_contract_with_their_effects() {
        let specs: Vec<_> =
            Toolbox::standard().specs().into_iter().map(|spec| (spec.name, spec.effect)).collect();
        let wanted = [
            ("read_file", Effect::ReadOnly),
            ("write_file", Effect::Idempotent),
            ("edit_file", Effect::Other),
            ("list_files", Effect::ReadOnly),
            ("search", Effect::ReadOnly),
            ("bash", Effect::Other),
        ];
        assert_eq!(specs, wanted.map(|(name, effect)| (name.to_owned(), effect)));
    }

    #[test]
    fn the_standard_tools_take_the_arguments_of_the_contract() {
        let wanted = [
            ("read_file", vec!["limit?", "offset?", "path"]),
            ("write_file", vec!["content", "path"]),
            ("edit_file", vec!["all?", "new_text", "old_text", "path"]),
            ("list_files", vec!["path?", "pattern?"]),
            ("search", vec!["glob?", "path?", "pattern"]),
            ("bash", vec!["command", "timeout_seconds?"]),
        ];
        for (spec, (name, arguments)) in Toolbox::standard().specs().iter().zip(wanted) {
            let required = spec.schema["required"].as_array().expect("a list").clone();
            let properties = spec.schema["properties"].as_object().expect("an object");
            let mut told: Vec<String> = properties
                .keys()
                .map(|name| if required.contains(&json!(name)) { name.clone() } else { format!("{name}?") })
                .collect();
            told.sort();
            assert_eq!(
                (spec.name.as_str(), told),
                (name, arguments.into_iter().map(str::to_owned).collect())
            );
            assert!(properties.values().all(|property| property["description"].is_string()));
        }
    }

    #[test]
    fn an_own_tool_joins_the_others_and_is_found_by_its_name() {
        let toolbox = Toolbox::standard().with(named("deploy")).expect("a new name");
        assert_eq!(toolbox.find("deploy").expect("registered").spec().name, "deploy");
        assert!(toolbox.find("missing").is_none());
        assert_eq!(names(&toolbox).last().map(String::as_str), Some("deploy"));
    }

    #[test]
    fn a_second_tool_of_the_same_name_is_an_error() {
        let error = Toolbox::standard().with(named("bash")).expect_err("taken");
        assert_eq!(error, ToolboxError::Duplicate { name: "bash".to_owned() });
    }

    #[test]
    fn names_and_schemas_that_a_provider_would_refuse_are_errors() {
        for name in ["", "a tool", "naïve", "a.b", &"x".repeat(65)] {
            let name: &'static str = name.to_owned().leak();
            assert!(matches!(Toolbox::new([named(name)]), Err(ToolboxError::Name { .. })), "{name}");
        }
        let tool: Arc<dyn Tool> = Arc::new(Named("odd", json!({"type": "string"})));
        assert!(matches!(Toolbox::new([tool]), Err(ToolboxError::Schema { .. })));
    }

    #[test]
    fn a_choice_of_tools_keeps_its_order_and_names_what_is_missing() {
        let chosen = Toolbox::standard().only(["search", "bash"]).expect("both are there");
        assert_eq!(names(&chosen), ["search", "bash"]);
        let error = Toolbox::standard().only(["bash", "read_files"]).expect_err("not there");
        assert_eq!(error.to_string(), "there is no tool named `read_files`: did you mean `read_file`?");
    }
}
