//! The graph of a wiring file by the names that stand in it, for those who look for hosts by name.

use serde::Serialize;

/// A vertex of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedVertex {
    /// Its label, or else its id.
    pub name: String,
    /// Whether it is a node; `None` where the file does not say.
    pub is_node: Option<bool>,
    /// Group of a router, where the file tells it.
    pub group: Option<String>,
}

/// Vertices and edges of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NamedGraph {
    /// Routers and nodes.
    pub vertices: Vec<NamedVertex>,
    /// Positions of both ends in `vertices`.
    pub edges: Vec<(usize, usize)>,
}
