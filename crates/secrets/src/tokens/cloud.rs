//! Tokens of clouds and of those who host programs, data and errors.

use super::TokenPart::{Run, Text};
use super::{TokenRule, UUID_PARTS};
use crate::byte_set::{
    ALNUM, BASE64, BASE64_URL, ByteSet, DIGITS, HEX, LOWER_ALNUM, LOWER_HEX, UPPER_ALNUM, WORD,
};
use crate::kind::SecretKind as Kind;

const AWS_ID: &[super::TokenPart] = &[Run(UPPER_ALNUM, 16, 16)];
const ENTRA: ByteSet = BASE64_URL.or(ByteSet::from_text("~."));
const SIGNATURE: ByteSet = BASE64.or(ByteSet::from_text("%_-"));
const URL_DOTS: ByteSet = BASE64_URL.or(ByteSet::from_text("."));
const HEX_40: &[super::TokenPart] = &[Run(LOWER_HEX, 40, 40)];
const HEX_64: &[super::TokenPart] = &[Run(LOWER_HEX, 64, 64)];
const DOPPLER: &[super::TokenPart] = &[Run(URL_DOTS, 40, 80)];
const VAULT: &[super::TokenPart] = &[Run(BASE64_URL, 24, 300)];
const MACAROON: &[super::TokenPart] = &[Run(BASE64.or(ByteSet::from_text("_-,")), 100, 2000)];

pub(super) const TOKENS: &[TokenRule] = &[
    TokenRule::new(Kind::AwsAccessKey, &["AKIA", "ASIA", "ABIA", "ACCA"], AWS_ID),
    TokenRule::new(Kind::AwsSecretKey, &["ABSK"], &[Run(BASE64, 100, 200)]),
    TokenRule::new(Kind::GoogleApiKey, &["AIza"], &[Run(BASE64_URL, 35, 35)]),
    TokenRule::new(Kind::GoogleOauthSecret, &["GOCSPX-"], &[Run(BASE64_URL, 28, 28)]),
    TokenRule::new(Kind::GoogleOauthToken, &["ya29."], &[Run(URL_DOTS, 30, 2048)]),
    TokenRule::new(Kind::GoogleOauthToken, &["1//0"], &[Run(BASE64_URL, 40, 200)]),
    TokenRule::new(Kind::AzureStorageKey, &["AccountKey="], &[Run(BASE64, 86, 88)]).without_anchor(),
    TokenRule::new(
        Kind::AzureStorageKey,
        &["SharedAccessKey="],
        &[Run(BASE64, 43, 88)],
    )
    .without_anchor(),
    TokenRule::new(Kind::AzureSasSignature, &["sig="], &[Run(SIGNATURE, 42, 90)]).without_anchor(),
    TokenRule::new(
        Kind::AzureClientSecret,
        &[
            "0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~",
        ],
        &[Run(ENTRA, 31, 36)],
    )
    .with_run_before(ENTRA, 3, 3),
    TokenRule::new(Kind::AlibabaKey, &["LTAI"], &[Run(ALNUM, 12, 24)]).outside_base64(),
    TokenRule::new(
        Kind::DigitaloceanToken,
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        HEX_64,
    ),
    TokenRule::new(Kind::HerokuKey, &["HRKU-AA"], &[Run(BASE64_URL, 50, 70)]),
    TokenRule::new(Kind::HerokuKey, &["HRKU-"], UUID_PARTS),
    TokenRule::new(
        Kind::CloudflareKey,
        &["v1.0-"],
        &[Run(LOWER_HEX, 24, 24), Text("-"), Run(LOWER_HEX, 140, 150)],
    ),
    TokenRule::new(Kind::FlyToken, &["fo1_"], &[Run(BASE64_URL, 40, 48)]),
    TokenRule::new(Kind::FlyToken, &["fm1a_", "fm1r_", "fm2_"], MACAROON),
    TokenRule::new(Kind::NetlifyToken, &["nfp_"], &[Run(ALNUM, 36, 40)]),
    TokenRule::new(
        Kind::DatabricksToken,
        &["dapi"],
        &[Run(LOWER_HEX.or(ByteSet::from_text("-")), 32, 34)],
    ),
    TokenRule::new(Kind::VaultToken, &["hvs.", "hvb.", "hvr."], VAULT),
    TokenRule::new(
        Kind::DopplerToken,
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        DOPPLER,
    ),
    TokenRule::new(Kind::PulumiToken, &["pul-"], HEX_40),
    TokenRule::new(
        Kind::TerraformToken,
        &[".atlasv1."],
        &[Run(BASE64_URL.or(ByteSet::from_text("=")), 60, 72)],
    )
    .with_run_before(ALNUM, 14, 14),
    TokenRule::new(Kind::SupabaseToken, &["sbp_"], HEX_40),
    TokenRule::new(Kind::SupabaseToken, &["sb_secret_"], &[Run(BASE64_URL, 28, 60)]),
    TokenRule::new(
        Kind::PlanetscaleToken,
        &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"],
        &[Run(URL_DOTS, 32, 64)],
    ),
    TokenRule::new(Kind::NewrelicKey, &["NRAK-"], &[Run(UPPER_ALNUM, 27, 27)]),
    TokenRule::new(Kind::NewrelicKey, &["NRII-"], &[Run(BASE64_URL, 32, 32)]),
    TokenRule::new(Kind::NewrelicKey, &["NRAL"], &[]).with_run_before(LOWER_ALNUM, 36, 36),
    TokenRule::new(Kind::SentryToken, &["sntrys_"], &[Run(BASE64.or(WORD), 60, 500)]),
    TokenRule::new(Kind::SentryToken, &["sntryu_"], HEX_64),
    TokenRule::new(
        Kind::GrafanaToken,
        &["glsa_"],
        &[Run(ALNUM, 32, 32), Text("_"), Run(HEX, 8, 8)],
    ),
    TokenRule::new(Kind::GrafanaToken, &["glc_"], &[Run(BASE64, 32, 400)]),
    TokenRule::new(Kind::GrafanaToken, &["eyJrIjoi"], &[Run(BASE64, 60, 400)]),
    TokenRule::new(
        Kind::DynatraceToken,
        &["dt0"],
        &[
            Run(ALNUM, 3, 3),
            Text("."),
            Run(UPPER_ALNUM, 24, 24),
            Text("."),
            Run(UPPER_ALNUM, 64, 64),
        ],
    ),
    TokenRule::new(Kind::TailscaleKey, &["tskey-"], &[Run(BASE64_URL, 20, 100)]),
    TokenRule::new(Kind::PrefectKey, &["pnu_"], &[Run(ALNUM, 36, 36)]),
    TokenRule::new(Kind::TelegramBotToken, &[":AA"], &[Run(BASE64_URL, 32, 34)])
        .with_run_before(DIGITS, 8, 10),
    TokenRule::new(Kind::AgeKey, &["AGE-SECRET-KEY-1"], &[Run(UPPER_ALNUM, 58, 58)]),
];
