//! What a job asked Slurm for, as its logs and listings write it.

use super::number;

/// A generic resource: `gpu`, `gpu:a100`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gres {
    /// Its name.
    pub name: Box<str>,
    /// Its type, where one is named.
    pub kind: Option<Box<str>>,
    /// How many.
    pub count: u64,
}

/// Memory that a job asked for, MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Memory of each node; 0: all that it has.
    PerNode(u64),
    /// Memory of each CPU.
    PerCpu(u64),
}

/// What a job asked Slurm for. What is `None` or empty was not asked for, or the log
/// does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Least number of nodes; 0 where unknown.
    pub min_nodes: u32,
    /// Greatest number of nodes.
    pub max_nodes: Option<u32>,
    /// CPUs, together; 0 where unknown.
    pub cpus: u32,
    /// Tasks.
    pub tasks: Option<u32>,
    /// CPUs of each task.
    pub cpus_per_task: Option<u32>,
    /// Tasks on each node, at most.
    pub tasks_per_node: Option<u32>,
    /// CPUs of each node, at least.
    pub min_cpus_per_node: Option<u32>,
    /// Memory.
    pub memory: Option<Memory>,
    /// Features of its nodes, as an expression (`fat&(a|b)`).
    pub features: Option<Box<str>>,
    /// Generic resources on each node.
    pub gres: Vec<Gres>,
    /// Whether it asked for nodes of its own.
    pub exclusive: bool,
    /// Nodes that it must have, as a list.
    pub required_nodes: Option<Box<str>>,
    /// Nodes that it must not have, as a list.
    pub excluded_nodes: Option<Box<str>>,
    /// Its priority, as Slurm computed it.
    pub priority: Option<u64>,
    /// Its nice value.
    pub nice: i64,
    /// Whether somebody waits for it (`salloc`, `srun`) instead of a script.
    pub interactive: bool,
}

impl Request {
    /// Takes trackable resources such as `cpu=4,mem=8G,node=2,gres/gpu:a100=4`, which
    /// count the whole job.
    ///
    /// # Errors
    /// The entry that is damaged.
    pub(super) fn take_tres(&mut self, list: &str) -> Result<(), String> {
        let mut gres: Vec<Gres> = Vec::new();
        let mut memory = None;
        for entry in list.split(',').filter(|entry| !entry.is_empty()) {
            let damaged = || format!("\"{entry}\" of the resources \"{list}\"");
            let (name, amount) = entry.split_once('=').ok_or_else(damaged)?;
            match name {
                "cpu" => self.cpus = amount.parse().map_err(|_| damaged())?,
                "node" => self.min_nodes = amount.parse().map_err(|_| damaged())?,
                "mem" => memory = Some(mebibytes(amount, 'M').ok_or_else(damaged)?),
                _ => {
                    if let Some(name) = name.strip_prefix("gres/") {
                        let (name, kind) = match name.split_once(':') {
                            Some((name, kind)) => (name, Some(kind.into())),
                            None => (name, None),
                        };
                        let count = suffixed(amount).ok_or_else(damaged)?;
                        let name = name.into();
                        gres.push(Gres { name, kind, count });
                    }
                }
            }
        }
        let nodes = u64::from(self.min_nodes.max(1));
        if let Some(total) = memory {
            self.memory
                .get_or_insert(Memory::PerNode(total.div_ceil(nodes)));
        }
        // `gres/gpu=4,gres/gpu:a100=4` counts the same four twice.
        let typed = |name: &str| {
            gres.iter()
                .any(|one| *one.name == *name && one.kind.is_some())
        };
        for one in &gres {
            if one.count > 0 && (one.kind.is_some() || !typed(&one.name)) {
                let count = one.count.div_ceil(nodes);
                self.gres.push(Gres {
                    count,
                    ..one.clone()
                });
            }
        }
        Ok(())
    }

    /// Takes a job's generic resources per node as it wrote them: `gres/gpu:a100:2`,
    /// `gpu:2,fast`.
    ///
    /// # Errors
    /// The entry that is damaged.
    pub(super) fn take_gres_per_node(&mut self, list: &str) -> Result<(), String> {
        self.gres = gres_list(list)?;
        Ok(())
    }
}

/// Generic resources as nodes and jobs list them: `gpu:a100:4(S:0-1),fast:1`.
///
/// # Errors
/// The entry that is damaged.
pub(crate) fn gres_list(list: &str) -> Result<Vec<Gres>, String> {
    let mut found = Vec::new();
    let mut depth = 0;
    // Commas inside parentheses (`(IDX:0-1,4)`) separate nothing.
    let outside = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    for entry in list
        .split(outside)
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
    {
        let damaged = || format!("\"{entry}\" of the generic resources \"{list}\"");
        let plain = entry.split('(').next().unwrap_or(entry);
        let plain = plain
            .trim_start_matches("gres/")
            .trim_start_matches("gres:");
        let parts: Vec<&str> = plain.split([':', '=']).collect();
        let (name, kind, count) = match parts[..] {
            [name] => (name, None, 1),
            [name, last] => match suffixed(last) {
                Some(count) => (name, None, count),
                None => (name, Some(last), 1),
            },
            [name, kind, count] => (name, Some(kind), suffixed(count).ok_or_else(damaged)?),
            _ => return Err(damaged()),
        };
        if name.is_empty() {
            return Err(damaged());
        }
        found.push(Gres {
            name: name.into(),
            kind: kind.map(Into::into),
            count,
        });
    }
    Ok(found)
}

/// A count with Slurm's suffixes (powers of 1024).
fn suffixed(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (&text[..at], 1 << 10),
        (at, 'M' | 'm') => (&text[..at], 1 << 20),
        (at, 'G' | 'g') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    u64::try_from(number::whole(digits)?.0)
        .ok()?
        .checked_mul(factor)
}

/// MiB of an amount such as `8G`, `112.50T`, `1000M`, in `unit` where it has none; what is
/// left of a MiB counts as one.
pub(crate) fn mebibytes(text: &str, unit: char) -> Option<u64> {
    let (digits, unit) = match text.char_indices().next_back()? {
        (at, last) if last.is_ascii_alphabetic() => (&text[..at], last),
        _ => (text, unit),
    };
    let kib = match unit.to_ascii_uppercase() {
        'K' => 1.0,
        'M' => 1024.0,
        'G' => 1024.0 * 1024.0,
        'T' => 1024.0 * 1024.0 * 1024.0,
        'P' => 1024.0f64.powi(4),
        _ => return None,
    };
    let sound = !digits.is_empty()
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = sound.then(|| digits.parse().ok()).flatten()?;
    let mebibytes = (value * kib / 1024.0).ceil();
    (mebibytes < 1e15).then_some(mebibytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gres(name: &str, kind: Option<&str>, count: u64) -> Gres {
        Gres {
            name: name.into(),
            kind: kind.map(Into::into),
            count,
        }
    }

    #[test]
    fn resources_of_a_job_are_those_of_its_nodes() {
        let mut request = Request::default();
        let list = "billing=32,cpu=32,gres/gpu:a100=4,gres/gpu=4,mem=128G,node=2";
        request.take_tres(list).unwrap();
        assert_eq!((request.cpus, request.min_nodes), (32, 2));
        assert_eq!(request.memory, Some(Memory::PerNode(64 * 1024)));
        assert_eq!(request.gres, [gres("gpu", Some("a100"), 2)]);
        assert!(Request::default().take_tres("cpu=many").is_err());
    }

    #[test]
    fn generic_resources_have_types_and_counts() {
        let found = gres_list("gpu:a100:4(S:0-1),gres/fast,gpu:2(IDX:0,3),nic:blue").unwrap();
        let expected = [
            gres("gpu", Some("a100"), 4),
            gres("fast", None, 1),
            gres("gpu", None, 2),
            gres("nic", Some("blue"), 1),
        ];
        assert_eq!(found, expected);
        assert!(gres_list("gpu:a:b:c").is_err());
        assert!(gres_list(":2").is_err());
    }

    #[test]
    fn memory_has_units() {
        assert_eq!(mebibytes("112.50T", 'M'), Some(117_964_800));
        assert_eq!(mebibytes("1000", 'M'), Some(1000));
        assert_eq!(mebibytes("1025K", 'M'), Some(2));
        for text in ["", "G", "1X", "-1G", "1e3M", "٣G"] {
            assert_eq!(mebibytes(text, 'M'), None, "{text}");
        }
    }
}
