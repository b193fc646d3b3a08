//! OpenSM's `opensm-subnet.lst`: a line for each direction of every link, numbers in hexadecimal.
//!
//! ```text
//! { SW Ports:08 … NodeGUID:0000000000200000 PortGUID:… {S-0} LID:0002 PN:02 } { SW … } PHY=4x LOG=ACT SPD=2.5
//! ```

use super::{End, Far, Found, Rate, Subnet, SubnetError, Switch, Wired};

const LINES: &str = "lines of opensm-subnet.lst: `{ SW Ports:… NodeGUID:… PortGUID:… {NAME} LID:… \
                     PN:… } { … } PHY=… SPD=…`";

/// One end of a line.
struct Side<'a> {
    kind: &'a str,
    ports: u32,
    guid: u64,
    port_guid: u64,
    name: &'a str,
    lid: u16,
    port: u32,
}

/// Reads one.
pub(super) fn read(text: &str) -> Result<Subnet, SubnetError> {
    let mut found = Found::default();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() {
            continue;
        }
        let (here, there, rate) = sides(content).ok_or_else(|| SubnetError::Line {
            line,
            found: content.chars().take(60).collect(),
            allowed: LINES,
        })?;
        if here.kind != "SW" {
            continue;
        }
        let id = here.name_and_guid();
        let switch = match found.index.get(&id) {
            Some(&switch) => switch,
            None => {
                let switch = Switch {
                    guid: here.guid,
                    name: here.name.to_owned(),
                    ports: here.ports,
                    lid: Some(here.lid),
                };
                found.switch(line, &id, switch)?
            }
        };
        let end = End {
            id: there.name_and_guid(),
            port: there.port,
        };
        let far = match there.kind {
            "SW" => Far::Switch(end),
            "RTR" => continue,
            _ => Far::Host {
                end,
                guid: there.guid,
                port_guid: Some(there.port_guid),
                name: there.name.to_owned(),
                lid: Some(there.lid),
            },
        };
        let port = here.port;
        found.wire(
            switch,
            Wired {
                line,
                port,
                far,
                rate,
            },
        )?;
    }
    found.into_subnet()
}

impl Side<'_> {
    fn name_and_guid(&self) -> String {
        format!("{} (GUID {:#018x})", self.name, self.guid)
    }
}

fn sides(content: &str) -> Option<(Side<'_>, Side<'_>, Option<Rate>)> {
    let (here, rest) = content.strip_prefix('{')?.split_once(" } { ")?;
    let (there, link) = rest.rsplit_once(" } ")?;
    let value = |key: &str| {
        link.split_whitespace()
            .find_map(|word| word.strip_prefix(key))
    };
    let speed = match value("SPD=") {
        Some("2.5") => "SDR",
        Some("5") => "DDR",
        Some("10") => "QDR",
        Some("FDR10") => "FDR10",
        Some("14") => "FDR",
        Some("25") => "EDR",
        Some("50") => "HDR",
        Some("100") => "NDR",
        Some("200") => "XDR",
        _ => "",
    };
    let rate = Rate::new(&format!("{}{speed}", value("PHY=").unwrap_or_default()));
    Some((side(here)?, side(there)?, rate))
}

fn side(text: &str) -> Option<Side<'_>> {
    let (identity, rest) = text.split_once('{')?;
    let (name, place) = rest.rsplit_once('}')?;
    let word = |text: &'_ str, key: &str| -> Option<u64> {
        let value = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix(key));
        u64::from_str_radix(value?, 16).ok()
    };
    let kind = identity.split_whitespace().next()?;
    Some(Side {
        kind: kind.split('-').next()?,
        ports: word(identity, "Ports:")?.try_into().ok()?,
        guid: word(identity, "NodeGUID:")?,
        port_guid: word(identity, "PortGUID:")?,
        name,
        lid: word(place, "LID:")?.try_into().ok()?,
        port: word(place, "PN:")?.try_into().ok()?,
    })
}
