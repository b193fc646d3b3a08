//! Decisions per message: the first packet of a message that comes to a router is
//! routed, those behind it follow.

use odonata_network::PacketRoute;
use odonata_run::EntityMap;
use serde::{Deserialize, Serialize};

/// Messages of more than one packet that have come to a router in part.
pub(super) type MessageRoutes = EntityMap<Visit, Decision>;

/// A message at a router: the router (counted in its partition), the routers that
/// the message has passed before (non-minimal routes may come to one twice), and
/// the message (source node, number there).
pub(super) type Visit = (u32, u16, u64);

/// What a router has decided for the first packet of a message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Decision {
    /// What the first packet carried on.
    pub route: PacketRoute,
    pub out_port: u16,
    pub out_vc: u8,
    /// Bytes of the message that are still to come to the router.
    pub missing: u64,
}
