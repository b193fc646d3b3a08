//! CPU time and finishing times of the flow engine alone where every node sends
//! to others in turn, each message when the one before it has arrived:
//! `cargo run --release -p odonata-flow --example in_turn -- MESSAGES BYTES [ROUTING] [PATHS] [DIRECTORY] [latency] [settle=NS]`.
//!
//! The network is a dragonfly of 1,024 nodes. With a directory, writes the
//! links, every message's path and latency, and when it arrived, so that another
//! simulator can be given the same and asked for its times. `latency` as a sixth
//! argument makes shares inverse to latencies, as SimGrid's model of TCP does.
//! With `settle=NS` anywhere, rates are brought up to date every so many nanoseconds only.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::time::Instant;

use odonata_flow::{Delays, FairShare, LinkNumbers, Routes, Transfers, Use};
use odonata_network::routing::{AdaptiveOptions, Algorithm, RoutingSpec, Via};
use odonata_network::topology::{Arrangement, DragonflyLinks, DragonflySpec, GroupWiring};
use odonata_network::{LinkClass, LinkKind};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named = |argument: &String| argument.starts_with("settle=");
    let (named, arguments): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(named);
    let settle = named
        .first()
        .map_or(Ok(0.0), |ns| ns["settle=".len()..].parse::<f64>())?;
    let number = |n: usize, default: u64| arguments.get(n).map_or(Ok(default), |a| a.parse());
    let (messages, bytes, paths) = (number(0, 98)? as u32, number(1, 1_000_000)?, number(3, 1)?);
    let by_latency = arguments.get(5).is_some_and(|how| how == "latency");
    let algorithm = match arguments.get(2).map_or("minimal", String::as_str) {
        "valiant" => Algorithm::Valiant { via: Via::Group },
        "ugal" => Algorithm::UgalGlobal(AdaptiveOptions::default()),
        _ => Algorithm::Minimal,
    };
    let class = |name: &str,
                 kind,
                 gigabytes: u64,
                 latency_ns: u64|
     -> Result<_, odonata_units::BandwidthError> {
        Ok(LinkClass {
            name: name.to_owned(),
            kind,
            bandwidth: Bandwidth::new(gigabytes * 1_000_000_000)?,
            latency: Picoseconds(latency_ns * 1_000),
            buffer: Bytes(16_384),
            impairments: Vec::new(),
        })
    };
    let topology = DragonflySpec {
        p: 4,
        a: 8,
        h: 4,
        g: 32,
        arrangement: Arrangement::Absolute,
        group: GroupWiring::AllToAll,
        links: DragonflyLinks {
            terminal: class("terminal", LinkKind::Terminal, 10, 100)?,
            local: class("local", LinkKind::Local, 10, 100)?,
            column: None,
            global: class("global", LinkKind::Global, 10, 500)?,
        },
    }
    .build()?;
    let delays = Delays {
        router: Picoseconds(0),
        head_bytes: 0,
    };
    let spec = RoutingSpec::new(algorithm);
    let mut routes = Routes::new(&topology, &spec, paths as u32, delays, 1)?;
    let nodes = topology.nodes() as u32;
    // Everybody has an order of the others of their own.
    let key = StreamKey::new(1, Purpose::Destination);
    let orders: Vec<Vec<u32>> = (0..nodes)
        .map(|node| {
            let mut others: Vec<u32> = (0..nodes).filter(|&other| other != node).collect();
            key.stream(u64::from(node)).shuffle(&mut others);
            others.truncate(messages as usize);
            others
        })
        .collect();
    let mut trace = match arguments.get(4) {
        None => None,
        Some(directory) => {
            let file =
                |name: &str| std::fs::File::create_new(std::path::Path::new(directory).join(name));
            let mut links = BufWriter::new(file("links.txt")?);
            for capacity in LinkNumbers::capacities(&topology) {
                writeln!(links, "{:.0}", capacity * 1e12)?;
            }
            Some((
                BufWriter::new(file("paths.txt")?),
                BufWriter::new(file("times.txt")?),
            ))
        }
    };

    let begin = Instant::now();
    let capacities = LinkNumbers::capacities(&topology);
    let interval = Picoseconds((settle * 1e3) as u64);
    let mut transfers = Transfers::settling_every(interval, capacities);
    // What each node sends: which of its messages, and the transfer's owner.
    let mut sent = vec![0usize; nodes as usize];
    let mut owner: Vec<u32> = vec![];
    // Messages whose latency is running, by the time at which their bytes set out.
    let mut setting_out = BTreeSet::new();
    let mut paths: Vec<Vec<(Vec<Use>, f64)>> = vec![vec![]; nodes as usize];
    let mut end = Picoseconds::ZERO;
    let mut set_out = |node: u32,
                       to: u32,
                       now: Picoseconds,
                       share: &FairShare,
                       paths: &mut Vec<_>,
                       setting_out: &mut BTreeSet<_>| {
        routes.route(NodeId(node), NodeId(to), bytes, 1 << 12, share);
        paths.clear();
        paths.extend(routes.paths().map(|path| (path.path.to_vec(), path.weight)));
        setting_out.insert((now + routes.latency(), node, routes.latency()));
    };
    for node in 0..nodes {
        set_out(
            node,
            orders[node as usize][0],
            end,
            transfers.share(),
            &mut paths[node as usize],
            &mut setting_out,
        );
    }
    loop {
        let next = setting_out.first().map(|first| first.0);
        let Some(next) = [next, transfers.next_end()].into_iter().flatten().min() else {
            break;
        };
        let now = next;
        while let Some(id) = transfers.end_next(now) {
            let node = owner[id.index()];
            end = now;
            if let Some((_, times)) = &mut trace {
                writeln!(times, "{node} {} {}", sent[node as usize], now.0)?;
            }
            sent[node as usize] += 1;
            if let Some(&to) = orders[node as usize].get(sent[node as usize]) {
                set_out(
                    node,
                    to,
                    now,
                    transfers.share(),
                    &mut paths[node as usize],
                    &mut setting_out,
                );
            }
        }
        while let Some(&(at, node, latency)) = setting_out.first() {
            if at > now {
                break;
            }
            setting_out.pop_first();
            let to = orders[node as usize][sent[node as usize]];
            let id = transfers.begin(now, bytes as f64);
            for (path, weight) in &paths[node as usize] {
                // SimGrid's model of TCP: shares are inverse to latencies.
                let weight = match by_latency {
                    true => weight * 1e6 / latency.0 as f64,
                    false => *weight,
                };
                transfers.add_part(now, id, path, weight, false);
                if let Some((paths, _)) = &mut trace {
                    write!(paths, "{node} {to} {}", latency.0)?;
                    for step in path {
                        write!(paths, " {}", step.link.0)?;
                    }
                    writeln!(paths)?;
                }
            }
            if owner.len() <= id.index() {
                owner.resize(id.index() + 1, 0);
            }
            owner[id.index()] = node;
        }
        transfers.settle(now);
    }
    let work = transfers.work();
    println!(
        "{} messages: {} of simulated time in {:.3} s; {} settlings, {:.2} fillings each, {:.1} flows each filling",
        u64::from(nodes) * u64::from(messages),
        end,
        begin.elapsed().as_secs_f64(),
        work.settled,
        work.fillings as f64 / work.settled as f64,
        work.flows as f64 / work.fillings as f64,
    );
    Ok(())
}
