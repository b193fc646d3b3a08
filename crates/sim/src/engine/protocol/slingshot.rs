//! Endpoint congestion as on Slingshot (De Sensi et al., SC 2020, section II-D).
//!
//! From the paper: the network tracks the packets under way between every pair of endpoints, tells
//! those that cause congestion from those that suffer from it, and pushes back, stiffly and fast,
//! on the former alone. Assumed: where it is noticed (at the last router, by what waits for a node's
//! link), whom it concerns (the senders of what waits there), and what it does (each may have an
//! equal share under way of what the link carries in a round trip, and of a short queue).

use odonata_run::SlingshotKeys;
use odonata_run::encoding::or_absent;
use serde::{Deserialize, Serialize};

use crate::engine::port::NEVER;

/// What a sender keeps of a receiver.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Sender {
    /// Bytes sent that have not arrived as far as is known.
    pub under_way: u64,
    /// Bytes that may be under way; [`NEVER`]: any.
    #[serde(with = "or_absent")]
    pub window: u64,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            under_way: 0,
            window: NEVER,
        }
    }
}

impl Sender {
    pub fn permitted(&self, bytes: u32, now: u64) -> u64 {
        let fits = self.under_way + u64::from(bytes) <= self.window;
        if self.under_way == 0 || fits {
            now
        } else {
            NEVER
        }
    }

    pub fn heard(&mut self, bytes: u32, window: u64) {
        self.under_way = self.under_way.saturating_sub(u64::from(bytes));
        self.window = window;
    }
}

/// A sender that the last router before a node holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct Member {
    pub source: u32,
    /// When a packet of it last came.
    pub since: u64,
    /// The window that it has been told of.
    pub window: u64,
}

/// A packet that joins what waits for a node's link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    pub source: u32,
    /// Bytes that wait there already.
    pub waiting: u32,
    /// Bytes that the link carries while a packet is on its way and the answer on its way back.
    pub round_trip: u64,
    /// Bytes of a whole packet.
    pub packet: u32,
}

/// The senders that are held back for a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Edge {
    /// In the order of the nodes.
    pub members: Vec<Member>,
}

impl Edge {
    /// A packet joins what waits for the node's link. The window that its sender is to be told, if
    /// it is news.
    pub fn joined(&mut self, keys: &SlingshotKeys, arrival: Joined, now: u64) -> Option<u64> {
        let Joined {
            source,
            waiting,
            round_trip,
            packet,
        } = arrival;
        self.members
            .retain(|member| member.since + keys.forget_after_ps > now || member.source == source);
        let overloaded = u64::from(waiting) > keys.hold_from_bytes;
        if self.members.len() <= 1 && !overloaded {
            // It can take all that one sends.
            self.members.clear();
            return None;
        }
        let place = self
            .members
            .binary_search_by_key(&source, |member| member.source);
        let place = match place {
            Ok(place) => place,
            Err(_) if !overloaded => return None,
            Err(place) => {
                let new = Member {
                    source,
                    since: now,
                    window: NEVER,
                };
                self.members.insert(place, new);
                place
            }
        };
        let all = round_trip.saturating_add(keys.shared_queue_bytes);
        let share = (all / self.members.len() as u64).max(u64::from(packet));
        let member = &mut self.members[place];
        // What is a little less, or more, comes with the next acknowledgement.
        let news = share < member.window / 8 * 7;
        (member.since, member.window) = (now, share);
        news.then_some(share)
    }

    /// The window that a sender whose packet has passed may have under way from now on.
    pub fn window(&self, source: u32) -> u64 {
        let place = self
            .members
            .binary_search_by_key(&source, |member| member.source);
        place.map_or(NEVER, |place| self.members[place].window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: u64 = 114_688;

    fn packet(source: u32, waiting: u32) -> Joined {
        Joined {
            source,
            waiting,
            round_trip: ROUND_TRIP,
            packet: 4_096,
        }
    }

    /// Below the threshold nobody is held back; above it the senders of what waits there are,
    /// with equal shares; one that has stopped is forgotten, and the last is let go.
    #[test]
    fn those_that_overload_a_node_share_what_it_takes() {
        let keys = SlingshotKeys::default();
        let (few, many) = (1_000, keys.hold_from_bytes as u32 + 1);
        let all = ROUND_TRIP + keys.shared_queue_bytes;
        let mut edge = Edge::default();
        assert_eq!(edge.joined(&keys, packet(7, few), 0), None);
        assert_eq!(edge.window(7), NEVER);
        assert_eq!(edge.joined(&keys, packet(7, many), 10), Some(all));
        assert_eq!(edge.joined(&keys, packet(3, many), 20), Some(all / 2));
        // Another that sends while little waits is no cause of it.
        assert_eq!(edge.joined(&keys, packet(5, few), 30), None);
        assert_eq!(edge.window(5), NEVER);
        assert_eq!(edge.joined(&keys, packet(7, few), 40), Some(all / 2));
        assert_eq!(edge.joined(&keys, packet(7, few), 50), None);
        assert_eq!(edge.window(7), all / 2);
        let later = 60 + keys.forget_after_ps;
        assert_eq!(edge.joined(&keys, packet(7, few), later), None);
        assert_eq!(edge.window(7), NEVER);
    }

    /// With more senders than packets in the window each has one packet.
    #[test]
    fn a_share_is_a_packet_at_least() {
        let keys = SlingshotKeys::default();
        let mut edge = Edge::default();
        for source in 0..100 {
            edge.joined(&keys, packet(source, u32::MAX), 0);
        }
        assert_eq!(edge.window(99), 4_096);
    }
}
