//! Tokens of those who host language models and the services around them.

use super::TokenPart::{Run, Text};
use super::{TokenRule, UUID_PARTS};
use crate::byte_set::{ALNUM, BASE64_URL, LETTERS, LOWER_ALNUM, LOWER_HEX, WORD};
use crate::kind::SecretKind as Kind;

const OPENAI: &[super::TokenPart] = &[Run(BASE64_URL, 40, 250)];
const ANTHROPIC: &[super::TokenPart] = &[Run(BASE64_URL, 32, 250)];
const LANGSMITH: &[super::TokenPart] = &[Run(LOWER_HEX, 32, 32), Text("_"), Run(LOWER_HEX, 10, 10)];

pub(super) const TOKENS: &[TokenRule] = &[
    TokenRule::new(Kind::OpenaiKey, &["sk-"], &[Run(ALNUM, 32, 64)]),
    TokenRule::new(
        Kind::OpenaiKey,
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"],
        OPENAI,
    ),
    TokenRule::new(Kind::AnthropicKey, &["sk-ant-"], ANTHROPIC),
    TokenRule::new(Kind::OpenrouterKey, &["sk-or-v1-"], &[Run(LOWER_HEX, 64, 64)]),
    TokenRule::new(Kind::LangfuseKey, &["sk-lf-"], UUID_PARTS),
    TokenRule::new(Kind::LangsmithKey, &["lsv2_pt_", "lsv2_sk_"], LANGSMITH),
    TokenRule::new(Kind::HuggingfaceToken, &["hf_"], &[Run(ALNUM, 32, 40)]),
    TokenRule::new(Kind::HuggingfaceToken, &["api_org_"], &[Run(LETTERS, 34, 34)]),
    TokenRule::new(Kind::ReplicateToken, &["r8_"], &[Run(ALNUM, 37, 40)]),
    TokenRule::new(Kind::GroqKey, &["gsk_"], &[Run(ALNUM, 48, 60)]),
    TokenRule::new(Kind::PerplexityKey, &["pplx-"], &[Run(ALNUM, 40, 64)]),
    TokenRule::new(Kind::XaiKey, &["xai-"], &[Run(ALNUM, 70, 90)]),
    TokenRule::new(Kind::PineconeKey, &["pcsk_"], &[Run(WORD, 50, 90)]),
    TokenRule::new(Kind::TavilyKey, &["tvly-"], &[Run(BASE64_URL, 24, 60)]),
    TokenRule::new(Kind::CerebrasKey, &["csk-"], &[Run(LOWER_ALNUM, 40, 60)]),
    TokenRule::new(Kind::NvidiaKey, &["nvapi-"], &[Run(BASE64_URL, 56, 80)]),
];
