//! The protobuf form, field by field. Encoding: protobuf.dev, "Encoding".

use super::{Attribute, Form, Header, Kind, Node, Tensors, Value, version_of};

/// Something wrong at a byte of the file.
pub(super) struct Fault {
    pub at: u64,
    pub reason: String,
}

/// What a field holds.
enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(Wire<'a>),
}

/// Bytes that are left of a message.
#[derive(Clone, Copy)]
struct Wire<'a> {
    bytes: &'a [u8],
    /// Offset in the file of the next byte.
    at: u64,
}

impl<'a> Wire<'a> {
    fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault {
            at: self.at,
            reason: reason.into(),
        }
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], Fault> {
        let split = usize::try_from(count).ok();
        let Some((taken, left)) = split.and_then(|count| self.bytes.split_at_checked(count)) else {
            return Err(self.fault(format!(
                "{count} bytes are to follow, but {} are left of the message or file; the file \
                 is damaged or truncated",
                self.bytes.len()
            )));
        };
        self.bytes = left;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let taken = self.take(N as u64)?;
        Ok(taken.try_into().expect("as many as were taken"))
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let start = *self;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            // The tenth byte has one bit left.
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(start.fault("a number of more than 64 bits; the file is damaged"))
    }

    /// A part with its length in front.
    fn part(&mut self) -> Result<Self, Fault> {
        let length = self.varint()?;
        let at = self.at;
        let bytes = self.take(length)?;
        Ok(Self { bytes, at })
    }

    /// The next field and its number; `None` at the end.
    fn field(&mut self) -> Result<Option<(u64, Field<'a>)>, Fault> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let start = *self;
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => Field::Bytes(self.part()?),
            5 => Field::Fixed32(u32::from_le_bytes(self.array()?)),
            other => {
                return Err(start.fault(format!(
                    "a field of wire type {other}, which this schema does not use; the file is \
                     damaged"
                )));
            }
        };
        match tag >> 3 {
            0 => Err(start.fault("a field of number 0; the file is damaged")),
            number => Ok(Some((number, field))),
        }
    }

    fn text(self) -> Result<String, Fault> {
        match std::str::from_utf8(self.bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(self.fault("a text that is no UTF-8; the file is damaged")),
        }
    }
}

/// Whether a file begins with the metadata of a trace, of which only its start may be here.
pub(super) fn begins_trace(start: &[u8]) -> bool {
    let mut wire = Wire {
        bytes: start,
        at: 0,
    };
    let Ok(length) = wire.varint() else {
        return false;
    };
    if length == 0 {
        // Empty metadata; a node begins with its number, or with its name if that is 0.
        return wire.varint().is_ok_and(|node| node > 0)
            && matches!(wire.bytes.first(), Some(0x08 | 0x12));
    }
    let metadata = wire.at;
    let Ok([tag]) = wire.array() else {
        return false;
    };
    let Ok(inner) = wire.varint() else {
        return false;
    };
    let fits = inner <= length.saturating_sub(wire.at - metadata);
    match tag {
        // The version.
        0x0a => {
            let version = wire.bytes.get(..inner.min(64) as usize).unwrap_or_default();
            fits && version.first().is_some_and(u8::is_ascii_digit)
                && version.iter().all(u8::is_ascii_graphic)
        }
        // An attribute, which begins with its name.
        0x12 => fits && wire.bytes.first() == Some(&0x0a),
        _ => false,
    }
}

pub(super) fn read(
    bytes: &[u8],
    each: &mut dyn FnMut(Node) -> Result<(), String>,
) -> Result<Header, Fault> {
    let mut file = Wire { bytes, at: 0 };
    let (mut version, mut attributes) = (String::new(), Vec::new());
    let mut metadata = file.part()?;
    loop {
        let place = metadata;
        match metadata.field()? {
            None => break,
            Some((1, Field::Bytes(text))) => version = text.text()?,
            Some((2, Field::Bytes(wire))) => attributes.push(attribute(wire)?),
            Some((1 | 2, _)) => return Err(place.fault("metadata of a wrong wire type")),
            Some(_) => {}
        }
    }
    while !file.bytes.is_empty() {
        let place = file;
        let node = node(file.part()?)?;
        each(node).map_err(|reason| place.fault(reason))?;
    }
    if version.is_empty() {
        version = version_of(&mut attributes);
    }
    Ok(Header {
        form: Form::Protobuf,
        version,
        attributes,
    })
}

fn node(mut wire: Wire<'_>) -> Result<Node, Fault> {
    let mut node = Node::default();
    loop {
        let place = wire;
        let Some((number, field)) = wire.field()? else {
            return Ok(node);
        };
        match (number, field) {
            (1, Field::Varint(id)) => node.id = id,
            (2, Field::Bytes(text)) => node.name = text.text()?,
            (3, Field::Varint(kind)) => node.kind = Kind::of_number(kind),
            (4, field) => dependencies(field, place, &mut node.ctrl_deps)?,
            (5, field) => dependencies(field, place, &mut node.data_deps)?,
            (6, Field::Varint(time)) => node.start_micros = time,
            (7, Field::Varint(time)) => node.duration_micros = time,
            (8, Field::Bytes(wire)) => node.inputs = tensors(wire)?,
            (9, Field::Bytes(wire)) => node.outputs = tensors(wire)?,
            (10, Field::Bytes(wire)) => node.attributes.push(attribute(wire)?),
            (1..=10, _) => {
                return Err(place.fault(format!(
                    "field {number} of a node has a wrong wire type; the file is damaged"
                )));
            }
            _ => node.skipped += 1,
        }
    }
}

/// Numbers of nodes, packed or one by one.
fn dependencies(field: Field<'_>, place: Wire<'_>, list: &mut Vec<u64>) -> Result<(), Fault> {
    match field {
        Field::Varint(id) => list.push(id),
        Field::Bytes(mut packed) => {
            while !packed.bytes.is_empty() {
                list.push(packed.varint()?);
            }
        }
        _ => return Err(place.fault("dependencies of a wrong wire type; the file is damaged")),
    }
    Ok(())
}

fn tensors(mut wire: Wire<'_>) -> Result<Tensors, Fault> {
    let mut tensors = Tensors::default();
    while let Some((number, field)) = wire.field()? {
        match (number, field) {
            (1, Field::Bytes(text)) => tensors.values = text.text()?,
            (2, Field::Bytes(text)) => tensors.shapes = text.text()?,
            (3, Field::Bytes(text)) => tensors.types = text.text()?,
            _ => {}
        }
    }
    Ok(tensors)
}

fn attribute(mut wire: Wire<'_>) -> Result<Attribute, Fault> {
    let mut attribute = Attribute {
        name: String::new(),
        value: Value::Missing,
    };
    loop {
        let place = wire;
        let Some((number, field)) = wire.field()? else {
            return Ok(attribute);
        };
        match (number, field) {
            (1, Field::Bytes(name)) => attribute.name = name.text()?,
            // What its author says about it.
            (2, Field::Bytes(_)) => {}
            // Values of a type have an odd number, lists of it the next one.
            (3..=32, field) if number % 2 == 1 => {
                attribute.value = scalar(number, field, place)?;
            }
            (3..=32, Field::Bytes(wire)) => {
                attribute.value = Value::List(list(number - 1, wire)?);
            }
            (1..=32, _) => return Err(wrong_type(place)),
            _ => {}
        }
    }
}

fn wrong_type(place: Wire<'_>) -> Fault {
    place.fault("an attribute has a wrong wire type; the file is damaged")
}

/// The value of a field of `AttributeProto`.
fn scalar(number: u64, field: Field<'_>, place: Wire<'_>) -> Result<Value, Fault> {
    let zigzag = |value: u64| (value >> 1) as i64 ^ -((value & 1) as i64);
    Ok(match (number, field) {
        (3, Field::Fixed64(bits)) => Value::Real(f64::from_bits(bits)),
        (5, Field::Fixed32(bits)) => Value::Real(f32::from_bits(bits).into()),
        // Numbers of 32 bits with a sign are written with 64.
        (7, Field::Varint(value)) => Value::Signed((value as i32).into()),
        (9, Field::Varint(value)) => Value::Signed(value as i64),
        (11, Field::Varint(value)) => Value::Unsigned((value as u32).into()),
        (13, Field::Varint(value)) => Value::Unsigned(value),
        (15 | 17, Field::Varint(value)) => Value::Signed(zigzag(value)),
        (19, Field::Fixed32(bits)) => Value::Unsigned(bits.into()),
        (21, Field::Fixed64(bits)) => Value::Unsigned(bits),
        (23, Field::Fixed32(bits)) => Value::Signed((bits as i32).into()),
        (25, Field::Fixed64(bits)) => Value::Signed(bits as i64),
        (27, Field::Varint(value)) => Value::Bool(value != 0),
        (29, Field::Bytes(text)) => Value::Text(text.text()?),
        (31, Field::Bytes(wire)) => Value::Bytes(wire.bytes.to_vec()),
        _ => return Err(wrong_type(place)),
    })
}

/// The values of a list whose elements are like the field of this number.
fn list(number: u64, mut wire: Wire<'_>) -> Result<Vec<Value>, Fault> {
    let mut values = Vec::new();
    loop {
        let place = wire;
        match wire.field()? {
            None => return Ok(values),
            Some((1, Field::Bytes(mut packed))) if number < 29 => {
                while !packed.bytes.is_empty() {
                    let place = packed;
                    let field = match number {
                        3 | 21 | 25 => Field::Fixed64(u64::from_le_bytes(packed.array()?)),
                        5 | 19 | 23 => Field::Fixed32(u32::from_le_bytes(packed.array()?)),
                        _ => Field::Varint(packed.varint()?),
                    };
                    values.push(scalar(number, field, place)?);
                }
            }
            Some((1, field)) => values.push(scalar(number, field, place)?),
            Some(_) => {}
        }
    }
}
