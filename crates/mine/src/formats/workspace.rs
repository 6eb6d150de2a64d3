//! Where the software that wrote a conversation keeps things: the names around a file, and the folder it was had in.

use std::path::Path;

use super::json::Fields;

/// The name of a file or folder.
pub(crate) fn name(path: Option<&Path>) -> Option<&str> {
    path?.file_name()?.to_str()
}

/// The path a `file:` address names; any other text as it is.
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

/// The folder a `workspace.json` in `beside` names, as editors keep one beside a workspace's chats.
pub(crate) fn workspace_folder(beside: &Path) -> Option<String> {
    let text = std::fs::read_to_string(beside.join("workspace.json")).ok()?;
    let address = Fields::read(&text).ok()?.any_word(&["folder", "workspace"])?;
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
