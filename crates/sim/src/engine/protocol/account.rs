//! What a node keeps of another that it sends to.

use odonata_run::CongestionControl;
use odonata_run::encoding::or_absent;
use serde::{Deserialize, Serialize};

use super::{Notice, Sent, ecn, hpcc, infiniband, slingshot, window};
use crate::engine::port::NEVER;

/// How a node may send to another.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::engine) enum Control {
    Window(window::Sender),
    Ecn(ecn::Sender),
    Hpcc(hpcc::Sender),
    Infiniband(infiniband::Sender),
    Slingshot(slingshot::Sender),
}

/// What was done to what a node sends to another, since the warm-up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Account {
    /// Notices of congestion.
    pub notifications: u64,
    /// Since when a packet waits for nothing but permission; or [`NEVER`].
    #[serde(with = "or_absent")]
    pub held_since: u64,
    pub held_ps: u64,
    /// Bytes of the packets that have waited so.
    pub held_bytes: u64,
}

/// What a node keeps of another that it sends to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Pair {
    pub to: u32,
    /// Bytes of the largest packet that waits for permission: smaller ones do not overtake it, or
    /// they would keep it waiting for ever.
    pub awaited: u32,
    pub control: Control,
    pub account: Account,
}

impl Pair {
    /// The node's link carries so many bytes per second; it has sent without limit so far.
    pub fn new(keys: &CongestionControl, to: u32, line: u64, now: u64) -> Option<Self> {
        let control = match keys {
            CongestionControl::None => return None,
            CongestionControl::Window(_) => Control::Window(window::Sender::default()),
            CongestionControl::Ecn(_) => Control::Ecn(ecn::Sender::new(line as f64, now)),
            CongestionControl::Hpcc(keys) => {
                Control::Hpcc(hpcc::Sender::new(keys, line as f64, now))
            }
            CongestionControl::Infiniband(_) => Control::Infiniband(infiniband::Sender::default()),
            CongestionControl::Slingshot(_) => Control::Slingshot(slingshot::Sender::default()),
        };
        let account = Account {
            notifications: 0,
            held_since: NEVER,
            held_ps: 0,
            held_bytes: 0,
        };
        Some(Self {
            to,
            awaited: 0,
            control,
            account,
        })
    }

    /// Whether nothing would be different if it were forgotten.
    pub fn is_as_new(&self, keys: &CongestionControl, line: u64) -> bool {
        let account = &self.account;
        let untouched = account.held_since == NEVER
            && (account.notifications, account.held_ps, account.held_bytes) == (0, 0, 0);
        untouched
            && match (&self.control, keys) {
                (Control::Window(sender), _) => sender.under_way == 0,
                (Control::Slingshot(sender), _) => sender.under_way == 0 && sender.window == NEVER,
                (Control::Hpcc(sender), CongestionControl::Hpcc(keys)) => {
                    sender.is_free(keys, line as f64)
                }
                _ => false,
            }
    }

    /// Whether it belongs to a scheme.
    pub fn is_of(&self, keys: &CongestionControl) -> bool {
        matches!(
            (self.control, keys),
            (Control::Window(_), CongestionControl::Window(_))
                | (Control::Ecn(_), CongestionControl::Ecn(_))
                | (Control::Hpcc(_), CongestionControl::Hpcc(_))
                | (Control::Infiniband(_), CongestionControl::Infiniband(_))
                | (Control::Slingshot(_), CongestionControl::Slingshot(_))
        )
    }

    pub fn permitted(&mut self, keys: &CongestionControl, bytes: u32, now: u64) -> u64 {
        let bytes = bytes.max(self.awaited);
        let at = match (&self.control, keys) {
            (Control::Window(sender), CongestionControl::Window(keys)) => {
                sender.permitted(keys.window_bytes, bytes, now)
            }
            (Control::Ecn(sender), _) => sender.next,
            (Control::Hpcc(sender), _) => sender.permitted(bytes, now),
            (Control::Infiniband(sender), _) => sender.next,
            (Control::Slingshot(sender), _) => sender.permitted(bytes, now),
            _ => now,
        };
        if at > now {
            self.awaited = bytes;
            self.account.held_since = self.account.held_since.min(now);
        }
        at
    }

    pub fn sent(&mut self, keys: &CongestionControl, packet: Sent, line: u64) {
        let Sent {
            bytes, now, end, ..
        } = packet;
        self.awaited = 0;
        let account = &mut self.account;
        if account.held_since != NEVER {
            if now >= packet.warmup {
                account.held_ps += now - account.held_since.max(packet.warmup);
                account.held_bytes += u64::from(bytes);
            }
            account.held_since = NEVER;
        }
        match (&mut self.control, keys) {
            (Control::Window(sender), _) => sender.under_way += u64::from(bytes),
            (Control::Slingshot(sender), _) => sender.under_way += u64::from(bytes),
            (Control::Ecn(sender), CongestionControl::Ecn(keys)) => {
                sender.sent(keys, bytes, line as f64, now);
            }
            (Control::Hpcc(sender), CongestionControl::Hpcc(keys)) => sender.sent(keys, bytes, now),
            (Control::Infiniband(sender), CongestionControl::Infiniband(keys)) => {
                sender.sent(keys, now, end);
            }
            _ => {}
        }
    }

    /// Bytes that were sent are no longer under way, as they are lost.
    pub fn lost(&mut self, bytes: u32) {
        let under_way = match &mut self.control {
            Control::Window(sender) => &mut sender.under_way,
            Control::Slingshot(sender) => &mut sender.under_way,
            Control::Hpcc(sender) => &mut sender.under_way,
            Control::Ecn(_) | Control::Infiniband(_) => return,
        };
        *under_way = under_way.saturating_sub(u64::from(bytes));
    }

    pub fn heard(&mut self, keys: &CongestionControl, notice: Notice, line: u64, now: u64) {
        match (&mut self.control, keys) {
            (Control::Window(sender), _) => sender.acknowledged(notice.bytes),
            (Control::Slingshot(sender), _) => sender.heard(notice.bytes, notice.window),
            (Control::Ecn(sender), CongestionControl::Ecn(keys)) => {
                sender.notified(keys, line as f64, now);
            }
            (Control::Hpcc(sender), CongestionControl::Hpcc(keys)) => {
                sender.acknowledged(keys, line as f64, notice.bytes, notice.load, now);
            }
            (Control::Infiniband(sender), CongestionControl::Infiniband(keys)) => {
                sender.notified(keys, now);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use odonata_run::{SlingshotKeys, WindowKeys};

    use super::*;

    /// While small packets are under way there is never room for a large one: those that come after
    /// it wait with it.
    #[test]
    fn small_packets_do_not_overtake_a_large_one() {
        let window = CongestionControl::Window(WindowKeys { window_bytes: 256 });
        let small = Sent {
            bytes: 64,
            now: 0,
            end: 10,
            warmup: 0,
        };
        let mut pair = Pair::new(&window, 1, 1_000, 0).expect("a scheme with pairs");
        pair.sent(&window, small, 1_000);
        pair.sent(&window, small, 1_000);
        assert_eq!(pair.permitted(&window, 256, 20), NEVER);
        assert_eq!(pair.permitted(&window, 64, 20), NEVER);
        for acknowledgement in [100, 110] {
            assert_eq!(pair.permitted(&window, 64, acknowledgement), NEVER);
            let notice = Notice {
                at: acknowledgement,
                from: 1,
                bytes: 64,
                window: NEVER,
                load: 0,
            };
            pair.heard(&window, notice, 1_000, acknowledgement);
        }
        assert_eq!(pair.permitted(&window, 256, 110), 110);
        pair.sent(
            &window,
            Sent {
                now: 110,
                bytes: 256,
                ..small
            },
            1_000,
        );
        assert_eq!(pair.account.held_ps, 90);
    }

    /// A pair is forgotten once all that it has sent has arrived, unless it was held back, which is
    /// reported, or still is.
    #[test]
    fn a_pair_that_was_never_held_back_leaves_nothing() {
        let window = CongestionControl::Window(WindowKeys { window_bytes: 512 });
        let slingshot = CongestionControl::Slingshot(SlingshotKeys::default());
        let packet = Sent {
            bytes: 256,
            now: 0,
            end: 10,
            warmup: 0,
        };
        let notice = |window| Notice {
            at: 100,
            from: 1,
            bytes: 256,
            window,
            load: 0,
        };
        for keys in [window, slingshot] {
            let mut pair = Pair::new(&keys, 1, 1_000, 0).expect("a scheme with pairs");
            for _ in 0..2 {
                assert_eq!(pair.permitted(&keys, 256, 0), 0);
                pair.sent(&keys, packet, 1_000);
            }
            pair.heard(&keys, notice(NEVER), 1_000, 100);
            assert!(!pair.is_as_new(&keys, 1_000), "a packet is under way");
            let mut held = pair;
            pair.heard(&keys, notice(NEVER), 1_000, 100);
            assert!(pair.is_as_new(&keys, 1_000));
            // The same, but a third packet has waited for the second acknowledgement.
            held.sent(&keys, packet, 1_000);
            held.heard(&keys, notice(256), 1_000, 100);
            held.sent(&keys, packet, 1_000);
            assert_eq!(held.permitted(&keys, 256, 150), NEVER);
            for _ in 0..2 {
                held.heard(&keys, notice(NEVER), 1_000, 200);
            }
            assert!(!held.is_as_new(&keys, 1_000), "it waits since 150");
            held.sent(&keys, Sent { now: 200, ..packet }, 1_000);
            held.heard(&keys, notice(NEVER), 1_000, 300);
            assert!(!held.is_as_new(&keys, 1_000));
            assert_eq!((held.account.held_ps, held.account.held_bytes), (50, 256));
        }
    }
}
