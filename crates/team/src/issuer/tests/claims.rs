//! Claims: the audience, the times, the subject and the rights.

use super::*;

fn refusal_of(claims: &Value) -> Option<SignInRefusal> {
    let key = TestKey::ed25519();
    let test = TestIssuer::with_keys(&[key.jwk("k1")]);
    test.refusal(&key.token("k1", claims))
}

#[test]
fn the_issuer_is_compared_as_a_whole() {
    for wrong in [
        json!(null),
        json!(""),
        json!("https://id.example/"),
        json!("https://id.exampl"),
        json!("https://ID.example"),
        json!("https://id.example.evil"),
        json!([ISSUER]),
        json!({"iss": ISSUER}),
        json!(1),
    ] {
        assert_eq!(
            refusal_of(&claims_with("iss", wrong.clone())),
            Some(SignInRefusal::UnknownIssuer),
            "{wrong}"
        );
    }
}

#[test]
fn one_audience_must_be_ours_as_a_whole() {
    for right in [
        json!(AUDIENCE),
        json!("loci"),
        json!([AUDIENCE]),
        json!(["elsewhere", "loci"]),
    ] {
        assert_eq!(refusal_of(&claims_with("aud", right.clone())), None, "{right}");
    }
    for wrong in [
        json!(null),
        json!(""),
        json!([]),
        json!("elsewhere"),
        json!("https://memory.example/"),
        json!("https://memory.exampl"),
        json!("https://memory.example.evil"),
        json!("loci loci"),
        json!([["loci"]]),
        json!(["loci", 1]),
        json!({"aud": "loci"}),
        json!({"loci": true}),
        json!(1),
        json!(true),
    ] {
        assert_eq!(
            refusal_of(&claims_with("aud", wrong.clone())),
            Some(SignInRefusal::Audience),
            "{wrong}"
        );
    }
}

#[test]
fn a_token_is_valid_between_its_times_with_the_leeway() {
    let check = |name: &str, value: Value, expect: Option<SignInRefusal>| {
        assert_eq!(
            refusal_of(&claims_with(name, value.clone())),
            expect,
            "{name} {value}"
        );
    };
    let (expired, early, odd) = (
        Some(SignInRefusal::Expired),
        Some(SignInRefusal::NotYetValid),
        Some(SignInRefusal::Claims),
    );
    check("exp", json!(NOW - 59), None);
    check("exp", json!(NOW - 60), expired);
    check("exp", json!(NOW as f64 - 59.5), None);
    check("exp", json!(0), expired);
    check("exp", json!(-1), expired);
    check("exp", json!(null), odd);
    for wrong in [
        json!("1780000300"),
        json!(true),
        json!([NOW]),
        json!(1e13),
        json!(1e300),
        json!(u64::MAX),
    ] {
        check("exp", wrong, odd);
    }
    for name in ["nbf", "iat"] {
        check(name, json!(NOW + 60), None);
        check(name, json!(NOW + 61), early);
        check(name, json!(null), None);
        check(name, json!("soon"), odd);
    }
}

#[test]
fn a_token_must_say_whom_it_is_about() {
    for wrong in [
        json!(null),
        json!(""),
        json!(1),
        json!(["u"]),
        json!("a\nb"),
        json!("u".repeat(257)),
    ] {
        assert_eq!(
            refusal_of(&claims_with("sub", wrong.clone())),
            Some(SignInRefusal::Claims),
            "{wrong}"
        );
    }
    // A subject with the name of a user, or of anything else, is still another actor.
    let key = TestKey::ed25519();
    let test = TestIssuer::with_keys(&[key.jwk("k1")]);
    for subject in ["anna", "server", "anonymous", "a#b", "https://id.example#x"] {
        let caller = test
            .check(&key.token("k1", &claims_with("sub", subject.into())))
            .granted()
            .unwrap();
        assert_eq!(caller.actor.to_string(), format!("{ISSUER}#{subject}"));
        assert_eq!(
            caller.actor.to_string().parse::<TeamActor>().unwrap(),
            caller.actor
        );
    }
}

#[test]
fn another_claim_may_name_the_user() {
    let key = TestKey::ed25519();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    write_keys(&file, &json!({"keys": [key.jwk("k1")]}).to_string());
    let config = TokenIssuerConfig {
        user_claim: "email".into(),
        ..config(file)
    };
    let issuers = TokenIssuers::new(vec![config]).unwrap();
    let check = |claims: &Value| issuers.check_token(&key.token("k1", claims), now()).unwrap();
    let caller = check(&claims_with("email", "anna@id.example".into()))
        .granted()
        .unwrap();
    assert_eq!(caller.actor.to_string(), "https://id.example#anna@id.example");
    assert_eq!(check(&good_claims()).refusal(), Some(SignInRefusal::Claims));
}

#[test]
fn rights_follow_from_exact_values_of_claims() {
    let key = TestKey::ed25519();
    let test = TestIssuer::with_keys(&[key.jwk("k1")]);
    let check = |claims: Value, expect: &[&str]| {
        let caller = test.check(&key.token("k1", &claims)).granted().unwrap();
        let grants: Vec<String> = caller.rights.grants().iter().map(ToString::to_string).collect();
        assert_eq!(grants, expect, "{claims}");
    };
    let garden = ["work/garden:read,write"];
    check(good_claims(), &garden);
    check(claims_with("groups", "garden-team".into()), &garden);
    for none in [
        json!(null),
        json!([]),
        json!("garden-team2"),
        json!("garden-team all"),
        json!(["Garden-Team"]),
        json!([["garden-team"]]),
        json!({"garden-team": 1}),
    ] {
        check(claims_with("groups", none), &[]);
    }
    let mut claims = claims_with("groups", Value::Null);
    claims["realm_access"] = json!({"roles": ["reader", "x"]});
    check(claims, &["home:read"]);
    // The path is one of objects, not a name with slashes.
    let mut claims = claims_with("groups", Value::Null);
    claims["/realm_access/roles"] = json!(["reader"]);
    check(claims, &[]);
    check(
        claims_with("scope", "openid memory.read".into()),
        &["*:read", "work/garden:read,write"],
    );
    check(claims_with("scope", "memory.reader".into()), &garden);
}
