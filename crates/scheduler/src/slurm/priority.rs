//! Priorities: `priority/multifactor` with Fair Tree, and usage that decays.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::cluster::{Association, Weights};

/// The tree of accounts and users, and what they have used.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    entries: Vec<Entry>,
    /// Leaves by account and user.
    leaves: HashMap<(String, String), usize>,
    /// Fair-share factor of each entry, as of the last ranking.
    factors: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Entry {
    parent: Option<usize>,
    children: Vec<usize>,
    shares: f64,
    user: bool,
    /// Decayed use (CPU-seconds, say), and what it grows by each second.
    usage: f64,
    rate: f64,
}

impl Entry {
    fn new(parent: Option<usize>, shares: f64, user: bool) -> Self {
        Self {
            parent,
            children: Vec::new(),
            shares,
            user,
            usage: 0.0,
            rate: 0.0,
        }
    }
}

impl Shares {
    /// The tree of these associations. Accounts and users of `seen` (account, user) that
    /// are in none get a share of 1 each, accounts under the root.
    ///
    /// # Errors
    /// If an account is below itself, or below one that there is not.
    pub fn new<'a>(
        associations: &[Association],
        seen: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, String> {
        let mut entries = vec![Entry::new(None, 1.0, false)];
        let mut accounts: HashMap<&str, usize> = HashMap::from([("root", 0)]);
        for one in associations.iter().filter(|one| one.user.is_none()) {
            if one.account != "root" {
                let next = entries.len();
                if accounts.insert(&one.account, next).is_none() {
                    entries.push(Entry::new(None, one.shares, false));
                }
            }
        }
        for one in associations.iter().filter(|one| one.user.is_none()) {
            let number = accounts[one.account.as_str()];
            if number > 0 {
                let parent = one.parent.as_deref().unwrap_or("root");
                let above = accounts.get(parent).ok_or_else(|| {
                    format!(
                        "account \"{}\" is below \"{parent}\", which there is not",
                        one.account
                    )
                })?;
                entries[number].parent = Some(*above);
            }
        }
        for start in 1..entries.len() {
            let mut at = start;
            for _ in 0..entries.len() {
                at = entries[at].parent.unwrap_or(0);
            }
            if at != 0 {
                return Err("an account is below itself".to_owned());
            }
        }
        let mut leaves: HashMap<(String, String), usize> = HashMap::new();
        let mut own: HashMap<String, usize> = HashMap::new();
        let given = associations.iter().filter_map(|one| {
            let user = one.user.as_deref()?;
            Some((one.account.as_str(), user, one.shares))
        });
        let seen = seen.map(|(account, user)| (account, user, 1.0));
        for (account, user, shares) in given.chain(seen) {
            let key = (account.to_owned(), user.to_owned());
            if leaves.contains_key(&key) {
                continue;
            }
            let parent = match accounts.get(account).or_else(|| own.get(account)) {
                Some(&parent) => parent,
                None => {
                    entries.push(Entry::new(Some(0), 1.0, false));
                    own.insert(account.to_owned(), entries.len() - 1);
                    entries.len() - 1
                }
            };
            leaves.insert(key, entries.len());
            entries.push(Entry::new(Some(parent), shares, true));
        }
        for number in 0..entries.len() {
            if let Some(parent) = entries[number].parent {
                entries[parent].children.push(number);
            }
        }
        let factors = vec![1.0; entries.len()];
        Ok(Self {
            entries,
            leaves,
            factors,
        })
    }

    /// The number of a user in an account.
    pub fn leaf(&self, account: &str, user: &str) -> Option<usize> {
        self.leaves
            .get(&(account.to_owned(), user.to_owned()))
            .copied()
    }

    /// A job of the leaf starts, or (with a negative rate) ends.
    pub fn change(&mut self, leaf: usize, rate: f64) {
        let mut at = Some(leaf);
        while let Some(number) = at {
            self.entries[number].rate += rate;
            at = self.entries[number].parent;
        }
    }

    /// Adds what was used in `passed` seconds, after halving what is older.
    pub fn advance(&mut self, passed: f64, half_life: f64) {
        if passed <= 0.0 {
            return;
        }
        let (keep, gained) = if half_life <= 0.0 {
            (1.0, passed)
        } else {
            let rate = std::f64::consts::LN_2 / half_life;
            let keep = (-rate * passed).exp();
            (keep, (1.0 - keep) / rate)
        };
        for entry in &mut self.entries {
            entry.usage = entry.usage * keep + entry.rate * gained;
        }
    }

    /// Computes the factors anew.
    pub fn rank(&mut self, weights: &Weights) {
        if weights.fair_tree {
            let users = self.entries.iter().filter(|entry| entry.user).count();
            let mut rank = users;
            let mut seen = 0;
            let mut factors = std::mem::take(&mut self.factors);
            self.rank_below(&[0], users, &mut rank, &mut seen, &mut factors);
            self.factors = factors;
            return;
        }
        let total = self.entries[0].usage;
        for number in 0..self.entries.len() {
            let mut share = 1.0;
            let mut at = number;
            while let Some(parent) = self.entries[at].parent {
                share *= self.share(at);
                at = parent;
            }
            let used = if total > 0.0 {
                self.entries[number].usage / total
            } else {
                0.0
            };
            self.factors[number] = if share > 0.0 {
                (-used / share / weights.damping).exp2()
            } else {
                0.0
            };
        }
    }

    /// Its part of the shares of its siblings.
    fn share(&self, number: usize) -> f64 {
        let Some(parent) = self.entries[number].parent else {
            return 1.0;
        };
        let siblings = &self.entries[parent].children;
        let sum: f64 = siblings.iter().map(|&one| self.entries[one].shares).sum();
        if sum > 0.0 {
            self.entries[number].shares / sum
        } else {
            0.0
        }
    }

    /// Share over use, both among siblings: above 1 for who has used less than their share.
    fn level(&self, number: usize) -> f64 {
        let share = self.share(number);
        if share <= 0.0 {
            return 0.0;
        }
        let siblings = self.entries[number]
            .parent
            .map(|parent| &self.entries[parent].children);
        let used: f64 = siblings.map_or(0.0, |all| {
            all.iter().map(|&one| self.entries[one].usage).sum()
        });
        if used <= 0.0 || self.entries[number].usage <= 0.0 {
            return f64::INFINITY;
        }
        share / (self.entries[number].usage / used)
    }

    /// Fair Tree: the children of these accounts (which tie) by level, depth first. Users
    /// get ranks, equal ones if their levels are equal; accounts of equal levels are
    /// walked together.
    fn rank_below(
        &self,
        accounts: &[usize],
        users: usize,
        rank: &mut usize,
        seen: &mut usize,
        factors: &mut [f64],
    ) {
        let children = accounts.iter().flat_map(|&one| &self.entries[one].children);
        let mut children: Vec<(f64, usize)> =
            children.map(|&child| (self.level(child), child)).collect();
        let order = |a: &(f64, usize), b: &(f64, usize)| {
            // Of a user and an account of one level, the user goes first.
            let users = self.entries[b.1].user.cmp(&self.entries[a.1].user);
            b.0.total_cmp(&a.0).then(users).then(a.1.cmp(&b.1))
        };
        children.sort_by(order);
        let mut at = 0;
        while at < children.len() {
            let (level, first) = children[at];
            let alike = |&&(other, child): &&(f64, usize)| {
                other.total_cmp(&level) == Ordering::Equal
                    && self.entries[child].user == self.entries[first].user
            };
            let tied: Vec<usize> = children[at..]
                .iter()
                .take_while(alike)
                .map(|&(_, child)| child)
                .collect();
            at += tied.len();
            if self.entries[first].user {
                for &user in &tied {
                    factors[user] = *rank as f64 / users as f64;
                    *seen += 1;
                }
                *rank = users - *seen;
            } else {
                self.rank_below(&tied, users, rank, seen, factors);
            }
        }
    }

    /// The fair-share factor of a leaf, 0 to 1.
    pub fn factor(&self, leaf: Option<usize>) -> f64 {
        leaf.map_or(0.0, |leaf| self.factors[leaf])
    }
}

/// What the multifactor priority looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factors {
    pub wait: i64,
    /// Nodes and CPUs over those of the cluster.
    pub nodes: f64,
    pub cpus: f64,
    pub fair_share: f64,
    /// Factor of the partition over the greatest one; the same of the QOS.
    pub partition: f64,
    pub qos: f64,
    /// Weighted sum of resources over those of the partition.
    pub tres: f64,
    pub nice: i64,
}

/// The multifactor priority.
pub(super) fn multifactor(weights: &Weights, job: &Factors) -> u64 {
    let age = (job.wait.max(0) as f64 / weights.max_age_s.max(1) as f64).min(1.0);
    let share = (job.nodes + job.cpus) / 2.0;
    let size = if weights.favour_small {
        1.0 - share
    } else {
        share
    };
    let sum = weights.age * age
        + weights.fair_share * job.fair_share
        + weights.job_size * size.clamp(0.0, 1.0)
        + weights.partition * job.partition
        + weights.qos * job.qos
        + job.tres
        - job.nice as f64;
    // 0 is a held job.
    sum.clamp(1.0, 4_294_967_294.0) as u64
}

#[cfg(test)]
mod tests;
