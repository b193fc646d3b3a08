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

macro_rules! targets {
    ($($name:ident: $file:literal,)*) => {
        $(
            // That a program has no main function is said at the top of the target's file.
            #[allow(unused_attributes)]
            #[path = $file]
            mod $name;
        )*
        /// Every target.
        const TARGETS: &[fn(&[u8])] = &[$($name::run),*];
    };
}

targets! {
    chakra: "../fuzz/fuzz_targets/chakra.rs",
    dumpi: "../fuzz/fuzz_targets/dumpi.rs",
    goal_binary: "../fuzz/fuzz_targets/goal_binary.rs",
    goal_text: "../fuzz/fuzz_targets/goal_text.rs",
    lists: "../fuzz/fuzz_targets/lists.rs",
    otf2_definitions: "../fuzz/fuzz_targets/otf2_definitions.rs",
    otf2_events: "../fuzz/fuzz_targets/otf2_events.rs",
}

/// A schedule, a connection matrix, packets; the others begin as binary files do.
const SEEDS: [&[u8]; 6] = [
    b"num_ranks 2\nrank 0 {\na: calc 5\nb: send 8b to 1 tag 3\nb requires a\n}\n\
      rank 1 {\nc: recv 8b from 0 tag 3\n}\n",
    b"\x07\x0a\x050.0.4\x18\x08\x01\x18\x07\x22\x01\x02R\x0f\n\tcomm_sizeH\x80\x80@",
    b"Nodes 4\nConnections 1\n0->1 id 1 start 0 size 10\n",
    b"0,0,1,64\n5,1,0,64\n",
    &[
        3, 0x42, 1, 0, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
    ],
    &[],
];

#[test]
fn targets_hold_on_small_inputs() {
    for target in TARGETS {
        for seed in SEEDS {
            target(seed);
            for place in 0..seed.len() {
                for byte in [0, b'9', b' ', 0xff] {
                    let mut changed = seed.to_vec();
                    changed[place] = byte;
                    target(&changed);
                }
                target(&seed[..place]);
            }
        }
    }
}
