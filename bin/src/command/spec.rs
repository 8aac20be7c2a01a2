//! From flags and configuration to what a pod is.

use std::path::Path;

use actors::tool::Toolbox;
use events::{Model, Spec, ToolSpec};

use crate::args::{Global, WorkFlags};
use crate::config::settings::warnings;
use crate::config::{Config, Environment};
use crate::exit::Problem;
use crate::output::say;
use crate::spec_patch::{ModelPatch, SpecPatch};

/// The system prompt of a pod that is given none.
const SYSTEM_PROMPT: &str = include_str!("../system_prompt.md");

/// Bytes of a system prompt: it is sent with every request.
const SYSTEM_BYTES_MAX: u64 = 256 * 1024;

/// The provider whose models are files.
const SCRIPT: &str = "script";

/// A new pod, as flags and configuration say it.
pub(super) fn of_run(global: &Global, environment: &Environment, flags: &WorkFlags) -> Result<Spec, Problem> {
    let config = Config::load(environment, global.config.as_deref(), Some(flags))?;
    let mut spec = config.spec(config.model()?)?;
    spec.model = absolute(spec.model, environment);
    spec.system = match &flags.system {
        Some(file) => system(file)?,
        None => SYSTEM_PROMPT.trim().to_owned(),
    };
    spec.tools = tools(flags)?.unwrap_or_else(|| Toolbox::standard().specs());
    spec.directory = directory(flags.dir.as_deref().unwrap_or(&environment.working_directory))?;
    warn(global, &spec);
    Ok(spec)
}

/// What flags change about a pod that is there: what is not given stays as it was.
pub(super) fn of_resume(
    global: &Global,
    environment: &Environment,
    flags: &WorkFlags,
) -> Result<SpecPatch, Problem> {
    let config = Config::load(environment, global.config.as_deref(), Some(flags))?;
    let mut patch = SpecPatch {
        system: flags.system.as_deref().map(system).transpose()?,
        directory: flags.dir.as_deref().map(directory).transpose()?,
        tools: tools(flags)?,
        max_requests: flags.max_requests,
        max_tokens: flags.max_tokens,
        max_cost_usd: flags.max_cost,
        max_seconds: flags.max_seconds,
        ..SpecPatch::default()
    };
    if flags.model.is_some() {
        let spec = config.spec(config.model()?)?;
        patch.context = Some(spec.context);
        patch.model = Some(ModelPatch {
            model: absolute(spec.model, environment),
            prices: spec.prices,
            output_tokens_max: spec.output_tokens_max,
            reasoning_tokens: spec.reasoning_tokens,
        });
    } else if flags.window.is_some() {
        patch.context = Some(config.context());
    }
    Ok(patch)
}

fn warn(global: &Global, spec: &Spec) {
    for warning in warnings(&spec.context).into_iter().filter(|_| !global.quiet) {
        say(&format!("warning: {warning}"));
    }
}

/// A script is found again from whatever directory the pod is resumed in.
fn absolute(model: Model, environment: &Environment) -> Model {
    if model.provider != SCRIPT {
        return model;
    }
    let path = environment.working_directory.join(&model.name);
    match path.to_str().filter(|_| path.exists()) {
        Some(path) => Model { provider: model.provider, name: path.to_owned() },
        None => model,
    }
}

fn system(file: &Path) -> Result<String, Problem> {
    let unreadable = |error: std::io::Error| Problem::usage(format!("--system {}: {error}", file.display()));
    let size = std::fs::metadata(file).map_err(unreadable)?.len();
    if size > SYSTEM_BYTES_MAX {
        let text = format!("--system {}: {size} bytes; at most {SYSTEM_BYTES_MAX} are taken", file.display());
        return Err(Problem::usage(text));
    }
    std::fs::read_to_string(file).map(|text| text.trim_end().to_owned()).map_err(unreadable)
}

fn tools(flags: &WorkFlags) -> Result<Option<Vec<ToolSpec>>, Problem> {
    let Some(names) = &flags.tools else { return Ok(None) };
    let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let toolbox = Toolbox::standard().only(names);
    Ok(Some(toolbox.map_err(|error| Problem::usage(format!("--tools: {error}")))?.specs()))
}

fn directory(directory: &Path) -> Result<String, Problem> {
    let unusable =
        |why: &dyn std::fmt::Display| Problem::usage(format!("--dir {}: {why}", directory.display()));
    let real = directory.canonicalize().map_err(|error| unusable(&error))?;
    if !real.is_dir() {
        return Err(unusable(&"it is not a directory"));
    }
    real.to_str().map(str::to_owned).ok_or_else(|| unusable(&"its name is not valid Unicode"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(directory: &Path) -> Environment {
        Environment { working_directory: directory.to_owned(), ..Environment::default() }
    }

    fn flags() -> WorkFlags {
        WorkFlags { model: Some("openai:x".to_owned()), ..WorkFlags::default() }
    }

    #[test]
    fn a_pod_has_all_tools_the_current_directory_and_a_system_prompt_of_its_own() {
        let home = tempfile::tempdir().expect("a directory");
        let spec = of_run(&Global::default(), &environment(home.path()), &flags()).expect("a spec");
        let names: Vec<&str> = spec.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["read_file", "write_file", "edit_file", "list_files", "search", "bash"]);
        assert_eq!(Path::new(&spec.directory), home.path().canonicalize().expect("real"));
        assert!(!spec.system.is_empty());
    }

    #[test]
    fn a_list_of_tools_restricts_and_an_unknown_one_is_refused_with_the_nearest() {
        let home = tempfile::tempdir().expect("a directory");
        let with = |tools: &[&str]| {
            let tools = Some(tools.iter().map(|name| (*name).to_owned()).collect());
            of_run(&Global::default(), &environment(home.path()), &WorkFlags { tools, ..flags() })
        };
        assert_eq!(with(&["bash", " read_file"]).expect("a spec").tools.len(), 2);
        assert_eq!(with(&[""]).expect("a spec").tools.len(), 0);
        let problem = with(&["read_fil"]).expect_err("refused");
        assert_eq!(problem.exit.code(), 2);
        assert!(problem.message.contains("read_file"), "{}", problem.message);
    }

    #[test]
    fn a_system_prompt_and_a_directory_must_be_there() {
        let home = tempfile::tempdir().expect("a directory");
        let environment = environment(home.path());
        let missing = home.path().join("missing");
        let bad_system = WorkFlags { system: Some(missing.clone()), ..flags() };
        let bad_directory = WorkFlags { dir: Some(missing), ..flags() };
        for flags in [bad_system, bad_directory] {
            let problem = of_run(&Global::default(), &environment, &flags).expect_err("refused");
            assert_eq!(problem.exit.code(), 2, "{}", problem.message);
        }
    }

    #[test]
    fn resuming_changes_what_flags_say_and_nothing_else() {
        let home = tempfile::tempdir().expect("a directory");
        let environment = environment(home.path());
        let patch = |flags| of_resume(&Global::default(), &environment, &flags).expect("a patch");
        assert_eq!(patch(WorkFlags::default()), SpecPatch::default());
        let window = patch(WorkFlags { window: Some(4096), ..WorkFlags::default() });
        assert_eq!(window.context.expect("a window").window_tokens, 4096);
        let model = patch(flags()).model.expect("a model");
        assert_eq!(model.model.to_string(), "openai:x");
    }
}
