//! `podwork config`.

use crate::args::{Global, ListArgs};
use crate::config::{Config, Environment, show};
use crate::exit::{Exit, Problem};
use crate::output::table::table;
use crate::output::{Out, say};
use crate::store_path::store_path;

/// Shows the merged configuration.
pub(super) fn show(global: &Global, arguments: &ListArgs) -> Result<Exit, Problem> {
    let environment = Environment::read()?;
    let config = Config::load(&environment, global.config.as_deref(), None)?;
    let (path, origin) = store_path(global.store.clone(), &environment)?;
    let lines = show::lines(&config, &environment, (path.display().to_string(), origin));
    let mut out = Out::stdout();
    if arguments.json {
        for line in &lines {
            out.json(line);
        }
    } else {
        let columns = out.columns();
        out.write(&table(&show::rows(&lines), &[], columns));
    }
    out.flush();
    if !global.quiet {
        for warning in config.warnings()? {
            say(&format!("warning: {warning}"));
        }
    }
    Ok(Exit::Done)
}
