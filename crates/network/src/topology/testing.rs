//! What the tests of this room share.

use super::{DragonflyLinks, LinkClass, LinkKind};
use odonata_units::{Bandwidth, Bytes, Picoseconds};
use std::path::{Path, PathBuf};

/// A link class of 1 GB/s, 10 ns and 4 KiB buffers.
pub fn class(name: &str, kind: LinkKind) -> LinkClass {
    LinkClass {
        name: name.into(),
        kind,
        bandwidth: Bandwidth::new(1_000_000_000).unwrap(),
        latency: Picoseconds(10_000),
        buffer: Bytes(4096),
    }
}

/// Link classes of a dragonfly, all alike but for the name.
pub fn dragonfly_links() -> DragonflyLinks {
    DragonflyLinks {
        terminal: class("terminal", LinkKind::Terminal),
        local: class("local", LinkKind::Local),
        column: None,
        global: class("global", LinkKind::Global),
    }
}

/// The file `../shared/data/<name>` beside the checkout or one of its parents.
/// Says so and returns `None` where it is absent, so that the test is skipped.
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|directory| directory.join("shared/data").join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: ../shared/data/{name} is absent");
    }
    found
}
