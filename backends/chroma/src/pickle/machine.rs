//! The stack machine of the pickle reader, with the opcodes that Chroma's two writers use.

use std::io::{BufRead, Read};
use std::sync::Arc;

use super::PickleField;

/// One value on the stack.
#[derive(Debug, Clone)]
pub(crate) enum PickleItem {
    /// A text.
    Text(Arc<str>),
    /// An integer.
    Int(i64),
    /// A dictionary, by its index in the machine's list.
    Dict(usize),
    /// The one class this reader knows, or an instance of it; its attributes are a dictionary.
    Object(Option<usize>),
    /// The beginning of a list of items.
    Mark,
    /// A value that is never used.
    Nothing,
}

impl PickleItem {
    /// Returns the integer, if it is one.
    pub(crate) fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }
}

/// The class of Chroma before 1.0 whose attributes are read.
const CLASS: &str = "PersistentData";
/// The length of the longest text that is accepted.
const LONGEST: u64 = 1 << 20;

type PickleStep = Result<(), String>;

pub(crate) struct PickleMachine<R> {
    input: R,
    /// The number of bytes left, by the length of the file.
    bytes_left: u64,
    /// The most items that are kept at once: as many as an honest file of this size can hold.
    room: u64,
    stack: Vec<PickleItem>,
    memo: Vec<PickleItem>,
    dicts: Vec<Vec<(PickleItem, PickleItem)>>,
    /// The number of pairs in all dictionaries.
    pair_count: u64,
}

impl<R: BufRead> PickleMachine<R> {
    pub(crate) fn new(input: R, length: u64) -> Self {
        Self {
            input,
            bytes_left: length,
            // Chroma spends more than two bytes on each item, so only a forged or damaged file reaches this.
            room: length / 2 + 64,
            stack: Vec::new(),
            memo: Vec::new(),
            dicts: Vec::new(),
            pair_count: 0,
        }
    }

    /// Runs to the end of the program, or to the first unknown opcode.
    pub(crate) fn run(&mut self) -> PickleStep {
        loop {
            let code = self.read_byte()?;
            if code == b'.' {
                return Ok(());
            }
            self.run_opcode(code)?;
            let kept = self.stack.len() + self.memo.len();
            if kept as u64 + self.pair_count > self.room {
                return Err("it has too many items for its size".to_owned());
            }
        }
    }

    /// Returns the pairs of the outermost dictionary, including those that were incomplete when the program ended.
    pub(crate) fn into_fields(mut self) -> Option<Vec<(PickleItem, PickleField)>> {
        // A file that was cut off leaves its pairs on the stack, since a batch is only added at its end.
        while let Some(mark) = self
            .stack
            .iter()
            .rposition(|item| matches!(item, PickleItem::Mark))
        {
            let pending = self.stack.split_off(mark);
            if let Some(dict) = self.stack.last().and_then(|item| self.attributes(item)) {
                self.add_pairs(dict, pending.into_iter().skip(1));
            }
        }
        // In a file that was cut off before the attributes were set, they lie right behind the instance.
        let root = self.stack.iter().find_map(|item| self.attributes(item))?;
        let pairs = std::mem::take(self.dicts.get_mut(root)?);
        let fields = pairs.into_iter().map(|(key, value)| {
            let value = match value {
                PickleItem::Dict(at) => {
                    PickleField::Dict(self.dicts.get_mut(at).map(std::mem::take).unwrap_or_default())
                }
                item => PickleField::Item(item),
            };
            (key, value)
        });
        Some(fields.collect())
    }

    fn attributes(&self, item: &PickleItem) -> Option<usize> {
        match item {
            PickleItem::Dict(at) | PickleItem::Object(Some(at)) => Some(*at),
            _ => None,
        }
    }

    fn run_opcode(&mut self, code: u8) -> PickleStep {
        match code {
            // Opcodes as in Python's pickletools: 0x80 names the protocol, 0x95 the length of a frame.
            0x80 => self.skip_bytes(1)?,
            0x95 => self.skip_bytes(8)?,
            b'(' => self.stack.push(PickleItem::Mark),
            b'}' => self.push_dict(),
            b')' | b'N' | 0x88 | 0x89 => self.stack.push(PickleItem::Nothing),
            b'G' => {
                self.skip_bytes(8)?;
                self.stack.push(PickleItem::Nothing);
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
            b'q' => self.store_memo(1)?,
            b'r' => self.store_memo(4)?,
            0x94 => self.memo.push(self.top()?.clone()),
            b'h' => self.recall_memo(1)?,
            b'j' => self.recall_memo(4)?,
            b'c' => self.push_global()?,
            0x93 => self.stack_global()?,
            0x81 => self.new_object()?,
            b'b' => self.build_object()?,
            other => {
                return Err(format!(
                    "it contains the opcode {other:#04x}, which Chroma does not write"
                ));
            }
        }
        Ok(())
    }

    fn read_byte(&mut self) -> Result<u8, String> {
        Ok(self.read_bytes::<1>()?[0])
    }

    fn read_bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut buffer = [0; N];
        self.input
            .read_exact(&mut buffer)
            .map_err(|_| "it ends too early".to_owned())?;
        self.bytes_left = self.bytes_left.saturating_sub(N as u64);
        Ok(buffer)
    }

    fn skip_bytes(&mut self, count: usize) -> PickleStep {
        for _ in 0..count {
            self.read_byte()?;
        }
        Ok(())
    }

    /// Reads an unsigned little-endian number of at most 8 bytes.
    fn read_number(&mut self, size: usize) -> Result<u64, String> {
        let mut value = 0;
        for at in 0..size {
            value |= u64::from(self.read_byte()?) << (8 * at);
        }
        Ok(value)
    }

    fn push_int(&mut self, size: usize) -> PickleStep {
        let value = self.read_number(size)? as i64;
        // Only BININT has a sign; the shorter ones are unsigned.
        let value = if size == 4 { i64::from(value as i32) } else { value };
        self.stack.push(PickleItem::Int(value));
        Ok(())
    }

    fn push_long(&mut self) -> PickleStep {
        let size = usize::from(self.read_byte()?);
        if size > 8 {
            return Err("it contains a number of more than 64 bits".to_owned());
        }
        let value = self.read_number(size)?;
        // Shifted up and back, so that the sign of the last byte fills the rest.
        let unused = 64 - 8 * size as u32;
        let signed = if size == 0 {
            0
        } else {
            ((value << unused) as i64) >> unused
        };
        self.stack.push(PickleItem::Int(signed));
        Ok(())
    }

    fn push_text(&mut self, size: usize) -> PickleStep {
        let length = self.read_number(size)?;
        // Checked before anything is allocated: a damaged length may claim gigabytes.
        if length > LONGEST || length > self.bytes_left {
            return Err(format!(
                "it contains a text of {length} bytes, more than there are"
            ));
        }
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(length).read_to_end(&mut bytes);
        if read.is_err() || bytes.len() as u64 != length {
            return Err("it ends too early".to_owned());
        }
        self.bytes_left -= length;
        let text = String::from_utf8(bytes).map_err(|_| "it contains a text that is not UTF-8".to_owned())?;
        self.stack.push(PickleItem::Text(text.into()));
        Ok(())
    }

    fn push_dict(&mut self) {
        self.dicts.push(Vec::new());
        self.stack.push(PickleItem::Dict(self.dicts.len() - 1));
    }

    fn top(&self) -> Result<&PickleItem, String> {
        self.stack.last().ok_or_else(|| "its stack is empty".to_owned())
    }

    fn pop(&mut self) -> Result<PickleItem, String> {
        self.stack.pop().ok_or_else(|| "its stack is empty".to_owned())
    }

    fn store_memo(&mut self, size: usize) -> PickleStep {
        let at = self.read_number(size)?;
        let item = self.top()?.clone();
        match usize::try_from(at) {
            // Writers number their memos in order; a gap would let a small file claim a huge table.
            Ok(at) if at == self.memo.len() => self.memo.push(item),
            Ok(at) => match self.memo.get_mut(at) {
                Some(slot) => *slot = item,
                None => return Err("it remembers items out of order".to_owned()),
            },
            Err(_) => return Err("it remembers items out of order".to_owned()),
        }
        Ok(())
    }

    fn recall_memo(&mut self, size: usize) -> PickleStep {
        let at = self.read_number(size)?;
        let item = usize::try_from(at).ok().and_then(|at| self.memo.get(at));
        let item = item.ok_or("it recalls an item it never remembered")?.clone();
        self.stack.push(item);
        Ok(())
    }

    fn set_item(&mut self) -> PickleStep {
        let value = self.pop()?;
        let key = self.pop()?;
        let top = self.top()?.clone();
        let dict = self
            .attributes(&top)
            .ok_or("it sets an item of something that is not a dictionary")?;
        self.add_pairs(dict, [key, value].into_iter());
        Ok(())
    }

    fn set_items(&mut self) -> PickleStep {
        let mark = self
            .stack
            .iter()
            .rposition(|item| matches!(item, PickleItem::Mark));
        let items = self
            .stack
            .split_off(mark.ok_or("it sets items that never began")?);
        let top = self.top()?.clone();
        let dict = self
            .attributes(&top)
            .ok_or("it sets items of something that is not a dictionary")?;
        self.add_pairs(dict, items.into_iter().skip(1));
        Ok(())
    }

    /// Adds complete pairs; a key without a value is omitted.
    fn add_pairs(&mut self, dict: usize, mut items: impl Iterator<Item = PickleItem>) {
        let Some(pairs) = self.dicts.get_mut(dict) else {
            return;
        };
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            pairs.push((key, value));
            self.pair_count += 1;
        }
    }

    fn push_global(&mut self) -> PickleStep {
        let _module = self.read_line()?;
        let class = self.read_line()?;
        self.push_class(&class)
    }

    fn read_line(&mut self) -> Result<String, String> {
        let mut bytes = Vec::new();
        loop {
            match self.read_byte()? {
                b'\n' => break,
                _ if bytes.len() >= 256 => return Err("it names a class that is too long".to_owned()),
                byte => bytes.push(byte),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn stack_global(&mut self) -> PickleStep {
        let class = self.pop()?;
        let _module = self.pop()?;
        match class {
            PickleItem::Text(class) => self.push_class(&class),
            _ => Err("it names a class by something that is not a text".to_owned()),
        }
    }

    fn push_class(&mut self, name: &str) -> PickleStep {
        // The one place where a pickle could reach code: nothing
        // is ever imported or called, whatever the name.
        if name != CLASS {
            return Err(format!("it names the class {name:?}, which is not Chroma's"));
        }
        self.stack.push(PickleItem::Object(None));
        Ok(())
    }

    fn new_object(&mut self) -> PickleStep {
        let _arguments = self.pop()?;
        match self.pop()? {
            PickleItem::Object(_) => self.stack.push(PickleItem::Object(None)),
            _ => return Err("it makes an instance of something that is not a class".to_owned()),
        }
        Ok(())
    }

    fn build_object(&mut self) -> PickleStep {
        let state = self.pop()?;
        let state = self.attributes(&state).ok_or("an instance has no attributes")?;
        match self.stack.last_mut() {
            Some(item @ PickleItem::Object(_)) => *item = PickleItem::Object(Some(state)),
            _ => return Err("it sets attributes of something that is not an instance".to_owned()),
        }
        Ok(())
    }
}
