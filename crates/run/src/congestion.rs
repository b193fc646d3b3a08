//! End-to-end congestion control of network interfaces: which schemes there are, and their keys,
//! a file each.

mod ecn;
mod hpcc;
mod infiniband;
mod slingshot;
mod window;

use odonata_declare::Named;
use odonata_declare::table::{Declared, TableDeclaration};
use serde::{Deserialize, Serialize};

pub use ecn::EcnKeys;
pub use hpcc::HpccKeys;
pub use infiniband::InfinibandKeys;
pub use slingshot::SlingshotKeys;
pub use window::WindowKeys;

/// How interfaces are kept from sending more than the network takes. It concerns pairs of a
/// sending and a receiving node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Named)]
#[named(kinds = CongestionControlName)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CongestionControl {
    /// Nothing but credits.
    ///
    /// Interfaces send as soon as their routers have room.
    #[default]
    None,
    /// A limit on the bytes under way between two nodes.
    Window(WindowKeys),
    /// Rates that follow marks of routers with long queues.
    ///
    /// DCQCN (Zhu et al., SIGCOMM 2015).
    Ecn(EcnKeys),
    /// Delays between packets, counted up by marks and down by a timer.
    ///
    /// As in annex A10 of the InfiniBand architecture specification.
    Infiniband(InfinibandKeys),
    /// Windows for the load of the busiest link on the way, which routers write into packets.
    ///
    /// HPCC (Li et al., SIGCOMM 2019).
    Hpcc(HpccKeys),
    /// A share of the receiver's link for each of those that overload it.
    ///
    /// Modelled on what De Sensi et al. (SC 2020) say of Slingshot.
    Slingshot(SlingshotKeys),
}

impl CongestionControlName {
    /// The scheme's own keys.
    pub fn declaration(self) -> Option<TableDeclaration> {
        match self {
            Self::None => None,
            Self::Window => Some(WindowKeys::declaration()),
            Self::Ecn => Some(EcnKeys::declaration()),
            Self::Infiniband => Some(InfinibandKeys::declaration()),
            Self::Hpcc => Some(HpccKeys::declaration()),
            Self::Slingshot => Some(SlingshotKeys::declaration()),
        }
    }
}

impl Declared for CongestionControl {
    fn kind() -> odonata_declare::table::Kind {
        odonata_declare::table::Kind::Table("CongestionControl")
    }
}
