//! More virtual channels on a link than a routing algorithm needs.

use std::ops::Range;

/// How the virtual channels of a link are shared out among those that a routing algorithm tells
/// apart: each of the algorithm's channels is one or more of the link's, its *lanes*. A packet that
/// the algorithm sends to a channel may take any of its lanes.
///
/// No further order among channels is lost or gained: packets on a lane wait for what packets on its
/// channel wait for, so that lanes wait for each other in a circle only where channels do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    channels: u8,
    lanes: u8,
    /// The first lane: of several classes of packets each has as many of its own.
    first: u8,
}

impl Lanes {
    /// One channel that is one lane.
    pub const ONE: Self = Self {
        channels: 1,
        lanes: 1,
        first: 0,
    };

    /// The lanes of a link for an algorithm with this many channels, at least one: this many if they are
    /// given and more, else one for each.
    pub fn new(channels: u8, lanes: Option<u8>) -> Self {
        let lanes = lanes.unwrap_or(channels).max(channels);
        Self {
            channels,
            lanes,
            first: 0,
        }
    }

    /// The same for packets of a class, behind those of the classes before.
    #[inline]
    pub fn of_class(self, class: u8) -> Self {
        Self {
            first: class * self.lanes,
            ..self
        }
    }

    /// Virtual channels of the algorithm.
    pub fn channels(self) -> u8 {
        self.channels
    }

    /// Virtual channels of a link, for each class of packets.
    pub fn count(self) -> u8 {
        self.lanes
    }

    /// Whether there are more lanes than channels.
    pub fn are_several(self) -> bool {
        self.lanes > self.channels
    }

    /// The lanes of a channel: as many as those of any other, but for one.
    #[inline]
    pub fn of(self, channel: u8) -> Range<u8> {
        if !self.are_several() {
            return self.first + channel..self.first + channel + 1;
        }
        let first =
            |channel: u16| (channel * u16::from(self.lanes) / u16::from(self.channels)) as u8;
        let channel = u16::from(channel);
        self.first + first(channel)..self.first + first(channel + 1)
    }

    /// The channel of a lane.
    pub fn channel_of(self, lane: u8) -> u8 {
        let end = (u16::from(lane - self.first) + 1) * u16::from(self.channels);
        ((end - 1) / u16::from(self.lanes)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_belongs_to_one_channel_and_channels_have_equally_many_but_for_one() {
        for channels in 1..=16 {
            for lanes in channels..=64 {
                let shared = Lanes::new(channels, Some(lanes));
                let mut next = 0;
                for channel in 0..channels {
                    let of = shared.of(channel);
                    assert_eq!(of.start, next);
                    let equally = lanes / channels..=lanes.div_ceil(channels);
                    assert!(equally.contains(&(of.len() as u8)), "{shared:?} {channel}");
                    assert!(of.clone().all(|lane| shared.channel_of(lane) == channel));
                    next = of.end;
                }
                assert_eq!(next, lanes);
            }
        }
    }

    #[test]
    fn without_more_each_channel_is_its_own_lane() {
        for lanes in [None, Some(1), Some(3)] {
            let shared = Lanes::new(3, lanes);
            assert!(!shared.are_several());
            assert!((0..3).all(|channel| shared.of(channel) == (channel..channel + 1)));
        }
    }
}
