//! A 2-D torus, dimension-order routing on it, a placement, a pattern, an application.

use std::sync::Arc;

use odonata::PlugIns;
use odonata::plug_in::{FamilyCall, Flow, JobCall, Parameters, PlacementCall};
use odonata_load::{Action, Cursor, Operation, SCRIPT_CONTEXT, Script, Totals};
use odonata_network::topology::Wiring;
use odonata_network::{
    Hop, LinkClassId, LinkKind, PacketRoute, Peer, RouterView, Routing, Topology,
};
use odonata_units::random::Stream;
use odonata_units::{Bytes, GroupId, NodeId, PortId, RankId, RouterId};
use serde::Deserialize;

/// All of them, by the names that scenarios use.
pub fn all() -> PlugIns {
    PlugIns::new()
        .family("grid-torus", grid_torus)
        .routing("x-then-y", XThenY::new)
        .placement("even-first", even_first)
        .pattern("half-way", half_way)
        .application("token", |job| Ok(Arc::new(Token::new(job)?)))
}

// --- A family of networks -----------------------------------------------------

/// Parameters of the torus.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TorusParameters {
    /// Routers along x and y, each at least 3.
    size: [u32; 2],
    /// Nodes per router.
    p: u32,
}

/// Router `(x, y)` is `x + X·y`. Its ports: nodes, then the links to x + 1, x − 1,
/// y + 1, y − 1.
fn grid_torus(call: &FamilyCall<'_>) -> Result<Topology, String> {
    let TorusParameters { size: [x, y], p } = call.parameters.read()?;
    if !(3..=1000).contains(&x) || !(3..=1000).contains(&y) || !(1..=64).contains(&p) {
        return Err(format!(
            "found {x} × {y} routers with {p} nodes; allowed: 3 to 1000 each way, 1 to 64 nodes"
        ));
    }
    let (routers, ports) = (x * y, p + 4);
    let mut wiring = Wiring {
        title: format!("grid torus {x}×{y} p={p}"),
        link_classes: vec![
            call.links("terminal", LinkKind::Terminal)?,
            call.links("local", LinkKind::Local)?,
        ],
        group_of_router: vec![GroupId(0); routers as usize],
        first_port: (0..=routers).map(|router| router * ports).collect(),
        ..Wiring::default()
    };
    for router in 0..routers {
        let (column, row) = (router % x, router / x);
        for node in 0..p {
            wiring.peer.push(Peer::Node(NodeId(router * p + node)));
            wiring.class_of_port.push(LinkClassId(0));
        }
        let around = [
            ((column + 1) % x, row),
            ((column + x - 1) % x, row),
            (column, (row + 1) % y),
            (column, (row + y - 1) % y),
        ];
        for (port, (column, row)) in (0..).zip(around) {
            // The way back leaves by the other port of the dimension.
            let back = (column + x * row) * ports + p + (port ^ 1);
            wiring.peer.push(Peer::Port(PortId(back)));
            wiring.class_of_port.push(LinkClassId(1));
        }
    }
    Topology::new(wiring).map_err(|error| error.to_string())
}

// --- A routing algorithm of it ------------------------------------------------

/// Along x to the destination's column, then along y, the shorter way round.
///
/// Two virtual channels in each ring (Dally and Seitz 1987): 0 while the link that
/// closes the ring is still to come, 1 from there on. Links of channel 0 end at that one,
/// links of channel 1 never lead over it, so that neither makes a cycle.
struct XThenY {
    size: [u32; 2],
    nodes: u16,
}

/// Parameters of the algorithm.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct XThenYParameters {
    /// Those of the torus.
    size: [u32; 2],
}

impl XThenY {
    fn new(topology: &Topology, parameters: &Parameters) -> Result<Self, String> {
        let XThenYParameters { size } = parameters.read()?;
        let routers = topology.routers() as u64;
        if u64::from(size[0]) * u64::from(size[1]) != routers {
            return Err(format!(
                "found {size:?}; allowed: sizes of {routers} routers"
            ));
        }
        let ports = topology.ports_of(RouterId(0)).len();
        let Some(nodes) = ports.checked_sub(4) else {
            return Err("the network is no grid torus: a router has less than 4 links".into());
        };
        Ok(Self {
            size,
            nodes: nodes as u16,
        })
    }

    fn hop(&self, at: u32, route: &PacketRoute) -> Hop {
        let to = route.destination_router;
        if at == to {
            // To the node. Its link has one channel.
            return Hop {
                port: route.destination_port,
                vc: 0,
            };
        }
        let place = |router: u32| [router % self.size[0], router / self.size[0]];
        let (at, to) = (place(at), place(to));
        let along = usize::from(at[0] == to[0]);
        let (at, to, around) = (at[along], to[along], self.size[along]);
        let ahead = (to + around - at) % around;
        let up = ahead <= around / 2;
        let closes = if up { at > to } else { at < to };
        Hop {
            port: self.nodes + 2 * along as u16 + u16::from(!up),
            vc: u8::from(!closes),
        }
    }
}

impl Routing for XThenY {
    fn virtual_channels(&self) -> u8 {
        2
    }

    fn next_hop<V: RouterView>(
        &self,
        _: &mut V,
        at: RouterId,
        _: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        self.hop(at.0, route)
    }

    fn possible_hops(
        &self,
        at: RouterId,
        _: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        let hop = self.hop(at.0, route);
        out.push((
            hop,
            PacketRoute {
                vc: hop.vc,
                ..*route
            },
        ));
    }
}

// --- A placement --------------------------------------------------------------

/// Free nodes of even number, then those of odd number.
fn even_first(call: &PlacementCall<'_>, _: &mut Stream) -> Result<Vec<NodeId>, String> {
    let all = call.state.machine().nodes();
    let in_turn = (0..all).step_by(2).chain((1..all).step_by(2)).map(NodeId);
    let free = in_turn.filter(|&node| call.state.is_free(node));
    Ok(free.take(call.nodes as usize).collect())
}

// --- A pattern ----------------------------------------------------------------

/// Every rank sends to the one half-way round the ranks.
fn half_way(job: &JobCall<'_>) -> Result<Vec<Flow>, String> {
    let flow = |rank| Flow {
        from: RankId(rank),
        to: RankId((rank + job.ranks / 2) % job.ranks),
        weight: 1,
    };
    Ok((0..job.ranks).map(flow).collect())
}

// --- An application -----------------------------------------------------------

/// A token goes round the ring of ranks.
struct Token {
    ranks: u32,
    rounds: u32,
    message: Bytes,
}

/// Parameters of the application.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenParameters {
    /// How often it goes round.
    rounds: u32,
    /// Its size.
    message_bytes: u64,
}

impl Token {
    fn new(job: &JobCall<'_>) -> Result<Self, String> {
        let TokenParameters {
            rounds,
            message_bytes,
        } = job.parameters.read()?;
        if job.ranks < 2 || rounds == 0 || message_bytes == 0 {
            return Err("allowed: 2 ranks or more, 1 round or more, 1 byte or more".into());
        }
        Ok(Self {
            ranks: job.ranks,
            rounds,
            message: Bytes(message_bytes),
        })
    }
}

impl Script for Token {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        if cursor.iteration == self.rounds {
            return Operation::Finish;
        }
        let send = Action::Send {
            to: RankId((rank.0 + 1) % self.ranks),
            bytes: self.message,
            context: SCRIPT_CONTEXT,
            tag: 0,
        };
        let receive = Action::Receive {
            from: Some(RankId((rank.0 + self.ranks - 1) % self.ranks)),
            context: SCRIPT_CONTEXT,
            tag: Some(0),
        };
        // The first rank begins, all others wait for the one before.
        let actions = if rank.0 == 0 {
            [send, receive]
        } else {
            [receive, send]
        };
        let step = cursor.position as usize;
        cursor.position += 1;
        if let Some(action) = actions.get(step) {
            return Operation::Do(*action);
        }
        cursor.position = 0;
        cursor.iteration += 1;
        Operation::EndIteration
    }

    fn totals(&self) -> Option<Totals> {
        let messages = u64::from(self.ranks) * u64::from(self.rounds);
        Some(Totals {
            bytes: Bytes(messages * self.message.0),
            messages,
        })
    }

    fn iterations(&self) -> u32 {
        self.rounds
    }
}
