//! The kinds of secrets that the rules tell apart.

/// Declares the kinds, each with its name and one sentence.
macro_rules! secret_kinds {
    ($($kind:ident $name:literal $sentence:literal)+) => {
        /// The kind of a secret: who issued it, or where it was written.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum SecretKind {
            $(#[doc = $sentence] $kind,)+
        }

        const ALL_KINDS: &[SecretKind] = &[$(SecretKind::$kind),+];

        impl SecretKind {
            /// Returns the name of the kind in kebab case, such as `aws-access-key`. It contains no space.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

secret_kinds! {
    AdafruitKey "adafruit-key" "A key of Adafruit IO."
    AgeKey "age-key" "A secret key of age."
    AirtableToken "airtable-token" "A personal access token of Airtable."
    AlibabaKey "alibaba-key" "An access key id of Alibaba Cloud."
    AnthropicKey "anthropic-key" "A key of Anthropic."
    AtlassianToken "atlassian-token" "A token of Atlassian or Bitbucket."
    AwsAccessKey "aws-access-key" "An access key id of AWS."
    AwsSecretKey "aws-secret-key" "A secret access key of AWS."
    AwsSessionToken "aws-session-token" "A session token of AWS."
    AzureClientSecret "azure-client-secret" "A client secret of Microsoft Entra."
    AzureDevopsToken "azure-devops-token" "A personal access token of Azure DevOps."
    AzureSasSignature "azure-sas-signature" "The signature of a shared-access URL of Azure."
    AzureStorageKey "azure-storage-key" "An account key of Azure Storage, or a shared access key."
    BasicAuth "basic-auth" "A user name and password of HTTP's basic authentication."
    BearerToken "bearer-token" "A bearer token in an HTTP header."
    BraintreeToken "braintree-token" "An access token of Braintree."
    BrevoKey "brevo-key" "A key of Brevo."
    BuildkiteToken "buildkite-token" "A token of Buildkite."
    CerebrasKey "cerebras-key" "A key of Cerebras."
    CircleciToken "circleci-token" "A personal token of CircleCI."
    ClojarsToken "clojars-token" "A deploy token of Clojars."
    CloudflareKey "cloudflare-key" "A key or token of Cloudflare."
    ConnectionString "connection-string" "The password of a connection string or database URL."
    ContentfulToken "contentful-token" "A personal access token of Contentful."
    CratesIoToken "crates-io-token" "A token of crates.io."
    DatabricksToken "databricks-token" "A personal access token of Databricks."
    DatadogKey "datadog-key" "A key of Datadog."
    DigitaloceanToken "digitalocean-token" "A token of DigitalOcean."
    DiscordBotToken "discord-bot-token" "The token of a Discord bot."
    DiscordWebhook "discord-webhook" "The token of a Discord webhook."
    DockerToken "docker-token" "An access token of Docker Hub."
    DopplerToken "doppler-token" "A token of Doppler."
    DropboxToken "dropbox-token" "A short-lived token of Dropbox."
    DynatraceToken "dynatrace-token" "A token of Dynatrace."
    EasypostKey "easypost-key" "A key of EasyPost."
    FacebookToken "facebook-token" "An access token of Facebook."
    FastlyToken "fastly-token" "A token of Fastly."
    FigmaToken "figma-token" "A token of Figma."
    FlyToken "fly-token" "A token of Fly.io."
    GcpServiceAccountKey "gcp-service-account-key" "The private key in a service-account file of Google Cloud."
    GithubFineGrainedToken "github-fine-grained-token" "A fine-grained personal access token of GitHub."
    GithubToken "github-token" "A token of GitHub."
    GitlabToken "gitlab-token" "A token of GitLab."
    GoogleApiKey "google-api-key" "An API key of Google."
    GoogleOauthSecret "google-oauth-secret" "A client secret of Google's OAuth."
    GoogleOauthToken "google-oauth-token" "An access or refresh token of Google's OAuth."
    GrafanaToken "grafana-token" "A token of Grafana."
    GroqKey "groq-key" "A key of Groq."
    HerokuKey "heroku-key" "A key of Heroku."
    HubspotToken "hubspot-token" "A private-app token of HubSpot."
    HuggingfaceToken "huggingface-token" "A token of Hugging Face."
    JfrogToken "jfrog-token" "A token of JFrog Artifactory."
    Jwt "jwt" "A JSON Web Token."
    LangfuseKey "langfuse-key" "A secret key of Langfuse."
    LangsmithKey "langsmith-key" "A key of LangSmith."
    LaunchdarklyKey "launchdarkly-key" "A server key of LaunchDarkly."
    LinearKey "linear-key" "A key of Linear."
    MailchimpKey "mailchimp-key" "A key of Mailchimp."
    MailgunKey "mailgun-key" "A key of Mailgun."
    NetlifyToken "netlify-token" "A personal access token of Netlify."
    NewrelicKey "newrelic-key" "A key of New Relic."
    NotionToken "notion-token" "A token of Notion."
    NpmToken "npm-token" "A token of npm."
    NugetKey "nuget-key" "A key of NuGet."
    NvidiaKey "nvidia-key" "A key of NVIDIA."
    OnepasswordToken "onepassword-token" "A service-account token or secret key of 1Password."
    OpenaiKey "openai-key" "A key of OpenAI, or of a service that copies its form."
    OpenrouterKey "openrouter-key" "A key of OpenRouter."
    Password "password" "A value given to a name such as `password`."
    PerplexityKey "perplexity-key" "A key of Perplexity."
    PineconeKey "pinecone-key" "A key of Pinecone."
    PlanetscaleToken "planetscale-token" "A token or password of PlanetScale."
    PostmanKey "postman-key" "A key of Postman."
    PrefectKey "prefect-key" "A key of Prefect."
    PrivateKey "private-key" "A private key, from its BEGIN line to its END line."
    PulumiToken "pulumi-token" "A token of Pulumi."
    PypiToken "pypi-token" "A token of PyPI."
    ReadmeKey "readme-key" "A key of ReadMe."
    ReplicateToken "replicate-token" "A token of Replicate."
    ResendKey "resend-key" "A key of Resend."
    RubygemsKey "rubygems-key" "A key of RubyGems."
    Secret "secret" "A value given to a name such as `apiKey`, `token` or `secret`."
    SendgridKey "sendgrid-key" "A key of SendGrid."
    SentryDsn "sentry-dsn" "The key in an address to which programs report errors to Sentry."
    SentryToken "sentry-token" "A token of Sentry."
    ShippoToken "shippo-token" "A token of Shippo."
    ShopifyToken "shopify-token" "A token of Shopify."
    SlackToken "slack-token" "A token of Slack."
    SlackWebhook "slack-webhook" "The secret part of the address of a Slack webhook."
    SourcegraphToken "sourcegraph-token" "A token of Sourcegraph."
    SquareToken "square-token" "A token of Square."
    StripeKey "stripe-key" "A secret or restricted key of Stripe."
    StripeWebhookSecret "stripe-webhook-secret" "The signing secret of a Stripe webhook."
    SupabaseToken "supabase-token" "A token or secret key of Supabase."
    TailscaleKey "tailscale-key" "A key of Tailscale."
    TavilyKey "tavily-key" "A key of Tavily."
    TelegramBotToken "telegram-bot-token" "The token of a Telegram bot."
    TerraformToken "terraform-token" "A token of Terraform Cloud."
    TwilioAuthToken "twilio-auth-token" "An auth token of Twilio."
    TwilioKey "twilio-key" "An API key of Twilio."
    TwitterBearer "twitter-bearer" "An app's bearer token of X, formerly Twitter."
    TypeformToken "typeform-token" "A personal token of Typeform."
    UrlPassword "url-password" "The password in a web address."
    VaultToken "vault-token" "A token of HashiCorp Vault."
    XaiKey "xai-key" "A key of xAI."
}

impl SecretKind {
    /// Returns every kind, in the order of their names.
    pub const fn all() -> &'static [Self] {
        ALL_KINDS
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        ALL_KINDS.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns how much the kind says about a secret: of two that overlap, the span gets the one that says more.
    pub(crate) const fn rank(self) -> u8 {
        match self {
            Self::Password | Self::Secret => 0,
            Self::BearerToken | Self::BasicAuth => 1,
            Self::UrlPassword => 2,
            Self::ConnectionString | Self::Jwt => 3,
            Self::PrivateKey => 5,
            Self::GcpServiceAccountKey => 6,
            _ => 4,
        }
    }
}
