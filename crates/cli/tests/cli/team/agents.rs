//! The official clients of Python and TypeScript, with a token of ours and with one of another issuer.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use loci_testkit::{mcp_clients_folder, mcp_python};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value as Json, json};

use super::scene::{TeamHome, TeamServer};

const ISSUER: &str = "https://id.example.org";
const AUDIENCE: &str = "https://loci.example.org";

/// An issuer of tokens that is not this server.
struct TestIssuer {
    key: EcdsaKeyPair,
    random: SystemRandom,
}

impl TestIssuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        Self { key, random }
    }

    /// The keys as the issuer publishes them.
    fn keys(&self) -> Json {
        let point = self.key.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        json!({"keys": [{
            "kty": "EC", "crv": "P-256", "kid": "one", "use": "sig", "alg": "ES256",
            "x": BASE64.encode(x), "y": BASE64.encode(y),
        }]})
    }

    /// A token with these claims.
    fn sign(&self, header: &Json, claims: &Json) -> String {
        let signed = format!(
            "{}.{}",
            BASE64.encode(header.to_string()),
            BASE64.encode(claims.to_string())
        );
        let signature = self.key.sign(&self.random, signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64.encode(signature))
    }

    /// A token of a user in a group, valid for so many seconds from now.
    fn token(&self, group: &str, seconds: i64) -> String {
        self.sign(
            &json!({"alg": "ES256", "kid": "one", "typ": "JWT"}),
            &claims(group, seconds),
        )
    }
}

fn claims(group: &str, seconds: i64) -> Json {
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let now = i64::try_from(now).unwrap();
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "carol", "groups": [group],
        "iat": now - 60, "exp": now + seconds,
    })
}

/// A server that trusts the issuer: its group `gardeners` reads and writes one wing.
fn start(issuer: &TestIssuer) -> (TeamHome, TeamServer) {
    let home = crate::new_home();
    home.write("keys.json", issuer.keys().to_string());
    let team = TeamHome::in_home(home, &[("work", "./work")], "");
    let path = team.home.path("serve.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let issuers = format!(
        "[[issuers]]\nissuer = \"{ISSUER}\"\naudiences = [\"{AUDIENCE}\"]\njwks_file = \"./keys.json\"\n\
         [[issuers.grants]]\nclaim = \"groups\"\nvalue = \"gardeners\"\ngrants = [\"work/garden:read,write\"]\n"
    );
    std::fs::write(&path, format!("{config}{issuers}")).unwrap();
    for wing in ["garden", "desk"] {
        team.home
            .run(&[
                "add",
                "the ship leaves at dawn",
                "--wing",
                wing,
                "--palace",
                "./work",
            ])
            .expect_code(0);
    }
    let server = team.serve();
    (team, server)
}

#[track_caller]
fn play(script: &str, server: &TeamServer, token: &str) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
    let mut command = if script.ends_with(".py") {
        mcp_python()
    } else {
        let mut node = Command::new(mcp_clients_folder().join("node/bin/node"));
        node.env_clear();
        node
    };
    let output = command
        .arg(scripts.join(script))
        .args([&server.url("/p/work/mcp"), token])
        .env("LOCI_TEST_MCP", mcp_clients_folder())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}\n{error}");
}

#[test]
fn official_clients_work_with_tokens_of_both_kinds() {
    let issuer = TestIssuer::new();
    let (team, server) = start(&issuer);
    let own = team.add_user("ben", &["work/garden:read,write"]);
    for token in [own, issuer.token("gardeners", 300)] {
        play("team_client.py", &server, &token);
        play("team_client.mjs", &server, &token);
    }
    let lines = team.audit_lines();
    let carol = format!("{ISSUER}#carol");
    assert!(
        lines
            .iter()
            .any(|line| line["who"] == *carol && line["act"] == "add")
    );
    assert!(
        lines
            .iter()
            .any(|line| line["who"] == "ben" && line["act"] == "search")
    );
}

#[test]
fn tokens_that_were_tampered_with_are_refused() {
    let issuer = TestIssuer::new();
    let (_team, server) = start(&issuer);
    // So many wrong ones from one address are not even looked at.
    let status = |token: &str| match server
        .send(&server.call(token, "work", "status", &json!({})))
        .status
    {
        429 => 401,
        status => status,
    };
    assert_eq!(status(&issuer.token("gardeners", 300)), 200);
    // Right, but without rights here.
    assert_eq!(status(&issuer.token("cooks", 300)), 404);
    assert_eq!(status(&issuer.token("gardeners", -600)), 401);
    assert_eq!(status(&TestIssuer::new().token("gardeners", 300)), 401);
    let good = issuer.token("gardeners", 300);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let none = BASE64.encode(json!({"alg": "none", "kid": "one"}).to_string());
    let body = signed.split_once('.').unwrap().1;
    for forged in [
        format!("{none}.{body}."),
        format!("{none}.{body}.{signature}"),
        format!("{signed}."),
        format!("{signed}.{}", &signature[..signature.len() - 2]),
    ] {
        assert_eq!(status(&forged), 401, "{forged}");
    }
    let header = json!({"alg": "ES256", "kid": "one"});
    for (key, value) in [
        ("aud", json!("https://other.example")),
        ("iss", json!("https://evil.example")),
        ("exp", json!(null)),
    ] {
        let mut changed = claims("gardeners", 300);
        changed[key] = value;
        assert_eq!(status(&issuer.sign(&header, &changed)), 401, "{key}");
    }
    for header in [
        json!({"alg": "HS256", "kid": "one"}),
        json!({"alg": "ES256", "kid": "one", "crit": ["x"]}),
        json!({"alg": "ES256", "kid": "two"}),
    ] {
        assert_eq!(
            status(&issuer.sign(&header, &claims("gardeners", 300))),
            401,
            "{header}"
        );
    }
}
