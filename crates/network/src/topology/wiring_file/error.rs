//! What can be wrong with a wiring file.

use crate::topology::{LinkKind, TopologyError};

/// What is wrong with a wiring file. Lines count from 1; ports are numbered
/// within their router.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WiringFileError {
    /// A line that cannot be read.
    #[error("line {line}: cannot read `{found}`; expected {expected}")]
    Syntax {
        /// Line of the file.
        line: usize,
        /// What it holds.
        found: String,
        /// What it should look like.
        expected: String,
    },
    /// The file is no well-formed XML.
    #[error(
        "line {line}: this is no well-formed XML: {message}; if it is the end of the file, the file is truncated"
    )]
    Xml {
        /// Line of the file.
        line: usize,
        /// What the XML reader says.
        message: String,
    },
    /// A part of GraphML that has no meaning here.
    #[error("line {line}: {found} cannot be used for a network; {instead}")]
    Unsupported {
        /// Line of the file.
        line: usize,
        /// What was found.
        found: String,
        /// What to do.
        instead: &'static str,
    },
    /// Something that may stand only once.
    #[error("line {line}: {what} is declared already in line {first}; remove one of the two")]
    Twice {
        /// Line of the second declaration.
        line: usize,
        /// What it declares.
        what: String,
        /// Line of the first declaration.
        first: usize,
    },
    /// A link class whose bandwidth, latency and buffer nobody gives.
    #[error(
        "line {line}: link class `{class}` has no bandwidth, latency and buffer; add them to the line, or give a link class of that name along with the file"
    )]
    NoParameters {
        /// Line of the class.
        line: usize,
        /// Name of the class.
        class: String,
    },
    /// A link class of another kind than the one given along with the file.
    #[error(
        "line {line}: link class `{class}` is {found} in the file, but the class of that name given along with it is {given}",
        found = found.name(),
        given = given.name()
    )]
    ClassKind {
        /// Line of the class.
        line: usize,
        /// Name of the class.
        class: String,
        /// Kind in the file.
        found: LinkKind,
        /// Kind of the given class.
        given: LinkKind,
    },
    /// A class that does not exist.
    #[error("line {line}: there is no link class `{class}`; the classes are: {classes}")]
    UnknownClass {
        /// Line of the link.
        line: usize,
        /// Class of the link.
        class: String,
        /// Names of all classes.
        classes: String,
    },
    /// A link without class, and no class of its kind.
    #[error(
        "line {line}: this {kind} link names no class, and there is none of that kind; declare one, such as `{kind} {kind} 25000000000 30000 65536` (name, kind, bytes per second, ps, bytes), or give a link class of that kind along with the file",
        kind = kind.name()
    )]
    NoClass {
        /// Line of the link.
        line: usize,
        /// Kind of the link.
        kind: LinkKind,
    },
    /// Nodes in a file, and asked for beside it.
    #[error(
        "line {line}: the file attaches nodes itself; leave the number of nodes per router out"
    )]
    NodesInFile {
        /// Line of the first node.
        line: usize,
    },
    /// A link without class, where several would do.
    #[error(
        "line {line}: this {kind} link names no class, and there are {found} of that kind; name one of: {classes}",
        kind = kind.name()
    )]
    ClassNeeded {
        /// Line of the link.
        line: usize,
        /// Kind of the link.
        kind: LinkKind,
        /// Number of classes of that kind.
        found: usize,
        /// Their names.
        classes: String,
    },
    /// A link of a class of the wrong kind.
    #[error(
        "line {line}: this is a {expected} link by what it connects, but class `{class}` is {kind}; correct the class, or the groups of the routers",
        kind = kind.name(),
        expected = expected.name()
    )]
    WrongKind {
        /// Line of the link.
        line: usize,
        /// Class of the link.
        class: String,
        /// Kind of the class.
        kind: LinkKind,
        /// Kind of the link.
        expected: LinkKind,
    },
    /// A router that is not declared.
    #[error("line {line}: router {router} is not declared; declare every router with its group")]
    UnknownRouter {
        /// Line that mentions it.
        line: usize,
        /// The router.
        router: u32,
    },
    /// A gap in a numbering.
    #[error(
        "line {line}: {what} {highest} is declared, but {what} {missing} is not; number them without gaps from 0"
    )]
    Gap {
        /// Line of the highest number.
        line: usize,
        /// What is numbered: router or node.
        what: &'static str,
        /// The highest number.
        highest: u32,
        /// The lowest number that is missing.
        missing: u32,
    },
    /// A port that no line mentions, below one that is used.
    #[error(
        "line {line}: port {highest} of router {router} is used, but its port {missing} is not mentioned; number ports without gaps from 0, or declare port {missing} unconnected"
    )]
    PortGap {
        /// Line of the highest port.
        line: usize,
        /// The router.
        router: u32,
        /// Its highest port.
        highest: u32,
        /// Its lowest port that is missing.
        missing: u32,
    },
    /// A number beyond what is allowed.
    #[error("line {line}: {what} {found} is too large; at most {limit} is allowed")]
    TooLarge {
        /// Line of the file.
        line: usize,
        /// What is too large.
        what: &'static str,
        /// The number.
        found: u64,
        /// The largest one allowed.
        limit: u64,
    },
    /// A link from a router to itself.
    #[error("line {line}: router {router} is linked to itself; remove the link")]
    SelfLink {
        /// Line of the link.
        line: usize,
        /// The router.
        router: u32,
    },
    /// A node without link.
    #[error("line {line}: node {node} is attached to no router; add an edge between the two")]
    Unattached {
        /// Line of the node.
        line: usize,
        /// The node.
        node: u32,
    },
    /// A router without position where others have one.
    #[error(
        "line {line}: router {router} has no row and column, but others have; give them to all routers or to none"
    )]
    PositionMissing {
        /// Line of the router.
        line: usize,
        /// The router.
        router: u32,
    },
    /// A router that cannot be reached.
    #[error(
        "line {line}: router {router}, declared here, cannot be reached from router 0: only {reached} of {routers} routers are connected with it; add the missing links"
    )]
    Disconnected {
        /// Line of the router.
        line: usize,
        /// The router.
        router: u32,
        /// Routers that can be reached from router 0, itself included.
        reached: usize,
        /// All routers.
        routers: usize,
    },
    /// The wiring is unsound in another way.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}
