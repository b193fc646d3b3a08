//! The modes that users of GRAP choose for their jobs: drawn from stated shares by
//! size, by (seed, number of the job).

use odonata_declare::Listed;
use odonata_placement::grap::{GrapMode, GrapModeName};
use odonata_scheduler::log::JobLog;
use odonata_units::random::{Purpose, StreamKey};
use serde::Deserialize;

use crate::coupling::{MixSpec, MixTable};
use crate::error::Error;

/// Counter of a job's draw.
const MODE: u32 = 2;

/// Which modes users choose.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModesSpec {
    /// Modes of large jobs by size; who is in no class is adaptive, as users who say
    /// nothing are.
    pub mix: Vec<MixSpec>,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Nodes of a group.
    pub group: u32,
}

/// What a job of `nodes` nodes asks GRAP for on `groups` groups of `group` nodes.
///
/// Users of custom modes name numbers that the paper does not tell. Custom balance
/// is for numbers of processes that are powers of two (4.2.1): the least power of
/// two of groups that hold the job. Custom has full groups and groups of three
/// quarters in turn, the 288 and 216 nodes of the neighbouring pattern (5.1.3).
/// Either takes at most all groups of the machine, and balance where that is too few.
pub(super) fn for_job(mode: GrapModeName, nodes: u32, group: u32, groups: u32) -> GrapMode {
    let least = nodes.div_ceil(group.max(1));
    match mode {
        GrapModeName::Adaptive => GrapMode::Adaptive,
        GrapModeName::MinimalBalance => GrapMode::MinimalBalance,
        GrapModeName::CustomBalance => GrapMode::CustomBalance {
            groups: least.next_power_of_two().min(groups).min(nodes).max(1),
        },
        GrapModeName::Custom => {
            let mut left = nodes;
            let mut parts = Vec::new();
            while left > 0 {
                let full = parts.len() % 2 == 0;
                let part = if full { group } else { group - group / 4 };
                parts.push(part.clamp(1, left));
                left -= parts[parts.len() - 1];
            }
            if parts.len() as u32 > groups {
                return GrapMode::MinimalBalance;
            }
            GrapMode::Custom { nodes: parts }
        }
    }
}

/// Draws the modes of a log's jobs; none for those that fit into a group.
///
/// # Errors
/// If a mode or a share is none.
pub(super) fn modes(log: &JobLog, spec: &ModesSpec) -> Result<Vec<Option<GrapModeName>>, Error> {
    let key = StreamKey::new(spec.seed, Purpose::Destination);
    let table = MixTable::new("modes.mix", &spec.mix)?;
    let known = table.names.iter().map(|name| {
        GrapModeName::by_name(name).map_err(|unknown| {
            let allowed = unknown.allowed.join(", ");
            Error::Spec(crate::SpecError::value("modes.mix", name, allowed))
        })
    });
    let known: Vec<GrapModeName> = known.collect::<Result<_, _>>()?;
    let mode = |(index, job): (usize, &odonata_scheduler::log::Job)| {
        if job.nodes <= spec.group {
            return None;
        }
        let drawn = table.draw(log, index, key.unit(index as u64, MODE));
        Some(drawn.map_or(GrapModeName::Adaptive, |number| known[number as usize]))
    };
    Ok(log.jobs.iter().enumerate().map(mode).collect())
}

#[cfg(test)]
mod tests {
    use odonata_scheduler::Seconds;
    use odonata_scheduler::log::Job;
    use proptest::prelude::*;

    use super::*;

    fn log(sizes: &[u32]) -> JobLog {
        let mut log = JobLog::default();
        for &nodes in sizes {
            let job = Job::new("job", Seconds(0), Seconds(100), nodes);
            log.jobs.push(job);
        }
        log
    }

    fn spec(from: u32, to: u32, shares: &[(&str, f64)]) -> ModesSpec {
        let shares = shares.iter().map(|&(name, share)| (name.to_owned(), share));
        ModesSpec {
            mix: vec![MixSpec {
                from,
                to,
                user: None,
                name: None,
                shares: shares.collect(),
            }],
            seed: 1,
            group: 288,
        }
    }

    #[test]
    fn modes_are_drawn_by_size() {
        // 10,000 jobs of 40 % on average: a standard deviation of 49.
        let shares = [("minimal-balance", 0.4), ("adaptive", 0.6)];
        let drawn = modes(&log(&[600; 10_000]), &spec(576, 65_536, &shares)).unwrap();
        let balanced = |mode: &&Option<GrapModeName>| **mode == Some(GrapModeName::MinimalBalance);
        let count = drawn.iter().filter(balanced).count();
        assert!((3800..4200).contains(&count), "{count}");
        // A group's worth is small; below the class, users say nothing.
        let drawn = modes(&log(&[288, 289]), &spec(576, 65_536, &shares)).unwrap();
        assert_eq!(drawn, [None, Some(GrapModeName::Adaptive)]);
        let error = modes(&log(&[]), &spec(1, 2, &[("balance", 1.0)])).unwrap_err();
        assert!(error.to_string().contains("custom-balance"), "{error}");
    }

    #[test]
    fn custom_modes_ask_for_what_the_paper_says_of_them() {
        // 1,000 nodes need 4 groups of 288; 1,200 need 5, and the next power of two is 8.
        let balance = |nodes| for_job(GrapModeName::CustomBalance, nodes, 288, 288);
        assert_eq!(balance(1_000), GrapMode::CustomBalance { groups: 4 });
        assert_eq!(balance(1_200), GrapMode::CustomBalance { groups: 8 });
        let few = for_job(GrapModeName::CustomBalance, 3_470, 366, 12);
        assert_eq!(few, GrapMode::CustomBalance { groups: 12 });
        let custom = for_job(GrapModeName::Custom, 1_000, 288, 288);
        let nodes = vec![288, 216, 288, 208];
        assert_eq!(custom, GrapMode::Custom { nodes });
        // Three quarters of 12 groups of 366 hold no more than 3,852 nodes.
        let most = for_job(GrapModeName::Custom, 4_000, 366, 12);
        assert_eq!(most, GrapMode::MinimalBalance);
    }

    proptest! {
        /// Whatever a mode asks for can be had on an idle machine that holds the job.
        #[test]
        fn idle_machines_hold_every_mode(group in 1u32..400, groups in 1u32..300, part in 0.0f64..=1.0) {
            use odonata_placement::grap::{GrapRequest, GroupState, choose_groups};
            let nodes = ((f64::from(group * groups) * part) as u32).max(1);
            let idle = vec![GroupState { nodes: group, idle: group, large: false }; groups as usize];
            for &mode in GrapModeName::ALL {
                let request = GrapRequest { nodes, mode: for_job(mode, nodes, group, groups) };
                let choice = choose_groups(&request, &idle);
                prop_assert!(choice.is_ok(), "{mode:?}: {choice:?}");
            }
        }
    }
}
