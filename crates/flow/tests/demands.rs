//! Many-linked users: the links that are looked at are enough.

use odonata_flow::demands::Demands;
use odonata_flow::share::{FairShare, LinkId, Use};
use proptest::prelude::*;

proptest! {
    /// The same rates as with all links, a link of its own for what each wants.
    #[test]
    fn leaving_out_links_that_nobody_fills_changes_nothing(
        capacities in proptest::collection::vec(0.5f64..3.0, 4..12),
        users in proptest::collection::vec((proptest::collection::btree_map(0u32..12, 0.01f64..1.0, 1..8), 0.1f64..1.5), 1..12),
        leavers in proptest::collection::vec(any::<bool>(), 12),
    ) {
        let links = capacities.len() as u32;
        let mut demands = Demands::new(capacities.iter().copied());
        let mut present = vec![];
        for ((uses, wanted), leaves) in users.into_iter().zip(leavers) {
            let uses: Vec<Use> = uses.into_iter().filter(|&(link, _)| link < links)
                .map(|(link, share)| Use { link: LinkId(link), share, ahead: 0 }).collect();
            let id = demands.add(uses.clone(), wanted);
            demands.settle(&mut vec![]);
            if leaves {
                demands.remove(id);
            } else {
                present.push((id, uses, wanted));
            }
        }
        demands.settle(&mut vec![]);
        let own = present.iter().map(|(_, _, wanted)| *wanted);
        let mut share = FairShare::new(capacities.iter().copied().chain(own));
        let flows: Vec<_> = (links..).zip(&present).map(|(own, (_, uses, _))| {
            let mut path = uses.clone();
            path.push(Use { link: LinkId(own), share: 1.0, ahead: 0 });
            share.add(&path, 1.0, false)
        }).collect();
        share.settle(&mut vec![]);
        for (flow, (id, ..)) in flows.iter().zip(&present) {
            let (all, some) = (share.rate(*flow), demands.rate(*id));
            prop_assert!((all - some).abs() <= 1e-8 * all, "{all} {some}");
        }
    }
}
