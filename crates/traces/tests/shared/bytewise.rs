//! Bytes of OTF2 archives made for tests.

/// Writes what files of an archive consist of.
#[derive(Clone, Default)]
pub struct Bytewise {
    pub bytes: Vec<u8>,
    pub big_endian: bool,
}

impl Bytewise {
    pub fn full(&mut self, value: u64) {
        self.bytes.extend(match self.big_endian {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        });
    }

    pub fn full32(&mut self, value: u32) {
        self.bytes.extend(match self.big_endian {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        });
    }

    /// A compressed integer.
    pub fn short(&mut self, value: u64) {
        let size = 8 - value.leading_zeros() as usize / 8;
        self.bytes.push(size as u8);
        match self.big_endian {
            true => self.bytes.extend(&value.to_be_bytes()[8 - size..]),
            false => self.bytes.extend(&value.to_le_bytes()[..size]),
        }
    }

    /// "None", which is the largest number.
    pub fn none(&mut self) {
        self.bytes.push(0xff);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }

    pub fn header(&mut self) {
        let order = if self.big_endian { 0x23 } else { 0x42 };
        self.bytes.extend([3, order]);
    }

    /// A record with its length.
    pub fn record(&mut self, kind: u8, fill: impl FnOnce(&mut Bytewise)) {
        let mut inner = Bytewise {
            big_endian: self.big_endian,
            ..Bytewise::default()
        };
        fill(&mut inner);
        self.bytes.push(kind);
        match u8::try_from(inner.bytes.len()) {
            Ok(length) if length < 0xff => self.bytes.push(length),
            _ => {
                self.bytes.push(0xff);
                self.full(inner.bytes.len() as u64);
            }
        }
        self.bytes.extend(inner.bytes);
    }
}
