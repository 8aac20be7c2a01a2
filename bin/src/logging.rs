//! What the program says of itself, for whoever looks for a fault: always on stderr.

use tracing_subscriber::EnvFilter;

use crate::args::Global;

/// Starts logging: `PODWORK_LOG` decides, else `-v` and `-q`.
pub(crate) fn start(global: &Global) {
    let filter = match std::env::var("PODWORK_LOG") {
        Ok(directives) if !directives.is_empty() => EnvFilter::new(directives),
        _ => EnvFilter::new(level(global)),
    };
    // A second start can only be a test's; the first one stays.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(crate::output::progress_is_shown())
        .with_target(global.verbose > 1)
        .try_init();
}

fn level(global: &Global) -> &'static str {
    match (global.quiet, global.verbose) {
        (true, _) => "off",
        (false, 0) => "error",
        (false, 1) => "podwork_actors=info,podwork_store=info,podwork=info,warn",
        (false, 2) => "podwork_actors=debug,podwork_store=debug,podwork=debug,info",
        (false, _) => "trace",
    }
}
