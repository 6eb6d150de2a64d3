//! Repairs a JSON text that breaks off: cuts it after the last whole member and closes every bracket.

/// A container that is open at the break.
struct OpenContainer {
    closer: char,
    /// The end of its last whole member, or of its opening bracket.
    whole: usize,
}

/// Returns the beginning of `broken` as a valid JSON text; `None` if no container opens in it.
pub(super) fn mend_json(broken: &str) -> Option<String> {
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut bytes = broken.bytes().enumerate();
    let mut in_text = false;
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' if in_text => _ = bytes.next(),
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' => open.push(OpenContainer {
                closer: '}',
                whole: at + 1,
            }),
            b'[' => open.push(OpenContainer {
                closer: ']',
                whole: at + 1,
            }),
            // A comma proves that the member before it is whole; without one, a number may be cut in the middle.
            b',' => open.last_mut()?.whole = at,
            b'}' | b']' => {
                open.pop()?;
                // The container that ends here is a whole member of the one around it.
                match open.last_mut() {
                    Some(around) => around.whole = at + 1,
                    None => return Some(broken.get(..=at)?.to_owned()),
                }
            }
            _ => {}
        }
    }
    let mut mended = broken.get(..open.last()?.whole)?.to_owned();
    mended.extend(open.iter().rev().map(|container| container.closer));
    Some(mended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(broken: &str, expect: Option<&str>) {
        assert_eq!(mend_json(broken).as_deref(), expect, "{broken}");
    }

    #[test]
    fn what_was_whole_before_the_break_is_kept() {
        check(
            r#"{"a":1,"b":[{"c":"x"},{"d":"y"#,
            Some(r#"{"a":1,"b":[{"c":"x"},{}]}"#),
        );
        check(r#"{"a":"],}\"","b":tr"#, Some(r#"{"a":"],}\""}"#));
        check(r#"{"a":{"b":1}"#, Some(r#"{"a":{"b":1}}"#));
        check(r#"[[1],[2"#, Some("[[1],[]]"));
        check("[] trailing", Some("[]"));
        check("nothing", None);
        check("", None);
        check("}", None);
    }
}
