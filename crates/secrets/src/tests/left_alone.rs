//! Text that only resembles secrets is left alone, and files are named by what they hold.

use super::{fill, found};
use crate::credential_file;

/// Texts without a secret; fields are filled with noise.
const CLEAN: &[&str] = &[
    "",
    "The password is incorrect, and the token has expired.",
    "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "sk-your-api-key-here-and-nothing-else-0000",
    "{h40} is a commit, {h64} a digest, {h8}-{h4}-{h4}-{h4}-{h12} an id",
    "xghp_{m36}",
    "AIza{w36}",
    "password = \"changeme\"",
    "password = \"password123\"",
    "\"password\": \"请输入密码\", \"secret\": \"このトークンを入力してください\"",
    "\"password\": \"Пароль\", 'passwd': 'Jelszó!', \"pass\": \"Required!\"",
    "password = \"your-password-1\"",
    "password = \"<password1>\"",
    "password = \"${DB_PASSWORD_1}\"",
    "password = \"{{ vault_password_2 }}\"",
    "password = \"********\"",
    "password = \"xxxxxxxx\"",
    "password = process.env.DB_PASSWORD1",
    "password = os.environ[\"DB_PASSWORD_1\"]",
    "password = settings.database2.password",
    "password = hash_password(plain, 12)",
    "password: z.string().min(8).max(64),",
    "password: Option<String>,",
    "password: &[u8],",
    "password: bytes,",
    "\"password\": null, \"token\": true, \"secret\": 12345678",
    "PASSWORD_FILE=/run/secrets/db_password_1",
    "export TOKEN=$(gh auth token)",
    "DB_PASSWORD=$POSTGRES_PASSWORD1",
    "--password <PASSWORD1>",
    "max_tokens: 128000, token_count = \"{h32}\"",
    "nextPageToken: \"{m40}\"",
    "public_key = \"{m64}\"",
    "csrf_token: \"{m40}\"",
    "password_hash = \"{m40}\"",
    "secret = b\"\\x9b\\xbe\\x43\\x6b\\xa9\\x40\"",
    "token = \"identifier_of_something_else\"",
    "token = \"org.apache.hadoop.security.token2\"",
    "let token = lexer.next_token2(input);",
    "postgres://user:password@localhost/db",
    "postgres://postgres:postgres@localhost/db",
    "https://user:${PASS}@host/ and https://user:<pass>@host/",
    "https://a.example:8080/@scope/name and ssh://git@host:22/x",
    "Basic understanding and Bearer bonds",
    "Authorization: Bearer $TOKEN",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN PUBLIC KEY-----\n{m64}\n{m64}\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\n{m64}\n-----END CERTIFICATE-----",
    "if it begins with -----BEGIN PRIVATE KEY----- then read on",
    "eyJhbGciOiJIUzI1NiJ9 is only a header",
    "curl -u user:password https://a.example",
    "bypass = \"x9Kq!27VzpLq\"",
    "{m20}/EAA{m100}/{m30}",
];

/// Files that hold credentials, with the reason.
const CREDENTIALS: &[(&str, &str)] = &[
    ("id_rsa", "an SSH private key"),
    (".ssh/id_ed25519", "an SSH private key"),
    ("home/bob/.aws/credentials", "a file of cloud keys"),
    (".env", "a file of environment variables"),
    ("app/.env.production", "a file of environment variables"),
    ("server.key", "a private key"),
    ("Server.PEM", "a file of keys or certificates"),
    ("vault.kdbx", "a store of passwords"),
    (".netrc", "a file of user names and passwords"),
    (".docker/config.json", "a file of container registry passwords"),
    (".kube/config", "a file of cluster credentials"),
    ("client_secret_123.json", "a file of OAuth client secrets"),
    ("service-account-prod.json", "the key of a service account"),
    (
        "terraform.tfstate",
        "a Terraform state, which holds passwords in the clear",
    ),
    ("prod.tfvars", "a file of Terraform variables"),
];

/// Files that do not.
const PLAIN_FILES: &[&str] = &[
    "",
    "/",
    "id_rsa.pub",
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    "env",
    "environment.rs",
    "credentials.rs",
    "credentials.md",
    "config.json",
    ".git/config",
    "config",
    "src/key.rs",
    "keys.md",
    "public.pem",
    "example.tfvars",
    ".key",
    "service.json",
    "notes/password.md",
    "shadow",
    "monkey",
];

#[test]
fn clean_text_is_left_alone() {
    for form in CLEAN {
        let text = fill(form);
        assert_eq!(found(&text), [], "in {text:?}");
    }
}

#[test]
fn files_of_credentials_are_named_with_the_reason() {
    for (path, reason) in CREDENTIALS {
        assert_eq!(credential_file(path), Some(*reason), "{path}");
    }
}

#[test]
fn other_files_are_not_taken_for_credentials() {
    for path in PLAIN_FILES {
        assert_eq!(credential_file(path), None, "{path}");
    }
}
