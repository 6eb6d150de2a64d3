//! Tokens of those who host code, packages and the tools of developers.

use super::TokenPart::{Run, Text};
use super::TokenRule;
use crate::byte_set::{ALNUM, BASE64_URL, ByteSet, LOWER_ALNUM, LOWER_HEX, WORD};
use crate::kind::SecretKind as Kind;

const GITHUB: &[super::TokenPart] = &[Run(ALNUM, 36, 255)];
const GITLAB: &[super::TokenPart] = &[Run(BASE64_URL.or(ByteSet::from_text(".")), 20, 320)];
const ATLASSIAN: &[super::TokenPart] = &[Run(BASE64_URL.or(ByteSet::from_text("=")), 120, 260)];

pub(super) const TOKENS: &[TokenRule] = &[
    TokenRule::new(Kind::GithubToken, &["ghp_", "gho_", "ghu_"], GITHUB),
    TokenRule::new(
        Kind::GithubToken,
        &["ghs_"],
        &[Run(BASE64_URL.or(ByteSet::from_text(".")), 36, 520)],
    ),
    TokenRule::new(Kind::GithubToken, &["ghr_"], GITHUB),
    TokenRule::new(
        Kind::GithubFineGrainedToken,
        &["github_pat_"],
        &[Run(WORD, 60, 255)],
    ),
    TokenRule::new(
        Kind::GitlabToken,
        &[
            "glpat-",
            "gldt-",
            "glrt-",
            "glrtr-",
            "glptt-",
            "glcbt-",
            "glft-",
            "glimt-",
            "glsoat-",
            "glagent-",
            "gloas-",
            "glffct-",
            "GR1348941",
        ],
        GITLAB,
    ),
    TokenRule::new(Kind::NpmToken, &["npm_"], &[Run(ALNUM, 36, 40)]),
    TokenRule::new(Kind::PypiToken, &["pypi-AgE"], &[Run(BASE64_URL, 50, 1000)]),
    TokenRule::new(Kind::CratesIoToken, &["cio"], &[Run(ALNUM, 32, 32)]),
    TokenRule::new(Kind::RubygemsKey, &["rubygems_"], &[Run(LOWER_HEX, 48, 48)]),
    TokenRule::new(
        Kind::DockerToken,
        &["dckr_pat_", "dckr_oat_"],
        &[Run(BASE64_URL, 20, 64)],
    ),
    TokenRule::new(Kind::NugetKey, &["oy2"], &[Run(LOWER_ALNUM, 43, 43)]),
    TokenRule::new(Kind::JfrogToken, &["AKCp"], &[Run(ALNUM, 60, 90)]).outside_base64(),
    TokenRule::new(Kind::JfrogToken, &["cmVmdGtu"], &[Run(ALNUM, 50, 70)]),
    TokenRule::new(Kind::ClojarsToken, &["CLOJARS_"], &[Run(LOWER_HEX, 60, 60)]),
    TokenRule::new(Kind::AtlassianToken, &["ATATT3", "ATCTT3"], ATLASSIAN),
    TokenRule::new(Kind::AtlassianToken, &["ATBB"], &[Run(ALNUM, 28, 36)]).outside_base64(),
    TokenRule::new(Kind::LinearKey, &["lin_api_"], &[Run(ALNUM, 40, 48)]),
    TokenRule::new(Kind::LinearKey, &["lin_oauth_"], &[Run(ALNUM, 40, 80)]),
    TokenRule::new(Kind::FigmaToken, &["figd_", "figo_"], &[Run(BASE64_URL, 36, 60)]),
    TokenRule::new(
        Kind::PostmanKey,
        &["PMAK-"],
        &[Run(LOWER_HEX, 24, 24), Text("-"), Run(LOWER_HEX, 34, 34)],
    ),
    TokenRule::new(Kind::ReadmeKey, &["rdme_"], &[Run(LOWER_ALNUM, 70, 70)]),
    TokenRule::new(Kind::SourcegraphToken, &["sgp_"], &[Run(WORD, 40, 64)]),
    TokenRule::new(Kind::BuildkiteToken, &["bkua_"], &[Run(LOWER_HEX, 40, 40)]),
    TokenRule::new(
        Kind::CircleciToken,
        &["CCIPAT_"],
        &[Run(ALNUM, 20, 24), Text("_"), Run(LOWER_HEX, 40, 40)],
    ),
];
