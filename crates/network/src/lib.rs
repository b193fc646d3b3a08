//! The network room: what is wired, how packets are routed, and the proof that
//! they cannot deadlock. Knows nothing of jobs or traffic.

pub mod routing;
pub mod topology;
pub mod verify;
pub mod width;

pub use routing::{Hop, PacketRoute, RouterView, Routing};
pub use topology::{LinkClass, LinkClassId, LinkKind, Peer, Subnet, Topology};
