//! Decomposition of numbers of circuits into classes that two links of a group can
//! carry: Petersen's theorem. The circuits are directed along Eulerian circles, so that
//! as many leave every place as enter it; what leaves and what enters are the two sides
//! of a bipartite graph, whose edges take as many colours as its largest degree
//! (Kőnig). A colour is a class.

use crate::table::Class;

/// At most `most` classes of the circuits in `counts` (groups × groups, symmetric).
/// All circuits are in a class if none has more than `2·most` at a place.
pub(crate) fn classes(places: usize, counts: &[u32], most: u32) -> Vec<Class> {
    let arcs = directed(places, counts);
    let colours = most as usize;
    // Arc that leaves, and that enters, each place in each colour.
    let mut leaving = vec![vec![None; places]; colours];
    let mut entering = vec![vec![None; places]; colours];
    for (from, to) in arcs {
        let free = |side: &[Vec<Option<usize>>], place: usize| {
            side.iter().position(|colour| colour[place].is_none())
        };
        let (Some(here), Some(there)) = (free(&leaving, from), free(&entering, to)) else {
            continue;
        };
        if here != there {
            swap_path(&mut leaving, &mut entering, to, here, there);
        }
        leaving[here][from] = Some(to);
        entering[here][to] = Some(from);
    }
    leaving
}

/// Frees colour `here` among the arcs that enter `to`, by swapping it with `there`,
/// which is free, along the path of the two colours that starts at `to`. The path
/// cannot come to the place that wants `here`: it would get there by an arc of colour
/// `here`, which is free there.
fn swap_path(
    leaving: &mut [Vec<Option<usize>>],
    entering: &mut [Vec<Option<usize>>],
    to: usize,
    here: usize,
    there: usize,
) {
    let mut path = Vec::new();
    let (mut enters, mut colour) = (to, here);
    while let Some(from) = entering[colour][enters] {
        path.push((from, enters, colour));
        let other = if colour == here { there } else { here };
        match leaving[other][from] {
            None => break,
            Some(next) => {
                path.push((from, next, other));
                enters = next;
                colour = here;
            }
        }
    }
    for &(from, to, colour) in &path {
        leaving[colour][from] = None;
        entering[colour][to] = None;
    }
    for &(from, to, colour) in &path {
        let other = if colour == here { there } else { here };
        leaving[other][from] = Some(to);
        entering[other][to] = Some(from);
    }
}

/// The circuits as arcs, such that as many leave every place as enter it, give or take
/// one where their number is odd. Circuits of every pair come evenly spread.
fn directed(places: usize, counts: &[u32]) -> Vec<(usize, usize)> {
    // One more place, joined to all with an odd number of circuits, makes all even.
    let extra = places;
    let mut left = vec![vec![0u32; places + 1]; places + 1];
    for one in 0..places {
        let row = &counts[one * places..(one + 1) * places];
        left[one][..places].copy_from_slice(row);
        if row.iter().sum::<u32>() % 2 == 1 {
            left[one][extra] = 1;
            left[extra][one] = 1;
        }
    }
    let mut arcs = Vec::new();
    for start in 0..=places {
        // Circles from `start` until all its circuits have a direction.
        while let Some(mut next) = left[start].iter().position(|&count| count > 0) {
            let mut at = start;
            loop {
                left[at][next] -= 1;
                left[next][at] -= 1;
                arcs.push((at, next));
                at = next;
                if at == start {
                    break;
                }
                // Even degrees: a vertex that is entered can be left.
                match left[at].iter().position(|&count| count > 0) {
                    Some(further) => next = further,
                    None => break,
                }
            }
        }
    }
    arcs.retain(|&(from, to)| from != extra && to != extra);
    spread(places, counts, &mut arcs);
    arcs
}

/// Orders arcs so that those of a pair are as far apart as can be: links of one number
/// belong to one router of each group, and the circuits of a pair should not all be attached
/// on a few.
fn spread(places: usize, counts: &[u32], arcs: &mut [(usize, usize)]) {
    arcs.sort_unstable();
    let mut seen = vec![0u32; places * places];
    let mut keyed: Vec<(u64, (usize, usize))> = arcs
        .iter()
        .map(|&(from, to)| {
            let pair = from.min(to) * places + from.max(to);
            seen[pair] += 1;
            let share = (u64::from(seen[pair]) << 32) / u64::from(counts[pair]);
            (share, (from, to))
        })
        .collect();
    keyed.sort_unstable();
    for (arc, (_, ordered)) in arcs.iter_mut().zip(keyed) {
        *arc = ordered;
    }
}
