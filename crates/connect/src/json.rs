//! JSON with comments and trailing commas: parsed with the position of every part, and edited so that all
//! other bytes stay.

mod edit;
mod print;

use std::ops::Range;

use serde::de::IgnoredAny;

use crate::splice::BYTE_ORDER_MARK;

pub(crate) use edit::{collapse_empty_containers, insert_item, remove_item, replace_value};
pub(crate) use print::JsonValue;

/// The deepest nesting that is parsed; deeper files are refused.
const DEEPEST: usize = 200;

/// A value and its position.
#[derive(Debug)]
pub(crate) struct JsonNode {
    /// Its bytes, brackets and quotes included.
    pub(crate) span: Range<usize>,
    /// Its kind.
    pub(crate) kind: JsonKind,
}

/// The kind of a value.
#[derive(Debug)]
pub(crate) enum JsonKind {
    /// An object, whose items have names.
    Object(JsonBody),
    /// A list, whose items have none.
    List(JsonBody),
    /// A string, unescaped.
    Text(String),
    /// A number, a boolean or null.
    Bare,
}

/// The part of an object or a list between its brackets.
#[derive(Debug, Default)]
pub(crate) struct JsonBody {
    /// The items in order.
    pub(crate) items: Vec<JsonItem>,
    /// The end of the last item, comma or comment, or of the opening bracket.
    tail: usize,
    /// Whether a line comment ends there.
    tail_is_line: bool,
}

/// One item of an object or a list, with its comma.
#[derive(Debug)]
pub(crate) struct JsonItem {
    /// Its name, in an object.
    pub(crate) name: Option<String>,
    /// Its value.
    pub(crate) value: JsonNode,
    /// Its start: that of its name, if it has one.
    start: usize,
    /// The end of the bracket, comma or comment before it.
    before: usize,
    /// Whether a line comment ends there.
    before_is_line: bool,
    /// The position of the comma behind it.
    comma: Option<usize>,
}

impl JsonNode {
    /// The body of an object or a list.
    pub(crate) fn body(&self) -> Option<&JsonBody> {
        match &self.kind {
            JsonKind::Object(body) | JsonKind::List(body) => Some(body),
            _ => None,
        }
    }

    /// Whether it is an object.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self.kind, JsonKind::Object(_))
    }

    /// Whether it is a list.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self.kind, JsonKind::List(_))
    }

    /// The items of an object or a list; empty for other values.
    pub(crate) fn items(&self) -> &[JsonItem] {
        self.body().map_or(&[], |body| &body.items)
    }

    /// Whether it is an object or a list without items and comments.
    pub(crate) fn is_empty_container(&self) -> bool {
        self.body()
            .is_some_and(|body| body.items.is_empty() && body.tail == self.span.start + 1)
    }

    /// The index of the item called `name`. Of several with that name the last counts, as in other parsers.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        // Editing another occurrence than the one a tool reads would have no effect.
        let has_name = |item: &JsonItem| item.name.as_deref() == Some(name);
        self.items().iter().rposition(has_name)
    }

    /// The value called `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&JsonNode> {
        let at = self.position(name)?;
        self.items().get(at).map(|item| &item.value)
    }

    /// The value reached by following these names.
    pub(crate) fn find_by_names(&self, names: &[&str]) -> Option<&JsonNode> {
        names.iter().try_fold(self, |node, name| node.get(name))
    }

    /// The value reached by following these indexes.
    pub(crate) fn find_by_path(&self, path: &[usize]) -> Option<&JsonNode> {
        path.iter().try_fold(self, |node, index| {
            node.items().get(*index).map(|item| &item.value)
        })
    }

    /// The string, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            JsonKind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Parses a whole file. The error names the problem and its line.
pub(crate) fn parse_json(text: &str) -> Result<JsonNode, String> {
    let bom = text.starts_with(BYTE_ORDER_MARK);
    let start = if bom { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let mut reader = JsonReader {
        text,
        at: start,
        depth: 0,
    };
    let parsed = reader.read_document();
    parsed.map_err(|problem| {
        let line = text
            .as_bytes()
            .iter()
            .take(reader.at)
            .filter(|byte| **byte == b'\n');
        format!("{problem} in line {}", line.count() + 1)
    })
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// The error is the problem; the line is known from how far the reader came.
type ParseStep<T> = Result<T, &'static str>;

impl JsonReader<'_> {
    fn read_document(&mut self) -> ParseStep<JsonNode> {
        self.skip_space()?;
        let node = self.read_value()?;
        self.skip_space()?;
        match self.peek() {
            None => Ok(node),
            Some(_) => Err("the value is followed by more text"),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn remaining_text(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips white space and comments. Returns the end of the last comment, or else the start, and whether
    /// that is the end of a line comment.
    fn skip_space(&mut self) -> ParseStep<(usize, bool)> {
        let mut last = (self.at, false);
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => {
                    let is_line = self.skip_comment()?;
                    last = (self.at, is_line);
                }
                _ => return Ok(last),
            }
        }
    }

    fn skip_comment(&mut self) -> ParseStep<bool> {
        let rest = self.remaining_text();
        if rest.starts_with("//") {
            self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
            return Ok(true);
        }
        let inner = rest.strip_prefix("/*").ok_or("unexpected /")?;
        let length = inner.find("*/").ok_or("unterminated comment")?;
        self.at += length + 4;
        Ok(false)
    }

    fn read_value(&mut self) -> ParseStep<JsonNode> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => JsonKind::Object(self.read_container(b'}')?),
            Some(b'[') => JsonKind::List(self.read_container(b']')?),
            Some(b'"') => JsonKind::Text(self.read_string()?),
            Some(_) => self.read_bare()?,
            None => return Err("missing value"),
        };
        Ok(JsonNode {
            span: start..self.at,
            kind,
        })
    }

    fn read_container(&mut self, close: u8) -> ParseStep<JsonBody> {
        // The parser recurses: without a bound a hostile file could overflow the stack.
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("too deeply nested");
        }
        self.at += 1;
        let mut body = JsonBody::default();
        // True at the start and behind a comma, so trailing commas are read and missing ones are refused.
        let mut may_begin = true;
        loop {
            let (end, is_line) = self.skip_space()?;
            (body.tail, body.tail_is_line) = (end, is_line);
            if self.peek() == Some(close) {
                break;
            }
            if !may_begin {
                return Err("missing comma or bracket");
            }
            let item = self.read_item(close == b'}', (end, is_line))?;
            may_begin = item.comma.is_some();
            body.items.push(item);
        }
        self.at += 1;
        self.depth -= 1;
        Ok(body)
    }

    fn read_item(&mut self, has_name: bool, (before, before_is_line): (usize, bool)) -> ParseStep<JsonItem> {
        let start = self.at;
        let name = if has_name { Some(self.read_name()?) } else { None };
        let value = self.read_value()?;
        // Space between a value and its comma belongs to neither. Without a comma the caller skips it again.
        let end = self.at;
        self.skip_space()?;
        let comma = (self.peek() == Some(b',')).then_some(self.at);
        self.at = comma.map_or(end, |comma| comma + 1);
        Ok(JsonItem {
            name,
            value,
            start,
            before,
            before_is_line,
            comma,
        })
    }

    fn read_name(&mut self) -> ParseStep<String> {
        if self.peek() != Some(b'"') {
            return Err("missing name in quotes");
        }
        let name = self.read_string()?;
        self.skip_space()?;
        if self.peek() != Some(b':') {
            return Err("missing colon");
        }
        self.at += 1;
        self.skip_space()?;
        Ok(name)
    }

    fn read_string(&mut self) -> ParseStep<String> {
        let rest = self.remaining_text();
        // Only the end is found here. A backslash escapes one character, which may be another backslash.
        let mut escaped = false;
        let end = rest.bytes().skip(1).position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        let end = end.ok_or("unterminated string")? + 2;
        let quoted = rest.get(..end).unwrap_or_default();
        // Escapes and control characters are left to a complete parser.
        let text = serde_json::from_str(quoted).map_err(|_| "invalid string")?;
        self.at += end;
        Ok(text)
    }

    fn read_bare(&mut self) -> ParseStep<JsonKind> {
        let rest = self.remaining_text();
        let ends = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        let word = rest
            .get(..rest.find(ends).unwrap_or(rest.len()))
            .unwrap_or_default();
        // Checked without a value: a number too large for us may be fine for the tool, and stays as it is
        // written.
        serde_json::from_str::<IgnoredAny>(word).map_err(|_| "invalid value")?;
        self.at += word.len();
        Ok(JsonKind::Bare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let text =
            "\u{feff}// top\n{ /* a */ \"a\": [1, -2.5e3, true, null,], // end\r\n \"b\" : {},\n}\n// after";
        let root = parse_json(text).unwrap();
        assert_eq!(root.items().len(), 2);
        assert_eq!(root.get("a").unwrap().items().len(), 4);
        assert!(root.get("b").unwrap().is_empty_container());
        assert!(
            parse_json("1e999").is_ok(),
            "numbers of any size are left to the tool"
        );
    }

    #[test]
    fn names_are_unescaped_and_the_last_of_two_counts() {
        let root = parse_json(r#"{"lo\u0063i": 1, "loci": "x"}"#).unwrap();
        assert_eq!(root.position("loci"), Some(1));
        assert_eq!(root.get("loci").unwrap().text(), Some("x"));
    }

    #[test]
    fn an_error_names_its_line() {
        for (text, line) in [
            ("", "line 1"),
            ("{\n\"a\" 1}", "line 2"),
            ("{\n\n'a': 1}", "line 3"),
            ("{\"a\": 1 \"b\": 2}", "line 1"),
            ("[1,,2]", "line 1"),
            ("[,]", "line 1"),
            ("{} {}", "line 1"),
            ("{\"a\": \"\n\"}", "line 1"),
            ("/* never", "line 1"),
            ("[\"\\x\"]", "line 1"),
            ("{a: 1}", "line 1"),
            ("nul", "line 1"),
            ("{\"a\": \u{e4}}", "line 1"),
        ] {
            let error = parse_json(text).unwrap_err();
            assert!(error.contains(line), "{text:?}: {error}");
        }
    }

    #[test]
    fn deep_nesting_is_parsed_or_refused_and_never_overflows() {
        let nest = |deep: usize| format!("{}{}", "[".repeat(deep), "]".repeat(deep));
        assert!(parse_json(&nest(DEEPEST)).is_ok());
        assert!(parse_json(&nest(DEEPEST + 1)).is_err());
        assert!(parse_json(&"[".repeat(1 << 20)).is_err());
    }
}
