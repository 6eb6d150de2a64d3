//! Each kind of secret is found, exactly, wherever it stands.

use std::collections::BTreeSet;

use super::{fill, found};
use crate::SecretKind;

/// Tokens that need no text around them.
const TOKENS: &[(&str, &str)] = &[
    ("adafruit-key", "aio_{m28}"),
    ("age-key", "AGE-SECRET-KEY-1{u58}"),
    ("airtable-token", "pat{m14}.{h64}"),
    ("alibaba-key", "LTAI{m20}"),
    ("anthropic-key", "sk-ant-api03-{w93}AA"),
    ("anthropic-key", "sk-ant-oat01-{w93}AA"),
    ("atlassian-token", "ATATT3xFfGF0{w170}={u8}"),
    ("atlassian-token", "ATBB{m32}"),
    ("aws-access-key", "AKIA{u16}"),
    ("aws-access-key", "ASIA{u16}"),
    ("azure-client-secret", "{m3}8Q~{w34}"),
    ("braintree-token", "access_token$production${l16}${h32}"),
    ("brevo-key", "xkeysib-{h64}-{m16}"),
    ("buildkite-token", "bkua_{h40}"),
    ("cerebras-key", "csk-{l48}"),
    ("circleci-token", "CCIPAT_{m22}_{h40}"),
    ("clojars-token", "CLOJARS_{h60}"),
    ("cloudflare-key", "v1.0-{h24}-{h146}"),
    ("contentful-token", "CFPAT-{w43}"),
    ("crates-io-token", "cio{m32}"),
    ("databricks-token", "dapi{h32}"),
    ("digitalocean-token", "dop_v1_{h64}"),
    ("discord-bot-token", "MTIz{m20}.G{m5}.{w38}"),
    ("docker-token", "dckr_pat_{w27}"),
    ("doppler-token", "dp.pt.{m43}"),
    ("dropbox-token", "sl.u.{w140}"),
    ("dynatrace-token", "dt0c01.{u24}.{u64}"),
    ("easypost-key", "EZAK{m54}"),
    ("facebook-token", "EAA{m150}"),
    ("figma-token", "figd_{w40}"),
    ("fly-token", "fo1_{w43}"),
    ("github-fine-grained-token", "github_pat_{m22}_{m59}"),
    ("github-token", "ghp_{m36}"),
    ("github-token", "ghs_{m36}"),
    ("gitlab-token", "glpat-{w20}"),
    ("gitlab-token", "glpat-{w27}.{l2}.{l9}"),
    ("google-api-key", "AIza{w35}"),
    ("google-oauth-secret", "GOCSPX-{w28}"),
    ("google-oauth-token", "ya29.a0{w150}"),
    ("grafana-token", "glsa_{m32}_{h8}"),
    ("groq-key", "gsk_{m52}"),
    ("heroku-key", "HRKU-AA{w58}"),
    ("hubspot-token", "pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}"),
    ("huggingface-token", "hf_{m34}"),
    ("jfrog-token", "AKCp{m69}"),
    ("langfuse-key", "sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}"),
    ("langsmith-key", "lsv2_pt_{h32}_{h10}"),
    ("launchdarkly-key", "sdk-{h8}-{h4}-{h4}-{h4}-{h12}"),
    ("linear-key", "lin_api_{m40}"),
    ("mailchimp-key", "{h32}-us12"),
    ("mailgun-key", "key-{h32}"),
    ("netlify-token", "nfp_{m36}"),
    ("newrelic-key", "NRAK-{u27}"),
    ("notion-token", "ntn_{d11}{m35}"),
    ("notion-token", "secret_{m43}"),
    ("npm-token", "npm_{m36}"),
    ("nuget-key", "oy2{l43}"),
    ("nvidia-key", "nvapi-{w64}"),
    ("onepassword-token", "A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}"),
    ("openai-key", "sk-{m20}T3BlbkFJ{m20}"),
    ("openai-key", "sk-proj-{w120}"),
    ("openrouter-key", "sk-or-v1-{h64}"),
    ("perplexity-key", "pplx-{m48}"),
    ("pinecone-key", "pcsk_{m6}_{m60}"),
    ("planetscale-token", "pscale_tkn_{w43}"),
    ("postman-key", "PMAK-{h24}-{h34}"),
    ("prefect-key", "pnu_{m36}"),
    ("pulumi-token", "pul-{h40}"),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc{w140}"),
    ("readme-key", "rdme_{l70}"),
    ("replicate-token", "r8_{m37}"),
    ("resend-key", "re_{m8}_{m24}"),
    ("rubygems-key", "rubygems_{h48}"),
    ("sendgrid-key", "SG.{w22}.{w43}"),
    ("sentry-token", "sntryu_{h64}"),
    ("shippo-token", "shippo_live_{h40}"),
    ("shopify-token", "shpat_{h32}"),
    ("slack-token", "xoxb-{d12}-{d12}-{m24}"),
    ("slack-token", "xapp-1-A{u10}-{d13}-{h64}"),
    ("sourcegraph-token", "sgp_{h40}"),
    ("square-token", "sq0atp-{w22}"),
    ("stripe-key", "sk_live_{m24}"),
    ("stripe-key", "rk_live_{m99}"),
    ("stripe-webhook-secret", "whsec_{m32}"),
    ("supabase-token", "sbp_{h40}"),
    ("tailscale-key", "tskey-auth-{m16}-{m32}"),
    ("tavily-key", "tvly-{m32}"),
    ("telegram-bot-token", "5{d8}:AA{w33}"),
    ("terraform-token", "{m14}.atlasv1.{w67}"),
    ("twilio-key", "SK{h32}"),
    ("twitter-bearer", "AAAAAAAAAAAAAAAAAAAAA{m6}AAAAAAA{m20}%3D{m50}"),
    ("typeform-token", "tfp_{w59}"),
    ("vault-token", "hvs.{w90}"),
    ("xai-key", "xai-{m80}"),
    (
        "jwt",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0In0.{w43}",
    ),
];

/// Secrets with the text they need before and after them.
const IN_PLACE: &[(&str, &str, &str, &str)] = &[
    ("aws-secret-key", "aws_secret_access_key = ", "{m40}", "\n"),
    ("aws-secret-key", "{\"SecretAccessKey\": \"", "{m40}", "\"}"),
    (
        "aws-session-token",
        "AWS_SESSION_TOKEN=",
        "IQoJb3JpZ2luX2Vj{m300}",
        "\n",
    ),
    ("azure-devops-token", "AZURE_DEVOPS_PAT=", "{l52}", ""),
    (
        "azure-sas-signature",
        "https://a.example/c?sv=2022&sig=",
        "{m40}%3D",
        "&sp=r",
    ),
    (
        "azure-storage-key",
        "AccountName=a;AccountKey=",
        "{m86}==",
        ";EndpointSuffix=x",
    ),
    (
        "basic-auth",
        "Authorization: Basic ",
        "c2VydmljZTp4OUtxMjdWenBMcQ==",
        "\r\n",
    ),
    (
        "basic-auth",
        "curl -s -u bob:",
        "x9Kq27!zpLq",
        " https://a.example",
    ),
    ("bearer-token", "authorization: bearer ", "{m40}", "\n"),
    ("cloudflare-key", "CLOUDFLARE_API_TOKEN=", "{w40}", ""),
    ("connection-string", "postgres://app:", "x9Kq27VzpLq", "@db/main"),
    (
        "connection-string",
        "mongodb+srv://app:",
        "x9Kq27%21zpLq",
        "@c0.abc.mongodb.net",
    ),
    ("connection-string", "redis://:", "x9Kq27VzpLq", "@cache:6379"),
    (
        "connection-string",
        "Server=db;User Id=sa;Password=",
        "x9Kq!27=zpLq",
        ";Encrypt=true",
    ),
    ("datadog-key", "DD_API_KEY=", "{h32}", ""),
    (
        "discord-webhook",
        "https://discord.com/api/webhooks/123456789012345678/",
        "{w68}",
        "",
    ),
    ("facebook-token", "facebook_app_secret: ", "{h32}", ""),
    ("fastly-token", "fastly_api_token = \"", "{m32}", "\""),
    (
        "gcp-service-account-key",
        "\"private_key\": \"",
        "-----BEGIN PRIVATE KEY-----\\n{m64}\\n{m64}\\n-----END PRIVATE KEY-----",
        "\\n\",",
    ),
    ("heroku-key", "HEROKU_API_KEY=", "{h8}-{h4}-{h4}-{h4}-{h12}", ""),
    ("mailgun-key", "MAILGUN_API_KEY=", "{h32}-{h8}-{h8}", ""),
    ("newrelic-key", "NEW_RELIC_LICENSE_KEY=", "{h40}", ""),
    ("password", "password = \"", "x9Kq!27VzpLq", "\""),
    ("password", "DB_PASSWORD=", "x9Kq27VzpLq", "\n"),
    ("password", "  password: ", "x9Kq!27=zpLq)", "\n"),
    ("password", "{\\\"password\\\":\\\"", "x9Kq!27,zpLq", "\\\"}"),
    ("password", "login --password ", "x9Kq27VzpLq", " --quiet"),
    ("password", "let password: &str = \"", "x9Kq!27VzpLq", "\";"),
    ("password", "password: Some(\"", "x9Kq!27VzpLq", "\".into())"),
    ("password", "<password>", "x9Kq27VzpLq", "</password>"),
    ("password", "My password is ", "x9Kq!27VzpLq", ", do not tell."),
    ("password", "密码：", "x9Kq27VzpLq", "，谢谢"),
    ("password", "machine a login b password ", "x9Kq27VzpLq", "\n"),
    ("password", "mysql -u root -p", "x9Kq27VzpLq", " main"),
    ("password", "sshpass -p '", "x9Kq!27VzpLq", "' ssh a"),
    ("password", "user=a&password=", "x9Kq27VzpLq.", "&ssl=true"),
    (
        "private-key",
        "",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{m70}\n{m70}\n-----END OPENSSH PRIVATE KEY-----",
        "\n",
    ),
    (
        "private-key",
        "",
        "-----BEGIN RSA PRIVATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,{u32}\r\n\r\n{m64}\r\n-----END RSA PRIVATE KEY-----",
        "\r\n",
    ),
    (
        "private-key",
        "",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{m64}\n={m4}\n-----END PGP PRIVATE KEY BLOCK-----",
        " and so on",
    ),
    (
        "private-key",
        "",
        "-----BEGIN EC PRIVATE KEY-----\n{m64}\n{m40}",
        "\nthen the text was cut off",
    ),
    (
        "private-key",
        "Private-Lines: 2\n",
        "{m64}\n{m20}==",
        "\nPrivate-MAC: 00",
    ),
    ("secret", "const apiKey = '", "{m32}", "';"),
    ("secret", "client_secret: ", "{m40}", "\n"),
    ("secret", "export ACME_TOKEN=", "{h40}", ""),
    ("secret", "X-Api-Key: ", "{m32}", "\n"),
    ("secret", "secret: \"", "x9Kq!27zpLq", "\""),
    ("sentry-dsn", "https://", "{h32}", "@o12345.ingest.sentry.io/67"),
    (
        "slack-webhook",
        "https://hooks.slack.com/services/",
        "T{u10}/B{u10}/{m24}",
        "",
    ),
    ("twilio-auth-token", "TWILIO_AUTH_TOKEN=", "{h32}", ""),
    (
        "url-password",
        "git clone https://bob:",
        "x9Kq27VzpLq",
        "@git.example/x.git",
    ),
];

#[test]
fn each_kind_of_token_is_found_exactly() {
    for (kind, form) in TOKENS {
        let token = fill(form);
        let places = [
            ("", ""),
            ("use ", " now"),
            ("\"", "\""),
            ("(", ")."),
            ("钥匙", "，好"),
            ("🔑", "🔒"),
            ("\\n", "\\n"),
            ("=", "\r\n"),
        ];
        for (before, after) in places {
            let text = format!("{before}{token}{after}");
            assert_eq!(found(&text), [(*kind, token.as_str())], "in {text:?}");
        }
    }
}

#[test]
fn each_secret_that_needs_its_surroundings_is_found_exactly() {
    for (kind, before, form, after) in IN_PLACE {
        let secret = fill(form);
        for (first, last) in [("", ""), ("一些文字\n", "\n更多")] {
            let text = format!("{first}{before}{secret}{after}{last}");
            assert_eq!(found(&text), [(*kind, secret.as_str())], "in {text:?}");
        }
    }
}

#[test]
fn every_kind_has_an_example_here_and_a_name_that_leads_back_to_it() {
    let tokens = TOKENS.iter().map(|(kind, _)| *kind);
    let shown: BTreeSet<&str> = tokens.chain(IN_PLACE.iter().map(|(kind, ..)| *kind)).collect();
    let names: BTreeSet<&str> = SecretKind::all().iter().map(|kind| kind.name()).collect();
    assert_eq!(shown, names);
    assert_eq!(
        names.len(),
        SecretKind::all().len(),
        "two kinds have the same name"
    );
    for kind in SecretKind::all() {
        assert_eq!(SecretKind::from_name(kind.name()), Some(*kind));
        assert!(
            kind.name()
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        );
    }
    assert_eq!(SecretKind::from_name("Jwt"), None);
}
