//! Writer of DUMPI's binary files, in the layout of version 1.1.0: for tests of
//! readers, and for making large traces out of small ones.

use std::io::{self, Write};

use super::function::{ALL_FUNCTIONS, END_OF_STREAM, Function, Kind};
use super::reader::mask;
use super::record::{Call, CallCount, Header, Span, Status, Trailer, Value};
use super::sections::{FOOTER_MAGIC, MAGIC};

/// Writes a trace to `W`, record by record.
pub struct DumpiWriter<W> {
    out: W,
    written: u64,
    scratch: Vec<u8>,
    counts: Vec<u32>,
    cpu_offset: i32,
    wall_offset: i32,
}

impl<W: Write> DumpiWriter<W> {
    /// Starts a trace whose time stamps lie at most 65,535 s after these seconds.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(out: W, cpu_offset: i32, wall_offset: i32) -> io::Result<Self> {
        let mut writer = Self {
            out,
            written: 0,
            scratch: Vec::new(),
            counts: vec![0; usize::from(END_OF_STREAM)],
            cpu_offset,
            wall_offset,
        };
        writer.u64(MAGIC);
        writer.i32(cpu_offset);
        writer.i32(wall_offset);
        writer.flush_record()?;
        Ok(writer)
    }

    /// Appends a record. Its [`Call::offset`] is ignored.
    ///
    /// # Errors
    /// If a time stamp does not fit, or `out` fails.
    pub fn push(&mut self, call: &Call) -> io::Result<()> {
        let statuses = call
            .arguments
            .iter()
            .any(|argument| matches!(argument.value, Value::Statuses(_)));
        let bits = [
            (statuses, mask::STATUSES),
            (call.cpu.is_some(), mask::CPU_TIME),
            (call.wall.is_some(), mask::WALL_TIME),
            (true, mask::THREAD),
            (!call.counters.is_empty(), mask::COUNTERS),
        ];
        let bits = bits
            .iter()
            .fold(0, |all, &(on, bit)| all | if on { bit } else { 0 });
        self.u16(call.function.number());
        self.scratch.push(bits);
        self.u16(call.thread);
        for (span, offset) in [(call.cpu, self.cpu_offset), (call.wall, self.wall_offset)] {
            if let Some(span) = span {
                self.span(span, offset)?;
            }
        }
        if !call.counters.is_empty() {
            self.scratch.push(call.counters.len() as u8);
            for &(start, stop) in &call.counters {
                self.u64(start);
                self.u64(stop);
            }
        }
        for argument in &call.arguments {
            self.value(argument.field.kind, &argument.value);
        }
        self.counts[usize::from(call.function.number())] += 1;
        self.flush_record()
    }

    /// Ends the trace. The counts of `trailer` are replaced by those of the
    /// records written.
    ///
    /// # Errors
    /// If the header names a version whose layout is another one, or `out` fails.
    pub fn finish(mut self, header: &Header, trailer: &Trailer) -> io::Result<W> {
        if !header.is_at_least([0, 6, 9]) {
            let [major, minor, patch] = header.version;
            let reason = format!(
                "a header of version {major}.{minor}.{patch}; the layout written is that of \
                 0.6.9 and later"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        self.u16(END_OF_STREAM);
        let header_at = self.offset();
        self.scratch.extend(header.version);
        self.u64(header.start_time);
        self.short_text(&header.host);
        self.short_text(&header.user);
        for list in [&header.mesh_position, &header.mesh_size] {
            self.ints(list);
        }
        let footer_at = self.offset();
        self.u64(FOOTER_MAGIC);
        let counted = usize::from(ALL_FUNCTIONS);
        let counts: Vec<CallCount> = self.counts[..counted]
            .iter()
            .map(|&called| CallCount { called, ignored: 0 })
            .collect();
        let total = counts.iter().map(|count| count.called).sum();
        for count in &counts {
            self.u32(count.called);
        }
        self.u32(total);
        for _ in 0..=counted {
            self.u32(0);
        }
        let mut keyvals_at = 0;
        if !trailer.keyvals.is_empty() {
            keyvals_at = self.offset();
            self.u32(trailer.keyvals.len() as u32);
            for (key, value) in &trailer.keyvals {
                self.short_text(key);
                self.short_text(value);
            }
        }
        let counters_at = self.offset();
        let counters = trailer.counters.as_deref().unwrap_or_default();
        self.u32(counters.len() as u32);
        for name in counters {
            self.short_text(name);
        }
        let sizes_at = self.offset();
        self.ints(&trailer.datatype_sizes);
        let addresses_at = self.offset();
        self.u32(trailer.addresses.len() as u32);
        for (address, name) in &trailer.addresses {
            self.u64(*address);
            self.short_text(name);
        }
        self.u64(MAGIC);
        for offset in [
            sizes_at,
            addresses_at,
            counters_at,
            header_at,
            8,
            footer_at,
            keyvals_at,
        ] {
            self.u64(offset);
        }
        self.flush_record()?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn offset(&self) -> u64 {
        self.written + self.scratch.len() as u64
    }

    fn flush_record(&mut self) -> io::Result<()> {
        self.out.write_all(&self.scratch)?;
        self.written += self.scratch.len() as u64;
        self.scratch.clear();
        Ok(())
    }

    fn span(&mut self, span: Span, offset: i32) -> io::Result<()> {
        for clock in [span.start, span.stop] {
            let seconds = u16::try_from(i64::from(clock.seconds) - i64::from(offset));
            let seconds = seconds.map_err(|_| {
                let reason = format!(
                    "a time stamp of {} s in a trace that starts at {offset} s; \
                     at most 65,535 s can lie between them",
                    clock.seconds
                );
                io::Error::new(io::ErrorKind::InvalidInput, reason)
            })?;
            self.u16(seconds);
            self.u32(clock.nanoseconds);
        }
        Ok(())
    }

    fn value(&mut self, kind: Kind, value: &Value) {
        match value {
            Value::Int(value) => self.i32(*value),
            Value::Long(value) => self.u64(*value as u64),
            Value::Handle(handle) => self.u16(*handle),
            Value::Code(code) => self.scratch.push(*code),
            Value::Text(text) => self.text(text),
            Value::Ints(values) => self.ints(values),
            Value::IntRows(rows) => {
                self.u32(rows.len() as u32);
                rows.iter().for_each(|row| self.ints(row));
            }
            Value::Handles(handles) => {
                self.u32(handles.len() as u32);
                handles.iter().for_each(|&handle| self.u16(handle));
            }
            Value::Codes(codes) => self.text(codes),
            Value::Texts(texts) => {
                if kind != Kind::Argv {
                    self.u32(texts.len() as u32);
                }
                texts.iter().for_each(|text| self.text(text));
            }
            Value::TextRows(rows) => {
                self.u32(rows.len() as u32);
                for row in rows {
                    self.u32(row.len() as u32);
                    row.iter().for_each(|text| self.text(text));
                }
            }
            Value::Statuses(statuses) => {
                self.u32(statuses.len() as u32);
                statuses.iter().for_each(|status| self.status(status));
            }
        }
    }

    fn status(&mut self, status: &Status) {
        self.i32(status.bytes);
        self.i32(status.source);
        self.scratch.extend([status.cancelled, status.error]);
        self.i32(status.tag);
    }

    fn ints(&mut self, values: &[i32]) {
        self.u32(values.len() as u32);
        values.iter().for_each(|&value| self.i32(value));
    }

    fn text(&mut self, text: &[u8]) {
        self.u32(text.len() as u32);
        self.scratch.extend_from_slice(text);
    }

    fn short_text(&mut self, text: &[u8]) {
        self.u16(text.len() as u16);
        self.scratch.extend_from_slice(text);
    }

    fn u16(&mut self, value: u16) {
        self.scratch.extend(value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.scratch.extend(value.to_be_bytes());
    }

    fn i32(&mut self, value: i32) {
        self.scratch.extend(value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.scratch.extend(value.to_be_bytes());
    }
}

impl Call {
    /// A call of `function` with these arguments, in stored order. Arguments
    /// stored at the root only are left out by giving fewer values where they
    /// come last.
    pub fn with_values(function: Function, values: Vec<Value>) -> Self {
        Self {
            offset: 0,
            function,
            thread: 0,
            cpu: None,
            wall: None,
            counters: Vec::new(),
            arguments: function
                .fields()
                .iter()
                .zip(values)
                .map(|(field, value)| super::Argument { field, value })
                .collect(),
        }
    }
}
