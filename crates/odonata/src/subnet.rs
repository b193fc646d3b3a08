//! InfiniBand subnets that a scenario names.

use std::path::Path;

use odonata_network::Subnet;
use odonata_network::topology::read_ibnetdiscover;

use crate::error::SpecError;
use crate::named_file::{in_file, read_file};

/// Reads what is cabled in a subnet.
pub(crate) fn read_subnet(file: &Path, key: &str) -> Result<Subnet, SpecError> {
    let text = read_file(file, key)?;
    read_ibnetdiscover(&text).map_err(|error| in_file(file, key, &error))
}
