//! Tests of the files around a palace, in the layouts that MemPalace's releases have had.

use super::*;

/// A home folder with a palace in it.
struct SidecarScene {
    home: tempfile::TempDir,
    palace: &'static str,
}

impl SidecarScene {
    fn new(palace: &'static str) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(palace)).unwrap();
        Self { home, palace }
    }

    fn write(&self, file: &str, text: &str) -> &Self {
        let path = self.home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes a knowledge graph with one fact.
    fn write_graph(&self, file: &str, subject: &str) -> &Self {
        self.write(file, "");
        let graph = rusqlite::Connection::open(self.home.path().join(file)).unwrap();
        let sql = "CREATE TABLE triples(id TEXT, subject TEXT); INSERT INTO triples VALUES('t', '";
        graph.execute_batch(&format!("{sql}{subject}');")).unwrap();
        self
    }

    fn read(&self) -> SidecarFiles {
        let installation = MempalaceInstallation {
            home: Some(self.home.path().to_owned()),
            ..MempalaceInstallation::default()
        };
        SidecarSearch {
            folder: &self.home.path().join(self.palace),
            installation: &installation,
            is_mempalace: true,
            is_own: &|name| name.starts_with("chroma"),
        }
        .read_sidecars()
    }
}

/// The ids of the drawers.
fn ids(sidecars: &SidecarFiles) -> Vec<&str> {
    sidecars.drawers.iter().map(|drawer| drawer.id.as_str()).collect()
}

/// The text of a drawer.
fn text<'a>(sidecars: &'a SidecarFiles, id: &str) -> &'a str {
    let mut drawers = sidecars.drawers.iter();
    let drawer = drawers.find(|drawer| drawer.id.as_str() == id).unwrap();
    drawer.document.as_deref().unwrap()
}

fn messages(sidecars: &SidecarFiles) -> String {
    let findings = sidecars.findings().into_iter();
    findings
        .map(|finding| finding.message)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_fresh_installation_keeps_the_graph_away_from_its_palace_and_both_are_found() {
    let scene = SidecarScene::new(".config/mempalace/palace");
    scene
        .write_graph(".mempalace/knowledge_graph.sqlite3", "ada")
        .write(".mempalace/identity.txt", "I am Ada.")
        .write(".config/mempalace/tunnels.json", "[1]")
        .write(".config/mempalace/palace/rooms/deep/er.json", "{}")
        .write(".config/mempalace/palace/chroma.sqlite3", "")
        .write(".config/mempalace/config.json", "{}")
        .write(".mempalace/locks/one.lock", "");
    let sidecars = scene.read();
    let expected = [
        "identity.txt",
        "knowledge_graph.sqlite3/triples",
        "knowledge_graph.sqlite3/triples/000000001",
        "rooms/deep/er.json",
        "tunnels.json",
    ];
    assert_eq!(ids(&sidecars), expected);
    assert_eq!(text(&sidecars, "identity.txt"), "I am Ada.");
    let messages = messages(&sidecars);
    assert!(
        messages.contains("config.json (settings, which may hold keys)"),
        "{messages}"
    );
    assert!(
        messages.contains("locks (the state of MemPalace's own programs)"),
        "{messages}"
    );
    assert!(!messages.contains("chroma.sqlite3"), "{messages}");
}

#[test]
fn an_older_installation_has_everything_in_one_folder() {
    let scene = SidecarScene::new(".mempalace/palace");
    scene
        .write(".mempalace/config.json", "{}")
        .write(".mempalace/hallways.json", "[]")
        .write(".mempalace/palace.pre-migrate.1/chroma.sqlite3", "")
        .write(".mempalace/notes.md", "mine");
    let sidecars = scene.read();
    assert_eq!(ids(&sidecars), ["hallways.json"]);
    let messages = messages(&sidecars);
    assert!(
        messages.contains("palace.pre-migrate.1 (another palace"),
        "{messages}"
    );
    assert!(
        messages.contains("notes.md (not a file that MemPalace"),
        "{messages}"
    );
}

#[test]
fn two_files_of_one_name_are_both_carried_unless_they_are_equal() {
    let scene = SidecarScene::new(".config/mempalace/palace");
    scene
        .write_graph(".config/mempalace/palace/knowledge_graph.sqlite3", "near")
        .write_graph(".mempalace/knowledge_graph.sqlite3", "far")
        .write(".config/mempalace/tunnels.json", "[1]")
        .write(".mempalace/tunnels.json", "[2]")
        .write(".config/mempalace/hallways.json", "[3]")
        .write(".mempalace/hallways.json", "[3]");
    let sidecars = scene.read();
    assert!(text(&sidecars, "knowledge_graph.sqlite3/triples/000000001").contains("near"));
    assert!(text(&sidecars, "home/knowledge_graph.sqlite3/triples/000000001").contains("far"));
    assert_eq!(text(&sidecars, "home/tunnels.json"), "[2]");
    assert!(!ids(&sidecars).contains(&"home/hallways.json"));
}

#[test]
fn the_files_of_an_installation_stay_with_its_own_palace_and_are_named() {
    let scene = SidecarScene::new("backup/palace");
    scene
        .write_graph(".mempalace/knowledge_graph.sqlite3", "ada")
        .write(
            "backup/tunnels.json",
            r#"[{"id": "1", "source": {}, "target": {}}]"#,
        )
        .write("backup/hallways.json", r#"[{"unlike": "MemPalace's"}]"#);
    let sidecars = scene.read();
    assert_eq!(ids(&sidecars), ["tunnels.json"]);
    let messages = messages(&sidecars);
    assert!(
        messages.contains("knowledge_graph.sqlite3 (they belong to another"),
        "{messages}"
    );
    assert!(messages.contains("MEMPALACE_PALACE_PATH"), "{messages}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let scene = SidecarScene::new(".mempalace/palace");
    fs::write(scene.home.path().join(".mempalace/identity.txt"), b"\xff\xfe").unwrap();
    fs::create_dir(scene.home.path().join(".mempalace/tunnels.json")).unwrap();
    scene.write(".mempalace/knowledge_graph.sqlite3", "not a database at all");
    let unread: Vec<String> = scene.read().unread.into_iter().map(|(file, _)| file).collect();
    assert_eq!(
        unread,
        ["identity.txt", "knowledge_graph.sqlite3", "tunnels.json"]
    );
}
