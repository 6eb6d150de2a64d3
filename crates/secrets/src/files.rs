//! Files that by their name hold private keys or credentials.

/// Names of files and the reason to leave them out.
const NAMES: &[(&str, &str)] = &[
    (".netrc", "a file of user names and passwords"),
    ("_netrc", "a file of user names and passwords"),
    (".authinfo", "a file of user names and passwords"),
    (".pgpass", "a file of database passwords"),
    ("pgpass.conf", "a file of database passwords"),
    (".my.cnf", "a file of database passwords"),
    (".mylogin.cnf", "a file of database passwords"),
    (".git-credentials", "a file of Git passwords"),
    (".htpasswd", "a file of password hashes"),
    (".pypirc", "a file of package registry tokens"),
    (".npmrc", "a file of package registry tokens"),
    (".dockercfg", "a file of container registry passwords"),
    (".s3cfg", "a file of cloud keys"),
    (".boto", "a file of cloud keys"),
    (".vault-token", "a file that holds a token"),
    (".terraformrc", "a file of Terraform tokens"),
    (
        "terraform.tfstate",
        "a Terraform state, which holds passwords in the clear",
    ),
    (
        "terraform.tfstate.backup",
        "a Terraform state, which holds passwords in the clear",
    ),
    ("credentials.json", "a file of credentials"),
    (
        "application_default_credentials.json",
        "a file of cloud credentials",
    ),
    ("key.properties", "a file of signing passwords"),
    (".envrc", "a file of environment variables"),
];

/// Names of files together with the folder they lie in.
const FOLDER_NAMES: &[(&str, &str, &str)] = &[
    (".aws", "credentials", "a file of cloud keys"),
    (".docker", "config.json", "a file of container registry passwords"),
    (".kube", "config", "a file of cluster credentials"),
    (".cargo", "credentials", "a file of package registry tokens"),
    (".cargo", "credentials.toml", "a file of package registry tokens"),
    (".gem", "credentials", "a file of package registry tokens"),
    (".m2", "settings.xml", "a file of package registry passwords"),
    ("gh", "hosts.yml", "a file of GitHub tokens"),
    ("rclone", "rclone.conf", "a file of cloud passwords"),
    (
        ".terraform.d",
        "credentials.tfrc.json",
        "a file of Terraform tokens",
    ),
];

/// Endings of files of keys, certificates with keys and stores of passwords.
const ENDINGS: &[(&str, &str)] = &[
    ("pem", "a file of keys or certificates"),
    ("key", "a private key"),
    ("p12", "a store of keys"),
    ("pfx", "a store of keys"),
    ("p8", "a private key"),
    ("jks", "a store of keys"),
    ("keystore", "a store of keys"),
    ("ppk", "a private key"),
    ("kdb", "a store of passwords"),
    ("kdbx", "a store of passwords"),
    ("psafe3", "a store of passwords"),
    ("agilekeychain", "a store of passwords"),
    ("opvault", "a store of passwords"),
    ("keychain", "a store of passwords"),
    ("tfvars", "a file of Terraform variables"),
    ("ovpn", "a VPN configuration with its key"),
];

/// Endings of `.env` files that hold no secrets but show which ones are needed.
const EXAMPLE_ENDINGS: [&str; 9] = [
    "example",
    "sample",
    "template",
    "tmpl",
    "dist",
    "defaults",
    "schema",
    "example.local",
    "local.example",
];

/// Returns a short reason if files of this name hold private keys or credentials.
///
/// `path` is a file name, or a path with `/` between its parts; only its last two parts are looked at. The reason is a
/// noun phrase in plain English, such as "a private key".
pub fn credential_file(path: &str) -> Option<&'static str> {
    let mut parts = path.rsplit('/');
    let name = parts.next()?.to_ascii_lowercase();
    let folder = parts.next().unwrap_or_default().to_ascii_lowercase();
    by_name(&name)
        .or_else(|| by_folder(&folder, &name))
        .or_else(|| by_form(&name))
        .or_else(|| by_ending(&name))
}

fn by_name(name: &str) -> Option<&'static str> {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, reason)| *reason)
}

fn by_folder(folder: &str, name: &str) -> Option<&'static str> {
    let known = FOLDER_NAMES
        .iter()
        .find(|(at, known, _)| *at == folder && *known == name);
    known.map(|(_, _, reason)| *reason)
}

fn by_form(name: &str) -> Option<&'static str> {
    const SSH_KEYS: [&str; 6] = [
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "id_ecdsa_sk",
        "id_ed25519_sk",
    ];
    if SSH_KEYS.contains(&name) || name.starts_with("ssh_host_") && name.ends_with("_key") {
        return Some("an SSH private key");
    }
    let json = name.strip_suffix(".json");
    if json.is_some_and(|stem| stem.starts_with("client_secret")) {
        return Some("a file of OAuth client secrets");
    }
    if json.is_some_and(|stem| {
        ["service-account", "service_account", "serviceaccount"]
            .iter()
            .any(|start| stem.starts_with(start))
    }) {
        return Some("the key of a service account");
    }
    let environment = name == ".env" || name.strip_prefix(".env.").is_some_and(|rest| !is_example(rest));
    environment.then_some("a file of environment variables")
}

fn is_example(ending: &str) -> bool {
    EXAMPLE_ENDINGS.contains(&ending)
}

fn by_ending(name: &str) -> Option<&'static str> {
    let (stem, ending) = name.rsplit_once('.')?;
    let ending = if name.ends_with(".tfvars.json") {
        "tfvars"
    } else {
        ending
    };
    let known = ENDINGS.iter().find(|(known, _)| *known == ending)?;
    let public =
        stem.ends_with("public") || stem.ends_with(".pub") || stem.contains("example") || stem.is_empty();
    (!public).then_some(known.1)
}
