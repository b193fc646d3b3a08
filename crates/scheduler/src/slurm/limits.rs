//! Limits of a quality of service: what a job may ask for at all, and what may run beside it.

use std::collections::HashMap;

use super::cluster::{Qos, Tres};

/// What a job counts as.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counted {
    pub tres: Tres,
    pub user: u32,
    pub account: u32,
}

/// What runs under one QOS.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    group: Sum,
    users: HashMap<u32, Sum>,
    accounts: HashMap<u32, Sum>,
}

#[derive(Clone, Debug, Default)]
struct Sum {
    jobs: u32,
    tres: Tres,
}

impl Sum {
    fn add(&mut self, job: &Tres) {
        self.jobs += 1;
        for (name, count) in job {
            *self.tres.entry(name.clone()).or_default() += count;
        }
    }

    fn subtract(&mut self, job: &Tres) {
        self.jobs -= 1;
        for (name, count) in job {
            if let Some(sum) = self.tres.get_mut(name) {
                *sum -= count;
            }
        }
    }
}

impl Tally {
    pub fn start(&mut self, job: &Counted) {
        self.group.add(&job.tres);
        self.users.entry(job.user).or_default().add(&job.tres);
        self.accounts.entry(job.account).or_default().add(&job.tres);
    }

    pub fn end(&mut self, job: &Counted) {
        self.group.subtract(&job.tres);
        let users = self.users.get_mut(&job.user);
        let accounts = self.accounts.get_mut(&job.account);
        users
            .into_iter()
            .chain(accounts)
            .for_each(|sum| sum.subtract(&job.tres));
    }

    /// Whether the job may start beside those that run.
    pub fn allows(&self, qos: &Qos, job: &Counted) -> bool {
        let none = Sum::default();
        let user = self.users.get(&job.user).unwrap_or(&none);
        let account = self.accounts.get(&job.account).unwrap_or(&none);
        let of = [
            (&self.group, &qos.group, qos.group_jobs),
            (user, &qos.user, qos.user_jobs),
            (account, &qos.account, qos.account_jobs),
        ];
        of.into_iter().all(|(sum, limits, jobs)| {
            jobs.is_none_or(|limit| sum.jobs < limit)
                && limits.iter().all(|(name, &limit)| {
                    let used = sum.tres.get(name).copied().unwrap_or(0);
                    used + job.tres.get(name).copied().unwrap_or(0) <= limit
                })
        })
    }
}

/// Why a job of this QOS never starts, if so.
pub(super) fn never(qos: &Qos, job: &Tres, nodes: u64, limit: Option<i64>) -> Option<String> {
    let of = |name: &str| job.get(name).copied().unwrap_or(0);
    let groups = [
        ("Grp", &qos.group),
        ("user's", &qos.user),
        ("account's", &qos.account),
    ];
    let all = groups.into_iter().chain([("job's", &qos.job)]);
    for (whose, limits) in all {
        if let Some((name, limit)) = limits.iter().find(|(name, limit)| of(name) > **limit) {
            let asked = of(name);
            return Some(format!(
                "it asks for {asked} {name}; QOS {} has a {whose} limit of {limit}",
                qos.name
            ));
        }
    }
    for (name, limit) in &qos.node {
        let asked = of(name).div_ceil(nodes.max(1));
        if asked > *limit {
            return Some(format!(
                "it asks for {asked} {name} on a node; QOS {} allows {limit}",
                qos.name
            ));
        }
    }
    if let Some((name, limit)) = qos.least.iter().find(|(name, limit)| of(name) < **limit) {
        let asked = of(name);
        return Some(format!(
            "it asks for {asked} {name}; QOS {} wants {limit} at least",
            qos.name
        ));
    }
    match (qos.max_wall, limit) {
        (Some(most), Some(limit)) if limit > most => Some(format!(
            "its time limit is {limit} s; QOS {} allows {most} s",
            qos.name
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tres(cpu: u64) -> Tres {
        Tres::from([("cpu".to_owned(), cpu)])
    }

    fn job(user: u32, account: u32, cpu: u64) -> Counted {
        Counted {
            tres: tres(cpu),
            user,
            account,
        }
    }

    #[test]
    fn groups_users_and_accounts_have_limits_of_their_own() {
        let qos = Qos {
            group: tres(10),
            user: tres(6),
            account_jobs: Some(2),
            ..Qos::new("q")
        };
        let mut tally = Tally::default();
        tally.start(&job(1, 1, 4));
        assert!(tally.allows(&qos, &job(1, 1, 2)));
        assert!(!tally.allows(&qos, &job(1, 1, 3)), "user");
        assert!(tally.allows(&qos, &job(2, 1, 6)));
        assert!(!tally.allows(&qos, &job(2, 2, 7)), "group");
        tally.start(&job(2, 1, 2));
        assert!(!tally.allows(&qos, &job(3, 1, 1)), "account");
        assert!(tally.allows(&qos, &job(3, 2, 1)));
        tally.end(&job(2, 1, 2));
        assert!(tally.allows(&qos, &job(3, 1, 1)));
    }

    #[test]
    fn jobs_beyond_a_limit_never_start() {
        let qos = Qos {
            job: tres(8),
            least: tres(2),
            max_wall: Some(3600),
            ..Qos::new("q")
        };
        assert_eq!(never(&qos, &tres(8), 1, Some(3600)), None);
        assert!(
            never(&qos, &tres(9), 1, None)
                .unwrap()
                .contains("limit of 8")
        );
        assert!(never(&qos, &tres(1), 1, None).unwrap().contains("at least"));
        assert!(
            never(&qos, &tres(4), 1, Some(3601))
                .unwrap()
                .contains("time limit")
        );
    }
}
