//! Where the store lies.

use std::path::PathBuf;

use crate::config::{Environment, Origin};
use crate::exit::Problem;

/// The store's file: the flag, else `PODWORK_STORE`, else the person's data directory. Absolute,
/// so that the socket beside it has one name however the path was typed.
pub(crate) fn store_path(
    flag: Option<PathBuf>,
    environment: &Environment,
) -> Result<(PathBuf, Origin), Problem> {
    let (path, origin) = match (flag, &environment.store, &environment.data_directory) {
        (Some(path), _, _) => (path, Origin::Flag("--store")),
        (None, Some(path), _) => (path.clone(), Origin::Variable("PODWORK_STORE".to_owned())),
        (None, None, Some(data)) => (data.join("podwork").join("store.redb"), Origin::BuiltIn),
        (None, None, None) => {
            return Err(Problem::usage("there is no home directory to keep the store in: pass --store PATH"));
        }
    };
    if path.as_os_str().is_empty() {
        return Err(Problem::usage("--store is empty; expected is the path of a file"));
    }
    Ok((environment.working_directory.join(path), origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_comes_before_the_variable_and_the_variable_before_the_data_directory() {
        let mut environment =
            Environment { working_directory: "/somewhere".into(), ..Environment::default() };
        assert_eq!(store_path(None, &environment).expect_err("nowhere").exit.code(), 2);
        environment.data_directory = Some("/data".into());
        let path = |flag: Option<&str>, environment: &Environment| {
            store_path(flag.map(PathBuf::from), environment).expect("a path").0
        };
        assert_eq!(path(None, &environment), PathBuf::from("/data/podwork/store.redb"));
        environment.store = Some("/variable".into());
        assert_eq!(path(None, &environment), PathBuf::from("/variable"));
        assert_eq!(path(Some("flag"), &environment), PathBuf::from("/somewhere/flag"));
        assert!(store_path(Some(PathBuf::new()), &environment).is_err());
    }
}
