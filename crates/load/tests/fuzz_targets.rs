//! The fuzz targets compile with the readers as they are, and hold on a few inputs: cargo-fuzz
//! builds them apart from the project, with a nightly compiler, so that nothing else would
//! notice a target that has fallen behind.

// What a target takes from libFuzzer it finds here.
extern crate self as libfuzzer_sys;

/// What libFuzzer would call, as a function of the target's module.
macro_rules! function_of {
    (|$data:ident: &[u8]| $body:block) => {
        pub fn run($data: &[u8]) $body
    };
}
pub(crate) use function_of as fuzz_target;

// That a program has no main function is said at the top of a target's file.
#[allow(unused_attributes)]
#[path = "../fuzz/fuzz_targets/matrix.rs"]
mod matrix;
#[allow(unused_attributes)]
#[path = "../fuzz/fuzz_targets/replay.rs"]
mod replay;

/// A matrix, a schedule of two ranks, a connection matrix, nothing.
const SEEDS: [&str; 4] = [
    "src,dst,bytes,messages\n0,1,100,2\n1,2,5,1\n",
    "num_ranks 2\nrank 0 {\na: calc 5\nb: send 8b to 1 tag 3\nb requires a\n}\n\
     rank 1 {\nc: recv 8b from 0 tag 3\n}\n",
    "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 10\n",
    "",
];

#[test]
fn targets_hold_on_small_inputs() {
    for seed in SEEDS {
        for target in [matrix::run as fn(&[u8]), replay::run] {
            target(seed.as_bytes());
            for place in (0..seed.len()).step_by(3) {
                let mut changed = seed.as_bytes().to_vec();
                changed[place] = b'7';
                target(&changed);
                target(&seed.as_bytes()[..place]);
            }
        }
    }
}
