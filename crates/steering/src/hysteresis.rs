//! Whether circuits that fit the traffic of now better are worth the change.

use crate::uplinks::PodTraffic;

/// When circuits change for traffic that is observed: if the new ones are better by a margin, over
/// a time that bears the cost of the change.
///
/// While circuits change, those that do not carry on, so that over a horizon of which the change
/// takes the share *s* the new circuits bring `s · during + (1 − s) · after`, where what circuits
/// bring is [`circuits_value`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hysteresis {
    /// How much more the new ones must bring, as a share of what is there. At least 0.
    pub margin: f64,
    /// Share of the horizon that a change takes. From 0 to 1.
    pub change: f64,
}

impl Hysteresis {
    /// Whether to change, by what circuits bring before, during and after it, in one unit.
    pub fn is_worth(self, before: f64, during: f64, after: f64) -> bool {
        let change = self.change.clamp(0.0, 1.0);
        change * during + (1.0 - change) * after > (1.0 + self.margin) * before
    }
}

/// What circuits bring for the traffic between pods or groups: the sum of `t_ij · (1 + 1/2 + … +
/// 1/d_ij)` over pairs with `d_ij` circuits, which the weights of algorithm 1 of Michelogiannakis et
/// al. 2019 (section 4.5) add up to. What has no circuit of its own takes other ways and counts
/// nothing. In the unit of the traffic. Shape of `links`: pods × pods.
pub fn circuits_value(traffic: &PodTraffic, links: &[u32]) -> f64 {
    let harmonic = |count: u32| (1..=count).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    let pairs = traffic.amounts().iter().zip(links);
    pairs.map(|(amount, &count)| amount * harmonic(count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circuits_add_up_as_the_weights_of_algorithm_1_do() {
        let traffic = PodTraffic::new(2, vec![12.0, 6.0, 0.0, 4.0]).unwrap();
        // 12 (1 + 1/2) + 6 (1 + 1/2 + 1/3) + 4 · 1; what nobody sends is worth nothing.
        assert_eq!(circuits_value(&traffic, &[2, 3, 5, 1]), 18.0 + 11.0 + 4.0);
        assert_eq!(circuits_value(&traffic, &[0, 0, 4, 0]), 0.0);
    }

    #[test]
    fn a_change_has_to_bring_the_margin_and_its_own_cost() {
        let free = Hysteresis {
            margin: 0.0,
            change: 0.0,
        };
        assert!(free.is_worth(1.0, 0.0, 1.01));
        // Equal circuits are no reason to change.
        assert!(!free.is_worth(1.0, 1.0, 1.0));
        assert!(free.is_worth(0.0, 0.0, 0.1));
        let margin = Hysteresis {
            margin: 0.1,
            change: 0.0,
        };
        assert!(!margin.is_worth(1.0, 0.0, 1.1));
        assert!(margin.is_worth(1.0, 0.0, 1.11));
        // A quarter of the horizon at half, the rest at 1.2: 1.025 in all.
        let cost = Hysteresis {
            margin: 0.0,
            change: 0.25,
        };
        assert!(cost.is_worth(1.0, 0.5, 1.2));
        assert!(!cost.is_worth(1.03, 0.5, 1.2));
        // A change that takes longer than its horizon is never done.
        let never = Hysteresis {
            margin: 0.0,
            change: 7.0,
        };
        assert!(!never.is_worth(1.0, 0.5, 100.0));
    }
}
