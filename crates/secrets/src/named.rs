//! Secrets whose form is too plain to stand alone: only a provider's name before them tells what they are.

use std::ops::Range;

use crate::byte_set::{ALNUM, BASE64, BASE64_URL, ByteSet, HEX, LOWER_ALNUM, LOWER_HEX, WORD};
use crate::judge;
use crate::kind::SecretKind;
use crate::probe::TextProbe;
use crate::separators::read_value_start;
use crate::tokens::TokenPart::{self, Run, Text};
use crate::tokens::{UUID_PARTS, match_parts};

/// A rule for values given to names that contain one of the anchors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedRule {
    kind: SecretKind,
    pub(crate) anchors: &'static [&'static str],
    forms: &'static [&'static [TokenPart]],
}

/// Words that a name must contain after the provider's.
const SECRET_WORDS: [&str; 6] = ["key", "token", "secret", "pat", "auth", "password"];

const HEX_32: &[TokenPart] = &[Run(LOWER_HEX, 32, 32)];
const HEX_40: &[TokenPart] = &[Run(LOWER_HEX, 40, 40)];

pub(crate) const NAMED_RULES: &[NamedRule] = &[
    NamedRule {
        kind: SecretKind::AwsSecretKey,
        anchors: &[
            "ecret_access_key",
            "ECRET_ACCESS_KEY",
            "ecretAccessKey",
            "ecret access key",
            "ws_secret",
            "WS_SECRET",
        ],
        forms: &[&[Run(ALNUM.or(ByteSet::from_text("+/")), 40, 40)]],
    },
    NamedRule {
        kind: SecretKind::AwsSessionToken,
        anchors: &[
            "ession_token",
            "ESSION_TOKEN",
            "essionToken",
            "ecurity_token",
            "ECURITY_TOKEN",
        ],
        forms: &[&[Run(BASE64, 100, 2000)]],
    },
    NamedRule {
        kind: SecretKind::AzureStorageKey,
        anchors: &[
            "ccountKey",
            "ccount_key",
            "CCOUNT_KEY",
            "torage_key",
            "TORAGE_KEY",
        ],
        forms: &[&[Run(BASE64, 86, 88)]],
    },
    NamedRule {
        kind: SecretKind::AzureDevopsToken,
        anchors: &[
            "azure_devops",
            "AZURE_DEVOPS",
            "AzureDevops",
            "azureDevops",
            "AZDO",
            "VSTS",
        ],
        forms: &[&[Run(LOWER_ALNUM, 52, 52)], &[Run(ALNUM, 84, 84)]],
    },
    NamedRule {
        kind: SecretKind::TwilioAuthToken,
        anchors: &["twilio", "TWILIO", "Twilio"],
        forms: &[HEX_32],
    },
    NamedRule {
        kind: SecretKind::HerokuKey,
        anchors: &["heroku", "HEROKU", "Heroku"],
        forms: &[UUID_PARTS],
    },
    NamedRule {
        kind: SecretKind::CloudflareKey,
        anchors: &["cloudflare", "CLOUDFLARE", "Cloudflare", "CF_API", "cf_api"],
        forms: &[&[Run(BASE64_URL, 40, 40)], &[Run(LOWER_HEX, 37, 37)]],
    },
    NamedRule {
        kind: SecretKind::FastlyToken,
        anchors: &["fastly", "FASTLY", "Fastly"],
        forms: &[&[Run(BASE64_URL, 32, 32)]],
    },
    NamedRule {
        kind: SecretKind::DatadogKey,
        anchors: &[
            "datadog", "DATADOG", "Datadog", "DD_AP", "dd_ap", "dd-ap", "DD-AP",
        ],
        forms: &[HEX_32, HEX_40],
    },
    NamedRule {
        kind: SecretKind::FacebookToken,
        anchors: &["facebook", "FACEBOOK", "Facebook", "FB_APP", "fb_app"],
        forms: &[HEX_32],
    },
    NamedRule {
        kind: SecretKind::MailgunKey,
        anchors: &["mailgun", "MAILGUN", "Mailgun"],
        forms: &[&[
            Run(LOWER_HEX, 32, 32),
            Text("-"),
            Run(LOWER_HEX, 8, 8),
            Text("-"),
            Run(LOWER_HEX, 8, 8),
        ]],
    },
    NamedRule {
        kind: SecretKind::NewrelicKey,
        anchors: &["new_relic", "NEW_RELIC", "newrelic", "newRelic", "NewRelic"],
        forms: &[&[Run(HEX, 40, 40)]],
    },
];

impl NamedRule {
    /// Returns the secret given to the name at an anchor, and its kind.
    pub(crate) fn find(
        &self,
        probe: &TextProbe,
        anchor: &Range<usize>,
    ) -> Option<(Range<usize>, SecretKind)> {
        let set = WORD.or(ByteSet::from_text("-. "));
        let end = probe.run_end(anchor.end, set, 40);
        let name = probe.slice(anchor.start..end).to_ascii_lowercase();
        let secret = SECRET_WORDS
            .iter()
            .any(|word| judge::contains(&name, word.as_bytes()));
        secret.then_some(())?;
        // A blank may end the name or separate its words: the mark after them decides.
        let end = end - name.iter().rev().take_while(|byte| **byte == b' ').count();
        let start = read_value_start(probe, &(anchor.start..end))?;
        let (_, found) = self
            .forms
            .iter()
            .find_map(|form| match_parts(probe, start, form))?;
        judge::is_varied(probe.slice(start..found)).then_some((start..found, self.kind))
    }
}
