//! Servers the user named.

use std::fs;

use loci_core::ErrorKind;
use loci_embed::http::EmbeddingApi;
use loci_embed::models::ServerConfig;

use super::toy::Place;

fn desk() -> ServerConfig {
    ServerConfig {
        name: "desk".to_owned(),
        url: "http://localhost:11434".to_owned(),
        model: "some-model".to_owned(),
        api: EmbeddingApi::Ollama,
        key_env: Some("DESK_KEY".to_owned()),
        allow_remote: false,
        revision: None,
        dimension: 384,
        query_prefix: "query: ".to_owned(),
        passage_prefix: String::new(),
    }
}

#[test]
fn a_server_is_written_down_read_replaced_and_removed() {
    let place = Place::new();
    assert_eq!(
        place.models.read_server("desk").unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(place.models.list_servers().unwrap().is_empty());
    assert!(!place.models.register_server(&desk()).unwrap());
    assert_eq!(place.models.read_server("desk").unwrap(), desk());

    let changed = ServerConfig {
        dimension: 768,
        revision: Some("r2".to_owned()),
        ..desk()
    };
    assert!(place.models.register_server(&changed).unwrap());
    assert_eq!(place.models.read_server("desk").unwrap(), changed);
    assert_eq!(place.names(), ["desk.json"]);

    let other = ServerConfig {
        name: "Attic-2.b_c".to_owned(),
        ..desk()
    };
    place.models.register_server(&other).unwrap();
    let names: Vec<String> = place
        .models
        .list_servers()
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["Attic-2.b_c", "desk"]);

    assert!(place.models.remove_model("desk").unwrap());
    assert!(!place.models.remove_model("desk").unwrap());
    assert_eq!(place.names(), ["Attic-2.b_c.json"]);
}

#[test]
fn names_that_mean_something_else_or_are_no_names_are_refused() {
    let place = Place::new();
    let long = "x".repeat(65);
    let wrong = [
        "", ".", "..", ".desk", "../desk", "a/b", "a\\b", "a b", "désk", "none", "builtin", "MiniLM", &long,
    ];
    for name in wrong {
        let named = ServerConfig {
            name: name.to_owned(),
            ..desk()
        };
        assert_eq!(
            place.models.register_server(&named).unwrap_err().kind(),
            ErrorKind::Invalid,
            "{name:?}"
        );
        assert_eq!(
            place.models.read_server(name).unwrap_err().kind(),
            ErrorKind::Invalid,
            "{name:?}"
        );
    }
    assert_eq!(
        place.models.remove_model("../desk").unwrap_err().kind(),
        ErrorKind::Invalid
    );
    assert!(!place.models.folder().exists());
}

#[test]
fn a_key_in_the_place_of_its_variable_is_neither_written_nor_repeated() {
    let place = Place::new();
    let careless = ServerConfig {
        key_env: Some("sk-very-secret".to_owned()),
        ..desk()
    };
    let error = place.models.register_server(&careless).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(!format!("{error:?}").contains("very-secret"), "{error:?}");
    assert!(place.names().is_empty());
}

#[test]
fn a_file_that_cannot_be_understood_is_named_and_hides_no_other() {
    let place = Place::new();
    place.models.register_server(&desk()).unwrap();
    let text = fs::read_to_string(place.models.folder().join("desk.json")).unwrap();
    let wrong = [
        ("half", text.as_bytes()[..text.len() / 2].to_vec()),
        ("moved", text.clone().into_bytes()),
        (
            "more",
            text.replace("\"dimension\"", "\"query_prefx\": \"\", \"dimension\"")
                .into_bytes(),
        ),
        ("bytes", vec![0xff, 0xfe]),
    ];
    for (name, bytes) in &wrong {
        fs::write(place.models.folder().join(format!("{name}.json")), bytes).unwrap();
        let error = place.models.read_server(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}");
        assert!(error.message().contains(&format!("{name}.json")), "{error}");
    }
    let servers = place.models.list_servers().unwrap();
    assert_eq!(servers.len(), 5);
    assert_eq!(servers.iter().filter(|(_, server)| server.is_ok()).count(), 1);
    assert!(place.models.remove_model("half").unwrap());
}
