//! The laws for TOML.

use crate::toml_server::{TomlServer, add_server, remove_server};

pub(super) fn wanted() -> TomlServer {
    TomlServer {
        command: "/my bin/loci".to_owned(),
        args: vec!["mcp".to_owned(), "--palace".to_owned(), r#"C:\a "b""#.to_owned()],
    }
}

#[track_caller]
pub(super) fn check(original: &str) {
    let connected = add_server(original, &wanted()).unwrap();
    assert_eq!(
        add_server(&connected, &wanted()).unwrap(),
        connected,
        "a second edit changes nothing"
    );
    let read = toml_edit::Document::parse(connected.as_str()).unwrap();
    let server = &read["mcp_servers"]["loci"];
    assert_eq!(server["command"].as_str(), Some("/my bin/loci"), "{connected}");
    assert_eq!(server["args"][2].as_str(), Some(r#"C:\a "b""#), "{connected}");
    let parted = remove_server(&connected, Some(original)).unwrap();
    assert_eq!(parted.as_deref(), Some(original), "\n{connected}");
}

#[test]
fn odd_tables_come_back_byte_for_byte() {
    for original in [
        "",
        "\n",
        "  ",
        "\u{feff}",
        "\u{feff}a = 1\r\n",
        "a = 1",
        "a = 1\n\n\n",
        "# only words",
        "a = 1 # c\r\n\r\n[b]\r\nc = '''\r\nx\r\n'''",
        "[mcp_servers]\n",
        "[mcp_servers.other]\ncommand = \"x\"\n[mcp_servers.other.env]\nA = \"b\"\n",
        "mcp_servers.other.command = \"x\"\n",
        "[[a]]\nb = 1\n[[a]]\n",
    ] {
        check(original);
    }
}

#[test]
fn a_table_that_a_user_changed_is_still_removed_with_all_below_it() {
    let changed = "a = 1\n\n[mcp_servers.loci] # mine\n# words\ncommand = \"x\"\nenv.A = \"b\"\nargs = [\n  1,\n]\n\n\
        [mcp_servers.loci.tools.search]\napproval_mode = \"auto\"\n\n# other's\n[z]\nb = 2\n";
    let parted = remove_server(changed, None).unwrap().unwrap();
    assert_eq!(parted, "a = 1\n\n# other's\n[z]\nb = 2\n");
    let again = add_server(changed, &wanted()).unwrap();
    assert!(
        again.contains("env.A = \"b\"") && again.contains("command = \"/my bin/loci\""),
        "{again}"
    );
    let inline = "[mcp_servers]\nloci = { command = \"x\", args = [] } # c\nother = { command = \"y\" }\n";
    let parted = remove_server(inline, None).unwrap().unwrap();
    assert_eq!(parted, "[mcp_servers]\nother = { command = \"y\" }\n");
    let short = add_server("[mcp_servers.loci]", &wanted()).unwrap();
    assert_eq!(add_server(&short, &wanted()).unwrap(), short);
    assert_eq!(remove_server(&short, None).unwrap(), None);
}

#[test]
fn invalid_toml_and_tables_that_cannot_be_edited_are_refused() {
    for (text, what) in [
        ("a = ", "line 1"),
        ("a = 1\na = 2\n", "line 2"),
        ("mcp_servers = { other = {} }", "one value"),
        ("[mcp_servers]\nloci = 1", "integer"),
        ("mcp_servers.loci.env.A = 'b'", "scattered"),
    ] {
        let error = add_server(text, &wanted()).unwrap_err();
        assert!(error.contains(what), "{text}: {error}");
    }
}

#[test]
fn a_table_with_another_layout_is_the_same_table() {
    let other = "[mcp_servers.loci]\nargs = [\n  'mcp', \"--palace\",\n  'C:\\a \"b\"',\n]\ncommand = '/my bin/loci'\n";
    assert_eq!(add_server(other, &wanted()).unwrap(), other);
}
