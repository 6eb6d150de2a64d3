//! What a JSON text that breaks off held until then: cut after the last whole member, every bracket closed.

/// A container that is open where the text breaks off.
struct Open {
    closer: char,
    /// Where its last whole member ends, or just behind its opening bracket.
    whole: usize,
}

/// The beginning of `broken` as a JSON text of its own; `None` if not even a container opens.
pub(super) fn mend(broken: &str) -> Option<String> {
    let mut open: Vec<Open> = Vec::new();
    let mut bytes = broken.bytes().enumerate();
    let mut in_text = false;
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' if in_text => _ = bytes.next(),
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' => open.push(Open {
                closer: '}',
                whole: at + 1,
            }),
            b'[' => open.push(Open {
                closer: ']',
                whole: at + 1,
            }),
            // A comma says that the member before it is whole.
            b',' => open.last_mut()?.whole = at,
            b'}' | b']' => {
                open.pop()?;
                // The container that ends here is itself a whole member of the one around it.
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
        assert_eq!(mend(broken).as_deref(), expect, "{broken}");
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
