//! Which classes of traffic the messages of jobs are of.

use odonata_load::{Sent, messages_of};
use odonata_run::{ClassRule, JobClasses, JobLoad, JobPlan, TrafficClass};
use odonata_units::{Bytes, RankId};

use crate::error::SpecError;
use crate::spec::{Job, Load, MotifKind, Phase, Scenario};

/// Steps of all ranks that are walked through to see whether a key changes something.
const WALKED: u64 = 2_000_000;

/// The classes that phases name, with the keys that do.
fn of_phases(phases: &[Phase], path: &str) -> Vec<(String, String)> {
    let each = phases.iter().enumerate().flat_map(|(position, phase)| {
        let path = format!("{path}[{position}]");
        match phase {
            Phase::Motif(motif) => {
                let own = motif.traffic_class.clone();
                let own = own.map(|name| (format!("{path}.traffic_class"), name));
                let inner = match &motif.kind {
                    MotifKind::Phases { phases } => of_phases(phases, &format!("{path}.phases")),
                    _ => Vec::new(),
                };
                own.into_iter().chain(inner).collect()
            }
            Phase::Repeat(repeat) => of_phases(&repeat.phases, &format!("{path}.phases")),
            Phase::ComputePs(_) => Vec::new(),
        }
    });
    each.collect()
}

/// The same of a job.
fn of_phases_of(job: &Job, position: usize) -> Vec<(String, String)> {
    match &job.load {
        Load::Motif(motif) => match &motif.kind {
            MotifKind::Phases { phases } => {
                of_phases(phases, &format!("job[{position}].motif.phases"))
            }
            _ => Vec::new(),
        },
        Load::Traffic(_) => Vec::new(),
    }
}

/// The classes of the messages of a job.
pub(super) fn classes_of(scenario: &Scenario, position: usize) -> Result<JobClasses, SpecError> {
    let router = &scenario.network.router;
    let job = &scenario.jobs[position];
    let path = |key: &str| format!("job[{position}].{key}");
    let number = |name: &str, key: &str| router.class_number(name, || path(key));
    let mut all = JobClasses::default();
    if let Some(name) = &job.traffic_class {
        all.usual = number(name, "traffic_class")?;
    }
    if let Load::Motif(motif) = &job.load
        && let Some(name) = &motif.traffic_class
    {
        let allowed = "only of a phase; the job's own `traffic_class` names that of all it does";
        let found = format!("\"{name}\"");
        return Err(SpecError::value(
            path("motif.traffic_class"),
            found,
            allowed,
        ));
    }
    for (key, name) in of_phases_of(job, position) {
        all.of_phases |= 1 << router.class_number(&name, || key)?;
    }
    for (place, given) in job.message_classes.iter().enumerate() {
        let key = format!("message_class[{place}]");
        if matches!(job.load, Load::Traffic(_)) {
            let allowed = "only with a motif; all messages of traffic are of its `traffic_class`";
            return Err(SpecError::value(path(&key), "a class", allowed));
        }
        let which = (given.collective, given.up_to_bytes, given.control);
        if matches!(
            which,
            (None, None, false) | (Some(_), _, true) | (_, Some(_), true)
        ) {
            let found = match given.control {
                true => "`control` with `collective` or `up_to`",
                false => "none of them",
            };
            let allowed = "`collective`, `up_to` or both, or `control` alone";
            return Err(SpecError::value(path(&key), found, allowed));
        }
        let class = number(&given.traffic_class, &format!("{key}.traffic_class"))?;
        if !given.control {
            all.rules.push(ClassRule {
                class,
                collective: given.collective,
                up_to: given.up_to_bytes.map(Bytes),
            });
        } else if all.control.replace(class).is_some() {
            let allowed = "one class of a job's control messages";
            return Err(SpecError::value(path(&key), "another one", allowed));
        }
    }
    Ok(all)
}

/// What a walk has come upon.
struct Used {
    /// Whether messages are of another class for each rule.
    rules: Vec<bool>,
    /// Whether what the protocol sends is of another class than its message.
    control: bool,
    /// The classes of phases that no message has been of, a bit each.
    phases_left: u16,
}

impl Used {
    fn see(&mut self, sent: Sent, plan: &JobPlan) {
        let classes = &plan.classes;
        if plan.on_one_node(sent.from.0, sent.to.0) {
            return;
        }
        let rule = classes.rule(sent.bytes, sent.origin);
        let class = classes.of(sent.bytes, sent.origin);
        match rule {
            Some(rule) if self.rules[rule] => {}
            Some(rule) => {
                let later = JobClasses {
                    rules: classes.rules[rule + 1..].to_vec(),
                    ..*classes
                };
                self.rules[rule] = later.of(sent.bytes, sent.origin) != class;
            }
            None => self.phases_left &= sent.origin.class.map_or(!0, |class| !(1 << class)),
        }
        let asks = sent.one_sided || plan.protocol.asks_for(sent.bytes);
        self.control |= asks && classes.control != Some(class);
    }

    fn are_all(&self) -> bool {
        self.control && self.phases_left == 0 && self.rules.iter().all(|used| *used)
    }
}

/// Refuses keys that change the class of no message: the job sends none such to another node, an entry
/// before is for it, or it is of that class anyway. Of a job that takes long to walk through all may be.
pub(super) fn check_use(
    scenario: &Scenario,
    position: usize,
    plan: &JobPlan,
) -> Result<(), SpecError> {
    let JobClasses {
        control,
        rules,
        of_phases,
        ..
    } = &plan.classes;
    let mut used = Used {
        rules: vec![false; rules.len()],
        control: control.is_none(),
        phases_left: *of_phases,
    };
    let JobLoad::Closed(program) = &plan.load else {
        return Ok(());
    };
    let (mut left, mut ranks) = (WALKED, (0..program.ranks()).map(RankId));
    while !used.are_all()
        && let Some(rank) = ranks.next()
    {
        match messages_of(&**program, rank, left, &mut |sent| used.see(sent, plan)) {
            Ok(steps) => left -= steps,
            // What is wrong with a program the run says.
            Err(_) => return Ok(()),
        }
    }
    let job = &scenario.jobs[position];
    let mut of_rules = used.rules.iter();
    for (place, given) in job.message_classes.iter().enumerate() {
        let (is_used, allowed) = match given.control {
            true => (
                used.control,
                "only with messages of another class that ask first (mpi.eager_limit) or go to \
                 [storage]",
            ),
            false => (
                of_rules.next() == Some(&true),
                "messages between nodes that no entry before it is for, and that are of another \
                 class without it",
            ),
        };
        if !is_used {
            let path = format!("job[{position}].message_class[{place}]");
            return Err(SpecError::value(path, "no message of the job", allowed));
        }
    }
    for (key, name) in of_phases_of(job, position) {
        let class = scenario
            .network
            .router
            .class_number(&name, || key.clone())?;
        if used.phases_left & 1 << class != 0 {
            let allowed = "a class for messages between nodes of which `message_class` says none";
            return Err(SpecError::value(
                key,
                format!("\"{name}\", of no message"),
                allowed,
            ));
        }
    }
    Ok(())
}

/// Refuses classes of traffic that nothing names.
pub(crate) fn check_classes(scenario: &Scenario) -> Result<(), SpecError> {
    let classes = &scenario.network.router.traffic_classes;
    let mut named = 0;
    for job in 0..scenario.jobs.len() {
        named |= classes_of(scenario, job)?.bits();
    }
    let unused = (0..classes.len()).find(|class| named & 1 << class == 0);
    unused.map_or(Ok(()), |class| {
        let path = format!("network.router.traffic_class[{class}]");
        let found = format!("\"{}\", which is no job's", classes[class].name);
        let allowed = "a class that a job, a phase of it or its `message_class` names, or the first of \
                       all for jobs that name none";
        Err(SpecError::value(path, found, allowed))
    })
}

/// What a person should know of classes of traffic: sentences, one for each that may get nothing.
pub fn starving_classes(classes: &[TrafficClass]) -> Vec<String> {
    let quoted = |class: &usize| format!("\"{}\"", classes[*class].name);
    let starving = TrafficClass::starving(classes).into_iter();
    let sentence = |(class, above): (usize, Vec<usize>)| {
        let above: Vec<String> = above.iter().map(quoted).collect();
        format!(
            "traffic class {} may get nothing, as what is not guaranteed to others may all go to {}, of \
             higher priority: give it a `guaranteed` share, or them a `largest` one",
            quoted(&class),
            above.join(" and ")
        )
    };
    starving.map(sentence).collect()
}
