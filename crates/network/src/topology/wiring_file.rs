//! What the generic wiring files, [edge lists](super::edge_list) and
//! [GraphML](super::graphml), have in common: the declarations they make, how
//! these add up to a topology, and what can be wrong with them.

mod error;

pub use error::WiringFileError;

use super::{
    LinkClass, LinkClassId, LinkKind, MAX_PORTS_PER_ROUTER, Peer, Topology, TopologyError, Wiring,
};
use odonata_units::{Bandwidth, Bytes, GroupId, NodeId, Picoseconds, PortId};
use std::collections::HashMap;

/// Most routers that a file may declare.
const MAX_ROUTERS: u32 = 1 << 24;
/// Most nodes that are attached to the routers of a file that attaches none.
const MAX_ATTACHED: u64 = 1 << 27;

/// Physical parameters of a link class, where the file gives them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassParameters {
    pub bandwidth: Bandwidth,
    pub latency: Picoseconds,
    pub buffer: Bytes,
}

impl ClassParameters {
    /// Reads `BYTES_PER_S LATENCY_PS BUFFER_BYTES`.
    pub fn parse(words: [&str; 3]) -> Option<Self> {
        let [bandwidth, latency, buffer] = words.map(|word| word.parse().ok());
        Some(Self {
            bandwidth: Bandwidth::new(bandwidth?).ok()?,
            latency: Picoseconds(latency?),
            buffer: Bytes(buffer?),
        })
    }
}

struct ClassDeclaration {
    name: String,
    kind: LinkKind,
    parameters: Option<ClassParameters>,
    line: usize,
}

#[derive(Clone, Copy)]
struct RouterDeclaration {
    group: u32,
    position: Option<(u16, u16)>,
    line: usize,
}

/// The name of a link class, as an index into [`Declarations::names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClassName(u32);

/// A router, and the port there if the file tells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub router: u32,
    pub port: Option<u32>,
}

/// What an [`End`] is wired to.
#[derive(Clone, Copy)]
enum Target {
    Node(u32),
    /// The other end of a link, as an index into [`Declarations::ends`].
    End(usize),
    Nothing,
}

/// One end of a link, a node's attachment or an unconnected port.
struct DeclaredEnd {
    at: End,
    target: Target,
    class: Option<ClassName>,
    line: usize,
}

/// All that a file declares. Filled line by line, then turned into a topology.
#[derive(Default)]
pub(super) struct Declarations {
    pub title: String,
    classes: Vec<ClassDeclaration>,
    routers: HashMap<u32, RouterDeclaration>,
    ends: Vec<DeclaredEnd>,
    nodes: u32,
    names: Vec<String>,
    name_index: HashMap<String, u32>,
}

/// A class that a file gives to links by what it says of them, without saying all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassOfFile {
    /// Its name.
    pub name: String,
    /// Kind of its links.
    pub kind: LinkKind,
    /// Their bandwidth, where the file tells it.
    pub bandwidth: Option<Bandwidth>,
    /// How many times the latency of other links of this kind they have.
    pub times_latency: u32,
}

/// What a wiring file may leave to its reader.
#[derive(Clone, Copy, Debug, Default)]
pub struct WiringDefaults<'a> {
    /// Classes that supply the parameters of classes of their name, also where
    /// the file has its own; those that nothing uses are ignored.
    pub classes: &'a [LinkClass],
    /// Names of those `classes` whose kind nobody has said: the file's holds.
    pub unsaid_kinds: &'a [&'a str],
    /// Classes for links of a kind of which neither the file nor `classes` has
    /// any.
    pub defaults: &'a [LinkClass],
    /// Nodes that the file does not attach.
    pub nodes: AttachedNodes,
}

/// Which nodes are attached to the routers of a wiring file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttachedNodes {
    /// The nodes of the file.
    #[default]
    AsInFile,
    /// The nodes of the file, or this many on each router if it attaches none.
    Otherwise(u32),
    /// This many on each router; the file must attach none.
    Each(u32),
}

/// Refuses a router number beyond what a file may declare.
pub(super) fn check_router_number(line: usize, router: u32) -> Checked {
    if router < MAX_ROUTERS {
        return Ok(());
    }
    Err(WiringFileError::TooLarge {
        line,
        what: "router number",
        found: u64::from(router),
        limit: u64::from(MAX_ROUTERS) - 1,
    })
}

type Checked<T = ()> = Result<T, WiringFileError>;

impl Declarations {
    /// The name of a class, which need not be declared yet.
    pub fn class_name(&mut self, name: &str) -> ClassName {
        if let Some(&index) = self.name_index.get(name) {
            return ClassName(index);
        }
        let index = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.name_index.insert(name.to_owned(), index);
        ClassName(index)
    }

    pub fn declare_class(
        &mut self,
        line: usize,
        name: &str,
        kind: LinkKind,
        parameters: Option<ClassParameters>,
    ) -> Checked {
        if let Some(first) = self.classes.iter().find(|c| c.name == name) {
            return Err(WiringFileError::Twice {
                line,
                what: format!("link class `{name}`"),
                first: first.line,
            });
        }
        self.classes.push(ClassDeclaration {
            name: name.to_owned(),
            kind,
            parameters,
            line,
        });
        Ok(())
    }

    pub fn declare_router(
        &mut self,
        line: usize,
        router: u32,
        group: u32,
        position: Option<(u16, u16)>,
    ) -> Checked {
        check_router_number(line, router)?;
        let declaration = RouterDeclaration {
            group,
            position,
            line,
        };
        match self.routers.insert(router, declaration) {
            None => Ok(()),
            Some(first) => Err(WiringFileError::Twice {
                line,
                what: format!("router {router}"),
                first: first.line,
            }),
        }
    }

    /// The number of routers declared so far.
    pub fn routers(&self) -> usize {
        self.routers.len()
    }

    /// The number of nodes attached so far.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    pub fn attach(&mut self, line: usize, node: u32, at: End, class: Option<ClassName>) -> Checked {
        self.nodes += 1;
        self.declare_end(line, at, Target::Node(node), class)
    }

    pub fn link(&mut self, line: usize, a: End, b: End, class: Option<ClassName>) -> Checked {
        if a.router == b.router {
            let router = a.router;
            return Err(WiringFileError::SelfLink { line, router });
        }
        let first = self.ends.len();
        self.declare_end(line, a, Target::End(first + 1), class)?;
        self.declare_end(line, b, Target::End(first), class)
    }

    pub fn leave_unconnected(
        &mut self,
        line: usize,
        router: u32,
        port: u32,
        class: ClassName,
    ) -> Checked {
        let at = End {
            router,
            port: Some(port),
        };
        self.declare_end(line, at, Target::Nothing, Some(class))
    }

    fn declare_end(
        &mut self,
        line: usize,
        at: End,
        target: Target,
        class: Option<ClassName>,
    ) -> Checked {
        if let Some(port) = at.port
            && port as usize >= MAX_PORTS_PER_ROUTER
        {
            return Err(WiringFileError::TooLarge {
                line,
                what: "port number",
                found: u64::from(port),
                limit: MAX_PORTS_PER_ROUTER as u64 - 1,
            });
        }
        self.ends.push(DeclaredEnd {
            at,
            target,
            class,
            line,
        });
        Ok(())
    }

    /// Adds everything up. Classes that the file does not declare come after
    /// its own, if a link uses them.
    pub fn into_topology(mut self, supplies: &WiringDefaults<'_>) -> Checked<Topology> {
        self.imply_routers()?;
        let routers = self.routers_in_order()?;
        self.attach_nodes(supplies.nodes, &routers)?;
        self.check_nodes()?;
        let ends_of_port = self.number_ports(&routers)?;
        let (classes, class_of_end) = self.resolve_classes(&routers, supplies)?;

        let mut first_port = vec![0u32];
        let mut port_of_end = vec![PortId(0); self.ends.len()];
        for ends in &ends_of_port {
            let first = first_port[first_port.len() - 1];
            for (port, &end) in ends.iter().enumerate() {
                port_of_end[end] = PortId(first + port as u32);
            }
            first_port.push(first + ends.len() as u32);
        }
        let ends = || ends_of_port.iter().flatten();
        let peer = ends()
            .map(|&end| match self.ends[end].target {
                Target::Node(node) => Peer::Node(NodeId(node)),
                Target::End(other) => Peer::Port(port_of_end[other]),
                Target::Nothing => Peer::Unconnected,
            })
            .collect();
        let wiring = Wiring {
            title: self.title,
            link_classes: classes,
            group_of_router: routers.iter().map(|r| GroupId(r.group)).collect(),
            position_in_group: routers.iter().filter_map(|r| r.position).collect(),
            first_port,
            peer,
            class_of_port: ends().map(|&end| class_of_end[end]).collect(),
            may_be_disconnected: false,
            one_way: false,
        };
        Topology::new(wiring).map_err(|error| match error {
            TopologyError::Disconnected {
                router,
                reached,
                routers: count,
            } => WiringFileError::Disconnected {
                line: routers[router.index()].line,
                router: router.0,
                reached,
                routers: count,
            },
            other => WiringFileError::Topology(other),
        })
    }

    /// Declares the routers that lines mention, all in group 0, if none is
    /// declared.
    fn imply_routers(&mut self) -> Checked {
        if !self.routers.is_empty() {
            return Ok(());
        }
        for index in 0..self.ends.len() {
            let DeclaredEnd { at, line, .. } = self.ends[index];
            if !self.routers.contains_key(&at.router) {
                self.declare_router(line, at.router, 0, None)?;
            }
        }
        Ok(())
    }

    /// Attaches the nodes that the file leaves to its reader.
    fn attach_nodes(&mut self, nodes: AttachedNodes, routers: &[RouterDeclaration]) -> Checked {
        let is_node = |end: &&DeclaredEnd| matches!(end.target, Target::Node(_));
        let first = self.ends.iter().find(is_node).map(|end| end.line);
        let each = match (nodes, first) {
            (AttachedNodes::AsInFile, _) | (AttachedNodes::Otherwise(_), Some(_)) => return Ok(()),
            (AttachedNodes::Each(_), Some(line)) => {
                return Err(WiringFileError::NodesInFile { line });
            }
            (AttachedNodes::Otherwise(each) | AttachedNodes::Each(each), None) => each,
        };
        let all = routers.len() as u64 * u64::from(each);
        if all > MAX_ATTACHED {
            return Err(WiringFileError::TooLarge {
                line: routers.last().map_or(1, |last| last.line),
                what: "number of nodes",
                found: all,
                limit: MAX_ATTACHED,
            });
        }
        for (router, declared) in (0..).zip(routers) {
            let at = End { router, port: None };
            for _ in 0..each {
                self.attach(declared.line, self.nodes, at, None)?;
            }
        }
        Ok(())
    }

    /// The routers by number, which must leave no gap.
    fn routers_in_order(&self) -> Checked<Vec<RouterDeclaration>> {
        let mut routers: Vec<(u32, RouterDeclaration)> =
            self.routers.iter().map(|(&n, &r)| (n, r)).collect();
        routers.sort_unstable_by_key(|&(number, _)| number);
        if let (Some(missing), Some(&(highest, last))) = (
            (0..).zip(&routers).find(|(n, r)| *n != r.0).map(|(n, _)| n),
            routers.last(),
        ) {
            return Err(WiringFileError::Gap {
                line: last.line,
                what: "router",
                highest,
                missing,
            });
        }
        let with_position = routers.iter().any(|(_, r)| r.position.is_some());
        if let Some(&(router, declared)) = routers.iter().find(|(_, r)| r.position.is_none())
            && with_position
        {
            return Err(WiringFileError::PositionMissing {
                line: declared.line,
                router,
            });
        }
        Ok(routers.into_iter().map(|(_, router)| router).collect())
    }

    /// Node numbers must leave no gap and come once.
    fn check_nodes(&self) -> Checked {
        let mut line_of = vec![0; self.nodes as usize];
        let mut highest: Option<(u32, usize)> = None;
        for end in &self.ends {
            let Target::Node(node) = end.target else {
                continue;
            };
            if highest.is_none_or(|(number, _)| node > number) {
                highest = Some((node, end.line));
            }
            if let Some(line) = line_of.get_mut(node as usize) {
                let first = std::mem::replace(line, end.line);
                if first != 0 {
                    return Err(WiringFileError::Twice {
                        line: end.line,
                        what: format!("the link of node {node}"),
                        first,
                    });
                }
            }
        }
        match (highest, line_of.iter().position(|&line| line == 0)) {
            (Some((highest, line)), Some(missing)) => Err(WiringFileError::Gap {
                line,
                what: "node",
                highest,
                missing: missing as u32,
            }),
            _ => Ok(()),
        }
    }

    /// Ends at each port of each router. Ends with a port number come first;
    /// the others get the lowest free numbers in the order of the file.
    fn number_ports(&self, routers: &[RouterDeclaration]) -> Checked<Vec<Vec<usize>>> {
        const FREE: usize = usize::MAX;
        let mut ports: Vec<Vec<usize>> = vec![vec![]; routers.len()];
        for (index, end) in self.ends.iter().enumerate() {
            let Some(ports) = ports.get_mut(end.at.router as usize) else {
                return Err(WiringFileError::UnknownRouter {
                    line: end.line,
                    router: end.at.router,
                });
            };
            let Some(port) = end.at.port else { continue };
            let port = port as usize;
            if ports.len() <= port {
                ports.resize(port + 1, FREE);
            }
            let before = std::mem::replace(&mut ports[port], index);
            if before != FREE {
                return Err(WiringFileError::Twice {
                    line: end.line,
                    what: format!("port {port} of router {}", end.at.router),
                    first: self.ends[before].line,
                });
            }
        }
        let mut lowest_free = vec![0usize; routers.len()];
        for (index, end) in self.ends.iter().enumerate() {
            if end.at.port.is_some() {
                continue;
            }
            let router = end.at.router as usize;
            let (ports, free) = (&mut ports[router], &mut lowest_free[router]);
            while ports.get(*free).is_some_and(|&end| end != FREE) {
                *free += 1;
            }
            if *free == ports.len() {
                ports.push(index);
            } else {
                ports[*free] = index;
            }
        }
        for (router, ports) in ports.iter().enumerate() {
            if let (Some(missing), Some(&last)) =
                (ports.iter().position(|&end| end == FREE), ports.last())
            {
                return Err(WiringFileError::PortGap {
                    line: self.ends[last].line,
                    router: router as u32,
                    highest: ports.len() as u32 - 1,
                    missing: missing as u32,
                });
            }
        }
        Ok(ports)
    }

    /// The link classes of the topology, and the class of each end.
    fn resolve_classes(
        &self,
        routers: &[RouterDeclaration],
        supplies: &WiringDefaults<'_>,
    ) -> Checked<(Vec<LinkClass>, Vec<LinkClassId>)> {
        let mut classes = self.all_classes(supplies)?;
        let class_of_end = self.classes_of_ends(routers, &classes)?;
        // Given classes that nothing uses are dropped; those that the file declares come first.
        let mut used = vec![false; classes.len()];
        used[..self.classes.len()].fill(true);
        for &class in &class_of_end {
            used[class] = true;
        }
        let mut new_number = Vec::with_capacity(classes.len());
        let mut next = 0u8;
        for &used in &used {
            new_number.push(LinkClassId(next));
            next = next.wrapping_add(u8::from(used));
        }
        let mut keep = used.iter();
        classes.retain(|_| keep.next() == Some(&true));
        let class_of_end = class_of_end.into_iter().map(|c| new_number[c]).collect();
        Ok((classes, class_of_end))
    }

    /// The classes that the file declares, then others that are given, then defaults of kinds
    /// that have none.
    fn all_classes(&self, supplies: &WiringDefaults<'_>) -> Checked<Vec<LinkClass>> {
        let given = supplies.classes;
        let mut classes = Vec::new();
        for declared in &self.classes {
            let (line, class) = (declared.line, declared.name.clone());
            classes.push(match given.iter().find(|c| c.name == declared.name) {
                Some(given) if given.kind == declared.kind => given.clone(),
                Some(given) if supplies.unsaid_kinds.contains(&given.name.as_str()) => LinkClass {
                    kind: declared.kind,
                    ..given.clone()
                },
                Some(given) => {
                    return Err(WiringFileError::ClassKind {
                        line,
                        class,
                        found: declared.kind,
                        given: given.kind,
                    });
                }
                None => {
                    let Some(parameters) = declared.parameters else {
                        return Err(WiringFileError::NoParameters { line, class });
                    };
                    LinkClass {
                        name: class,
                        kind: declared.kind,
                        bandwidth: parameters.bandwidth,
                        latency: parameters.latency,
                        buffer: parameters.buffer,
                        impairments: Vec::new(),
                    }
                }
            });
        }
        let undeclared = |class: &&LinkClass| !self.classes.iter().any(|c| c.name == class.name);
        classes.extend(given.iter().filter(undeclared).cloned());
        for default in supplies.defaults {
            let taken = |c: &LinkClass| c.kind == default.kind || c.name == default.name;
            if !classes.iter().any(taken) {
                classes.push(default.clone());
            }
        }
        if classes.len() > 256 {
            return Err(WiringFileError::Topology(TopologyError::TooMany {
                what: "link classes",
                found: classes.len() as u64,
                limit: 256,
            }));
        }
        Ok(classes)
    }

    /// The class of each end, as a place in `classes`.
    fn classes_of_ends(
        &self,
        routers: &[RouterDeclaration],
        classes: &[LinkClass],
    ) -> Checked<Vec<usize>> {
        let by_name: Vec<Option<usize>> = self
            .names
            .iter()
            .map(|name| classes.iter().position(|class| class.name == *name))
            .collect();
        let mut class_of_end = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            let line = end.line;
            let kind = self.kind_of(end, routers);
            let class = match end.class {
                Some(ClassName(name)) => {
                    by_name[name as usize].ok_or_else(|| WiringFileError::UnknownClass {
                        line,
                        class: self.names[name as usize].clone(),
                        classes: names_of(classes.iter()),
                    })?
                }
                None => only_class(line, kind.unwrap_or(LinkKind::Terminal), classes)?,
            };
            if let Some(expected) = kind
                && classes[class].kind != expected
            {
                return Err(WiringFileError::WrongKind {
                    line,
                    class: classes[class].name.clone(),
                    kind: classes[class].kind,
                    expected,
                });
            }
            class_of_end.push(class);
        }
        Ok(class_of_end)
    }

    /// What an end has to be the class of: none if it is wired to nothing.
    fn kind_of(&self, end: &DeclaredEnd, routers: &[RouterDeclaration]) -> Option<LinkKind> {
        match end.target {
            Target::Nothing => None,
            Target::Node(_) => Some(LinkKind::Terminal),
            Target::End(other) => {
                let group = |end: &DeclaredEnd| routers[end.at.router as usize].group;
                Some(match group(end) == group(&self.ends[other]) {
                    true => LinkKind::Local,
                    false => LinkKind::Global,
                })
            }
        }
    }
}

/// The class of a kind, as a place in `classes`, if there is one only.
fn only_class(line: usize, kind: LinkKind, classes: &[LinkClass]) -> Checked<usize> {
    let fitting = || (0..classes.len()).filter(|&class| classes[class].kind == kind);
    match (fitting().next(), fitting().count()) {
        (Some(only), 1) => Ok(only),
        (_, 0) => Err(WiringFileError::NoClass { line, kind }),
        (_, found) => Err(WiringFileError::ClassNeeded {
            line,
            kind,
            found,
            classes: names_of(fitting().map(|class| &classes[class])),
        }),
    }
}

fn names_of<'a>(classes: impl Iterator<Item = &'a LinkClass>) -> String {
    let names: Vec<&str> = classes.map(|class| class.name.as_str()).collect();
    names.join(", ")
}
