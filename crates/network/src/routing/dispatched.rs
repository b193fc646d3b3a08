//! Any routing algorithm behind one type.

use odonata_units::RouterId;

use super::{
    AnyRouting, Hop, NONE, PacketRoute, RelevantDestination, RouterView, Routing, RoutingTask,
};

/// A routing algorithm behind one type, which calls it indirectly: slower than a
/// [dispatched](AnyRouting::dispatch) task, but what uses it is compiled once for all
/// algorithms. `SNAPSHOT`: whether the algorithm [needs one](AnyRouting::needs_snapshot).
#[derive(Clone, Copy, Debug)]
pub struct Dispatched<'r, const SNAPSHOT: bool>(pub &'r AnyRouting);

impl AnyRouting {
    /// Whether the algorithm is one with [`Routing::NEEDS_SNAPSHOT`].
    pub fn needs_snapshot(&self) -> bool {
        struct Needs;
        impl RoutingTask for Needs {
            type Output = bool;
            fn run<R: Routing>(self, _: &R) -> bool {
                R::NEEDS_SNAPSHOT
            }
        }
        self.dispatch(Needs)
    }
}

/// A question about a packet, for any algorithm.
struct About<'q> {
    at: RouterId,
    injected: bool,
    route: &'q PacketRoute,
}

struct ReadsOccupancy<'q>(Option<About<'q>>);

impl RoutingTask for ReadsOccupancy<'_> {
    type Output = bool;
    fn run<R: Routing>(self, routing: &R) -> bool {
        match self.0 {
            None => routing.reads_occupancy(),
            Some(about) => routing.next_hop_reads_occupancy(about.injected, about.route),
        }
    }
}

struct InitialMemory(RouterId);

impl RoutingTask for InitialMemory {
    type Output = Vec<f32>;
    fn run<R: Routing>(self, routing: &R) -> Vec<f32> {
        match R::LEARNS {
            true => routing.initial_memory(self.0),
            false => Vec::new(),
        }
    }
}

struct Lesson<'q> {
    at: RouterId,
    memory: &'q mut [f32],
    port: u16,
    lesson: u32,
}

impl RoutingTask for Lesson<'_> {
    type Output = ();
    fn run<R: Routing>(self, routing: &R) {
        routing.learn(self.at, self.memory, self.port, self.lesson);
    }
}

struct NextHop<'q, V> {
    view: &'q mut V,
    at: RouterId,
    injected: bool,
    route: &'q mut PacketRoute,
}

impl<V: RouterView> RoutingTask for NextHop<'_, V> {
    type Output = Hop;
    fn run<R: Routing>(self, routing: &R) -> Hop {
        routing.next_hop(self.view, self.at, self.injected, self.route)
    }
}

struct PossibleHops<'q>(About<'q>, &'q mut Vec<(Hop, PacketRoute)>);

impl RoutingTask for PossibleHops<'_> {
    type Output = ();
    fn run<R: Routing>(self, routing: &R) {
        let About {
            at,
            injected,
            route,
        } = self.0;
        routing.possible_hops(at, injected, route, self.1);
    }
}

struct Relevant<'q>(About<'q>);

impl RoutingTask for Relevant<'_> {
    type Output = RelevantDestination;
    fn run<R: Routing>(self, routing: &R) -> RelevantDestination {
        let About {
            at,
            injected,
            route,
        } = self.0;
        routing.relevant_destination(at, injected, route)
    }
}

impl<const SNAPSHOT: bool> Routing for Dispatched<'_, SNAPSHOT> {
    const NEEDS_SNAPSHOT: bool = SNAPSHOT;

    // Others get nothing to keep, and teach nothing.
    const LEARNS: bool = true;

    fn initial_memory(&self, at: RouterId) -> Vec<f32> {
        self.0.dispatch(InitialMemory(at))
    }

    fn learn(&self, at: RouterId, memory: &mut [f32], port: u16, lesson: u32) {
        self.0.dispatch(Lesson {
            at,
            memory,
            port,
            lesson,
        });
    }

    fn virtual_channels(&self) -> u8 {
        self.0.virtual_channels()
    }

    fn reads_occupancy(&self) -> bool {
        self.0.dispatch(ReadsOccupancy(None))
    }

    fn next_hop_reads_occupancy(&self, injected: bool, route: &PacketRoute) -> bool {
        // No algorithm has asked where the packet is.
        let at = RouterId(NONE);
        self.0.dispatch(ReadsOccupancy(Some(About {
            at,
            injected,
            route,
        })))
    }

    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        self.0.dispatch(NextHop {
            view,
            at,
            injected,
            route,
        })
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        self.0.dispatch(PossibleHops(
            About {
                at,
                injected,
                route,
            },
            out,
        ));
    }

    fn relevant_destination(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        self.0.dispatch(Relevant(About {
            at,
            injected,
            route,
        }))
    }
}
