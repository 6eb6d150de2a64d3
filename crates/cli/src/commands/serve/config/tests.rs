//! Config files: read in full, or refused with every mistake and its line.

use super::*;

fn parse(text: &str) -> std::result::Result<ServeConfig, String> {
    ServeConfig::parse(text, Path::new("/etc/loci"))
}

/// A config with every key.
const EVERYTHING: &str = r#"
listen = "0.0.0.0:7443"
public_url = "https://loci.example.org"
behind_proxy = ["10.0.0.0/8", "::1"]
data = "/var/lib/loci"
accounts = "accounts.json"
tls = { certificate = "tls/cert.pem", key = "/run/key.pem" }

[limits]
connections = 10
strangers = 11
body_bytes = 12
head_seconds = 13
arrival_seconds = 14
requests_per_second = 1.5
burst = 15
patience_seconds = 16

[palaces]
work = "postgres://db/team?palace=work"
home = "./home"
attic = "attic"

[[issuers]]
issuer = "https://id.example"
audiences = ["https://loci.example.org"]
jwks_file = "keys.json"
grants = [{ claim = "groups", value = "team", grants = ["work:read,write"] }]
"#;

#[test]
fn every_key_is_read() {
    let config = parse(EVERYTHING);
    let config = config.unwrap();
    assert_eq!(config.listen.unwrap().to_string(), "0.0.0.0:7443");
    assert_eq!(config.public_url.as_deref(), Some("https://loci.example.org"));
    assert_eq!(config.proxies.len(), 2);
    assert_eq!(config.data.as_deref(), Some(Path::new("/var/lib/loci")));
    assert_eq!(
        config.accounts.as_deref(),
        Some(Path::new("/etc/loci/accounts.json"))
    );
    let tls = config.tls.unwrap();
    assert_eq!(tls.certificate, Path::new("/etc/loci/tls/cert.pem"));
    assert_eq!(tls.key, Path::new("/run/key.pem"));
    let limits = TeamLimits {
        connections: 10,
        strangers: 11,
        body: 12,
        head: Duration::from_secs(13),
        arrival: Duration::from_secs(14),
        requests: 1.5,
        burst: 15.0,
        patience: Duration::from_secs(16),
    };
    assert_eq!(config.limits, limits);
    let palaces = config.palaces.iter();
    let palaces: Vec<_> = palaces
        .map(|palace| {
            (
                palace.name.as_deref().unwrap(),
                palace.reference.as_deref().unwrap(),
            )
        })
        .map(|(name, reference)| (name, reference.to_str().unwrap()))
        .collect();
    let expect = [
        ("work", "postgres://db/team?palace=work"),
        ("home", "/etc/loci/./home"),
        ("attic", "attic"),
    ];
    assert_eq!(palaces, expect);
    let issuer = &config.issuers[0];
    assert_eq!(
        issuer.jwks_file.as_deref(),
        Some(Path::new("/etc/loci/keys.json"))
    );
    assert_eq!(issuer.user_claim, "sub");
    assert_eq!(issuer.grants[0].grants.grants()[0].to_string(), "work:read,write");
    assert_eq!(parse("").unwrap(), ServeConfig::default());
}

#[test]
fn every_mistake_is_told_at_once_with_its_line() {
    let mistakes = parse(
        r#"lisen = "7070"
listen = "host:7070"
public_url = 7
behind_proxy = [
    "10.0.0.0/8",
    "10.0.0.0/99",
]
[tls]
certificate = "cert.pem"
[limits]
burst = 0
conections = 3
[palaces]
Work = "work"
home = 3
[[issuers]]
issuer = "https://id.example"
audience = "x"
[[issuers.grants]]
claim = "groups"
value = "team"
grant = ["work:fly"]
[[issuers]]
issuer = "https://id.example"
audiences = ["x"]
jwks_file = "keys.json"
algorithms = ["HS256"]
"#,
    );
    let mistakes = mistakes.unwrap_err();
    for expect in [
        "line 1: unknown key lisen (known: listen,",
        "line 2: \"host:7070\" is not an address to listen on",
        "line 3: public_url is not a text",
        "line 6: \"10.0.0.0/99\" is not a range of addresses",
        "line 8: tls needs certificate and key",
        "line 11: limits.burst is not a number above 0",
        "line 12: unknown key limits.conections",
        "line 14: \"Work\" cannot be the name",
        "line 15: palaces.home is not a text",
        "line 16: issuers: missing field `audiences`",
        "line 18: unknown key issuers.audience",
        "line 19: issuers.grants: missing field `grants`",
        "line 22: unknown key issuers.grants.grant",
        "line 23: issuers: unknown variant `HS256`",
    ] {
        assert!(mistakes.contains(expect), "{expect:?} is not in\n{mistakes}");
    }
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_the_line() {
    let mistakes = parse("listen = \"7070\"\n[palaces\n").unwrap_err();
    assert!(mistakes.starts_with("line 2: "), "{mistakes}");
    for text in [
        "=",
        "\u{0}",
        "a = {",
        "[[a]]\n[a]",
        "listen = 1979-05-27",
        "issuers = [1]",
        "palaces = 1",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}
