//! File names and workspace folders, as the programs that write conversations store them.

use std::path::Path;

use super::json::JsonFields;

/// Returns the name of a file or folder, if it is UTF-8.
pub(crate) fn utf8_file_name(path: Option<&Path>) -> Option<&str> {
    path?.file_name()?.to_str()
}

/// Returns the path of a `file:` URL; any other text unchanged.
pub(crate) fn path_of_address(address: &str) -> String {
    let Some(path) = address.strip_prefix("file://") else {
        return address.to_owned();
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let decoded = hex
            .filter(|_| first == b'%')
            .and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(decoded.unwrap_or(first));
        rest = after
            .get(if decoded.is_some() { 2 } else { 0 }..)
            .unwrap_or_default();
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

/// Returns the folder named by the `workspace.json` in `beside`, which editors store next to a workspace's chats.
pub(crate) fn workspace_folder(beside: &Path) -> Option<String> {
    let text = std::fs::read_to_string(beside.join("workspace.json")).ok()?;
    let address = JsonFields::read(&text)
        .ok()?
        .any_nonempty_text(&["folder", "workspace"])?;
    Some(path_of_address(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_address_is_a_path() {
        assert_eq!(path_of_address("file:///home/a%20b/%zz"), "/home/a b/%zz");
        assert_eq!(path_of_address("/plain%20path"), "/plain%20path");
    }
}
