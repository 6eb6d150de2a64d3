//! Tokens of those who send messages, take payments, run shops and keep documents.

use super::TokenPart::{Run, Text};
use super::{TokenRule, UUID_PARTS};
use crate::byte_set::{ALNUM, BASE64, BASE64_URL, ByteSet, DIGITS, HEX, LOWER_ALNUM, LOWER_HEX, UPPER_ALNUM};
use crate::kind::SecretKind as Kind;

const URL_DOTS: ByteSet = BASE64_URL.or(ByteSet::from_text("."));
const SLACK: &[super::TokenPart] = &[Run(BASE64_URL, 20, 255)];
const SLACK_PATH: &[super::TokenPart] = &[
    Run(UPPER_ALNUM, 8, 14),
    Text("/"),
    Run(UPPER_ALNUM, 8, 14),
    Text("/"),
    Run(ALNUM, 18, 40),
];
const STRIPE: &[super::TokenPart] = &[Run(ALNUM, 20, 250)];
const SHOPIFY: &[super::TokenPart] = &[Run(HEX, 32, 32)];
// A bot's number in base64, a time and a signature. The number's first digits decide the first letters, which are the
// anchors below.
const DISCORD: &[super::TokenPart] = &[
    Run(ALNUM, 19, 27),
    Text("."),
    Run(BASE64_URL, 6, 7),
    Text("."),
    Run(BASE64_URL, 27, 42),
];
const BRAINTREE: &[super::TokenPart] = &[Run(LOWER_ALNUM, 16, 16), Text("$"), Run(LOWER_HEX, 32, 32)];
const EASYPOST: &[super::TokenPart] = &[Run(ALNUM, 54, 54)];

pub(super) const TOKENS: &[TokenRule] = &[
    TokenRule::new(
        Kind::SlackToken,
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-"],
        SLACK,
    ),
    TokenRule::new(
        Kind::SlackToken,
        &["xoxd-"],
        &[Run(BASE64_URL.or(ByteSet::from_text("%+/=")), 40, 400)],
    ),
    TokenRule::new(Kind::SlackToken, &["xoxe-"], SLACK),
    TokenRule::new(Kind::SlackToken, &["xoxe."], &[Run(URL_DOTS, 40, 300)]),
    TokenRule::new(Kind::SlackToken, &["xapp-"], &[Run(BASE64_URL, 40, 255)]),
    TokenRule::new(Kind::SlackToken, &["xwfp-"], SLACK),
    TokenRule::new(Kind::SlackWebhook, &["hooks.slack.com/services/"], SLACK_PATH).without_anchor(),
    TokenRule::new(
        Kind::SlackWebhook,
        &["hooks.slack.com/workflows/"],
        &[Run(ALNUM.or(ByteSet::from_text("/")), 40, 90)],
    )
    .without_anchor(),
    TokenRule::new(
        Kind::StripeKey,
        &["sk_live_", "rk_live_", "sk_test_", "rk_test_"],
        STRIPE,
    ),
    TokenRule::new(Kind::StripeWebhookSecret, &["whsec_"], &[Run(BASE64, 24, 90)]),
    TokenRule::new(
        Kind::TwilioKey,
        &[
            "SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd",
            "SKe", "SKf",
        ],
        &[Run(LOWER_HEX, 31, 31)],
    ),
    TokenRule::new(
        Kind::SendgridKey,
        &["SG."],
        &[Run(BASE64_URL, 20, 24), Text("."), Run(BASE64_URL, 39, 50)],
    ),
    TokenRule::new(Kind::MailgunKey, &["key-"], &[Run(LOWER_HEX, 32, 32)]),
    TokenRule::new(Kind::MailchimpKey, &["-us"], &[Run(DIGITS, 1, 2)]).with_run_before(LOWER_HEX, 32, 32),
    TokenRule::new(
        Kind::BrevoKey,
        &["xkeysib-", "xsmtpsib-"],
        &[Run(LOWER_HEX, 64, 64), Text("-"), Run(ALNUM, 16, 16)],
    ),
    TokenRule::new(
        Kind::ResendKey,
        &["re_"],
        &[Run(ALNUM, 8, 8), Text("_"), Run(ALNUM, 20, 28)],
    ),
    TokenRule::new(
        Kind::DiscordBotToken,
        &[
            "MTA", "MTE", "MTI", "MTM", "MTQ", "MTU", "MTY", "MTc", "MTg", "MTk", "MjA", "MjE", "MjI", "MjM",
            "MjQ", "MjU", "MjY", "Mjc", "Mjg", "Mjk", "MzA", "MzE", "MzI", "MzM", "MzQ", "MzU", "MzY", "Mzc",
            "Mzg", "Mzk", "NDA", "NDE", "NDI", "NDM", "NDQ", "NDU", "NDY", "NDc", "NDg", "NDk", "NTA", "NTE",
            "NTI", "NTM", "NTQ", "NTU", "NTY", "NTc", "NTg", "NTk", "NjA", "NjE", "NjI", "NjM", "NjQ", "NjU",
            "NjY", "Njc", "Njg", "Njk", "NzA", "NzE", "NzI", "NzM", "NzQ", "NzU", "NzY", "Nzc", "Nzg", "Nzk",
            "ODA", "ODE", "ODI", "ODM", "ODQ", "ODU", "ODY", "ODc", "ODg", "ODk", "OTA", "OTE", "OTI", "OTM",
            "OTQ", "OTU", "OTY", "OTc", "OTg", "OTk",
        ],
        DISCORD,
    ),
    TokenRule::new(
        Kind::DiscordWebhook,
        &["/api/webhooks/"],
        &[Run(DIGITS, 16, 21), Text("/"), Run(BASE64_URL, 56, 90)],
    )
    .only_last_part(),
    TokenRule::new(Kind::FacebookToken, &["EAA"], &[Run(ALNUM, 80, 400)]).outside_base64(),
    TokenRule::new(
        Kind::TwitterBearer,
        &["AAAAAAAAAAAAAAAAAAAA"],
        &[Run(ALNUM.or(ByteSet::from_text("%")), 60, 140)],
    )
    .outside_base64(),
    TokenRule::new(Kind::SquareToken, &["sq0atp-"], &[Run(BASE64_URL, 22, 22)]),
    TokenRule::new(Kind::SquareToken, &["sq0csp-"], &[Run(BASE64_URL, 43, 43)]),
    TokenRule::new(Kind::SquareToken, &["EAAA"], &[Run(BASE64_URL, 58, 62)]).outside_base64(),
    TokenRule::new(
        Kind::BraintreeToken,
        &["access_token$production$", "access_token$sandbox$"],
        BRAINTREE,
    ),
    TokenRule::new(
        Kind::ShopifyToken,
        &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"],
        SHOPIFY,
    ),
    TokenRule::new(Kind::NotionToken, &["ntn_"], &[Run(ALNUM, 40, 60)]),
    TokenRule::new(Kind::NotionToken, &["secret_"], &[Run(ALNUM, 43, 43)]),
    TokenRule::new(
        Kind::AirtableToken,
        &["pat"],
        &[Run(ALNUM, 14, 14), Text("."), Run(LOWER_HEX, 64, 64)],
    ),
    TokenRule::new(Kind::DropboxToken, &["sl."], &[Run(URL_DOTS, 120, 1500)]),
    TokenRule::new(Kind::ContentfulToken, &["CFPAT-"], &[Run(BASE64_URL, 43, 43)]),
    TokenRule::new(Kind::TypeformToken, &["tfp_"], &[Run(URL_DOTS, 44, 62)]),
    TokenRule::new(Kind::EasypostKey, &["EZAK", "EZTK"], EASYPOST),
    TokenRule::new(
        Kind::ShippoToken,
        &["shippo_live_", "shippo_test_"],
        &[Run(LOWER_HEX, 40, 40)],
    ),
    TokenRule::new(
        Kind::HubspotToken,
        &["pat-na1-", "pat-na2-", "pat-eu1-"],
        UUID_PARTS,
    ),
    TokenRule::new(Kind::LaunchdarklyKey, &["sdk-"], UUID_PARTS),
    TokenRule::new(Kind::AdafruitKey, &["aio_"], &[Run(ALNUM, 28, 28)]),
    TokenRule::new(
        Kind::OnepasswordToken,
        &["ops_eyJ"],
        &[Run(BASE64_URL.or(BASE64), 200, 1500)],
    ),
    TokenRule::new(
        Kind::OnepasswordToken,
        &["A3-"],
        &[
            Run(UPPER_ALNUM, 6, 6),
            Text("-"),
            Run(UPPER_ALNUM.or(ByteSet::from_text("-")), 26, 30),
        ],
    ),
];
