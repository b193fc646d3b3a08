//! Identifiers of entities, each a dense index from zero.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone,
            Copy,
            Debug,
            Default,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            serde::Serialize,
            serde::Deserialize,
        )]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into an array that has one entry per entity.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of entry `index` of such an array.
            ///
            /// # Panics
            /// If `index` does not fit 32 bits.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 entities"))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A compute endpoint with one network interface.
    NodeId
);
id!(
    /// An electronic packet switch.
    RouterId
);
id!(
    /// A set of routers: Dragonfly group, island, pod.
    GroupId
);
id!(
    /// A router port, numbered over the whole network: the ports of router `r`
    /// are consecutive and come before those of router `r + 1`.
    PortId
);
id!(
    /// An optical circuit switch.
    OcsId
);
id!(
    /// A job of a scenario, in the order in which the scenario lists them.
    JobId
);
id!(
    /// A rank (process) inside one job.
    RankId
);

/// Who sends over a link: a port of a router, or a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// The router that a port belongs to, over the link of that port.
    Router(PortId),
    /// A node, to its router.
    Node(NodeId),
}
