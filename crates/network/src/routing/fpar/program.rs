//! FPAR as the program of Kang et al. 2019 decides.

use odonata_declare::Named;
use serde::{Deserialize, Serialize};

use super::{Candidate, Fpar, HOME};
use crate::routing::RouterView;
use crate::routing::grouped::Place;

/// How [`Fpar`] resolves what its description leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum FparRules {
    /// By the text of the papers.
    ///
    /// As [`Fpar`] says.
    #[default]
    Paper,
    /// As the program of Kang et al. 2019 did.
    ///
    /// CODES, `dragonfly-plus.C`, FPAR with scoring "alpha":
    ///
    /// - A *score* is the occupancy in whole per cent of the length, rounded down; free is a
    ///   port whose score is not above the threshold, on longer paths as on shorter ones.
    /// - There are *two sorts* of paths: on at once (to a spine with a link to the
    ///   destination's group, over such a link, or towards the destination), and all others
    ///   together. A free port at random of the first sort, else of the second; else the
    ///   *best* port of the first.
    /// - Where all ports are of the first sort there is nothing to decide by the threshold:
    ///   the best port. So it is at leaves, if all spines have links to all groups, and
    ///   inside a group.
    /// - The *best* port is drawn among the running minima of the scores, from the first port
    ///   on: a port that was the best so far stays in the draw when a better one is found. A
    ///   slip of the program, which mended it later; so the first spine is never out of it.
    ///
    /// `choice` has no say. Routers have at most 128 ports to choose among.
    Codes,
    /// The same with its tie-break mended.
    ///
    /// The best port is drawn among those of least score.
    CodesMended,
}

/// Most ports that a decision chooses among.
pub(super) const MOST_PORTS: usize = 128;

/// Some of a router's ports, in their order. Adding one takes no branch, as which of them
/// belongs here is unpredictable.
struct Ports {
    ports: [u16; MOST_PORTS],
    count: usize,
}

impl Ports {
    const NONE: Self = Self {
        ports: [0; MOST_PORTS],
        count: 0,
    };

    /// Adds a port if it belongs here.
    #[inline(always)]
    fn add(&mut self, port: u16, belongs: bool) {
        self.ports[self.count % MOST_PORTS] = port;
        self.count += usize::from(belongs);
    }

    #[inline(always)]
    fn as_slice(&self) -> &[u16] {
        &self.ports[..self.count]
    }
}

/// The ports of one sort of paths. Of one of them the channel and the phase are those of all.
struct Sort {
    ports: Ports,
    any: Candidate,
}

impl Sort {
    const NONE: Self = Self {
        ports: Ports::NONE,
        any: Candidate::NONE,
    };

    #[inline(always)]
    fn add(&mut self, candidate: Candidate) {
        self.ports.add(candidate.port, true);
        self.any = candidate;
    }

    /// One of these ports, at random.
    #[inline(always)]
    fn one_of(&self, ports: &Ports, view: &mut impl RouterView) -> Candidate {
        let ports = ports.as_slice();
        let drawn = match ports.len() {
            0 | 1 => 0,
            several => view.random_below(several as u32) as usize,
        };
        Candidate {
            port: ports[drawn],
            ..self.any
        }
    }
}

impl Fpar {
    /// Score of a port, in whole per cent.
    #[inline(always)]
    fn score(&self, view: &mut impl RouterView, first_port: usize, port: u16) -> u64 {
        let class = self.class_of_port[first_port + usize::from(port)];
        let length = self.length[usize::from(class)].max(1);
        view.occupancy_bytes(port).saturating_mul(100) / length
    }

    /// The ports of a sort whose score is not above the threshold.
    #[inline(always)]
    fn free(&self, view: &mut impl RouterView, first_port: usize, sort: &Sort) -> Ports {
        let mut free = Ports::NONE;
        for &port in sort.ports.as_slice() {
            let score = self.score(view, first_port, port);
            free.add(port, score <= self.per_cent);
        }
        free
    }

    /// The ports of a sort that the best is drawn among.
    #[inline(always)]
    fn best(&self, view: &mut impl RouterView, first_port: usize, sort: &Sort) -> Ports {
        let mended = self.rules == FparRules::CodesMended;
        let mut best = Ports::NONE;
        let mut least = u64::MAX;
        for &port in sort.ports.as_slice() {
            let score = self.score(view, first_port, port);
            if mended && score < least {
                best.count = 0;
            }
            best.add(port, score <= least);
            least = least.min(score);
        }
        best
    }

    /// The hop by [`FparRules::Codes`] or [`FparRules::CodesMended`] of a packet at `here`,
    /// whose ports begin at `first_port`.
    pub(super) fn by_program<V: RouterView>(
        &self,
        view: &mut V,
        here: Place,
        there: Place,
        phase: u8,
        first_port: usize,
    ) -> Candidate {
        let (mut on, mut other) = (Sort::NONE, Sort::NONE);
        self.candidates(here, there, phase, &mut |candidate| {
            if candidate.kind == super::Kind::Minimal || candidate.phase == HOME {
                on.add(candidate);
            } else {
                other.add(candidate);
            }
        });
        let (sort, serving) = match (on.ports.count, other.ports.count) {
            (_, 0) => (&on, self.best(view, first_port, &on)),
            (0, _) => (&other, self.best(view, first_port, &other)),
            _ => 'first: {
                for sort in [&on, &other] {
                    let free = self.free(view, first_port, sort);
                    if free.count > 0 {
                        break 'first (sort, free);
                    }
                }
                (&on, self.best(view, first_port, &on))
            }
        };
        sort.one_of(&serving, view)
    }
}
