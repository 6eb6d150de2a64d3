//! The stack machine behind the pickle reader, with the opcodes that Chroma's two writers use.

use std::io::{BufRead, Read};
use std::sync::Arc;

use super::Field;

/// One value on the stack.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// A text.
    Text(Arc<str>),
    /// A whole number.
    Int(i64),
    /// A dictionary, by its place in the machine's list.
    Dict(usize),
    /// The one class this reader knows, or an instance of it; its attributes are a dictionary.
    Object(Option<usize>),
    /// Where a list of items begins.
    Mark,
    /// A value nobody asks for.
    Nothing,
}

impl Item {
    /// The whole number, if it is one.
    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }
}

/// The class of Chroma before 1.0 whose attributes are read.
const CLASS: &str = "PersistentData";
/// The longest text that can be a key or an id.
const LONGEST: u64 = 1 << 20;

type Step = Result<(), String>;

pub(crate) struct Machine<R> {
    input: R,
    /// How many bytes are left, by what the file said.
    left: u64,
    /// How many items may be kept at once: as many as a file of this size can honestly hold.
    room: u64,
    stack: Vec<Item>,
    memo: Vec<Item>,
    dicts: Vec<Vec<(Item, Item)>>,
    /// How many pairs all dictionaries hold.
    pairs: u64,
}

impl<R: BufRead> Machine<R> {
    pub(crate) fn new(input: R, length: u64) -> Self {
        Self {
            input,
            left: length,
            room: length / 2 + 64,
            stack: Vec::new(),
            memo: Vec::new(),
            dicts: Vec::new(),
            pairs: 0,
        }
    }

    /// Runs to the end of the program, or to the first thing that is not understood.
    pub(crate) fn run(&mut self) -> Step {
        loop {
            let code = self.byte()?;
            if code == b'.' {
                return Ok(());
            }
            self.step(code)?;
            let kept = self.stack.len() + self.memo.len();
            if kept as u64 + self.pairs > self.room {
                return Err("it holds too many items for its size".to_owned());
            }
        }
    }

    /// The pairs of the outermost dictionary, with what was still being collected when the program ended.
    pub(crate) fn into_fields(mut self) -> Option<Vec<(Item, Field)>> {
        while let Some(mark) = self.stack.iter().rposition(|item| matches!(item, Item::Mark)) {
            let pending = self.stack.split_off(mark);
            if let Some(dict) = self.stack.last().and_then(|item| self.attributes(item)) {
                self.extend(dict, pending.into_iter().skip(1));
            }
        }
        // An instance whose attributes were never set has them right behind it.
        let root = self.stack.iter().find_map(|item| self.attributes(item))?;
        let pairs = std::mem::take(self.dicts.get_mut(root)?);
        let fields = pairs.into_iter().map(|(key, value)| {
            let value = match value {
                Item::Dict(at) => Field::Dict(self.dicts.get_mut(at).map(std::mem::take).unwrap_or_default()),
                item => Field::Item(item),
            };
            (key, value)
        });
        Some(fields.collect())
    }

    fn attributes(&self, item: &Item) -> Option<usize> {
        match item {
            Item::Dict(at) | Item::Object(Some(at)) => Some(*at),
            _ => None,
        }
    }

    fn step(&mut self, code: u8) -> Step {
        match code {
            0x80 => self.skip(1)?,
            0x95 => self.skip(8)?,
            b'(' => self.stack.push(Item::Mark),
            b'}' => self.push_dict(),
            b')' | b'N' | 0x88 | 0x89 => self.stack.push(Item::Nothing),
            b'G' => {
                self.skip(8)?;
                self.stack.push(Item::Nothing);
            }
            b'K' => self.push_int(1)?,
            b'M' => self.push_int(2)?,
            b'J' => self.push_int(4)?,
            0x8a => self.push_long()?,
            0x8c => self.push_text(1)?,
            b'X' => self.push_text(4)?,
            0x8d => self.push_text(8)?,
            b's' => self.set_item()?,
            b'u' => self.set_items()?,
            b'q' => self.put(1)?,
            b'r' => self.put(4)?,
            0x94 => self.memo.push(self.top()?.clone()),
            b'h' => self.recall(1)?,
            b'j' => self.recall(4)?,
            b'c' => self.global()?,
            0x93 => self.stack_global()?,
            0x81 => self.new_object()?,
            b'b' => self.build()?,
            other => {
                return Err(format!(
                    "it holds the opcode {other:#04x}, which Chroma does not write"
                ));
            }
        }
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.bytes::<1>()?[0])
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut buffer = [0; N];
        self.input
            .read_exact(&mut buffer)
            .map_err(|_| "it ends too early".to_owned())?;
        self.left = self.left.saturating_sub(N as u64);
        Ok(buffer)
    }

    fn skip(&mut self, count: usize) -> Step {
        for _ in 0..count {
            self.byte()?;
        }
        Ok(())
    }

    /// A little-endian number of 1, 2, 4 or 8 bytes, without sign.
    fn number(&mut self, size: usize) -> Result<u64, String> {
        let mut value = 0;
        for at in 0..size {
            value |= u64::from(self.byte()?) << (8 * at);
        }
        Ok(value)
    }

    fn push_int(&mut self, size: usize) -> Step {
        let value = self.number(size)? as i64;
        let value = if size == 4 { i64::from(value as i32) } else { value };
        self.stack.push(Item::Int(value));
        Ok(())
    }

    fn push_long(&mut self) -> Step {
        let size = usize::from(self.byte()?);
        if size > 8 {
            return Err("it holds a number of more than 64 bits".to_owned());
        }
        let value = self.number(size)?;
        let unused = 64 - 8 * size as u32;
        let signed = if size == 0 {
            0
        } else {
            ((value << unused) as i64) >> unused
        };
        self.stack.push(Item::Int(signed));
        Ok(())
    }

    fn push_text(&mut self, size: usize) -> Step {
        let length = self.number(size)?;
        if length > LONGEST || length > self.left {
            return Err(format!("it holds a text of {length} bytes, more than there are"));
        }
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(length).read_to_end(&mut bytes);
        if read.is_err() || bytes.len() as u64 != length {
            return Err("it ends too early".to_owned());
        }
        self.left -= length;
        let text = String::from_utf8(bytes).map_err(|_| "it holds a text that is no UTF-8".to_owned())?;
        self.stack.push(Item::Text(text.into()));
        Ok(())
    }

    fn push_dict(&mut self) {
        self.dicts.push(Vec::new());
        self.stack.push(Item::Dict(self.dicts.len() - 1));
    }

    fn top(&self) -> Result<&Item, String> {
        self.stack.last().ok_or_else(|| "its stack is empty".to_owned())
    }

    fn pop(&mut self) -> Result<Item, String> {
        self.stack.pop().ok_or_else(|| "its stack is empty".to_owned())
    }

    fn put(&mut self, size: usize) -> Step {
        let at = self.number(size)?;
        let item = self.top()?.clone();
        match usize::try_from(at) {
            Ok(at) if at == self.memo.len() => self.memo.push(item),
            Ok(at) => match self.memo.get_mut(at) {
                Some(slot) => *slot = item,
                None => return Err("it remembers items out of order".to_owned()),
            },
            Err(_) => return Err("it remembers items out of order".to_owned()),
        }
        Ok(())
    }

    fn recall(&mut self, size: usize) -> Step {
        let at = self.number(size)?;
        let item = usize::try_from(at).ok().and_then(|at| self.memo.get(at));
        let item = item.ok_or("it recalls an item it never remembered")?.clone();
        self.stack.push(item);
        Ok(())
    }

    fn set_item(&mut self) -> Step {
        let value = self.pop()?;
        let key = self.pop()?;
        let top = self.top()?.clone();
        let dict = self
            .attributes(&top)
            .ok_or("it sets an item of something that is no dictionary")?;
        self.extend(dict, [key, value].into_iter());
        Ok(())
    }

    fn set_items(&mut self) -> Step {
        let mark = self.stack.iter().rposition(|item| matches!(item, Item::Mark));
        let items = self
            .stack
            .split_off(mark.ok_or("it sets items that never began")?);
        let top = self.top()?.clone();
        let dict = self
            .attributes(&top)
            .ok_or("it sets items of something that is no dictionary")?;
        self.extend(dict, items.into_iter().skip(1));
        Ok(())
    }

    /// Adds complete pairs; a key without its value is left out.
    fn extend(&mut self, dict: usize, mut items: impl Iterator<Item = Item>) {
        let Some(pairs) = self.dicts.get_mut(dict) else {
            return;
        };
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            pairs.push((key, value));
            self.pairs += 1;
        }
    }

    fn global(&mut self) -> Step {
        let _module = self.line()?;
        let class = self.line()?;
        self.class(&class)
    }

    fn line(&mut self) -> Result<String, String> {
        let mut bytes = Vec::new();
        loop {
            match self.byte()? {
                b'\n' => break,
                _ if bytes.len() >= 256 => return Err("it names a class that is too long".to_owned()),
                byte => bytes.push(byte),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn stack_global(&mut self) -> Step {
        let class = self.pop()?;
        let _module = self.pop()?;
        match class {
            Item::Text(class) => self.class(&class),
            _ => Err("it names a class by something that is no text".to_owned()),
        }
    }

    fn class(&mut self, name: &str) -> Step {
        if name != CLASS {
            return Err(format!("it names the class {name:?}, which is not Chroma's"));
        }
        self.stack.push(Item::Object(None));
        Ok(())
    }

    fn new_object(&mut self) -> Step {
        let _arguments = self.pop()?;
        match self.pop()? {
            Item::Object(_) => self.stack.push(Item::Object(None)),
            _ => return Err("it makes an instance of something that is no class".to_owned()),
        }
        Ok(())
    }

    fn build(&mut self) -> Step {
        let state = self.pop()?;
        let state = self.attributes(&state).ok_or("an instance has no attributes")?;
        match self.stack.last_mut() {
            Some(item @ Item::Object(_)) => *item = Item::Object(Some(state)),
            _ => return Err("it sets attributes of something that is no instance".to_owned()),
        }
        Ok(())
    }
}
