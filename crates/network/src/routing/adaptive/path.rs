//! The path of a candidate and what is known of its queues.

use odonata_units::PortId;

use super::{Adaptive, Candidate, Weighting};
use crate::routing::grouped::{GlobalLink, LocalLinks, Place};
use crate::routing::{NONE, RouterView};

/// A candidate's path as it is put together: its hops and the bytes queued on
/// them (all of them with global information, else on the first).
pub(super) struct Path {
    pub at: Place,
    hops: u32,
    queued: u64,
    /// Global port of its first global link, if that is one of several.
    waypoint: u32,
    first: Option<First>,
}

/// How a path starts.
#[derive(Clone, Copy, Default)]
struct First {
    global_link: Option<GlobalLink>,
    port: u16,
    /// Where the local hops that it starts with lead to.
    stop: u32,
}

impl Path {
    pub(super) fn start(at: Place) -> Self {
        Self {
            at,
            hops: 0,
            queued: 0,
            waypoint: NONE,
            first: None,
        }
    }

    /// To the router number `to` of the group where the path is, and no farther.
    pub(super) fn go_inside<const GLOBAL: bool, V: RouterView>(
        &mut self,
        adaptive: &Adaptive<GLOBAL>,
        view: &mut V,
        to: u32,
    ) {
        self.approach(adaptive, view, to, None);
    }

    /// Over link number `index` of those from the group where the path is to
    /// `group`.
    pub(super) fn leave<const GLOBAL: bool, V: RouterView>(
        &mut self,
        adaptive: &Adaptive<GLOBAL>,
        view: &mut V,
        group: u32,
        index: usize,
    ) {
        let routes = &adaptive.legs.routes;
        let global_links = routes.global_links(self.at.group, group);
        let global_link = global_links[index];
        let entry = routes.global_links(group, self.at.group)[index];
        if self.first.is_none() && global_links.len() > 1 {
            self.waypoint = adaptive.legs.waypoint(self.at.group, global_link);
        }
        self.approach(adaptive, view, global_link.owner(), Some(global_link));
        if self.first.is_none() {
            self.first = Some(First {
                global_link: Some(global_link),
                port: global_link.port() as u16,
                stop: self.at.local,
            });
            self.queued = view.occupancy_bytes(global_link.port() as u16);
        } else if GLOBAL {
            let port = adaptive.legs.waypoint(self.at.group, global_link);
            self.queued += view.remote_occupancy_bytes(PortId(port));
        }
        self.hops += 1;
        self.at = Place {
            group,
            local: entry.owner(),
        };
    }

    /// By local links to router number `to`, on the way to `global_link` if that is
    /// where the path leaves the group.
    fn approach<const GLOBAL: bool, V: RouterView>(
        &mut self,
        adaptive: &Adaptive<GLOBAL>,
        view: &mut V,
        to: u32,
        global_link: Option<GlobalLink>,
    ) {
        let (legs, group) = (&adaptive.legs, self.at.group);
        if self.at.local == to {
            return;
        }
        self.hops += legs.routes.local_distance(group, self.at.local, to);
        let mut local = self.at.local;
        if self.first.is_none() {
            let port = legs.local_port(view, self.at, to);
            self.first = Some(First {
                global_link,
                port,
                stop: to,
            });
            self.queued = view.occupancy_bytes(port);
            if GLOBAL {
                local = match legs.routes.local_links(group, local, to) {
                    LocalLinks::Only(_) => to,
                    LocalLinks::AnyOf(links) => links
                        .iter()
                        .find(|link| link.port == port)
                        .map_or(to, |link| u32::from(link.to)),
                };
            }
        }
        if GLOBAL {
            while local != to {
                let here = legs.routes.router(Place { group, local });
                let first = legs.routes.first_port(here);
                let queued =
                    |port: u16| view.remote_occupancy_bytes(PortId(first + u32::from(port)));
                let (least, next) = match legs.routes.local_links(group, local, to) {
                    LocalLinks::Only(port) => (queued(port), to),
                    LocalLinks::AnyOf(links) => links
                        .iter()
                        .map(|link| (queued(link.port), u32::from(link.to)))
                        .min()
                        .unwrap_or((0, to)),
                };
                self.queued += least;
                local = next;
            }
        }
        self.at.local = to;
    }

    pub(super) fn candidate<const GLOBAL: bool>(
        self,
        adaptive: &Adaptive<GLOBAL>,
        intermediate: u32,
        minimal: bool,
    ) -> Candidate {
        let weight = match adaptive.options.weighting {
            // With global information the queue of every hop is in the sum.
            Weighting::Hops if GLOBAL => 1,
            Weighting::Hops => self.hops,
            Weighting::Fixed {
                minimal: weight, ..
            } if minimal => weight,
            Weighting::Fixed { non_minimal, .. } => non_minimal,
        };
        let First {
            global_link,
            port,
            stop,
        } = self.first.unwrap_or_default();
        Candidate {
            intermediate,
            global_link,
            waypoint: self.waypoint,
            port,
            weight,
            first_stop: stop,
            cost: self.queued.saturating_mul(u64::from(weight)),
        }
    }
}
