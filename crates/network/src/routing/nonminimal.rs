//! Intermediate groups and routers of non-minimal routes.

use odonata_declare::Named;
use serde::{Deserialize, Serialize};

use super::channels::{Channels, DETOUR, FINAL, HOMEWARD, OUTWARD, PROGRESSIVE};
use super::grouped::{GroupedRoutes, Place};
use super::{Paths, RouterView, RoutingError};

/// What a non-minimal route goes through on its way to another group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// A random group.
    ///
    /// Other than the source's and the destination's (Kim et
    /// al. 2008; Kaplan et al. 2017, section II.B.2): minimally to any of its
    /// routers, then minimally to the destination.
    #[default]
    Group,
    /// A random router.
    ///
    /// The router lies in a random group other than the source's and the
    /// destination's; the route goes all the way to that router. Where groups
    /// consist of leaves and spines, a leaf.
    Router,
    /// The router of a random node.
    ///
    /// The node may be any of the machine, as in BookSim's
    /// dragonfly: if it lies in the source group the route is minimal, and it
    /// may lie in the destination group. Traffic inside one group is minimal.
    Node,
}

odonata_declare::table! {
    /// Keys of the algorithms with non-minimal routes.
    pub struct ViaKeys {
        /// The intermediate of a non-minimal route: any router of a random group (`group`), a
        /// random router, or the router of a random node. Default: `group`, or `router` if `paths`
        /// is not `groups`.
        via: Option<Via> = None,
    }
}

impl ViaKeys {
    /// The intermediate of routes over `paths`.
    pub(super) fn over(&self, paths: Paths) -> Via {
        self.via.unwrap_or(match paths {
            Paths::Groups => Via::Group,
            _ => Via::Router,
        })
    }
}

impl Via {
    /// Whether routes go all the way to an intermediate router.
    pub(super) const fn to_router(self) -> bool {
        !matches!(self, Self::Group)
    }

    /// The virtual channels of non-minimal routes through this, numbered as
    /// the [legs](super::legs) describe; `progressive` adds a first class for
    /// routes that are minimal for now.
    pub(super) fn channels(
        self,
        algorithm: &'static str,
        routes: &GroupedRoutes,
        progressive: bool,
        merged: Option<u8>,
    ) -> Result<Channels, RoutingError> {
        if self == Self::Node && routes.has_gaps() {
            return Err(RoutingError::BadOption {
                option: "via",
                found: "\"node\"".into(),
                allowed: "\"group\" or \"router\" where two groups are not joined: traffic between \
                          those goes by way of a third group",
            });
        }
        let mut local: Vec<&[u8]> = match self {
            Self::Group => vec![&[OUTWARD], &[DETOUR, HOMEWARD], &[FINAL]],
            Self::Router | Self::Node => vec![&[OUTWARD], &[DETOUR], &[HOMEWARD], &[FINAL]],
        };
        if progressive {
            local.insert(0, &[PROGRESSIVE]);
        }
        let global: [&[u8]; 2] = [&[OUTWARD], &[HOMEWARD, PROGRESSIVE]];
        Channels::new(algorithm, routes, &local, &global, merged)
    }

    /// Draws the intermediate group or router of a route from `here` to
    /// `there`, which lies in another group; `None` where the route is minimal, which it never is
    /// where the two groups are not joined.
    #[inline]
    pub(super) fn draw<V: RouterView>(
        self,
        routes: &GroupedRoutes,
        view: &mut V,
        here: Place,
        there: Place,
    ) -> Option<u32> {
        if routes.has_gaps() {
            return self.draw_between(routes, view, here, there);
        }
        let (low, high) = ordered(here.group, there.group);
        match self {
            Self::Group => {
                let choices = routes.groups() - 2;
                (choices > 0).then(|| {
                    let mut group = view.random_below(choices);
                    group += u32::from(group >= low);
                    group + u32::from(group >= high)
                })
            }
            Self::Router => {
                if let Some(leaves) = routes.leaves() {
                    let choices = routes.groups() - 2;
                    return (choices > 0).then(|| {
                        let index = view.random_below(choices * leaves);
                        let mut group = index / leaves;
                        group += u32::from(group >= low);
                        group += u32::from(group >= high);
                        let local = index % leaves;
                        routes.router(Place { group, local })
                    });
                }
                let (first, second) = (routes.group_size(low), routes.group_size(high));
                let choices = routes.routers() - first - second;
                (choices > 0).then(|| {
                    let mut index = view.random_below(choices);
                    if index >= routes.routers_before(low) {
                        index += first;
                    }
                    if index >= routes.routers_before(high) {
                        index += second;
                    }
                    routes.router_by_group(index)
                })
            }
            Self::Node => {
                let nodes = match routes.router_of_node() {
                    [] => routes.endpoints(),
                    nodes => nodes,
                };
                let router = nodes[view.random_below(nodes.len() as u32) as usize];
                (routes.place(router).group != here.group).then_some(router)
            }
        }
    }

    /// [`Via::draw`] where not every two groups are joined: a group or router of a group that is
    /// joined to both.
    #[cold]
    #[inline(never)]
    fn draw_between<V: RouterView>(
        self,
        routes: &GroupedRoutes,
        view: &mut V,
        here: Place,
        there: Place,
    ) -> Option<u32> {
        let between = (0..routes.groups())
            .filter(|&via| routes.is_between(here.group, via, there.group))
            .map(|via| match self {
                Self::Group => (via, 1),
                Self::Router | Self::Node => (via, routes.stopovers(via)),
            });
        let choices: u32 = between.clone().map(|(_, choices)| choices).sum();
        if choices == 0 {
            return None;
        }
        let mut index = view.random_below(choices);
        for (group, choices) in between {
            match index.checked_sub(choices) {
                Some(rest) => index = rest,
                None if self == Self::Group => return Some(group),
                None => {
                    let local = index;
                    return Some(routes.router(Place { group, local }));
                }
            }
        }
        None
    }

    /// Everything that [`Via::draw`] could return, and whether it could return
    /// `None`.
    pub(super) fn possible(
        self,
        routes: &GroupedRoutes,
        here: Place,
        there: Place,
    ) -> (Vec<u32>, bool) {
        let ends = [here.group, there.group];
        let between = |group: u32| match routes.has_gaps() {
            true => routes.is_between(here.group, group, there.group),
            false => !ends.contains(&group),
        };
        let possible: Vec<u32> = match self {
            Self::Group => (0..routes.groups()).filter(|&g| between(g)).collect(),
            Self::Router => (0..routes.routers())
                .map(|index| routes.router_by_group(index))
                .filter(|&r| {
                    let place = routes.place(r);
                    between(place.group) && !routes.is_spine(place)
                })
                .collect(),
            Self::Node => {
                let away = |r: &&u32| routes.place(**r).group != here.group;
                let possible: Vec<u32> = routes.endpoints().iter().filter(away).copied().collect();
                let none = possible.len() < routes.endpoints().len();
                return (possible, none);
            }
        };
        let none = possible.is_empty();
        (possible, none)
    }
}

fn ordered(a: u32, b: u32) -> (u32, u32) {
    if a < b { (a, b) } else { (b, a) }
}
