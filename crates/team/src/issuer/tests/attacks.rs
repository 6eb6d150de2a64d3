//! Tokens that were made to be believed and must not be.

use super::*;

#[test]
fn an_algorithm_that_is_not_allowed_is_refused_whatever_the_signature() {
    let key = TestKey::rsa();
    let test = TestIssuer::with_keys(&[key.jwk("k1")]);
    let good = key.token("k1", &good_claims());
    let claims = good_claims().to_string();
    for algorithm in [
        "none", "None", "NONE", "nOnE", "", "HS256", "RS512", "PS256", "rs256", "RS256 ", "ES256K",
    ] {
        let header = json!({"alg": algorithm, "kid": "k1"}).to_string();
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let expect = Some(SignInRefusal::Algorithm);
        for signature in [
            "",
            &encode(key.sign(signed.as_bytes())),
            good.rsplit('.').next().unwrap(),
        ] {
            assert_eq!(
                test.refusal(&format!("{signed}.{signature}")),
                expect,
                "{algorithm:?}"
            );
        }
    }
    for odd in [
        r#"{"kid":"k1"}"#,
        r#"{"alg":null}"#,
        r#"{"alg":["RS256"]}"#,
        r#"{"alg":256}"#,
    ] {
        assert_eq!(
            test.refusal(&key.token_of(odd, &claims)),
            Some(SignInRefusal::Malformed),
            "{odd}"
        );
    }
}

#[test]
fn the_public_key_is_not_taken_for_a_shared_secret() {
    let key = TestKey::rsa();
    let jwk = key.jwk("k1");
    let test = TestIssuer::with_keys(std::slice::from_ref(&jwk));
    let header = json!({"alg": "HS256", "kid": "k1"}).to_string();
    let signed = format!("{}.{}", encode(header), encode(good_claims().to_string()));
    for secret in [
        jwk.to_string(),
        jwk["n"].as_str().unwrap().to_owned(),
        String::new(),
    ] {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
        let tag = encode(ring::hmac::sign(&key, signed.as_bytes()));
        assert_eq!(
            test.refusal(&format!("{signed}.{tag}")),
            Some(SignInRefusal::Algorithm)
        );
    }
}

#[test]
fn a_key_is_used_only_with_its_own_algorithm() {
    let (rsa, p256) = (TestKey::rsa(), TestKey::p256());
    let mut bound = rsa.jwk("bound");
    bound["alg"] = "RS512".into();
    let test = TestIssuer::with_keys(&[rsa.jwk("k1"), p256.jwk("k2"), bound]);
    let claims = good_claims().to_string();
    for (algorithm, id) in [
        ("ES256", "k1"),
        ("RS256", "k2"),
        ("EdDSA", "k1"),
        ("RS256", "bound"),
    ] {
        let header = json!({"alg": algorithm, "kid": id}).to_string();
        assert_eq!(
            test.refusal(&rsa.token_of(&header, &claims)),
            Some(SignInRefusal::UnknownKey),
            "{algorithm} {id}"
        );
    }
}

#[test]
fn the_name_of_a_key_leads_to_that_key_and_nowhere_else() {
    let (first, second) = (TestKey::ed25519(), TestKey::ed25519());
    let test = TestIssuer::with_keys(&[first.jwk("k1"), second.jwk("k2")]);
    let refused = |key: &TestKey, header: Value| {
        test.refusal(&key.token_of(&header.to_string(), &good_claims().to_string()))
    };
    let named = |kid: Value| json!({"alg": "EdDSA", "kid": kid});
    assert_eq!(refused(&first, named("k1".into())), None);
    assert_eq!(
        refused(&first, named("k2".into())),
        Some(SignInRefusal::Signature)
    );
    for path in [
        "../../dev/null",
        "/dev/null",
        "k1\u{0}",
        "K1",
        "k1 ",
        "",
        "file:///k1",
        "' or '1'='1",
        "k3",
    ] {
        assert_eq!(
            refused(&first, named(path.into())),
            Some(SignInRefusal::UnknownKey),
            "{path:?}"
        );
    }
    for odd in [
        json!(1),
        json!(null),
        json!(["k1"]),
        json!({"k1": 1}),
        json!("k".repeat(300)),
    ] {
        assert_eq!(refused(&first, named(odd)), Some(SignInRefusal::Malformed));
    }
    // Two keys would do, so none is guessed.
    assert_eq!(
        refused(&first, json!({"alg": "EdDSA"})),
        Some(SignInRefusal::UnknownKey)
    );
    let single = TestIssuer::with_keys(&[first.jwk("k1"), TestKey::p256().jwk("k2")]);
    let unnamed = first.token_of(r#"{"alg":"EdDSA"}"#, &good_claims().to_string());
    assert_eq!(single.refusal(&unnamed), None);
    let doubled = TestIssuer::with_keys(&[first.jwk("k1"), second.jwk("k1")]);
    assert_eq!(
        doubled.refusal(&first.token("k1", &good_claims())),
        Some(SignInRefusal::UnknownKey)
    );
}

#[test]
fn a_key_that_the_token_brings_along_is_not_used() {
    let (ours, theirs) = (TestKey::ed25519(), TestKey::ed25519());
    let test = TestIssuer::with_keys(&[ours.jwk("k1")]);
    let brought = [
        ("jwk", theirs.jwk("k1")),
        ("jku", "http://127.0.0.1:1/keys".into()),
        ("x5u", "http://127.0.0.1:1/cert".into()),
        ("x5c", json!(["MIIB"])),
    ];
    for (name, value) in brought {
        let mut header = json!({"alg": "EdDSA", "kid": "k1"});
        header[name] = value;
        let (header, claims) = (header.to_string(), good_claims().to_string());
        assert_eq!(
            test.refusal(&theirs.token_of(&header, &claims)),
            Some(SignInRefusal::Signature),
            "{name}"
        );
        assert_eq!(
            test.refusal(&ours.token_of(&header, &claims)),
            None,
            "{name} is not looked at"
        );
    }
}

#[test]
fn a_header_that_must_be_understood_is_refused() {
    let key = TestKey::ed25519();
    let test = TestIssuer::with_keys(&[key.jwk("k1")]);
    let claims = good_claims().to_string();
    for crit in [json!(["b64"]), json!(["exp"]), json!([]), json!(null), json!("x")] {
        let header = json!({"alg": "EdDSA", "kid": "k1", "crit": crit, "b64": true}).to_string();
        assert_eq!(
            test.refusal(&key.token_of(&header, &claims)),
            Some(SignInRefusal::Malformed)
        );
    }
    for (typ, expect) in [
        (json!("JWT"), None),
        (json!("at+jwt"), None),
        (json!("application/at+jwt"), None),
        (json!("logout+jwt"), Some(SignInRefusal::Malformed)),
        (json!("dpop+jwt"), Some(SignInRefusal::Malformed)),
        (json!(1), Some(SignInRefusal::Malformed)),
    ] {
        let header = json!({"alg": "EdDSA", "kid": "k1", "typ": typ}).to_string();
        assert_eq!(test.refusal(&key.token_of(&header, &claims)), expect, "{typ}");
    }
}

#[test]
fn what_says_two_things_at_once_is_refused() {
    let key = TestKey::ed25519();
    let test = TestIssuer::with_keys(&[key.jwk("k1")]);
    let header = r#"{"alg":"EdDSA","kid":"k1"}"#;
    let claims = good_claims().to_string();
    let inner = claims.trim_start_matches('{');
    for doubled in [
        format!(r#"{{"sub":"admin",{inner}"#),
        format!(r#"{{"\u0073ub":"admin",{inner}"#),
        format!(r#"{{"aud":"elsewhere",{inner}"#),
        format!(r#"{{"x":{{"a":1,"a":2}},{inner}"#),
    ] {
        assert_eq!(
            test.refusal(&key.token_of(header, &doubled)),
            Some(SignInRefusal::Malformed),
            "{doubled}"
        );
    }
    for doubled in [
        r#"{"alg":"EdDSA","kid":"k1","alg":"none"}"#,
        r#"{"alg":"none","alg":"EdDSA","kid":"k1"}"#,
        r#"{"alg":"EdDSA","kid":"k1","kid":"k1"}"#,
    ] {
        assert_eq!(
            test.refusal(&key.token_of(doubled, &claims)),
            Some(SignInRefusal::Malformed),
            "{doubled}"
        );
    }
}

#[test]
fn what_is_not_three_parts_of_base64url_is_refused() {
    let key = TestKey::ed25519();
    let test = TestIssuer::with_keys(&[key.jwk("k1")]);
    let token = key.token("k1", &good_claims());
    let parts: Vec<&str> = token.split('.').collect();
    let join = |parts: &[&str]| parts.join(".");
    let (header, claims, signature) = (parts[0], parts[1], parts[2]);
    let long = key.token("k1", &claims_with("pad", "x".repeat(13_000).into()));
    for wrong in [
        "",
        ".",
        "..",
        "...",
        &join(&[header, claims]),
        &join(&[header, claims, ""]),
        &join(&["", claims, signature]),
        &join(&[header, claims, signature, ""]),
        &join(&[header, claims, claims, signature, signature]),
        &format!("{token}="),
        &format!("{token} "),
        &format!(" {token}"),
        &token.replace('.', ".."),
        &token.replacen(signature, &format!("{signature}AAAA"), 1),
        &format!("{header}=.{claims}.{signature}"),
        &format!("{}.{claims}.{signature}", encode("[]")),
        &format!("{}.{claims}.{signature}", encode("\u{feff}{}")),
        &long,
    ] {
        assert!(test.refusal(wrong).is_some(), "{wrong}");
    }
    assert!(long.len() > 16 * 1024 && test.refusal(&long) == Some(SignInRefusal::Malformed));
    assert_eq!(
        test.refusal(&key.token("k1", &claims_with("pad", "x".repeat(9_000).into()))),
        None
    );
    // The last character of the signature has spare bits; only one spelling of them is accepted.
    let last = token.chars().last().unwrap();
    let spellings = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain(['-', '_'])
        .filter(|other| *other != last);
    for other in spellings {
        let respelled = format!("{}{other}", &token[..token.len() - 1]);
        assert!(test.refusal(&respelled).is_some(), "{other}");
    }
}

#[test]
fn an_empty_or_blank_signature_of_each_kind_is_refused() {
    for key in [TestKey::ed25519(), TestKey::p256(), TestKey::rsa()] {
        let test = TestIssuer::with_keys(&[key.jwk("k1")]);
        let token = key.token("k1", &good_claims());
        let (signed, _) = token.rsplit_once('.').unwrap();
        for length in [0, 1, 32, 63, 64, 65, 256] {
            let blank = format!("{signed}.{}", encode(vec![0; length]));
            assert_eq!(
                test.refusal(&blank),
                Some(SignInRefusal::Signature),
                "{} {length}",
                key.algorithm()
            );
        }
    }
}
