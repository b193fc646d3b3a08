//! The phases of routes on networks of groups, and their virtual channels.
//! What the phases mean is in the table of [`legs`](super::legs).
//!
//! Local and global links number their virtual channels separately. Every
//! phase has a class of local channels and, if it crosses a global link, a
//! class of global channels; an algorithm numbers the phases that it uses in
//! the order of the table, so that along every route the classes appear in
//! one fixed total order, for instance
//!
//! `local(OUTWARD) < global(OUTWARD) < local(DETOUR) < local(HOMEWARD) < global(HOMEWARD) < local(FINAL)`,
//!
//! and a packet that holds a channel only ever waits for a channel of a later
//! class or, inside one traversal of a group, for one of the same class. The
//! latter closes no cycle either: in all-to-all groups a traversal is a single
//! hop; in 2-D groups under dimension order a channel along a row is never
//! waited for from a column; in other groups [`GroupedRoutes`] checks whether
//! the paths inside the group close a cycle, and if they do, a class gets as
//! many channels as the longest path has hops and the channel's number grows
//! with every hop. So the channel dependency graph has no cycle, and the
//! network cannot deadlock (Dally and Seitz 1987). `verify` checks the same
//! for a given network without relying on this argument.
//!
//! # Leaves and spines
//! Where groups consist of leaves and spines, every hop goes up (from a leaf to a
//! spine), across (between spines of two groups) or down (from a spine to a
//! leaf). A route that goes up, across and down, once each and in this order,
//! needs a single channel; it takes the next channel when it comes to a hop that
//! is not later in this order than the one before. So the channels of routes
//! ascend in the order `up 0 < across 0 < down 0 < up 1 < across 1 < down 1`. The
//! first layer brings a packet to its intermediate, inclusive of the way down to
//! a leaf from which it goes on; the second brings it to its destination.

use super::RoutingError;
use super::grouped::GroupedRoutes;

/// Minimal so far, and not yet out of the source group.
pub(super) const PROGRESSIVE: u8 = 0;
/// To the intermediate group.
pub(super) const OUTWARD: u8 = 1;
/// To the intermediate router, inside its group.
pub(super) const DETOUR: u8 = 2;
/// To the destination group.
pub(super) const HOMEWARD: u8 = 3;
/// To the destination router, inside its group.
pub(super) const FINAL: u8 = 4;

const PHASES: usize = 5;
/// Largest number of virtual channels.
const MOST_CHANNELS: u32 = 255;

/// The virtual channels of each phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels {
    /// First channel on local links, by phase; with `depth` 1 the only one.
    local: [u8; PHASES],
    /// Channel on the way down from a spine to a leaf, by phase; `local` is then
    /// that of the way up.
    down: [u8; PHASES],
    /// Channel on global links, by phase.
    global: [u8; PHASES],
    /// Channels per class of local channels.
    depth: u8,
    /// Channels in total, at least one.
    count: u8,
}

impl Channels {
    /// Numbers the channels of an algorithm that uses `local` phases on local
    /// and `global` phases on global links; the phases of each are grouped into
    /// classes, in the order in which routes use them. With `merged`, channel
    /// `i` becomes `min(i, merged - 1)`.
    pub(super) fn new(
        algorithm: &'static str,
        routes: &GroupedRoutes,
        local: &[&[u8]],
        global: &[&[u8]],
        merged: Option<u8>,
    ) -> Result<Self, RoutingError> {
        if routes.leaves().is_some() {
            let stopovers = local.concat().contains(&OUTWARD);
            return Self::up_across_down(algorithm, stopovers, merged);
        }
        let depth = u32::from(routes.local_depth());
        let needed = (local.len() as u32 * depth).max(global.len() as u32).max(1);
        let count = channel_count(algorithm, needed, depth, merged)?;
        let number = |classes: &[&[u8]], depth: u32| {
            let mut channels = [0; PHASES];
            for (class, phases) in classes.iter().enumerate() {
                for &phase in *phases {
                    let channel = class as u32 * depth;
                    channels[usize::from(phase)] = channel.min(MOST_CHANNELS) as u8;
                }
            }
            channels
        };
        let clamp = |channels: [u8; PHASES]| channels.map(|c| c.min(count - 1));
        let local = clamp(number(local, depth));
        Ok(Self {
            local,
            down: local,
            global: clamp(number(global, 1)),
            depth: depth.min(MOST_CHANNELS) as u8,
            count,
        })
    }

    /// The channels of an algorithm on leaves and spines; `stopovers`: whether it
    /// has routes by way of an intermediate, which need two layers.
    fn up_across_down(
        algorithm: &'static str,
        stopovers: bool,
        merged: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let count = channel_count(algorithm, 1 + u32::from(stopovers), 2, merged)?;
        let second_layer = |phases: &[u8]| {
            let mut channels = [0; PHASES];
            for &phase in phases {
                channels[usize::from(phase)] = count - 1;
            }
            channels
        };
        Ok(Self {
            local: second_layer(&[HOMEWARD, FINAL]),
            // Homeward from an intermediate spine without a link to the
            // destination's group: down to a leaf first.
            down: second_layer(&[FINAL]),
            global: second_layer(&[PROGRESSIVE, HOMEWARD]),
            depth: 1,
            count,
        })
    }

    pub(super) fn count(&self) -> u8 {
        self.count
    }

    /// The channel of a hop over the global link that ends `phase`.
    #[inline(always)]
    pub(super) fn global(&self, phase: u8) -> u8 {
        self.global[usize::from(phase)]
    }

    /// The channel of a local hop in `phase`, in groups that need one channel
    /// per class; in others see [`Channels::deep`].
    #[inline(always)]
    pub(super) fn local(&self, phase: u8) -> u8 {
        self.local[usize::from(phase)]
    }

    /// The channel of a hop from a spine to a leaf in `phase`.
    #[inline(always)]
    pub(super) fn down(&self, phase: u8) -> u8 {
        self.down[usize::from(phase)]
    }

    /// Whether a class of local channels has more than one.
    #[inline(always)]
    pub(super) fn is_deep(&self) -> bool {
        self.depth > 1
    }

    /// The channel of a local hop in `phase` where `remaining` hops, this one
    /// included, are left to the end of the traversal. Groups whose paths close
    /// no cycle may have longer ones than `depth`: there the first hops share
    /// the first channel of the class.
    pub(super) fn deep(&self, phase: u8, remaining: u32) -> u8 {
        let channel =
            u32::from(self.local(phase)) + u32::from(self.depth).saturating_sub(remaining);
        channel.min(u32::from(self.count) - 1) as u8
    }
}

/// The number of virtual channels an algorithm uses: all that it needs, or
/// fewer where the user wants them merged.
pub(super) fn channel_count(
    algorithm: &'static str,
    needed: u32,
    diameter: u32,
    merged: Option<u8>,
) -> Result<u8, RoutingError> {
    match merged {
        Some(0) => Err(RoutingError::BadOption {
            option: "virtual_channels",
            found: "0".into(),
            allowed: "it must be at least 1",
        }),
        Some(merged) => Ok(needed.min(u32::from(merged)) as u8),
        None if needed > MOST_CHANNELS => Err(RoutingError::TooManyVirtualChannels {
            algorithm,
            needed,
            limit: MOST_CHANNELS,
            diameter,
        }),
        None => Ok(needed as u8),
    }
}
