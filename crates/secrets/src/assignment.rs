//! Values given to password-like names: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`, "the password is …".

use std::ops::Range;

use crate::byte_set::{ByteSet, WORD};
use crate::judge::{self, ValuePlace};
use crate::kind::SecretKind;
use crate::probe::TextProbe;
use crate::separators::{GivenValue, read_value};

/// The most bytes of a name before and after the word that makes it one.
const LONGEST_NAME: usize = 40;

/// Names whose values are passwords: in any form that is not random, too.
pub(crate) const PASSWORD_NAMES: &[&str] = &[
    "password",
    "PASSWORD",
    "Password",
    "passwd",
    "PASSWD",
    "Passwd",
    "passphrase",
    "PASSPHRASE",
    "Passphrase",
    "passcode",
    "PASSCODE",
    "Passcode",
    "pwd",
    "PWD",
    "Pwd",
    "pass",
    "PASS",
    "Pass",
    "passwort",
    "Passwort",
    "PASSWORT",
    "Kennwort",
    "contraseña",
    "Contraseña",
    "mot de passe",
    "Mot de passe",
    "senha",
    "Senha",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "пароль",
    "Пароль",
];

/// Names whose values are secrets if they are random or look like passwords.
pub(crate) const SECRET_NAMES: &[&str] = &["secret", "SECRET", "Secret"];

/// Names whose values are secrets if they are random.
pub(crate) const TOKEN_NAMES: &[&str] = &[
    "token",
    "TOKEN",
    "Token",
    "apikey",
    "APIKEY",
    "apiKey",
    "ApiKey",
    "APIKey",
    "api_key",
    "API_KEY",
    "Api_Key",
    "api-key",
    "API-KEY",
    "Api-Key",
    "API-Key",
    "API key",
    "api key",
    "access_key",
    "ACCESS_KEY",
    "accessKey",
    "AccessKey",
    "access-key",
    "auth_key",
    "AUTH_KEY",
    "authKey",
    "private_key",
    "PRIVATE_KEY",
    "privateKey",
    "encryption_key",
    "ENCRYPTION_KEY",
    "encryptionKey",
    "EncryptionKey",
    "signing_key",
    "SIGNING_KEY",
    "signingKey",
    "SigningKey",
    "master_key",
    "MASTER_KEY",
    "masterKey",
    "service_key",
    "account_key",
    "ACCOUNT_KEY",
    "accountKey",
    "AccountKey",
    "credential",
    "CREDENTIAL",
    "Credential",
    "_KEY",
];

/// Endings of a name that leave its meaning as it is.
const NEUTRAL_ENDINGS: [&str; 21] = [
    "",
    "s",
    "key",
    "value",
    "val",
    "prod",
    "production",
    "staging",
    "stage",
    "dev",
    "live",
    "test",
    "main",
    "primary",
    "base",
    "keybase",
    "string",
    "str",
    "text",
    "plain",
    "raw",
];

/// Words within a name that make its value something else.
const OTHER_NAMES: [&str; 27] = [
    "public",
    "publish",
    "csrf",
    "xsrf",
    "page",
    "next",
    "continuation",
    "cursor",
    "sync",
    "cancel",
    "hash",
    "encrypted",
    "digest",
    "pad_",
    "eos",
    "bos",
    "unk",
    "mask",
    "max",
    "idempotency",
    "device",
    "sort",
    "foreign",
    "cache",
    "bypass",
    "compass",
    "anon",
];

/// The test that a value must pass to be a secret under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameFamily {
    Password,
    Secret,
    Token,
}

/// Returns the secret that the text gives to the name at an anchor, and its kind.
pub(crate) fn find_assignment(
    probe: &TextProbe,
    anchor: &Range<usize>,
    family: NameFamily,
) -> Option<(Range<usize>, SecretKind)> {
    let name = read_name(probe, anchor, family)?;
    let value = read_value(probe, &name)?;
    let bytes = probe.slice(value.range.clone());
    is_given_secret(bytes, &value, family).then_some(())?;
    let kind = match family {
        _ if value.in_connection_string => SecretKind::ConnectionString,
        NameFamily::Password => SecretKind::Password,
        NameFamily::Secret | NameFamily::Token => SecretKind::Secret,
    };
    Some((value.range, kind))
}

fn is_given_secret(bytes: &[u8], value: &GivenValue, family: NameFamily) -> bool {
    if bytes.iter().any(u8::is_ascii_whitespace) {
        return false;
    }
    let literal = value.place == ValuePlace::Literal;
    match family {
        NameFamily::Password => judge::is_password(bytes, value.place),
        NameFamily::Secret => {
            judge::is_secret(bytes, value.place) || literal && judge::is_short_secret(bytes)
        }
        NameFamily::Token => judge::is_secret(bytes, value.place),
    }
}

/// Returns the whole name around an anchor, without the hyphens of a flag, or none if it names something else.
fn read_name(probe: &TextProbe, anchor: &Range<usize>, family: NameFamily) -> Option<Range<usize>> {
    let end = probe.run_end(anchor.end, WORD.or(ByteSet::from_text("-")), LONGEST_NAME);
    (is_neutral(probe.slice(anchor.end..end))).then_some(())?;
    let set = WORD.or(ByteSet::from_text("-."));
    let first = probe.run_start(anchor.start, set, LONGEST_NAME);
    let before = probe.slice(first..anchor.start);
    let hyphens = before
        .iter()
        .take_while(|byte| matches!(byte, b'-' | b'.'))
        .count();
    let start = first + hyphens;
    let word = probe.slice(anchor.clone());
    // "pass" also ends and begins other words.
    let short = word.eq_ignore_ascii_case(b"pass") || word.eq_ignore_ascii_case(b"pwd");
    let continues_word = before
        .last()
        .is_some_and(|byte| byte.is_ascii_lowercase() == word.first().is_some_and(u8::is_ascii_lowercase));
    let letter_before = before.last().is_some_and(u8::is_ascii_alphabetic);
    if short && letter_before && continues_word {
        return None;
    }
    let name = probe.slice(start..end).to_ascii_lowercase();
    let other = OTHER_NAMES
        .iter()
        .any(|word| judge::contains(&name, word.as_bytes()));
    let vague = family == NameFamily::Token && word == b"_KEY" && start == anchor.start;
    (!other && !vague).then_some(start..end)
}

/// Returns whether the rest of a name after its decisive word leaves its meaning as it is.
fn is_neutral(ending: &[u8]) -> bool {
    let plain: Vec<u8> = ending
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .map(u8::to_ascii_lowercase)
        .collect();
    NEUTRAL_ENDINGS.iter().any(|neutral| neutral.as_bytes() == plain)
}
