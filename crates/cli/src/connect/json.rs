//! JSON as people keep it, with comments and trailing commas: read with the place of every part, edited so that
//! all other bytes stay.

mod edit;
mod print;

use std::ops::Range;

use serde::de::IgnoredAny;

pub(super) use edit::{insert, newline, remove, replace, tightened};
pub(super) use print::Plain;

/// Containers within containers beyond this are refused rather than followed.
const DEEPEST: usize = 200;

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    /// Its bytes, brackets and quotes included.
    pub(super) span: Range<usize>,
    /// What it is.
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug)]
pub(super) enum Kind {
    /// An object; its items have names.
    Object(Inside),
    /// A list; its items have none.
    List(Inside),
    /// A text, unescaped.
    Text(String),
    /// A number, a truth value or null.
    Bare,
}

/// What stands between two brackets.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// The items in order.
    pub(super) items: Vec<Item>,
    /// Where the last item, comma, comment or the opening bracket ends.
    tail: usize,
    /// Whether what ends there is a comment that reaches to the end of its line.
    tail_is_line: bool,
}

/// One item of an object or a list, with its comma.
#[derive(Debug)]
pub(super) struct Item {
    /// Its name, in an object.
    pub(super) name: Option<String>,
    /// Its value.
    pub(super) value: Node,
    /// Where it begins: at its name, if it has one.
    start: usize,
    /// Where the bracket, comma or comment before it ends.
    before: usize,
    /// Whether a comment that reaches to the end of its line stands right before it.
    before_is_line: bool,
    /// Where the comma behind it stands.
    comma: Option<usize>,
}

impl Node {
    /// The items of an object or a list.
    pub(super) fn inside(&self) -> Option<&Inside> {
        match &self.kind {
            Kind::Object(inside) | Kind::List(inside) => Some(inside),
            _ => None,
        }
    }

    /// Whether it is an object.
    pub(super) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    /// Whether it is a list.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List(_))
    }

    /// The items of a list or object; nothing for other values.
    pub(super) fn items(&self) -> &[Item] {
        self.inside().map_or(&[], |inside| &inside.items)
    }

    /// Whether it is an object or a list with nothing in it, not even a comment.
    pub(super) fn is_bare_container(&self) -> bool {
        self.inside()
            .is_some_and(|inside| inside.items.is_empty() && inside.tail == self.span.start + 1)
    }

    /// The number of the item called `name`. Of several with that name the last counts, as for every reader.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        let called = |item: &Item| item.name.as_deref() == Some(name);
        self.items().iter().rposition(called)
    }

    /// The value called `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        let at = self.position(name)?;
        self.items().get(at).map(|item| &item.value)
    }

    /// The value reached by taking these names one after the other.
    pub(super) fn named(&self, names: &[&str]) -> Option<&Node> {
        names.iter().try_fold(self, |node, name| node.get(name))
    }

    /// The value reached by taking the items with these numbers one after the other.
    pub(super) fn at(&self, path: &[usize]) -> Option<&Node> {
        path.iter().try_fold(self, |node, number| {
            node.items().get(*number).map(|item| &item.value)
        })
    }

    /// The text it is.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads a whole file. Says what is wrong and in which line.
pub(super) fn parse(text: &str) -> Result<Node, String> {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut reader = Reader {
        text,
        at: start,
        depth: 0,
    };
    let parsed = reader.whole();
    parsed.map_err(|what| {
        let line = text
            .as_bytes()
            .iter()
            .take(reader.at)
            .filter(|byte| **byte == b'\n');
        format!("{what} in line {}", line.count() + 1)
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Read<T> = Result<T, &'static str>;

impl Reader<'_> {
    fn whole(&mut self) -> Read<Node> {
        self.space()?;
        let node = self.value()?;
        self.space()?;
        match self.peek() {
            None => Ok(node),
            Some(_) => Err("there is more behind the end"),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Passes over spaces and comments: where the last comment ends, or where this began, and whether that
    /// comment reaches to the end of its line.
    fn space(&mut self) -> Read<(usize, bool)> {
        let mut last = (self.at, false);
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => {
                    let is_line = self.comment()?;
                    last = (self.at, is_line);
                }
                _ => return Ok(last),
            }
        }
    }

    fn comment(&mut self) -> Read<bool> {
        let rest = self.rest();
        if rest.starts_with("//") {
            self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
            return Ok(true);
        }
        let inner = rest.strip_prefix("/*").ok_or("a stray / stands")?;
        let length = inner.find("*/").ok_or("a comment that never ends begins")?;
        self.at += length + 4;
        Ok(false)
    }

    fn value(&mut self) -> Read<Node> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.container(b'}')?),
            Some(b'[') => Kind::List(self.container(b']')?),
            Some(b'"') => Kind::Text(self.string()?),
            Some(_) => self.bare()?,
            None => return Err("a value is missing"),
        };
        Ok(Node {
            span: start..self.at,
            kind,
        })
    }

    fn container(&mut self, close: u8) -> Read<Inside> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("too many brackets are open");
        }
        self.at += 1;
        let mut inside = Inside::default();
        let mut may_begin = true;
        loop {
            let (end, is_line) = self.space()?;
            (inside.tail, inside.tail_is_line) = (end, is_line);
            if self.peek() == Some(close) {
                break;
            }
            if !may_begin {
                return Err("a comma or a bracket is missing");
            }
            let item = self.item(close == b'}', (end, is_line))?;
            may_begin = item.comma.is_some();
            inside.items.push(item);
        }
        self.at += 1;
        self.depth -= 1;
        Ok(inside)
    }

    fn item(&mut self, has_name: bool, (before, before_is_line): (usize, bool)) -> Read<Item> {
        let start = self.at;
        let name = match has_name {
            true => Some(self.name()?),
            false => None,
        };
        let value = self.value()?;
        // What stands between a value and its comma belongs to neither; without a comma it is looked at again.
        let end = self.at;
        self.space()?;
        let comma = (self.peek() == Some(b',')).then_some(self.at);
        self.at = comma.map_or(end, |comma| comma + 1);
        Ok(Item {
            name,
            value,
            start,
            before,
            before_is_line,
            comma,
        })
    }

    fn name(&mut self) -> Read<String> {
        if self.peek() != Some(b'"') {
            return Err("a name in quotes is missing");
        }
        let name = self.string()?;
        self.space()?;
        if self.peek() != Some(b':') {
            return Err("a colon is missing");
        }
        self.at += 1;
        self.space()?;
        Ok(name)
    }

    fn string(&mut self) -> Read<String> {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.bytes().skip(1).position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        let end = end.ok_or("a text that never ends begins")? + 2;
        let quoted = rest.get(..end).unwrap_or_default();
        let text = serde_json::from_str(quoted).map_err(|_| "a text is not written as JSON writes it")?;
        self.at += end;
        Ok(text)
    }

    fn bare(&mut self) -> Read<Kind> {
        let rest = self.rest();
        let ends = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        let word = rest
            .get(..rest.find(ends).unwrap_or(rest.len()))
            .unwrap_or_default();
        serde_json::from_str::<IgnoredAny>(word).map_err(|_| "something that is no JSON stands")?;
        self.at += word.len();
        Ok(Kind::Bare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let text =
            "\u{feff}// top\n{ /* a */ \"a\": [1, -2.5e3, true, null,], // end\r\n \"b\" : {},\n}\n// after";
        let root = parse(text).unwrap();
        assert_eq!(root.items().len(), 2);
        assert_eq!(root.get("a").unwrap().items().len(), 4);
        assert!(root.get("b").unwrap().is_bare_container());
        assert!(
            parse("1e999").is_ok(),
            "what another reader makes of a number is its own affair"
        );
    }

    #[test]
    fn names_are_unescaped_and_the_last_of_two_counts() {
        let root = parse(r#"{"lo\u0063i": 1, "loci": "x"}"#).unwrap();
        assert_eq!(root.position("loci"), Some(1));
        assert_eq!(root.get("loci").unwrap().text(), Some("x"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
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
            let error = parse(text).unwrap_err();
            assert!(error.contains(line), "{text:?}: {error}");
        }
    }

    #[test]
    fn deep_nests_are_read_or_refused_but_never_overflow() {
        let nest = |deep: usize| format!("{}{}", "[".repeat(deep), "]".repeat(deep));
        assert!(parse(&nest(DEEPEST)).is_ok());
        assert!(parse(&nest(DEEPEST + 1)).is_err());
        assert!(parse(&"[".repeat(1 << 20)).is_err());
    }
}
