//! Speed-ups from a table: what a job's communication gains by the traffic that it
//! has and its size, without regard to other jobs (Feng et al. 2023, section 5.1.4).

use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{Allocation, Network};
use odonata_scheduler::log::JobLog;

use super::jobs::Communication;
use super::level::Level;
use super::spec::{SpeedUpSpec, wrong};
use crate::error::Error;

impl SpeedUpSpec {
    fn check(&self) -> Result<(), Error> {
        let allowed = if self.nodes.is_empty() || self.nodes.len() != self.speed_up.len() {
            "as many sizes as gains, at least one"
        } else if self.nodes[0] == 0 || !self.nodes.is_sorted_by(|a, b| a < b) {
            "sizes from 1 in ascending order, each once"
        } else if !self
            .speed_up
            .iter()
            .all(|&gain| gain < 1.0 && gain.is_finite())
        {
            "gains below 1, the part of the communication's time that is saved"
        } else {
            return Ok(());
        };
        let found = format!("{}: {:?} → {:?}", self.traffic, self.nodes, self.speed_up);
        Err(wrong("speed_ups", found, allowed))
    }

    /// The gain of a job of this size.
    fn of(&self, nodes: u32) -> f64 {
        let above = self.nodes.partition_point(|&size| size < nodes);
        let (Some(below), true) = (above.checked_sub(1), above < self.nodes.len()) else {
            return self.speed_up[above.min(self.nodes.len() - 1)];
        };
        let place = |size: u32| f64::from(size).log2();
        let (low, high) = (place(self.nodes[below]), place(self.nodes[above]));
        let share = (place(nodes) - low) / (high - low);
        self.speed_up[below] * (1.0 - share) + self.speed_up[above] * share
    }
}

/// Every job has a speed of its own.
pub(super) struct Table {
    /// Shape: jobs of the log.
    speeds: Vec<f64>,
    begun: Vec<u32>,
}

impl Table {
    pub(super) fn new(
        log: &JobLog,
        jobs: &[Communication],
        traffics: &[String],
        speed_ups: &[SpeedUpSpec],
    ) -> Result<Self, Error> {
        for spec in speed_ups {
            spec.check()?;
        }
        let find = |traffic: &String| {
            let found = speed_ups.iter().find(|spec| spec.traffic == *traffic);
            found.ok_or_else(|| {
                let known: Vec<&str> = speed_ups.iter().map(|one| one.traffic.as_str()).collect();
                let allowed = format!("traffics with a speed-up: {}", known.join(", "));
                wrong("mix", traffic, allowed)
            })
        };
        let of_traffic = traffics.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let speed = |(job, communication): (&odonata_scheduler::log::Job, &Communication)| {
            let gain = communication
                .traffic
                .map_or(0.0, |traffic| of_traffic[traffic as usize].of(job.nodes));
            // Accelerated time = time − communication time × speed-up.
            1.0 / (1.0 - communication.share * gain)
        };
        Ok(Self {
            speeds: log.jobs.iter().zip(jobs).map(speed).collect(),
            begun: Vec::new(),
        })
    }
}

impl Network for Table {
    fn begin(&mut self, job: u32, _: &Allocation<'_>, _: Seconds, _: Seconds) -> f64 {
        self.begun.push(job);
        0.0
    }

    fn end(&mut self, _: u32, _: Seconds) {}

    fn settle(&mut self, _: Seconds, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        let begun = self.begun.drain(..);
        changed.extend(begun.map(|job| (job, self.speeds[job as usize])));
        Ok(())
    }
}

impl Level for Table {}

#[cfg(test)]
mod tests {
    use odonata_scheduler::log::Job;

    use super::*;

    #[test]
    fn accelerated_time_is_the_equation_of_the_paper() {
        // 1000 s, of which 40 % communication; at 64 nodes 25 % of it is saved, at
        // 256 5 %, so at 128 15 %: 1000 − 400 × 0.15 = 940 s.
        let mut log = JobLog::default();
        for nodes in [16, 64, 128, 256, 512] {
            log.jobs
                .push(Job::new("job", Seconds(0), Seconds(1000), nodes));
        }
        let jobs = [Communication {
            share: 0.4,
            traffic: Some(0),
        }; 5];
        let spec = SpeedUpSpec {
            traffic: "all-to-all".into(),
            nodes: vec![64, 256],
            speed_up: vec![0.25, 0.05],
        };
        let table = Table::new(&log, &jobs, &["all-to-all".into()], &[spec]).unwrap();
        let times: Vec<f64> = table.speeds.iter().map(|speed| 1000.0 / speed).collect();
        for (time, expected) in times.iter().zip([900.0, 900.0, 940.0, 980.0, 980.0]) {
            assert!((time - expected).abs() < 1e-9, "{times:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let bad = |nodes: &[u32], speed_up: &[f64]| {
            let spec = SpeedUpSpec {
                traffic: "x".into(),
                nodes: nodes.to_vec(),
                speed_up: speed_up.to_vec(),
            };
            spec.check().unwrap_err().to_string()
        };
        assert!(bad(&[2], &[1.0]).contains("below 1"));
        assert!(bad(&[4, 2], &[0.1, 0.1]).contains("ascending"));
        assert!(bad(&[4], &[]).contains("as many"));
        let table = Table::new(&JobLog::default(), &[], &["y".into()], &[]);
        assert!(table.err().unwrap().to_string().contains('y'));
    }
}
