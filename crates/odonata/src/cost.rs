//! What a run costs the machine it runs on: CPU time and memory.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// CPU and wall time of a piece of work, and the memory of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Cost {
    /// CPU time of all threads of the process during the work.
    pub cpu_seconds: f64,
    /// Wall time.
    pub wall_seconds: f64,
    /// Largest resident memory of the process so far; 0 where the system does
    /// not tell (it does on Linux).
    pub peak_rss_bytes: u64,
}

impl Cost {
    /// The cost of two pieces of work in two processes.
    #[must_use]
    pub fn after(self, before: Self) -> Self {
        Self {
            cpu_seconds: before.cpu_seconds + self.cpu_seconds,
            wall_seconds: before.wall_seconds + self.wall_seconds,
            peak_rss_bytes: before.peak_rss_bytes.max(self.peak_rss_bytes),
        }
    }
}

/// Runs `work` and says what it cost.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let meter = Meter::start();
    let value = work();
    (value, meter.cost())
}

/// Measures what a piece of work costs, from its beginning on.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// A system without a process clock shows no CPU time, rather than no results.
    cpu: Option<ProcessTime>,
    wall: Instant,
}

impl Meter {
    /// Begins.
    pub fn start() -> Self {
        Self {
            cpu: ProcessTime::try_now().ok(),
            wall: Instant::now(),
        }
    }

    /// The cost so far.
    pub fn cost(&self) -> Cost {
        let cpu_time = self.cpu.and_then(|start| start.try_elapsed().ok());
        Cost {
            cpu_seconds: cpu_time.unwrap_or(Duration::ZERO).as_secs_f64(),
            wall_seconds: self.wall.elapsed().as_secs_f64(),
            peak_rss_bytes: peak_rss_bytes(),
        }
    }
}

/// Largest resident memory of the process so far; 0 where unknown.
pub fn peak_rss_bytes() -> u64 {
    // The line reads "VmHWM:     12345 kB".
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB"))
        .and_then(|kib| kib.trim().parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_cpu_time_and_sleep_does_not() {
        let (sum, busy) = measured(|| {
            let start = Instant::now();
            let mut sum = 0u64;
            while start.elapsed() < Duration::from_millis(30) {
                sum = std::hint::black_box(sum + 1);
            }
            sum
        });
        assert!(sum > 0 && busy.cpu_seconds > 0.0, "{busy:?}");
        let ((), idle) = measured(|| std::thread::sleep(Duration::from_millis(30)));
        assert!(idle.wall_seconds >= 0.03, "{idle:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_is_known_on_linux() {
        // A test binary holds at least a megabyte and less than a terabyte.
        assert!((1 << 20..1 << 40).contains(&peak_rss_bytes()));
    }
}
