//! Where to draw routers: groups on a circle, routers of a group on a small
//! circle or, where they have rows and columns, on a grid.

use super::Topology;
use std::f64::consts::TAU;

/// Part of the room between neighbouring groups that a group may fill.
const FILL: f64 = 0.85;

/// Coordinates of a drawing that fits the square from −2 to 2; y points up.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Place of each router. Shape: routers.
    pub routers: Vec<(f64, f64)>,
    /// Centre of each group. Shape: groups. Group 0 is at the top, the others
    /// follow clockwise on a circle of radius 1; a single group is at (0, 0).
    pub groups: Vec<(f64, f64)>,
    /// Radius around its centre within which a group stays.
    pub group_radius: f64,
}

impl Topology {
    /// Places routers for a drawing. Groups do not overlap; within a group,
    /// routers stand clockwise from the outermost point of a circle, or on a grid
    /// with rows counted outwards and columns clockwise.
    pub fn layout(&self) -> Layout {
        let groups = self.groups as usize;
        // Neighbouring centres are 2·sin(π/g) apart.
        let group_radius = match groups {
            1 => 1.0,
            _ => FILL * (TAU / 2.0 / groups as f64).sin().min(0.5),
        };
        let angle = |group: usize| TAU * group as f64 / groups as f64;
        let centre = |group: usize| match groups {
            1 => (0.0, 0.0),
            _ => (angle(group).sin(), angle(group).cos()),
        };
        let mut size = vec![0usize; groups];
        for group in &self.group_of_router {
            size[group.index()] += 1;
        }
        let last = |of: fn(&(u16, u16)) -> u16| self.position_in_group.iter().map(of).max();
        let grid = last(|p| p.0).zip(last(|p| p.1));

        let mut next = vec![0usize; groups];
        let mut routers = Vec::with_capacity(self.routers());
        for (router, group) in self.group_of_router.iter().enumerate() {
            let group = group.index();
            let within = next[group];
            next[group] += 1;
            // Clockwise and outwards, within the unit circle.
            let (along, out) = match (grid, self.position_in_group.get(router)) {
                (Some((last_row, last_column)), Some(&(row, column))) => {
                    place_in_grid((row, column), (last_row, last_column))
                }
                _ if size[group] == 1 => (0.0, 0.0),
                _ => {
                    let angle = TAU * within as f64 / size[group] as f64;
                    (angle.sin(), angle.cos())
                }
            };
            let (x, y) = centre(group);
            let (sin, cos) = if groups == 1 {
                (0.0, 1.0)
            } else {
                angle(group).sin_cos()
            };
            routers.push((
                x + group_radius * (along * cos + out * sin),
                y + group_radius * (out * cos - along * sin),
            ));
        }
        Layout {
            routers,
            groups: (0..groups).map(centre).collect(),
            group_radius,
        }
    }
}

/// A place of a grid, scaled with square cells into the unit circle.
fn place_in_grid((row, column): (u16, u16), (last_row, last_column): (u16, u16)) -> (f64, f64) {
    let (height, width) = (f64::from(last_row), f64::from(last_column));
    let diagonal = height.hypot(width).max(1.0);
    (
        (2.0 * f64::from(column) - width) / diagonal,
        (2.0 * f64::from(row) - height) / diagonal,
    )
}

#[cfg(test)]
mod tests {
    use crate::topology::testing::{any_topology, dragonfly_links};
    use crate::topology::{Arrangement, DragonflySpec, GroupWiring};
    use proptest::prelude::*;

    fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    fn dragonfly(group: GroupWiring) -> crate::Topology {
        DragonflySpec {
            p: 1,
            a: 6,
            h: 2,
            g: 9,
            arrangement: Arrangement::Absolute,
            group,
            links: dragonfly_links(),
        }
        .build()
        .unwrap()
    }

    #[test]
    fn no_two_routers_of_a_dragonfly_coincide() {
        let grid = GroupWiring::Grid {
            rows: 2,
            columns: 3,
            row_links: 1,
            column_links: 1,
        };
        for group in [GroupWiring::AllToAll, grid] {
            let layout = dragonfly(group).layout();
            for (n, &a) in layout.routers.iter().enumerate() {
                for &b in &layout.routers[..n] {
                    assert!(distance(a, b) > 0.05, "{group:?}: {a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn the_first_group_is_at_the_top_with_its_first_router_outermost() {
        let layout = dragonfly(GroupWiring::AllToAll).layout();
        let (x, y) = layout.groups[0];
        assert!(x.abs() < 1e-12 && (y - 1.0).abs() < 1e-12);
        let (x, y) = layout.routers[0];
        assert!(x.abs() < 1e-12 && (y - 1.0 - layout.group_radius).abs() < 1e-12);
        // Clockwise: the second router and the second group are to the right.
        assert!(layout.routers[1].0 > 0.0 && layout.groups[1].0 > 0.0);
    }

    proptest! {
        #[test]
        fn routers_stay_in_groups_that_do_not_overlap(topology in any_topology()) {
            let layout = topology.layout();
            prop_assert_eq!(layout.routers.len(), topology.routers());
            for (router, &place) in layout.routers.iter().enumerate() {
                let centre = layout.groups[topology.group_of_router[router].index()];
                prop_assert!(distance(place, centre) <= layout.group_radius * (1.0 + 1e-9));
            }
            for (n, &a) in layout.groups.iter().enumerate() {
                for &b in &layout.groups[..n] {
                    prop_assert!(distance(a, b) > 2.0 * layout.group_radius);
                }
            }
        }
    }
}
