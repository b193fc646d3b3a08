//! Every application skeleton runs to its end under any interleaving of its ranks
//! and sends what closed forms say.

mod support;

use odonata_declare::Named;
use odonata_load::application::{
    Amg, Application, ComputeRate, Fft, Gtc, Hacc, Halo3d26, Lulesh, Milc, MiniAmr, Model, Nekbone,
    Schedule, Setting, Skeleton, Sweep3d, Training,
};
use odonata_load::collective::CollectiveCall;
use odonata_load::{LoadError, Member, Program, Totals};
use odonata_units::random::{Purpose, Stream, StreamKey};
use odonata_units::{Bytes, Picoseconds, RankId};
use proptest::prelude::*;
use support::{Ran, Sending, execute};

fn order() -> Stream {
    StreamKey::new(1, Purpose::Routing).stream(0)
}

/// Runs `iterations` of an application on `ranks` ranks without computing.
fn run<S: Skeleton>(skeleton: &S, ranks: u32, iterations: u32) -> Ran {
    let setting = Setting {
        compute_rate: Some(ComputeRate::ComputePs(0)),
        ..Setting::new(ranks)
    };
    let script = skeleton.script(&setting, iterations).unwrap();
    execute(&script, Sending::Rendezvous, &mut order()).unwrap()
}

/// What `ranks` ranks send in a collective.
fn sent(call: &CollectiveCall, ranks: u32) -> Totals {
    let mut sum = Totals::default();
    for rank in 0..ranks {
        let sent = call.sent(Member(rank), ranks);
        sum.bytes = Bytes(sum.bytes.0 + sent.bytes.0);
        sum.messages += sent.messages;
    }
    sum
}

/// What `ranks` ranks send in `count` all-reduces of `bytes` bytes.
fn allreduces(count: u64, bytes: u64, ranks: u32) -> (u64, u64) {
    let call = Setting::new(ranks)
        .algorithms
        .allreduce(Bytes(bytes), ranks);
    let sent = sent(&call, ranks);
    (count * sent.bytes.0, count * sent.messages)
}

/// Bytes and messages of a job without those of its collectives.
fn beside(ran: &Ran, collectives: (u64, u64)) -> (u64, u64) {
    (ran.bytes - collectives.0, ran.messages - collectives.1)
}

/// Bytes and messages that all ranks of an open grid of p × q × r send to all
/// their neighbours, where a face across x has y·z points of `bytes` bytes.
fn neighbours26([p, q, r]: [u64; 3], [x, y, z]: [u64; 3], bytes: u64) -> (u64, u64) {
    let faces = [(p - 1) * q * r, p * (q - 1) * r, p * q * (r - 1)].map(|pairs| 2 * pairs);
    let edges = [
        p * (q - 1) * (r - 1),
        (p - 1) * q * (r - 1),
        (p - 1) * (q - 1) * r,
    ]
    .map(|pairs| 4 * pairs);
    let corners = 8 * (p - 1) * (q - 1) * (r - 1);
    let points = faces[0] * y * z
        + faces[1] * x * z
        + faces[2] * x * y
        + edges[0] * x
        + edges[1] * y
        + edges[2] * z
        + corners;
    let messages = faces.iter().sum::<u64>() + edges.iter().sum::<u64>() + corners;
    (points * bytes, messages)
}

fn plus(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0 + b.0, a.1 + b.1)
}

#[test]
fn halo3d26_sends_faces_edges_and_corners() {
    let halo = Halo3d26 {
        cells: [5, 6, 7],
        variables: 3,
        grid: Some(vec![4, 3, 2]),
        ..Halo3d26::default()
    };
    let ran = run(&halo, 24, 2);
    let (bytes, messages) = neighbours26([4, 3, 2], [5, 6, 7], 3 * 8);
    assert_eq!((ran.bytes, ran.messages), (2 * bytes, 2 * messages));

    // Wrapped around, every rank has 26 neighbours:
    // 2 (30 + 35 + 42) + 4 (5 + 6 + 7) + 8 = 294 points.
    let torus = Halo3d26 {
        grid: Some(vec![3, 3, 3]),
        periodic: true,
        reduce: true,
        ..halo
    };
    let ran = run(&torus, 27, 1);
    let halo = beside(&ran, allreduces(1, 8, 27));
    assert_eq!(halo, (27 * 294 * 24, 27 * 26));
}

#[test]
fn sweep3d_sends_a_face_for_every_block_and_octant() {
    let sweep = Sweep3d {
        cells: [5, 6, 7],
        kba: 2,
        angles: 3,
        grid: Some(vec![4, 3]),
        ..Sweep3d::default()
    };
    let ran = run(&sweep, 12, 2);
    // 2 iterations, 8 octants, 4 blocks, 3·3 pairs of ranks across x and 4·2 across y.
    assert_eq!(ran.messages, 2 * 8 * 4 * (9 + 8));
    // Blocks of 2, 2, 2 and 1 planes: 7 in all, of 6 cells across x and 5 across y.
    assert_eq!(ran.bytes, 2 * 8 * 7 * (9 * 6 + 8 * 5) * 3 * 8);
}

#[test]
fn fft_moves_what_ranks_do_not_keep() {
    for (points, grid) in [
        ([48, 24, 36], [3, 4]),
        ([49, 26, 37], [3, 4]),
        ([20, 20, 20], [6, 1]),
    ] {
        let fft = Fft {
            points,
            grid: Some(grid.to_vec()),
            ..Fft::default()
        };
        let ran = run(&fft, grid[0] * grid[1], 1);
        // Rank i of a row of p keeps what is its own before and after: x_i y_i of
        // the plane, where x_i and y_i are its shares of x and y.
        let share = |n: u32, p: u32, i: u32| u64::from(n / p + u32::from(i < n % p));
        let moved = |a: u32, b: u32, p: u32| {
            let kept: u64 = (0..p).map(|i| share(a, p, i) * share(b, p, i)).sum();
            u64::from(a) * u64::from(b) - kept
        };
        let [x, y, z] = points;
        let rows = moved(x, y, grid[0]) * u64::from(z);
        let columns = moved(y, z, grid[1]) * u64::from(x);
        // There and back, 16 bytes each.
        assert_eq!(
            ran.bytes,
            2 * 16 * (rows + columns),
            "{points:?} on {grid:?}"
        );
        // Only within rows and columns.
        for (from, to) in ran.pairs.keys() {
            let (row, column) = (
                from / grid[0] == to / grid[0],
                from % grid[0] == to % grid[0],
            );
            assert!(row != column, "{from} to {to}");
        }
    }
}

#[test]
fn lulesh_has_three_exchanges_and_a_sum() {
    let lulesh = Lulesh {
        size: 6,
        ..Lulesh::default()
    };
    let ran = run(&lulesh, 27, 3);
    let forces = neighbours26([3; 3], [7; 3], 3 * 8);
    // Twice the numbers to half of the neighbours.
    let positions = (forces.0, forces.1 / 2);
    // 54 faces between ranks, both ways, of 6·6 elements.
    let gradients = (2 * 54 * 36 * 3 * 8, 2 * 54);
    let (bytes, messages) = plus(plus(forces, positions), gradients);
    assert_eq!(
        beside(&ran, allreduces(3, 8, 27)),
        (3 * bytes, 3 * messages)
    );
}

#[test]
fn nekbone_swaps_shared_points() {
    let nekbone = Nekbone {
        elements: [2, 3, 4],
        order: 5,
        grid: Some(vec![2, 2, 2]),
        ..Nekbone::default()
    };
    let ran = run(&nekbone, 8, 1);
    let halo = neighbours26([2; 3], [11, 16, 21], 8);
    assert_eq!(beside(&ran, allreduces(3, 8, 8)), halo);
}

#[test]
fn milc_fetches_nearest_and_third_neighbours() {
    let milc = Milc {
        sites: [4, 6, 8, 10],
        ..Milc::default()
    };
    // 2×2×2×2 ranks: all 8 directions lead to others, in two messages for either parity.
    let ran = run(&milc, 16, 1);
    let (bytes, messages) = beside(&ran, allreduces(2, 8, 16));
    assert_eq!(messages, 16 * 8 * 2 * 2);
    // Half of each surface for either parity, 1 + 2 planes of 48 bytes, both ways.
    let surfaces = 6 * 8 * 10 + 4 * 8 * 10 + 4 * 6 * 10 + 4 * 6 * 8;
    assert_eq!(bytes, 16 * 2 * 3 * 48 * surfaces);

    // An open line of four: 3 pairs.
    let line = Milc {
        grid: Some(vec![4, 1, 1, 1]),
        periodic: false,
        naik_planes: 0,
        ..milc
    };
    let (bytes, messages) = beside(&run(&line, 4, 1), allreduces(2, 8, 4));
    assert_eq!((bytes, messages), (2 * 3 * 48 * 480, 2 * 3 * 2));
}

#[test]
fn gtc_shifts_round_the_torus_and_sums_in_planes() {
    let gtc = Gtc {
        toroidal: Some(4),
        plane_points: 1_000,
        particles_per_point: 12.0,
        smoothings: 2,
        ..Gtc::default()
    };
    let ran = run(&gtc, 12, 1);
    let plane = allreduces(4, 8_000, 3);
    let (bytes, messages) = beside(&ran, plus(plane, allreduces(1, 8, 12)));
    // 12,000 particles in a domain, 4,000 to a rank, 200 leave each way.
    let (shift, field) = (2 * 200 * 12 * 8, 8_000);
    assert_eq!(bytes, 12 * (field + 3 * 2 * field + shift));
    assert_eq!(messages, 12 * (1 + 3 * 2 + 2));
}

#[test]
fn an_amg_level_sends_what_its_operator_reaches() {
    // Two levels: exchanges on the finest only, (2·1 + 3) + 1 products, 7-point.
    let amg = Amg {
        points: [4, 6, 8],
        levels: Some(2),
        grid: Some(vec![2, 1, 1]),
        ..Amg::default()
    };
    let ran = run(&amg, 2, 1);
    let gather = {
        let call = Setting::new(2)
            .algorithms
            .allgather(Bytes(2 * 3 * 4 * 8), 2);
        let sent = sent(&call, 2);
        (sent.bytes.0, sent.messages)
    };
    let collectives = plus(allreduces(3, 8, 2), gather);
    assert_eq!(beside(&ran, collectives), (6 * 2 * 48 * 8, 6 * 2));
    // A third level of 2×3×4 points: 5 products that reach both planes of 12 points.
    let deeper = Amg {
        levels: Some(3),
        ..amg
    };
    let ran = run(&deeper, 2, 1);
    let gather = {
        let call = Setting::new(2).algorithms.allgather(Bytes(2 * 8), 2);
        let sent = sent(&call, 2);
        (sent.bytes.0, sent.messages)
    };
    let collectives = plus(allreduces(3, 8, 2), gather);
    let products = 6 * 2 * 48 * 8 + 5 * 2 * 2 * 12 * 8;
    assert_eq!(beside(&ran, collectives), (products, (6 + 5) * 2));
}

#[test]
fn hacc_transforms_and_swaps() {
    let hacc = Hacc {
        cells: [8; 3],
        overload: 2,
        particles_per_cell: 2.0,
        ..Hacc::default()
    };
    // 3×3×3 ranks, and 9×3 for the pencils of 24³ points.
    let ran = run(&hacc, 27, 1);
    let box_of = |depth: u64| 6 * depth * 64 + 12 * depth * depth * 8 + 8 * depth.pow(3);
    let ghosts = 27 * (1 + 3) * 8 * box_of(1);
    let copies = 27 * 2 * 38 * box_of(2);
    // One forward and three inverse transforms; 9 does not divide 24.
    let share = |i: u64| 24 / 9 + u64::from(i < 24 % 9);
    let kept: u64 = (0..9).map(|i| share(i) * share(i)).sum();
    let rows = (24 * 24 - kept) * 24;
    let columns = (24 * 24 - 3 * 8 * 8) * 24;
    let transforms = 4 * 16 * (rows + columns);
    let (bytes, _) = beside(&ran, allreduces(1, 8, 27));
    assert_eq!(bytes, ghosts + copies + transforms);
}

#[test]
fn a_pipeline_passes_every_micro_batch_up_and_down() {
    for schedule in [Schedule::Gpipe, Schedule::OneForwardOneBackward] {
        let training = Training {
            layers: 4,
            hidden: 64,
            sequence: 16,
            vocabulary: 0,
            micro_batch: 2,
            micro_batches: 5,
            pipeline: 4,
            schedule,
            ..Training::default()
        };
        let ran = run(&training, 4, 2);
        // Without a vocabulary there is no embedding to add up.
        let activations = 2 * 16 * 64 * 2;
        assert_eq!(ran.messages, 2 * 2 * 5 * 3);
        assert_eq!(ran.bytes, 2 * 2 * 5 * 3 * activations);
        let pairs: Vec<(u32, u32)> = ran.pairs.into_keys().collect();
        assert_eq!(pairs, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]);
    }
}

#[test]
fn tensor_parallel_layers_are_summed_four_times() {
    let training = Training {
        layers: 3,
        hidden: 64,
        sequence: 16,
        micro_batch: 2,
        micro_batches: 5,
        tensor: 4,
        ..Training::default()
    };
    let ran = run(&training, 4, 1);
    let (bytes, messages) = allreduces(3 * 4 * 5, 2 * 16 * 64 * 2, 4);
    assert_eq!((ran.bytes, ran.messages), (bytes, messages));
}

#[test]
fn gradients_are_summed_in_buckets() {
    let layer = 12 * 64 * 64 + 13 * 64;
    let training = |overlap| Training {
        layers: 5,
        hidden: 64,
        sequence: 16,
        vocabulary: 100,
        micro_batches: 2,
        bucket_bytes: 2 * 2 * layer,
        overlap,
        ..Training::default()
    };
    let embedding = allreduces(1, 2 * 100 * 64, 4);
    // Buckets of two layers: two full ones and the rest, whatever the micro-batches.
    let full = allreduces(2, 2 * 2 * layer, 4);
    let rest = allreduces(1, 2 * layer, 4);
    let ran = run(&training(true), 4, 1);
    assert_eq!(beside(&ran, plus(embedding, full)), rest);
    let ran = run(&training(false), 4, 1);
    assert_eq!(beside(&ran, embedding), allreduces(1, 5 * 2 * layer, 4));
}

#[test]
fn three_kinds_of_parallelism_together() {
    // 2 tensor × 3 data × 2 stages.
    let training = Training {
        layers: 4,
        hidden: 64,
        sequence: 16,
        vocabulary: 100,
        micro_batch: 1,
        micro_batches: 3,
        tensor: 2,
        pipeline: 2,
        bucket_bytes: u64::MAX,
        ..Training::default()
    };
    let ran = run(&training, 12, 1);
    let activations = 16 * 64 * 2;
    let passed = (2 * 3 * 6 * activations, 2 * 3 * 6);
    // 6 groups of 2, each with 2 layers' 4 sums of 3 micro-batches.
    let tensor = allreduces(6 * 2 * 4 * 3, activations, 2);
    // 4 groups of 3: two layers' halves, and the embedding's half in both stages.
    let layer = (12 * 64 * 64 + 13 * 64) / 2 * 2;
    let data = plus(
        allreduces(4, 2 * layer, 3),
        allreduces(4, 100 * 64 / 2 * 2, 3),
    );
    // First and last stage of 6 pipelines.
    let tied = allreduces(6, 100 * 64 / 2 * 2, 2);
    let all = plus(plus(passed, tensor), plus(data, tied));
    assert_eq!((ran.bytes, ran.messages), all);
}

/// A small step without embedding; sizes divide evenly.
fn small_step() -> Training {
    Training {
        layers: 4,
        hidden: 64,
        sequence: 16,
        vocabulary: 0,
        micro_batch: 1,
        micro_batches: 3,
        ..Training::default()
    }
}

/// What `ranks` ranks send in `count` all-gathers or reduce-scatters of vectors of `bytes`:
/// n times (n - 1) blocks, each an n-th.
fn halves(count: u64, bytes: u64, ranks: u64) -> u64 {
    count * (ranks - 1) * bytes
}

#[test]
fn zero_moves_what_its_paper_says() {
    // Rajbhandari et al. 2020, section 7: 2 Ψ for stages 1 and 2, 3 Ψ for stage 3, of which the gradients'
    // and, of stage 3, the weights' part comes for each micro-batch. Rings of 4: (4 - 1) / 4 of the bytes
    // per rank, 3 vectors for all of them.
    let psi = 4 * (12 * 64 * 64 + 13 * 64) * 2;
    for (zero, overlap, vectors) in [
        (1, true, 1 + 1),
        (1, false, 1 + 1),
        (2, true, 3 + 1),
        (2, false, 3 + 1),
        (3, true, 3 + 2 * 3),
        (3, false, 3 + 2 * 3),
    ] {
        let training = Training {
            zero: Some(zero),
            overlap,
            bucket_bytes: psi / 2,
            ..small_step()
        };
        let ran = run(&training, 4, 1);
        assert_eq!(
            ran.bytes,
            halves(vectors, psi, 4),
            "stage {zero}, {overlap}"
        );
    }
    // Weights of 1 byte, gradients of 4.
    let training = Training {
        zero: Some(1),
        gradient_bytes: 4,
        weight_bytes: Some(1),
        ..small_step()
    };
    assert_eq!(
        run(&training, 4, 1).bytes,
        halves(1, psi * 2, 4) + halves(1, psi / 2, 4)
    );
}

#[test]
fn sequence_parallelism_sends_what_tensor_parallelism_does() {
    // Korthikanti et al. 2022, section 4.2.2: a ring's all-reduce is a reduce-scatter and an
    // all-gather. Of 4 ranks, 4 layers and 3 micro-batches, 2 pairs each way.
    let training = Training {
        tensor: 4,
        sequence_parallel: true,
        ..small_step()
    };
    let activations = 16 * 64 * 2;
    assert_eq!(
        run(&training, 4, 1).bytes,
        halves(4 * 3 * 4 * 2, activations, 4)
    );
    // Messages between stages are a quarter as long.
    let training = Training {
        pipeline: 2,
        ..training
    };
    let passed = 2 * 3 * activations;
    assert_eq!(
        run(&training, 8, 1).bytes,
        2 * halves(2 * 3 * 4 * 2, activations, 4) + passed
    );
}

#[test]
fn ranks_of_a_context_gather_keys_and_values() {
    let training = Training {
        context: Some(4),
        ..small_step()
    };
    // Keys and values of 64 numbers each for 16 words, gathered, and their gradients scattered.
    let keys = 2 * 16 * 64 * 2;
    let data = allreduces(1, 4 * (12 * 64 * 64 + 13 * 64) * 2, 4);
    assert_eq!(
        run(&training, 4, 1).bytes,
        halves(3 * 4 * 2, keys, 4) + data.0
    );
}

#[test]
fn words_go_to_their_experts_and_back() {
    let mixtral = |imbalance| Training {
        model: Some(Model::Mixtral),
        sequence: 64,
        micro_batch: 1,
        micro_batches: 2,
        expert: Some(8),
        imbalance,
        overlap: false,
        ..Training::default()
    };
    let attention = 4_096 * 128 * (2 * 32 + 2 * 8);
    let dense = 32 * (attention + 4_096 * 8) * 2;
    let embedding = 2 * 32_000 * 4_096 * 2;
    let data = plus(allreduces(1, dense, 8), allreduces(1, embedding, 8));
    // 64 words of each rank go to two experts; seven of eight of them are elsewhere. There and back in
    // both directions, in 32 layers of 2 micro-batches.
    let words = 8 * 64 * 2 * 4_096 * 2;
    let all = 4 * 32 * 2 * words * 7 / 8;
    assert_eq!(run(&mixtral(None), 8, 1).bytes, all + data.0);
    // The first rank gets twice the mean of all words, others the rest: 6/7 of it.
    let mean = 64 * 2 * 4_096 * 2 / 8;
    let (first, rest) = (7 * 2 * mean, 7 * 7 * ((mean * 6 + 3) / 7));
    let ran = run(&mixtral(Some(2.0)), 8, 1);
    assert_eq!(ran.bytes, 4 * 32 * 2 * (first + rest) + data.0);
}

#[test]
fn experts_of_the_busiest_rank_compute_longest() {
    // Without attention's scores six operations for each parameter that a word meets; the busiest rank has
    // twice the words at its experts.
    let computed = |imbalance, rank: usize| {
        let training = Training {
            model: Some(Model::Mixtral),
            sequence: 8,
            micro_batch: 1,
            micro_batches: 1,
            expert: Some(8),
            imbalance,
            utilisation: Some(0.5),
            ..Training::default()
        };
        let setting = Setting {
            compute_rate: Some(ComputeRate::FlopPerS(2e12)),
            ..Setting::new(8)
        };
        let script = training.script(&setting, 1).unwrap();
        let ran = execute(&script, Sending::Buffered, &mut order()).unwrap();
        ran.computed[rank].0 as f64
    };
    let experts = 32.0 * 2.0 * 3.0 * 4_096.0 * 14_336.0;
    let beside = 32.0 * (4_096.0 * 128.0 * 80.0 + 4_096.0 * 8.0) + 32_000.0 * 4_096.0;
    for (imbalance, rank, load) in [
        (None, 0, 1.0),
        (Some(2.0), 0, 2.0),
        (Some(2.0), 7, 6.0 / 7.0),
    ] {
        let expected = 6.0 * 8.0 * (beside + load * experts);
        let ratio = computed(imbalance, rank) / expected;
        assert!((1.0..1.001).contains(&ratio), "{ratio}");
    }
}

#[test]
fn chunks_of_a_pipeline_pass_micro_batches_around() {
    for chunks in [2, 4] {
        let training = Training {
            layers: 8,
            pipeline: 2,
            micro_batches: 4,
            schedule: Schedule::Interleaved,
            chunks: Some(chunks),
            ..small_step()
        };
        // Between each of 2 chunks' stages and the next one, both ways.
        let passed = 2 * 4 * (2 * u64::from(chunks) - 1);
        let ran = run(&training, 2, 1);
        assert_eq!((ran.messages, ran.bytes), (passed, passed * 16 * 64 * 2));
    }
}

#[test]
fn a_zero_bubble_pipeline_sends_and_computes_what_others_do() {
    let training = |schedule| Training {
        pipeline: 4,
        micro_batches: 6,
        schedule,
        ..small_step()
    };
    let ran = |schedule| {
        let setting = Setting {
            compute_rate: Some(ComputeRate::FlopPerS(1e9)),
            ..Setting::new(8)
        };
        let script = training(schedule).script(&setting, 1).unwrap();
        execute(&script, Sending::Buffered, &mut order()).unwrap()
    };
    let (usual, split) = (
        ran(Schedule::OneForwardOneBackward),
        ran(Schedule::ZeroBubble),
    );
    assert_eq!((usual.messages, usual.bytes), (split.messages, split.bytes));
    for (usual, split) in usual.computed.iter().zip(&split.computed) {
        // Parts are rounded to picoseconds by themselves.
        assert!(usual.0.abs_diff(split.0) < 1_000, "{usual} {split}");
    }
}

#[test]
fn stages_of_a_published_model_may_differ_by_a_layer() {
    // Llama 3 405B has 126 layers on 16 stages, one fewer on the first and the last (section 3.3.2).
    let training = Training {
        model: Some(Model::Llama405),
        pipeline: 16,
        micro_batch: 1,
        micro_batches: 1,
        sequence: 128,
        ..Training::default()
    };
    let script = training.script(&Setting::new(16), 1).unwrap();
    let ran = execute(&script, Sending::Buffered, &mut order()).unwrap();
    let computed: Vec<f64> = ran.computed.iter().map(|time| time.0 as f64).collect();
    for stage in 1..15 {
        assert!((computed[stage] / computed[0] * 7.0 / 8.0 - 1.0).abs() < 1e-9);
    }
    assert!(computed[15] > computed[0]);
}

#[test]
fn options_of_training_that_count_for_nothing_are_refused() {
    let usual = Training::default;
    for (training, message) in [
        (
            Training {
                model: Some(Model::Gpt3),
                hidden: 64,
                ..usual()
            },
            "hidden is 64; allowed: nothing with a model, whose own counts",
        ),
        (
            Training {
                utilisation: Some(0.0),
                ..usual()
            },
            "utilisation is 0; allowed: a share above 0, at most 1",
        ),
        (
            Training {
                sequence_parallel: true,
                ..usual()
            },
            "sequence_parallel is true; allowed: nothing without `tensor` above 1",
        ),
        (
            Training {
                expert: Some(2),
                ..usual()
            },
            "expert is 2; allowed: nothing without a `model` with experts",
        ),
        (
            Training {
                model: Some(Model::Mixtral),
                expert: Some(3),
                ..usual()
            },
            "expert is 3; allowed: a divisor of the 8 experts and of the 8 ranks of a stage",
        ),
        (
            Training {
                model: Some(Model::Mixtral),
                imbalance: Some(2.0),
                ..usual()
            },
            "imbalance is 2; allowed: nothing without `expert` above 1",
        ),
        (
            Training {
                model: Some(Model::Mixtral),
                tensor: 2,
                ..usual()
            },
            "tensor is 2 for a model with experts; allowed: 1, or more with `sequence_parallel`, so that each \
             rank has words of its own",
        ),
        (
            Training {
                context: Some(3),
                ..usual()
            },
            "context is 3; allowed: a divisor of the 8 data-parallel ranks and of the 2048 words of a sequence",
        ),
        (
            Training {
                zero: Some(4),
                ..usual()
            },
            "zero is 4; allowed: 1, 2 or 3",
        ),
        (
            Training {
                weight_bytes: Some(2),
                ..usual()
            },
            "weight is 2 B; allowed: nothing without `zero`",
        ),
        (
            Training {
                chunks: Some(2),
                ..usual()
            },
            "chunks is 2; allowed: nothing without the schedule \"interleaved\"",
        ),
        (
            Training {
                schedule: Schedule::Interleaved,
                ..usual()
            },
            "chunks is none; allowed: 2 to 256 with the schedule \"interleaved\"",
        ),
        (
            Training {
                schedule: Schedule::Interleaved,
                chunks: Some(2),
                pipeline: 8,
                layers: 32,
                ..usual()
            },
            "micro_batches is 4 with a pipeline of 8; allowed: a multiple of a pipeline above 1, where stages are \
             interleaved",
        ),
    ] {
        let error = training
            .script(&Setting::new(8), 1)
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.to_string(), format!("training: {message}"));
    }
}

#[test]
fn mini_amr_sends_more_where_it_is_refined() {
    let amr = MiniAmr {
        stages: 1,
        checksum_every: 0,
        refine_every: 0,
        variables: 1,
        cells: [4, 6, 8],
        levels: 0,
        grid: Some(vec![2, 3, 2]),
        ..MiniAmr::default()
    };
    let ran = run(&amr, 12, 2);
    // Without refinement: faces of 48, 32 and 24 cells between 6, 8 and 6 pairs.
    let cells = 6 * 48 + 8 * 32 + 6 * 24;
    assert_eq!((ran.bytes, ran.messages), (2 * 2 * 8 * cells, 2 * 2 * 20));

    let refined = MiniAmr {
        levels: 3,
        grid: Some(vec![4, 4, 4]),
        ..amr
    };
    let ran = run(&refined, 64, 1);
    let mut sizes: Vec<u64> = ran.pairs.values().copied().collect();
    for ((from, to), bytes) in &ran.pairs {
        // The finer side sends as much as the coarser one.
        assert_eq!(ran.pairs[&(*to, *from)], *bytes);
    }
    sizes.sort_unstable();
    let least = sizes[0];
    // Sizes grow by fours with the level, whichever face it is.
    assert!(sizes.last().unwrap() / least >= 4, "{sizes:?}");
    let refines = MiniAmr {
        refine_every: 1,
        ..refined
    };
    let ran = run(&refines, 64, 1);
    assert!(
        beside(&ran, allreduces(1, 32, 64)).1 > 2 * 144,
        "levels, blocks and ghosts"
    );
}

/// All parameters that make less than a thousand messages of a rank.
fn small(kind: u32, ranks: u32, draw: &mut Stream) -> Application {
    let mut to = |most: u32| 1 + draw.below(most);
    let grid = None;
    match kind {
        0 => Application::Halo3d26(Halo3d26 {
            cells: [to(9), to(9), to(9)],
            variables: to(3),
            periodic: to(2) == 1,
            reduce: to(2) == 1,
            ..Halo3d26::default()
        }),
        1 => {
            let nz = to(12);
            Application::Sweep3d(Sweep3d {
                cells: [to(9), to(9), nz],
                kba: to(nz),
                grid,
                ..Sweep3d::default()
            })
        }
        2 => Application::Fft(Fft {
            points: [ranks + to(20), ranks + to(20), ranks + to(20)],
            inverse: to(2) == 1,
            ..Fft::default()
        }),
        3 => Application::Lulesh(Lulesh {
            size: to(9),
            ..Lulesh::default()
        }),
        4 => Application::Amg(Amg {
            points: [to(9), to(9), to(9)],
            levels: (to(2) == 1).then(|| to(5)),
            sweeps: to(2),
            reach: to(3),
            ..Amg::default()
        }),
        5 => Application::Milc(Milc {
            sites: [2 + to(6), 2 + to(6), 2 + to(6), 2 + to(6)],
            naik_planes: to(4) - 1,
            periodic: to(2) == 1,
            ..Milc::default()
        }),
        6 => Application::Nekbone(Nekbone {
            elements: [to(4), to(4), to(4)],
            order: to(9),
            periodic: to(2) == 1,
            ..Nekbone::default()
        }),
        7 => Application::MiniAmr(MiniAmr {
            cells: [to(6), to(6), to(6)],
            variables: to(3),
            levels: to(4) - 1,
            stages: to(4),
            checksum_every: to(4) - 1,
            refine_every: to(3) - 1,
            ..MiniAmr::default()
        }),
        8 => Application::Hacc(Hacc {
            cells: [24 + to(3), 24 + to(3), 24 + to(3)],
            overload: to(4),
            particles_per_cell: f64::from(to(5)) / 3.0,
            subcycles: to(3),
            ..Hacc::default()
        }),
        9 => Application::Gtc(Gtc {
            plane_points: to(500),
            leaving: f64::from(to(5) - 1) / 10.0,
            smoothings: to(3),
            ..Gtc::default()
        }),
        _ => {
            let divisors = |n: u32| (1..=n).filter(move |d| n.is_multiple_of(*d));
            let tensor = divisors(ranks).nth(to(divisors(ranks).count() as u32) as usize - 1);
            let tensor = tensor.unwrap();
            let rest = ranks / tensor;
            let pipeline = divisors(rest).nth(to(divisors(rest).count() as u32) as usize - 1);
            let pipeline = pipeline.unwrap();
            Application::Training(Training {
                layers: pipeline * to(3),
                hidden: 8 * to(4),
                sequence: to(16),
                vocabulary: to(50) - 1,
                micro_batch: to(3),
                micro_batches: to(5),
                tensor,
                pipeline,
                schedule: [Schedule::Gpipe, Schedule::OneForwardOneBackward][to(2) as usize - 1],
                bucket_bytes: u64::from(to(20_000)),
                overlap: to(2) == 1,
                ..Training::default()
            })
        }
    }
}

const KINDS: u32 = Application::NAMES.len() as u32;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn every_application_finishes_in_any_order(
        kind in 0..KINDS, ranks in 1u32..28, seed in any::<u64>(), rendezvous in any::<bool>(),
    ) {
        let mut draw = StreamKey::new(seed, Purpose::Wiring).stream(1);
        let application = small(kind, ranks, &mut draw);
        let setting = Setting {
            compute_rate: Some(ComputeRate::ComputePs(1_000 * u64::from(draw.below(2)))),
            ..Setting::new(ranks)
        };
        let sending = if rendezvous { Sending::Rendezvous } else { Sending::Buffered };
        let mut order = StreamKey::new(seed, Purpose::Routing).stream(0);
        let script = application.script(&setting, 1 + draw.below(3));
        let script = script.unwrap_or_else(|error| panic!("{ranks} ranks: {error}: {application:?}"));
        if let Err(what) = execute(&script, sending, &mut order) {
            prop_assert!(false, "{ranks} ranks, {sending:?}: {what}: {application:?}");
        }
    }
}

#[test]
fn every_application_has_a_name_and_runs_as_it_comes() {
    for (kind, name) in Application::NAMES.iter().enumerate() {
        let mut draw = order();
        assert_eq!(small(kind as u32, 8, &mut draw).name(), *name);
        // Parameters by default, on 16 ranks; Sweep3D and miniAMR have most messages.
        let application = Application::by_name(name).unwrap();
        let script = application.script(&Setting::new(16), 1).unwrap();
        let ran = execute(&script, Sending::Buffered, &mut draw).unwrap();
        assert!(
            ran.messages > 0 && ran.computed[0] > Picoseconds::ZERO,
            "{name}"
        );
    }
    assert_eq!(Application::by_name("lulesh3"), None);
}

#[test]
fn a_given_time_is_computed_in_every_iteration() {
    // Training has stages that compute less, miniAMR ranks that are coarser.
    for name in Application::NAMES
        .iter()
        .filter(|name| !["training", "mini-amr"].contains(name))
    {
        let application = Application::by_name(name).unwrap();
        let setting = Setting {
            compute_rate: Some(ComputeRate::ComputePs(1_000_000_000)),
            ..Setting::new(8)
        };
        let script = application.script(&setting, 2).unwrap();
        let ran = execute(&script, Sending::Buffered, &mut order()).unwrap();
        for computed in ran.computed {
            // Each of a few hundred parts is rounded to a picosecond.
            assert!(
                computed.0.abs_diff(2_000_000_000) < 1_000,
                "{name}: {computed}"
            );
        }
    }
    // By default, Halo3D-26's 100³ cells take 26 operations each at 1 GFLOP/s.
    let script = Halo3d26::default().script(&Setting::new(1), 1).unwrap();
    let ran = execute(&script, Sending::Buffered, &mut order()).unwrap();
    assert_eq!(ran.computed, [Picoseconds(26_000_000_000)]);
}

#[test]
fn a_training_step_takes_six_operations_per_parameter_and_word() {
    // The rule of thumb: 6 N D for N parameters and D words, where the sequence is
    // short; the logits count as the embedding's parameters.
    let training = Training {
        sequence: 32,
        ..Training::default()
    };
    let setting = Setting {
        compute_rate: Some(ComputeRate::FlopPerS(1e12)),
        ..Setting::new(1)
    };
    let script = training.script(&setting, 1).unwrap();
    let ran = execute(&script, Sending::Buffered, &mut order()).unwrap();
    let parameters = 24.0 * 12.0 * 2_304f64.powi(2) + 51_200.0 * 2_304.0;
    let words = 4.0 * 4.0 * 32.0;
    let ratio = ran.computed[0].0 as f64 / (6.0 * parameters * words);
    assert!((1.0..1.01).contains(&ratio), "{ratio}");
}

#[test]
fn wrong_parameters_are_named() {
    let error = |application: Application, ranks| {
        let error = application
            .script(&Setting::new(ranks), 1)
            .map(|_| ())
            .unwrap_err();
        assert!(matches!(error, LoadError::Parameter { .. }), "{error}");
        error.to_string()
    };
    let found = error(
        Application::Sweep3d(Sweep3d {
            kba: 51,
            ..Sweep3d::default()
        }),
        4,
    );
    assert_eq!(
        found,
        "sweep3d: kba is 51; allowed: 1 to 50, the cells of a rank along z"
    );
    let found = error(
        Application::Fft(Fft {
            points: [3, 100, 100],
            ..Fft::default()
        }),
        16,
    );
    assert_eq!(
        found,
        "fft: points is [3, 100, 100]; allowed: at least 4, 4 and 4 for rows of 4 and columns of 4 \
         ranks, so that every rank has a pencil"
    );
    let found = error(
        Application::Training(Training {
            tensor: 3,
            ..Training::default()
        }),
        16,
    );
    assert!(found.contains("product divides the 16 ranks"), "{found}");
    let found = error(
        Application::Gtc(Gtc {
            toroidal: Some(5),
            ..Gtc::default()
        }),
        16,
    );
    assert_eq!(
        found,
        "gtc: toroidal is 5; allowed: a divisor of 16, the number of ranks"
    );
    let found = error(
        Application::Milc(Milc {
            sites: [8, 8, 8, 2],
            ..Milc::default()
        }),
        16,
    );
    assert!(
        found.starts_with("milc: sites is [8, 8, 8, 2]; allowed: at least 3"),
        "{found}"
    );
    let found = error(
        Application::Halo3d26(Halo3d26 {
            grid: Some(vec![4, 4]),
            ..Halo3d26::default()
        }),
        16,
    );
    assert_eq!(
        found,
        "halo3d-26: grid is [4, 4]; allowed: 3 numbers of ranks"
    );
}

/// Any program is `Send + Sync`, behind an `Arc` as the engine takes it.
#[test]
fn applications_are_programs() {
    let script = Lulesh::default().script(&Setting::new(8), 4).unwrap();
    assert_eq!(
        (Program::ranks(&script), Program::iterations(&script)),
        (8, 4)
    );
    assert!(script.start(RankId(7)).is_ok());
}
