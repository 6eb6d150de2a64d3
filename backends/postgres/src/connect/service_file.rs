//! Service files of libpq: named sets of connection parameters.

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind};

use super::environment::ConnectionEnvironment;
use crate::address::{ConnectionParameter, ParameterValues, list_parameter_names, read_parameter_name};

/// Returns the parameters of `service` from the first service file that has it.
pub(super) fn find_service(
    service: &str,
    named_file: Option<&str>,
    environment: &ConnectionEnvironment,
) -> loci_core::Result<ParameterValues> {
    let mut files: Vec<PathBuf> = match named_file {
        // A file that is named must be there; the usual places need not.
        Some(file) => {
            let path = PathBuf::from(file);
            if !path.exists() {
                return Err(Error::invalid(format!(
                    "the service file {} does not exist; nothing was changed",
                    path.display()
                ))
                .with_hint("correct `servicefile=` or PGSERVICEFILE"));
            }
            vec![path]
        }
        None => environment.home_path(".pg_service.conf").into_iter().collect(),
    };
    files.extend(environment.system_service_files());
    for file in files.iter().filter(|file| file.exists()) {
        if let Some(values) = read_service(file, service)? {
            return Ok(values);
        }
    }
    let looked: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Err(Error::invalid(format!(
        "the service {service:?} is not defined in {}; nothing was changed",
        looked.join(" or ")
    ))
    .with_hint(format!(
        "add a section `[{}]` to one of these files, or correct `service=` or PGSERVICE",
        service.escape_debug()
    )))
}

/// Reads the section `[service]` of one file, if it has one.
fn read_service(path: &Path, service: &str) -> loci_core::Result<Option<ParameterValues>> {
    let text = fs::read_to_string(path).map_err(|error| {
        Error::new(
            ErrorKind::Invalid,
            format!(
                "the service file {} cannot be read: {error}; nothing was changed",
                path.display()
            ),
        )
        .with_hint("make the file readable UTF-8 text")
    })?;
    let mut found: Option<ParameterValues> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            let is_wanted = section.strip_suffix(']') == Some(service);
            found = is_wanted.then(ParameterValues::default);
        } else if let Some(values) = &mut found {
            read_line(line, values).map_err(|reason| {
                let at = format!("line {} of the service file {}", number + 1, path.display());
                Error::invalid(format!("{at} {reason}; nothing was changed")).with_hint(format!(
                    "write `parameter=value` without spaces around `=`; known parameters: {}",
                    list_parameter_names()
                ))
            })?;
        }
    }
    Ok(found)
}

/// Reads `parameter=value`. The error does not repeat the value, which may be a password.
fn read_line(line: &str, values: &mut ParameterValues) -> Result<(), String> {
    let (name, value) = line.split_once('=').ok_or("has no `=`")?;
    match read_parameter_name(name) {
        Some(ConnectionParameter::Service | ConnectionParameter::ServiceFile) => {
            Err("names another service, which is not supported".to_owned())
        }
        Some(parameter) => {
            values.set_first(parameter, value.to_owned());
            Ok(())
        }
        None => Err(format!("has an unknown parameter {name:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(contents: &str, service: &str) -> loci_core::Result<Option<ParameterValues>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pg_service.conf");
        fs::write(&path, contents).unwrap();
        read_service(&path, service)
    }

    #[test]
    fn a_section_gives_its_parameters_and_the_first_value_counts() {
        let contents = "# all\n[a]\nhost=wrong\n\n[b]\n  host=right \nhost=later\n#x\nport=5\n[a]\nuser=no\n";
        let values = check(contents, "b").unwrap().unwrap();
        assert_eq!(values.get(ConnectionParameter::Host), Some("right"));
        assert_eq!(values.get(ConnectionParameter::Port), Some("5"));
        assert_eq!(values.get(ConnectionParameter::User), None);
        assert!(check(contents, "c").unwrap().is_none());
    }

    #[test]
    fn a_wrong_line_is_named_by_its_number_and_not_by_its_value() {
        for (line, reason) in [
            ("passwort=hush", "unknown parameter \"passwort\""),
            ("host = hush", "unknown parameter \"host \""),
            ("hush", "has no `=`"),
            ("service=hush", "names another service"),
        ] {
            let error = check(&format!("[a]\n{line}\n"), "a").unwrap_err();
            assert!(error.message().contains("line 2 of the service file"), "{error}");
            assert!(error.message().contains(reason), "{error}");
            assert!(!format!("{error:?}").contains("hush"), "{error:?}");
        }
    }

    #[test]
    fn a_missing_service_names_the_files_that_were_read() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".pg_service.conf"), "[a]\n").unwrap();
        let system = tempfile::tempdir().unwrap();
        fs::write(system.path().join("pg_service.conf"), "[b]\nhost=h\n").unwrap();
        let environment = ConnectionEnvironment::default()
            .with_home(home.path())
            .with_variable("PGSYSCONFDIR", system.path().to_str().unwrap());
        assert!(find_service("b", None, &environment).is_ok());
        let error = find_service("c", None, &environment).unwrap_err();
        assert!(error.message().contains(home.path().to_str().unwrap()), "{error}");
        assert!(
            error.message().contains(system.path().to_str().unwrap()),
            "{error}"
        );
        let error = find_service("b", Some("/nowhere/x"), &environment).unwrap_err();
        assert!(error.message().contains("/nowhere/x does not exist"), "{error}");
    }
}
