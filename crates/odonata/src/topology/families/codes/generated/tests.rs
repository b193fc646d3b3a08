use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use odonata_network::{LinkClass, Topology};

use crate::error::SpecError;
use crate::spec::{CodesNetwork, Family, Link, Network, Scenario};
use crate::{build_topology, codes_facts};

const TORUS: &str = r#"
LPGROUPS { MODELNET_GRP { repetitions="32"; nw-lp="1"; modelnet_torus="1"; } }
PARAMS
{
   packet_size="512";
   modelnet_order=( "torus" );
   n_dims="3";
   dim_length="4,4,2";
   link_bandwidth="10.0";
   buffer_size="8192";
   num_vc="1";
}
"#;

const FAT_TREE: &str = r#"
LPGROUPS { MODELNET_GRP { repetitions="16"; server="4"; modelnet_fattree="4"; fattree_switch="3"; } }
PARAMS
{
   ft_type="1";
   modelnet_order=( "fattree" );
   num_levels="3";
   switch_count="16"; # leaves
   switch_radix="8";
   router_delay="60";
   soft_delay="1000";
   vc_size="65536";
   cn_vc_size="32768";
   link_bandwidth="4.7";
   cn_bandwidth="5.25";
}
"#;

const SLIM_FLY: &str = r#"
LPGROUPS { MODELNET_GRP { repetitions="50"; modelnet_slimfly="3"; modelnet_slimfly_router="1"; } }
PARAMS
{
   modelnet_order=( "slimfly", "slimfly_router");
   num_routers="5";
   num_terminals="3";
   global_channels="5";
   local_channels="2";
   generator_set_X=("1","4");
   generator_set_X_prime=("2",
                          "3");
   local_vc_size="25600";
   global_vc_size="51200";
   cn_vc_size="12800";
   local_bandwidth="9.0";
   global_bandwidth="4.5";
   cn_bandwidth="12.5";
   routing="minimal";
}
"#;

/// A scenario with the network of a configuration, whose file is removed with the value.
struct Written {
    file: PathBuf,
    scenario: Scenario,
}

impl Written {
    fn new(text: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("odonata-{}-{number}-net.conf", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).unwrap();
        let network = CodesNetwork {
            file: Some(file.clone()),
            ..CodesNetwork::default()
        };
        Self {
            file,
            scenario: Scenario::new(Network::new(Family::Codes(network))),
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

fn build(text: &str) -> Result<Topology, SpecError> {
    build_topology(&Written::new(text).scenario)
}

fn classes(topology: &Topology) -> Vec<(&str, u64, u64)> {
    let of = |class: &'_ LinkClass| (class.bandwidth.bytes_per_second(), class.buffer.0);
    (topology.link_classes.iter())
        .map(|class| (class.name.as_str(), of(class).0, of(class).1))
        .collect()
}

#[test]
fn a_torus_is_that_of_its_lengths() {
    let topology = build(TORUS).unwrap();
    // 4 × 4 × 2 routers with a node each; 32 links along either ring of four, 16 along the pairs;
    // distances of 2, 2 and 1.
    let found = topology.describe();
    assert_eq!((found.routers, found.nodes, found.diameter), (32, 32, 5));
    let links: Vec<u64> = found.classes.iter().map(|class| class.links).collect();
    assert_eq!(links, [32, 32, 32, 16]);
    // 10 GiB/s; what CODES does not tell of the links of nodes is the scenario's.
    let dims = [("dim1", 10 << 30, 8192), ("dim2", 10 << 30, 8192)];
    assert_eq!(classes(&topology)[1..3], dims);
    assert_eq!(classes(&topology)[0].1, 16 << 30);
    // TraceR's user guide has a bandwidth for them.
    let given = build(&TORUS.replace("num_vc=\"1\"", "cn_bandwidth=\"3\"")).unwrap();
    assert_eq!(classes(&given)[0].1, 3 << 30);
    // Router (x, y, z) is x + 4·(y + 4·z), as CODES numbers nodes.
    let peer = topology.peer[topology.ports_of(odonata_units::RouterId(0))][1];
    let odonata_network::Peer::Port(port) = peer else {
        panic!("{peer:?}")
    };
    assert_eq!(topology.router_of_port(port).0, 1);
}

#[test]
fn a_fat_tree_takes_its_bandwidths_in_gb() {
    let topology = build(FAT_TREE).unwrap();
    let found = topology.describe();
    assert_eq!((found.nodes, found.routers), (64, 16 + 16 + 8));
    assert_eq!(
        (found.radix_min, found.radix_max, found.diameter),
        (8, 8, 4)
    );
    // A byte takes 1/4.7 ns.
    let expected = [
        ("terminal", 5_250_000_000, 32768),
        ("local", 4_700_000_000, 65536),
        ("global", 4_700_000_000, 65536),
    ];
    assert_eq!(classes(&topology), expected);
}

#[test]
fn a_slim_fly_takes_its_bandwidths_in_gib() {
    let topology = build(SLIM_FLY).unwrap();
    let found = topology.describe();
    assert_eq!((found.nodes, found.routers, found.groups), (150, 50, 10));
    assert_eq!(found.diameter, 2);
    let gib = 1 << 30;
    let expected = [
        ("terminal", gib * 25 / 2, 12800),
        ("local", gib * 9, 25600),
        ("global", gib * 9 / 2, 51200),
    ];
    assert_eq!(classes(&topology), expected);
}

#[test]
fn a_class_of_the_scenario_replaces_that_of_the_configuration() {
    for (text, name, class) in [
        (TORUS, "local", "dim2"),
        (FAT_TREE, "global", "global"),
        (SLIM_FLY, "local", "local"),
    ] {
        let mut written = Written::new(text);
        let links = &mut written.scenario.network.links;
        links.insert(name.into(), Link::default_for("terminal"));
        let topology = build_topology(&written.scenario).unwrap();
        let found = classes(&topology);
        let found = found.iter().find(|(name, ..)| *name == class).unwrap();
        assert_eq!(found.1, 16 << 30, "{class}");
        // Not a class of these networks.
        let links = &mut written.scenario.network.links;
        links.insert("green".into(), Link::default_for("green"));
        let error = build_topology(&written.scenario).unwrap_err();
        assert_eq!(error.path, "network.links.green");
    }
}

#[test]
fn facts_tell_routing_delay_and_what_is_not_used() {
    let facts = |text: &str| codes_facts(&Written::new(text).file).unwrap();
    for (text, routing, delay, unused) in [
        (
            TORUS,
            "dimension-order",
            50_000,
            "nw-lp, packet_size, num_vc;",
        ),
        (FAT_TREE, "up-down", 60_000, "server, soft_delay;"),
        (SLIM_FLY, "shortest-path", 0, "routing;"),
    ] {
        let found = facts(text);
        assert_eq!(found["routing"], routing);
        assert_eq!(found["router_delay_ps"], delay);
        let notice = found["notices"][0].as_str().unwrap();
        assert!(notice.contains(&format!(": {unused}")), "{notice}");
    }
    let delayed = facts(&TORUS.replace("num_vc=\"1\"", "router_delay=\"25.5\""));
    assert_eq!(delayed["router_delay_ps"], 25_500);
    let other = facts("PARAMS { modelnet_order=(\"dragonfly_dally\"); what=\"1\"; }");
    assert_eq!(
        (&other["routing"], &other["notices"][0]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
}

#[test]
fn flaws_name_file_line_and_key() {
    let change = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    for (text, words) in [
        (
            change(TORUS, "num_vc", "num_vcs"),
            "net.conf: line 11: found the key `num_vcs`, which the model `torus` does not have; allowed: buffer_size,",
        ),
        (
            change(TORUS, "n_dims=\"3\"", "n_dims=\"4\""),
            "line 8: `dim_length` has 3 lengths; allowed: 4",
        ),
        (
            change(TORUS, "4,4,2", "4,4,0"),
            "line 8: `dim_length` has a length of 0",
        ),
        (
            change(TORUS, "4,4,2", "4,4,x"),
            "line 8: `dim_length` has \"x\"",
        ),
        (
            change(TORUS, "4,4,2", "4,4,4"),
            "line 2: `repetitions` times `modelnet_torus` is 32, but the parameters of the model make 64",
        ),
        (
            change(TORUS, "buffer_size=\"8192\"", ""),
            "net.conf: `buffer_size` is not given",
        ),
        (
            change(TORUS, "num_vc=\"1\"", "n_dims=\"2\""),
            "line 11: `n_dims` is \"2\", but \"3\" in line 7",
        ),
        (
            change(TORUS, "\"10.0\"", "\"0\""),
            "line 9: `link_bandwidth` is \"0\"",
        ),
        (
            change(FAT_TREE, "ft_type=\"1\"", "ft_type=\"2\""),
            "line 5: `ft_type` is \"2\"; allowed: 0, 1",
        ),
        (
            change(FAT_TREE, "switch_count=\"16\"", "switch_count=\"16,16,4\""),
            "line 8: `switch_count` is \"16,16,4\", but CODES makes 16,16,8",
        ),
        (
            change(FAT_TREE, "switch_count=\"16\"", "switch_count=\"18\""),
            "line 8: `switch_count`: found 18 leaf switches",
        ),
        (
            change(FAT_TREE, "soft_delay=\"1000\"", "num_rails=\"2\""),
            "line 11: `num_rails` is \"2\"; allowed: 1",
        ),
        (
            change(FAT_TREE, "\"60\"", "\"-1\""),
            "line 10: `router_delay` is \"-1\"",
        ),
        (
            change(SLIM_FLY, "global_channels=\"5\"", "global_channels=\"6\""),
            "line 8: `global_channels`: found 6; allowed: 5",
        ),
        (
            change(SLIM_FLY, "(\"1\",\"4\")", "(\"1\",\"3\")"),
            "line 10: `generator_set_X`: gives router 1",
        ),
        (
            change(SLIM_FLY, "modelnet_slimfly=\"3\"", "modelnet_slimfly=\"4\""),
            "line 2: `repetitions` times `modelnet_slimfly` is 200",
        ),
        (
            change(SLIM_FLY, "routing=\"minimal\"", "sf_type=\"1\""),
            "`sf_type` is \"1\"; allowed: 0",
        ),
    ] {
        let error = build(&text).unwrap_err();
        assert_eq!(error.path, "network.file");
        assert!(error.message.contains(words), "{error}\n{words}");
    }
    // The lists of links are those of other models.
    let mut written = Written::new(TORUS);
    if let Family::Codes(codes) = &mut written.scenario.network.topology {
        codes.inter_file = Some("inter".into());
    }
    let error = build_topology(&written.scenario).unwrap_err();
    assert_eq!(error.path, "network.inter_file");
}
