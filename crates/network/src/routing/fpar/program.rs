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
    /// `choice` has no say.
    Codes,
    /// The same with its tie-break mended.
    ///
    /// The best port is drawn among those of least score.
    CodesMended,
}

/// The ports of one sort.
struct Sort {
    /// All, those that are free, and those that the best is drawn among.
    ports: u32,
    free: u32,
    drawn: u32,
    least: u64,
}

impl Sort {
    const NONE: Self = Self {
        ports: 0,
        free: 0,
        drawn: 0,
        least: u64::MAX,
    };
}

impl Fpar {
    /// Score of a port, in whole per cent.
    #[inline]
    fn score(&self, view: &mut impl RouterView, first_port: usize, port: u16) -> u64 {
        let class = self.class_of_port[first_port + usize::from(port)];
        let length = self.length[usize::from(class)].max(1);
        view.occupancy_bytes(port).saturating_mul(100) / length
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
        let mended = self.rules == FparRules::CodesMended;
        let is_on = |candidate: &Candidate| {
            candidate.kind == super::Kind::Minimal || candidate.phase == HOME
        };
        let mut sorts = [Sort::NONE; 2];
        let mut chosen = None;
        self.candidates(here, there, phase, &mut |candidate| {
            let score = self.score(view, first_port, candidate.port);
            let sort = &mut sorts[usize::from(!is_on(&candidate))];
            sort.ports += 1;
            sort.free += u32::from(score <= self.per_cent);
            if score <= sort.least {
                if mended && score < sort.least {
                    sort.drawn = 0;
                }
                sort.least = score;
                sort.drawn += 1;
            }
            chosen.get_or_insert(candidate);
        });
        let [on, other] = &sorts;
        let (of_on, free, among) = match (on.ports, other.ports) {
            (_, 0) => (true, false, on.drawn),
            (0, _) => (false, false, other.drawn),
            _ if on.free > 0 => (true, true, on.free),
            _ if other.free > 0 => (false, true, other.free),
            _ => (true, false, on.drawn),
        };
        let least = sorts[usize::from(!of_on)].least;
        let mut skip = if among > 1 {
            view.random_below(among)
        } else {
            0
        };
        let mut found = false;
        let mut running = u64::MAX;
        self.candidates(here, there, phase, &mut |candidate| {
            if found || is_on(&candidate) != of_on {
                return;
            }
            let score = self.score(view, first_port, candidate.port);
            let serves = match (free, mended) {
                (true, _) => score <= self.per_cent,
                (false, true) => score == least,
                (false, false) => score <= running,
            };
            running = running.min(score);
            if serves {
                if skip == 0 {
                    (chosen, found) = (Some(candidate), true);
                } else {
                    skip -= 1;
                }
            }
        });
        chosen.unwrap_or_else(|| unreachable!("every two groups are joined"))
    }
}
