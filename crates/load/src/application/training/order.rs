//! In which order a stage of the pipeline works on micro-batches.

use serde::{Deserialize, Serialize};

/// In which order a stage of the pipeline works on the micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, odonata_declare::Named)]
pub enum Schedule {
    /// All forward, then all backward in the opposite order (Huang et al.: *GPipe*,
    /// NeurIPS 2019).
    #[serde(rename = "gpipe")]
    Gpipe,
    /// As few forward as fill the pipeline, then one forward and one backward in
    /// turn (Narayanan et al. 2021, PipeDream-Flush, 1F1B).
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    /// The same with `chunks` stages on each rank, which shortens the idle time by as much
    /// (Narayanan et al. 2021, section 2.2).
    #[serde(rename = "interleaved")]
    Interleaved,
    /// The way back in two parts, the gradients of activations, which other stages wait for, and
    /// those of weights, which fill idle time (Qi et al.: *Zero Bubble Pipeline Parallelism*, ICLR
    /// 2024, schedule ZB-H1).
    #[serde(rename = "zero-bubble")]
    ZeroBubble,
}

/// What is computed of a micro-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Forward,
    /// Gradients of activations and weights, or of activations alone where those of weights come by
    /// themselves.
    Backward,
    Weights,
}

/// A micro-batch on its way through a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub micro_batch: u32,
    pub pass: Pass,
    /// Which of the stages of its rank.
    pub chunk: u32,
}

/// The order on all ranks of a pipeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub schedule: Schedule,
    pub micro_batches: u32,
    pub ranks: u32,
    /// Stages of a rank.
    pub chunks: u32,
}

impl Order {
    /// Way number `number` of a rank of the pipeline; `None` after the last one.
    pub fn way(&self, rank: u32, number: u32) -> Option<Way> {
        let all = self.micro_batches;
        let way = |pass, micro_batch| {
            Some(Way {
                micro_batch,
                pass,
                chunk: 0,
            })
        };
        let behind = self.ranks - 1 - rank;
        match self.schedule {
            Schedule::ZeroBubble => return self.zero_bubble(rank, number),
            Schedule::Interleaved => return self.interleaved(rank, number),
            _ if number >= 2 * all => return None,
            _ => {}
        }
        if self.schedule == Schedule::Gpipe {
            return match number < all {
                true => way(Pass::Forward, number),
                false => way(Pass::Backward, 2 * all - 1 - number),
            };
        }
        let (forward, place) = in_turn(number, behind.min(all), all);
        way(
            if forward {
                Pass::Forward
            } else {
                Pass::Backward
            },
            place,
        )
    }

    /// As Megatron-LM: the micro-batches go through the first stage of all ranks, as many as there
    /// are ranks, then through the second, and so on.
    fn interleaved(&self, rank: u32, number: u32) -> Option<Way> {
        let all = self.micro_batches * self.chunks;
        if number >= 2 * all {
            return None;
        }
        let filling = 2 * (self.ranks - 1 - rank) + (self.chunks - 1) * self.ranks;
        let (forward, place) = in_turn(number, filling.min(all), all);
        let round = self.ranks * self.chunks;
        let chunk = place % round / self.ranks;
        Some(Way {
            micro_batch: place / round * self.ranks + place % self.ranks,
            pass: if forward {
                Pass::Forward
            } else {
                Pass::Backward
            },
            chunk: if forward {
                chunk
            } else {
                self.chunks - 1 - chunk
            },
        })
    }

    /// As 1F1B, and each gradient of weights as many micro-batches after that of activations as
    /// there are ranks before this one.
    fn zero_bubble(&self, rank: u32, number: u32) -> Option<Way> {
        let all = self.micro_batches;
        let filling = (self.ranks - 1 - rank).min(all);
        let late = rank.min(all);
        let way = |pass, micro_batch| {
            Some(Way {
                micro_batch,
                pass,
                chunk: 0,
            })
        };
        let Some(mut rest) = number.checked_sub(filling) else {
            return way(Pass::Forward, number);
        };
        // A turn of micro-batch k: forward of k + filling, backward of k, weights of k - late, each
        // where there is such a micro-batch.
        let turns = [all - filling, late, all];
        let (mut from, limits) = (0, {
            let mut limits = turns;
            limits.sort_unstable();
            limits
        });
        for until in limits {
            let passes = [
                (from < turns[0]).then_some((Pass::Forward, filling)),
                Some((Pass::Backward, 0)),
                (from >= late).then_some((Pass::Weights, 0)),
            ];
            let count = passes.iter().flatten().count() as u32;
            let here = count * (until - from);
            if rest < here {
                let turn = from + rest / count;
                let (pass, ahead) = *passes.iter().flatten().nth((rest % count) as usize)?;
                let micro_batch = match pass {
                    Pass::Weights => turn - late,
                    _ => turn + ahead,
                };
                return way(pass, micro_batch);
            }
            rest -= here;
            from = until;
        }
        let left = all - late + rest;
        (left < all).then(|| way(Pass::Weights, left)).flatten()
    }

    /// Whether it is the last way of a stage whose gradients of weights are there at its end.
    pub fn is_last(&self, way: Way) -> bool {
        let last = match self.schedule {
            Schedule::Gpipe => 0,
            _ => self.micro_batches - 1,
        };
        self.has_weights(way) && way.micro_batch == last
    }

    /// Whether a way ends with the gradients of weights.
    pub fn has_weights(&self, way: Way) -> bool {
        match self.schedule {
            Schedule::ZeroBubble => way.pass == Pass::Weights,
            _ => way.pass == Pass::Backward,
        }
    }
}

/// Forward until the pipeline is filled, then forward and backward in turn, then backward: whether
/// a number is of a way forward, and which of those it is.
fn in_turn(number: u32, filling: u32, all: u32) -> (bool, u32) {
    let steady = 2 * (all - filling);
    match number.checked_sub(filling) {
        None => (true, number),
        Some(number) if number < steady => {
            let (forward, pair) = (number.is_multiple_of(2), number / 2);
            (forward, if forward { filling + pair } else { pair })
        }
        Some(number) => (false, number - steady / 2),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// The time of all ways where each takes what it takes and messages nothing.
    fn time(order: &Order, takes: impl Fn(Pass) -> u64) -> u64 {
        let stages = order.ranks * order.chunks;
        let mut done: HashMap<(u32, u32, bool), u64> = HashMap::new();
        let mut at = vec![(0u32, 0u64); order.ranks as usize];
        loop {
            let mut moved = false;
            for rank in 0..order.ranks {
                while let Some(way) = order.way(rank, at[rank as usize].0) {
                    let stage = way.chunk * order.ranks + rank;
                    let needs = match way.pass {
                        Pass::Forward if stage > 0 => Some((way.micro_batch, stage - 1, true)),
                        Pass::Forward => None,
                        Pass::Backward if stage + 1 < stages => {
                            Some((way.micro_batch, stage + 1, false))
                        }
                        Pass::Backward => Some((way.micro_batch, stage, true)),
                        Pass::Weights => Some((way.micro_batch, stage, false)),
                    };
                    let ready = match needs {
                        None => 0,
                        Some(key) => match done.get(&key) {
                            Some(&ready) => ready,
                            None => break,
                        },
                    };
                    let (number, free) = &mut at[rank as usize];
                    *free = (*free).max(ready) + takes(way.pass);
                    *number += 1;
                    if way.pass != Pass::Weights {
                        let forward = way.pass == Pass::Forward;
                        assert!(
                            done.insert((way.micro_batch, stage, forward), *free)
                                .is_none(),
                            "{way:?} twice"
                        );
                    }
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        assert_eq!(done.len() as u32, 2 * stages * order.micro_batches);
        at.iter().map(|&(_, free)| free).max().unwrap()
    }

    fn order(schedule: Schedule, micro_batches: u32, ranks: u32, chunks: u32) -> Order {
        Order {
            schedule,
            micro_batches,
            ranks,
            chunks,
        }
    }

    #[test]
    fn a_pipeline_is_idle_as_its_papers_say() {
        // (p - 1) times a micro-batch of a stage; interleaved a stage is that much shorter (SC 2021,
        // sections 2.2.1 and 2.2.2): with backward twice forward the share of (p - 1) / (v m + p - 1).
        let takes = |pass| if pass == Pass::Forward { 1 } else { 2 };
        for (p, m, v) in [(4, 8, 2), (2, 4, 3), (4, 4, 4), (8, 16, 2), (4, 12, 1)] {
            let (p, m, v) = (p as u32, m as u32, v as u32);
            let busy = u64::from(3 * m * v);
            let idle = u64::from(3 * (p - 1));
            let found = time(&order(Schedule::Interleaved, m, p, v), takes);
            assert_eq!(found, busy + idle, "interleaved {p} {m} {v}");
            for schedule in [Schedule::Gpipe, Schedule::OneForwardOneBackward] {
                let found = time(&order(schedule, m, p, 1), takes);
                assert_eq!(found, u64::from(3 * m) + idle, "{schedule:?} {p} {m}");
            }
        }
    }

    #[test]
    fn gradients_of_weights_fill_idle_time() {
        // (p - 1) (forward + backward - weights) of ZB-H1 (Qi et al. 2024, table 1).
        for (p, m) in [(4, 8), (2, 2), (8, 8), (8, 24), (1, 3)] {
            let found = time(&order(Schedule::ZeroBubble, m, p, 1), |_| 1);
            assert_eq!(found, u64::from(3 * m + (p - 1)), "{p} {m}");
        }
    }

    #[test]
    fn every_weight_has_its_gradient_once() {
        for (p, m) in [(4, 8), (4, 2), (1, 3), (5, 1)] {
            let order = order(Schedule::ZeroBubble, m, p, 1);
            for rank in 0..p {
                let ways: Vec<Way> = (0..).map_while(|at| order.way(rank, at)).collect();
                assert_eq!(ways.len() as u32, 3 * m, "{p} {m} {rank}");
                for pass in [Pass::Forward, Pass::Backward, Pass::Weights] {
                    let found: Vec<u32> = ways
                        .iter()
                        .filter(|way| way.pass == pass)
                        .map(|way| way.micro_batch)
                        .collect();
                    assert_eq!(found, (0..m).collect::<Vec<_>>());
                }
            }
        }
    }
}
