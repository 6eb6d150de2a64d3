//! Makes a fresh secret of each kind, in the form its provider documents. Shares nothing with the rules.

use crate::passwords;
use crate::places::Plant;
use crate::random::{PlantRandom, encode_base64};

/// Makes secrets of one kind.
pub(crate) struct SecretMaker {
    pub(crate) kind: &'static str,
    /// Whether its secrets are weak passwords, which are counted apart.
    pub(crate) weak: bool,
    pub(crate) make: Box<dyn Fn(&mut PlantRandom) -> Plant>,
}

impl SecretMaker {
    fn new(kind: &'static str, make: impl Fn(&mut PlantRandom) -> Plant + 'static) -> Self {
        Self {
            kind,
            weak: false,
            make: Box::new(make),
        }
    }
}

/// Tokens that may stand anywhere. `(a|b)` is a choice; `{m36}` is that many letters and digits, `{m24-99}` some number of
/// them; `h` is hexadecimal, `H` in upper case, `d` digits, `u` upper case and digits, `l` lower case and digits, `a`
/// letters, `w` base64 for URLs, `b` the base64 of so many bytes, `q` bech32.
const TOKENS: &[(&str, &str)] = &[
    ("aws-access-key", "(AKIA|ASIA){u16}"),
    ("github-token", "(ghp_|gho_|ghu_|ghs_|ghr_){m36}"),
    ("github-fine-grained-token", "github_pat_{m22}_{m59}"),
    ("gitlab-token", "(glpat-|gldt-|glrt-|glptt-){w20}"),
    ("slack-token", "(xoxb-|xoxp-){d12}-{d13}-{m24}"),
    ("slack-token", "xapp-1-A{u10}-{d13}-{h64}"),
    ("stripe-key", "(sk_live_|rk_live_|sk_test_){m24-99}"),
    ("stripe-webhook-secret", "whsec_{m32}"),
    ("openai-key", "sk-{m20}T3BlbkFJ{m20}"),
    ("openai-key", "(sk-proj-|sk-svcacct-){w48-156}"),
    ("anthropic-key", "sk-ant-(api03|oat01|admin01)-{w93}AA"),
    ("google-api-key", "AIza{w35}"),
    ("google-oauth-secret", "GOCSPX-{w28}"),
    ("google-oauth-token", "ya29.a0{w60-200}"),
    ("azure-client-secret", "{m3}(7|8)Q~{w34}"),
    ("twilio-key", "SK{h32}"),
    ("sendgrid-key", "SG.{w22}.{w43}"),
    ("mailgun-key", "key-{h32}"),
    ("mailchimp-key", "{h32}-us(1|6|12|21)"),
    ("brevo-key", "xkeysib-{h64}-{m16}"),
    ("resend-key", "re_{m8}_{m24}"),
    ("npm-token", "npm_{m36}"),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc{w100-180}"),
    ("crates-io-token", "cio{m32}"),
    ("rubygems-key", "rubygems_{h48}"),
    ("docker-token", "dckr_pat_{w27}"),
    ("digitalocean-token", "(dop_v1_|doo_v1_){h64}"),
    ("heroku-key", "HRKU-AA{w58}"),
    ("databricks-token", "dapi{h32}"),
    ("huggingface-token", "hf_{a34}"),
    ("replicate-token", "r8_{m37}"),
    ("groq-key", "gsk_{m52}"),
    ("perplexity-key", "pplx-{m48}"),
    ("xai-key", "xai-{m80}"),
    ("openrouter-key", "sk-or-v1-{h64}"),
    ("langsmith-key", "lsv2_pt_{h32}_{h10}"),
    ("telegram-bot-token", "{d8-10}:AA{w33}"),
    ("facebook-token", "EAA{m120-200}"),
    ("twitter-bearer", "AAAAAAAAAAAAAAAAAAAAA{m6}AAAAAAA{m20}%3D{m50}"),
    ("square-token", "sq0atp-{w22}"),
    ("braintree-token", "access_token$production${l16}${h32}"),
    ("shopify-token", "(shpat_|shpss_|shpca_){h32}"),
    ("atlassian-token", "ATATT3xFfGF0{w171}={H8}"),
    ("linear-key", "lin_api_{m40}"),
    ("notion-token", "ntn_{d11}{m35}"),
    ("notion-token", "secret_{m43}"),
    ("figma-token", "figd_{w40}"),
    ("postman-key", "PMAK-{h24}-{h34}"),
    ("newrelic-key", "NRAK-{u27}"),
    ("sentry-token", "sntryu_{h64}"),
    ("grafana-token", "glsa_{m32}_{h8}"),
    ("grafana-token", "glc_{b96}"),
    ("vault-token", "hvs.{w24-100}"),
    ("doppler-token", "dp.pt.{m43}"),
    ("pulumi-token", "pul-{h40}"),
    ("terraform-token", "{m14}.atlasv1.{w67}"),
    ("supabase-token", "sbp_{h40}"),
    ("planetscale-token", "(pscale_tkn_|pscale_pw_){w43}"),
    ("airtable-token", "pat{m14}.{h64}"),
    ("tailscale-key", "tskey-auth-{m16}-{m32}"),
    ("netlify-token", "nfp_{m36}"),
    ("fly-token", "fo1_{w43}"),
    ("hubspot-token", "pat-na1-{h8}-{h4}-4{h3}-a{h3}-{h12}"),
    ("launchdarkly-key", "sdk-{h8}-{h4}-4{h3}-a{h3}-{h12}"),
    ("onepassword-token", "A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}"),
    ("age-key", "AGE-SECRET-KEY-1{q58}"),
];

/// Secrets with the text that must stand before and after them.
const IN_PLACE: &[(&str, &str, &str, &str)] = &[
    ("aws-secret-key", "aws_secret_access_key = ", "{b30}", ""),
    ("aws-secret-key", "export AWS_SECRET_ACCESS_KEY='", "{b30}", "'"),
    ("aws-secret-key", "\"secretAccessKey\": \"", "{b30}", "\","),
    (
        "slack-webhook",
        "https://hooks.slack.com/services/",
        "T{u10}/B{u10}/{m24}",
        "",
    ),
    (
        "discord-webhook",
        "https://discord.com/api/webhooks/{d18}/",
        "{w68}",
        "",
    ),
    (
        "azure-storage-key",
        "AccountName=acme;AccountKey=",
        "{b64}",
        ";EndpointSuffix=core.windows.net",
    ),
    (
        "azure-sas-signature",
        "https://acme.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig=",
        "{m20}%2B{m20}%3D",
        "&se=2025",
    ),
    ("twilio-auth-token", "TWILIO_AUTH_TOKEN=", "{h32}", ""),
    ("heroku-key", "HEROKU_API_KEY=", "{h8}-{h4}-4{h3}-a{h3}-{h12}", ""),
    ("cloudflare-key", "CLOUDFLARE_API_TOKEN=\"", "{w40}", "\""),
    ("fastly-token", "fastly_api_token: ", "{w32}", ""),
    ("datadog-key", "(DD_API_KEY=|datadog_api_key: )", "{h32}", ""),
    (
        "sentry-dsn",
        "dsn: \"https://",
        "{h32}",
        "@o{d6}.ingest.sentry.io/{d7}\"",
    ),
];

/// Returns a maker for each kind; kinds with several forms have several.
pub(crate) fn all_makers() -> Vec<SecretMaker> {
    let tokens = TOKENS
        .iter()
        .map(|(kind, form)| SecretMaker::new(kind, |random| bare(fill(random, form))));
    let in_place = IN_PLACE.iter().map(|(kind, before, form, after)| {
        SecretMaker::new(kind, |random| {
            held(fill(random, before), fill(random, form), fill(random, after))
        })
    });
    let weak = SecretMaker {
        weak: true,
        ..SecretMaker::new("password", passwords::weak)
    };
    let mut makers: Vec<SecretMaker> = tokens.chain(in_place).collect();
    makers.extend([
        SecretMaker::new("discord-bot-token", discord_bot_token),
        SecretMaker::new("jwt", jwt),
        SecretMaker::new("private-key", private_key),
        SecretMaker::new("gcp-service-account-key", service_account),
        SecretMaker::new("url-password", passwords::url_password),
        SecretMaker::new("basic-auth", passwords::basic_auth),
        SecretMaker::new("bearer-token", passwords::bearer_token),
        weak,
    ]);
    // The hardest kinds are planted four times as often.
    for _ in 0..4 {
        makers.extend([
            SecretMaker::new("connection-string", passwords::connection_string),
            SecretMaker::new("secret", passwords::secret),
            SecretMaker::new("password", passwords::assigned),
        ]);
    }
    makers
}

/// Fills in a form.
fn fill(random: &mut PlantRandom, form: &str) -> String {
    let Some(at) = form.find(['{', '(']) else {
        return form.to_owned();
    };
    let (before, rest) = form.split_at(at);
    let close = if rest.starts_with('{') { '}' } else { ')' };
    let (field, after) = rest[1..].split_once(close).expect("every bracket is closed");
    let made = if close == '}' {
        made_field(random, field)
    } else {
        made_choice(random, field)
    };
    format!("{before}{made}{}", fill(random, after))
}

fn made_choice(random: &mut PlantRandom, field: &str) -> String {
    let choices: Vec<&str> = field.split('|').collect();
    random.pick(&choices).to_owned()
}

fn made_field(random: &mut PlantRandom, field: &str) -> String {
    let (letter, count) = field.split_at(1);
    let (least, most) = count.split_once('-').unwrap_or((count, count));
    let number = |text: &str| -> usize { text.parse().expect("a field has a number") };
    let count = random.between(number(least), number(most));
    match letter {
        "m" => random.mixed(count),
        "h" => random.hex(count),
        "H" => random.hex(count).to_uppercase(),
        "d" => random.digits(count),
        "u" => random.upper(count),
        "l" => random.lower(count),
        "a" => random.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", count),
        "w" => random.url_safe(count),
        "b" => random.base64(count),
        _ => random.from("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", count),
    }
}

fn bare(secret: String) -> Plant {
    Plant {
        before: String::new(),
        secret,
        after: String::new(),
        bare: true,
    }
}

fn held(before: impl Into<String>, secret: String, after: impl Into<String>) -> Plant {
    Plant {
        before: before.into(),
        secret,
        after: after.into(),
        bare: false,
    }
}

fn discord_bot_token(random: &mut PlantRandom) -> Plant {
    let number = random.digits(18);
    let rest = fill(random, ".G{m5}.{w38}");
    bare(encode_base64(number.as_bytes()) + &rest)
}

fn url_base64(bytes: &[u8]) -> String {
    encode_base64(bytes)
        .replace('+', "-")
        .replace('/', "_")
        .replace('=', "")
}

fn jwt(random: &mut PlantRandom) -> Plant {
    let header = random.pick(&[
        "{\"alg\":\"HS256\",\"typ\":\"JWT\"}",
        "{\"typ\":\"JWT\",\"alg\":\"RS256\",\"kid\":\"k1\"}",
    ]);
    let payload = format!(
        "{{\"sub\":\"{}\",\"iat\":{}}}",
        random.digits(8),
        random.digits(10)
    );
    let signature = fill(random, "{w43-86}");
    bare(
        [
            url_base64(header.as_bytes()),
            url_base64(payload.as_bytes()),
            signature,
        ]
        .join("."),
    )
}

fn private_key(random: &mut PlantRandom) -> Plant {
    let label = random.pick(&[
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ]);
    let newline = random.pick(&["\n", "\r\n", "\\n", "\n    "]);
    let bytes = random.between(120, 1200);
    let block = block(random, label, newline, bytes);
    match random.below(3) {
        0 => held("", block, ""),
        1 => held("key: |\n    ", block, ""),
        _ => held("{\"pem\": \"", block, "\"}"),
    }
}

fn service_account(random: &mut PlantRandom) -> Plant {
    let block = block(random, "PRIVATE KEY", "\\n", 1200);
    held(
        "{\n  \"type\": \"service_account\",\n  \"private_key\": \"",
        block,
        "\\n\",\n  \"client_id\": \"1\"\n}",
    )
}

fn block(random: &mut PlantRandom, label: &str, newline: &str, bytes: usize) -> String {
    let body = random.base64(bytes);
    let lines = (0..body.len())
        .step_by(64)
        .map(|at| &body[at..body.len().min(at + 64)]);
    let lines: Vec<&str> = lines.collect();
    format!(
        "-----BEGIN {label}-----{newline}{}{newline}-----END {label}-----",
        lines.join(newline)
    )
}
