//! Makes passwords and the names, strings and commands that hold them.

use crate::places::Plant;
use crate::random::{PlantRandom, encode_base64};

const LETTERS_AND_DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const WORDS: [&str; 12] = [
    "summer", "dragon", "monkey", "coffee", "garden", "silver", "tiger", "purple", "rocket", "banana",
    "winter", "sunshine",
];

fn in_place(before: impl Into<String>, secret: impl Into<String>, after: impl Into<String>) -> Plant {
    Plant {
        before: before.into(),
        secret: secret.into(),
        after: after.into(),
        bare: false,
    }
}

/// Makes a password of 8 to 32 characters with at least one letter, one digit and, if there are any, one symbol.
fn password(random: &mut PlantRandom, symbols: &str) -> String {
    loop {
        let length = random.between(8, 32);
        let made = random.from(&(LETTERS_AND_DIGITS.to_owned() + symbols), length);
        let has = |test: fn(char) -> bool| made.chars().any(test);
        let symbol = symbols.is_empty() || made.chars().any(|letter| symbols.contains(letter));
        let plain_start = made.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        if has(|letter| letter.is_ascii_alphabetic())
            && has(|letter| letter.is_ascii_digit())
            && symbol
            && plain_start
        {
            return made;
        }
    }
}

pub(crate) fn assigned(random: &mut PlantRandom) -> Plant {
    let quoted = "!@#$%^&*()-_=+[]{};:,.<>?/~|";
    let plain = "!@%^*-_=+?~";
    match random.below(17) {
        0 => in_place("password = \"", password(random, quoted), "\""),
        1 => in_place("DB_PASSWORD=", password(random, plain), ""),
        2 => in_place("export PGPASSWORD='", password(random, quoted), "'"),
        3 => in_place("  password: ", password(random, plain), ""),
        4 => in_place(
            "{\"user\": \"app\", \"password\": \"",
            password(random, quoted),
            "\"}",
        ),
        5 => in_place(
            "{\\\"user\\\":\\\"app\\\",\\\"passwd\\\":\\\"",
            password(random, quoted),
            "\\\"}",
        ),
        6 => in_place(
            "mytool login --username bob --password ",
            password(random, plain),
            " --quiet",
        ),
        7 => in_place("const char *smtpPass = \"", password(random, quoted), "\";"),
        8 => in_place("My password is ", password(random, plain), " by the way"),
        9 => in_place("<password>", password(random, plain), "</password>"),
        10 => in_place("let password: &str = \"", password(random, quoted), "\";"),
        11 => in_place(
            "connect(host='db', user='app', password='",
            password(random, quoted),
            "')",
        ),
        12 => in_place("spring.datasource.password=", password(random, plain), ""),
        13 => in_place("密码：", password(random, plain), "，谢谢"),
        15 => {
            let made = password(random, quoted) + "\"" + &password(random, "\\");
            in_place(
                "{\"password\": \"",
                made.replace('\\', "\\\\").replace('"', "\\\""),
                "\"}",
            )
        }
        14 => in_place(
            "docker run -e MYSQL_ROOT_PASSWORD=",
            password(random, plain),
            " mysql:8",
        ),
        _ => in_place(
            "machine db.internal login bob password ",
            password(random, plain),
            "",
        ),
    }
}

pub(crate) fn weak(random: &mut PlantRandom) -> Plant {
    let word = random.pick(&WORDS);
    let ending = random.pick(&["1", "12", "123", "2024", "!", "!1", "99", ""]);
    let made = format!("{word}{ending}");
    match random.below(4) {
        0 => in_place("password = \"", made, "\""),
        1 => in_place("DB_PASSWORD=", made, ""),
        2 => in_place("  password: ", made, ""),
        _ => in_place("My password is ", made, " by the way"),
    }
}

pub(crate) fn secret(random: &mut PlantRandom) -> Plant {
    let length = random.between(20, 64);
    let value = match random.below(4) {
        0 => random.hex(length),
        1 => random.mixed(length),
        2 => random.url_safe(length),
        _ => random.base64(length / 2),
    };
    match random.below(12) {
        0 => in_place("api_key = \"", value, "\""),
        1 => in_place("const apiKey = '", value, "';"),
        2 => in_place("ACME_API_KEY=", value, ""),
        3 => in_place("{\"apiKey\": \"", value, "\"}"),
        4 => in_place("  client_secret: ", value, ""),
        5 => in_place("export INTERNAL_TOKEN=", value, ""),
        6 => in_place("acme --token ", value, " list"),
        7 => in_place("X-Api-Key: ", value, ""),
        8 => in_place("JWT_SECRET=\"", value, "\""),
        9 => in_place("{\\\"access_token\\\":\\\"", value, "\\\",\\\"expires\\\":3600}"),
        10 => in_place("SECRET_KEY = '", value, "'"),
        _ => in_place("os.environ[\"ACME_SECRET\"] = \"", value, "\""),
    }
}

pub(crate) fn connection_string(random: &mut PlantRandom) -> Plant {
    let scheme = random.pick(&[
        "postgres",
        "postgresql",
        "mysql",
        "mongodb",
        "mongodb+srv",
        "redis",
        "rediss",
        "amqp",
        "postgresql+asyncpg",
    ]);
    let encoded = "-_.~!*";
    match random.below(7) {
        0 => in_place(
            format!("DATABASE_URL={scheme}://app:"),
            password(random, encoded),
            "@db.internal:5432/main",
        ),
        1 => in_place(
            format!("url = \"{scheme}://root:"),
            password(random, encoded),
            "@10.0.0.7/x?ssl=true\"",
        ),
        2 => in_place(
            format!("connect to {scheme}://svc_user:"),
            password(random, ""),
            "@cluster0.abcde.mongodb.net please",
        ),
        3 => in_place("redis://:".to_owned(), password(random, encoded), "@cache:6379/0"),
        4 => in_place(
            "Server=tcp:db.internal,1433;Database=main;User Id=sa;Password=",
            password(random, "!@#%^*-_=+"),
            ";Encrypt=true;",
        ),
        5 => in_place(
            "\"Data Source=db;Initial Catalog=x;User ID=app;Pwd=",
            password(random, "!@#%^*-_"),
            ";\"",
        ),
        _ => in_place(
            "jdbc:postgresql://db:5432/main?user=app&password=",
            password(random, "-_.~!*"),
            "&ssl=true",
        ),
    }
}

pub(crate) fn url_password(random: &mut PlantRandom) -> Plant {
    let scheme = random.pick(&["https", "http", "ftp"]);
    in_place(
        format!("git clone {scheme}://deploy:"),
        password(random, "-_.~!*"),
        "@git.internal/team/repo.git",
    )
}

pub(crate) fn basic_auth(random: &mut PlantRandom) -> Plant {
    let secret = password(random, "!@#%^*-_");
    let encoded = encode_base64(format!("service:{secret}").as_bytes());
    match random.below(4) {
        0 => in_place("Authorization: Basic ", encoded, ""),
        1 => in_place(
            "curl -H 'authorization: basic ",
            encoded,
            "' https://host.internal",
        ),
        2 => in_place(
            "curl -s -u service:",
            password(random, "!@%^*-_"),
            " https://host.internal/api",
        ),
        _ => in_place("headers = {\"Authorization\": \"Basic ", encoded, "\"}"),
    }
}

pub(crate) fn bearer_token(random: &mut PlantRandom) -> Plant {
    let length = random.between(24, 80);
    let value = if random.below(2) == 0 {
        random.hex(length)
    } else {
        random.url_safe(length)
    };
    match random.below(3) {
        0 => in_place("Authorization: Bearer ", value, ""),
        1 => in_place(
            "curl -H \"Authorization: Bearer ",
            value,
            "\" https://host.internal",
        ),
        _ => in_place("{\\\"authorization\\\":\\\"bearer ", value, "\\\"}"),
    }
}
