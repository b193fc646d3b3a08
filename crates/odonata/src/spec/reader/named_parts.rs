//! Parts of `[failures]` that a scenario calls by the names of its machine or wiring file, as the
//! numbers that the network has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use odonata_network::Subnet;
use odonata_network::topology::edge_list;
use odonata_scheduler::log::hostlist;
use serde_json::{Map, Value};

use crate::error::SpecError;
use crate::named_file::read_file;
use crate::topology::families::infiniband::{Interfaces, SubnetFile};

type Object = Map<String, Value>;

/// A scenario as it is written, of which parts are looked up.
pub(super) struct NamedParts<'a> {
    given: &'a Object,
    directory: &'a Path,
    subnet: Option<Subnet>,
    /// Names of switches, with their numbers.
    listed: Option<Vec<(String, u32)>>,
}

impl<'a> NamedParts<'a> {
    /// Puts numbers in place of names in a `[failures]` whose keys have been checked.
    ///
    /// # Errors
    /// If a name is unknown, or nothing says what is called so.
    pub fn numbered(
        given: &'a Object,
        directory: &'a Path,
        failures: &mut Object,
    ) -> Result<(), SpecError> {
        let mut parts = Self {
            given,
            directory,
            subnet: None,
            listed: None,
        };
        parts.members(failures, "failures")?;
        let outages = failures.get_mut("outages").and_then(Value::as_array_mut);
        for (place, outage) in outages.into_iter().flatten().enumerate() {
            if let Value::Object(outage) = outage {
                parts.members(outage, &format!("failures.outages[{place}]"))?;
            }
        }
        let links = failures.get_mut("links").and_then(Value::as_array_mut);
        for (place, link) in links.into_iter().flatten().enumerate() {
            if let Value::Object(link) = link {
                parts.link(link, &format!("failures.links[{place}]"))?;
            }
        }
        Ok(())
    }

    /// `hosts` and `switches` of a table become `nodes` and `routers`.
    fn members(&mut self, table: &mut Object, path: &str) -> Result<(), SpecError> {
        if let Some(Value::String(list)) = table.remove("hosts") {
            let key = format!("{path}.hosts");
            let nodes = self.nodes(&list, &key)?;
            append(table, "nodes", nodes);
        }
        self.switches(table, path)
    }

    /// `switches` of a table become `routers`.
    fn switches(&mut self, table: &mut Object, path: &str) -> Result<(), SpecError> {
        if let Some(Value::Array(names)) = table.remove("switches") {
            let key = format!("{path}.switches");
            let routers = self.routers(&names, &key)?;
            append(table, "routers", routers);
        }
        Ok(())
    }

    /// `switches` of a link become `routers`, and the router of its `port` and the node of its
    /// `interface` a number.
    fn link(&mut self, link: &mut Object, path: &str) -> Result<(), SpecError> {
        self.switches(link, path)?;
        if let Some(Value::String(interface)) = link.get("interface") {
            let key = format!("{path}.interface");
            let wrong = || {
                let allowed = "a node or host, a slash and its interface, such as \"7/2\"";
                SpecError::value(&key, format!("\"{interface}\""), allowed)
            };
            let (node, number) = interface.rsplit_once('/').ok_or_else(wrong)?;
            let number: u32 = number.trim().parse().map_err(|_| wrong())?;
            let node = match node.trim().parse::<u32>() {
                Ok(node) => node,
                Err(_) => match self.nodes(node.trim(), &key)?[..] {
                    [node] => node,
                    _ => return Err(wrong()),
                },
            };
            link.insert("interface".into(), format!("{node}/{number}").into());
        }
        let Some(Value::String(port)) = link.get("port") else {
            return Ok(());
        };
        let key = format!("{path}.port");
        let wrong = || {
            let allowed = "a router, a slash and its port, such as \"3/12\", or \"leaf-2/13\" as in the \
                           wiring file";
            SpecError::value(&key, format!("\"{port}\""), allowed)
        };
        let (router, number) = port.rsplit_once('/').ok_or_else(wrong)?;
        let number: u32 = number.trim().parse().map_err(|_| wrong())?;
        let router = router.trim();
        // A switch may be called by a number.
        let of_subnet = self.is_subnet();
        let numbered = if of_subnet {
            let found = self.routers(&[router.into()], &key)?;
            let number = number.checked_sub(1).ok_or_else(wrong)?;
            format!("{}/{number}", found[0])
        } else {
            let router = match router.parse::<u32>() {
                Ok(router) => router,
                Err(_) if self.is_family("edge-list") => self.routers(&[router.into()], &key)?[0],
                Err(_) => return Err(wrong()),
            };
            format!("{router}/{number}")
        };
        link.insert("port".into(), numbered.into());
        Ok(())
    }

    fn nodes(&mut self, list: &str, key: &str) -> Result<Vec<u32>, SpecError> {
        let names = hostlist::expand(list).filter(|names| !names.is_empty());
        let names = names.ok_or_else(|| {
            let allowed = "hosts as Slurm writes them, such as \"nid[001000-001003]\"";
            SpecError::value(key, format!("\"{list}\""), allowed)
        })?;
        let known = self.hosts(key)?;
        let node = |name: &String| {
            known.get(name).copied().ok_or_else(|| {
                let allowed = format!(
                    "one of the {} hosts, such as {}",
                    known.len(),
                    example(known.keys())
                );
                SpecError::value(key, format!("host {name}"), allowed)
            })
        };
        names.iter().map(node).collect()
    }

    fn routers(&mut self, names: &[Value], key: &str) -> Result<Vec<u32>, SpecError> {
        let known = self.switch_names()?;
        if known.is_empty() {
            let found = "names of switches";
            let allowed = "with family = \"ibnetdiscover\", whose file names them, or an edge list \
                           whose routers have names; else `routers`";
            return Err(SpecError::value(key, found, allowed));
        }
        let all = || known.iter().map(|(name, _)| name);
        let router = |name: &Value| {
            let name = name.as_str().unwrap_or_default();
            // Where no description of a switch is so, the part of it that people say.
            let whole = all().any(|known| known == name);
            let is_so = |known: &str| {
                if whole {
                    known == name
                } else {
                    short(known) == name
                }
            };
            let mut called = known.iter().filter(|(known, _)| is_so(known));
            match (called.next(), called.next()) {
                (Some((_, router)), None) => Ok(*router),
                (Some(_), Some(_)) => {
                    let found = format!("switch {name}, the name of several");
                    Err(SpecError::value(key, found, "their numbers, in `routers`"))
                }
                (None, _) => {
                    let count = known.len();
                    let first = example(all());
                    let allowed = match short(&first) {
                        all if all == first => {
                            format!("one of the {count} switches, such as {first}")
                        }
                        short => {
                            format!("one of the {count} switches, such as {first}, or {short}")
                        }
                    };
                    Err(SpecError::value(key, format!("switch {name}"), allowed))
                }
            }
        };
        names.iter().map(router).collect()
    }

    /// The node of each host, by `[machine]` or else by the wiring file.
    fn hosts(&mut self, key: &str) -> Result<BTreeMap<String, u32>, SpecError> {
        let machine = self.given.get("machine");
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let ranges: Vec<(String, u32)> = if let Some(file) =
            machine.and_then(|m| text(m, "hosts_file"))
        {
            let lines = read_file(&self.directory.join(file), "machine.hosts_file")?;
            let lines = lines
                .lines()
                .map(|line| line.split('#').next().unwrap_or_default());
            let range = |line: &str| {
                let (names, first) = line.trim().split_once(char::is_whitespace)?;
                Some((names.to_owned(), first.trim().parse().ok()?))
            };
            lines.filter_map(range).collect()
        } else if let Some(Value::Array(hosts)) = machine.and_then(|m| m.get("hosts")) {
            let first = |of: &Value| of.get("first_node").and_then(Value::as_u64);
            let range = |of: &Value| Some((text(of, "names")?, u32::try_from(first(of)?).ok()?));
            hosts.iter().filter_map(range).collect()
        } else if self.is_subnet() {
            let hosts = (0..).zip(&self.subnet()?.hosts);
            let name = |host: &odonata_network::topology::infiniband::HostPort| {
                host.host.clone().unwrap_or_else(|| host.name.clone())
            };
            return Ok(hosts.map(|(node, host)| (name(host), node)).collect());
        } else {
            let allowed = "with machine.hosts or machine.hosts_file, which say which node each host is, \
                           or family = \"ibnetdiscover\"; else `nodes`";
            return Err(SpecError::value(key, "names of hosts", allowed));
        };
        let named = ranges.iter().flat_map(|(names, first)| {
            hostlist::expand(names)
                .unwrap_or_default()
                .into_iter()
                .zip(*first..)
        });
        Ok(named.collect())
    }

    fn is_subnet(&self) -> bool {
        self.is_family("ibnetdiscover")
    }

    fn is_family(&self, name: &str) -> bool {
        let network = self.given.get("network");
        network.and_then(|network| network.get("family")) == Some(&name.into())
    }

    /// Names of switches that the wiring file gives, with their numbers; empty if it gives none.
    fn switch_names(&mut self) -> Result<&[(String, u32)], SpecError> {
        if self.listed.is_none() {
            let found = if self.is_subnet() {
                let switches = self.subnet()?.switches.iter();
                switches
                    .map(|switch| switch.name.clone())
                    .zip(0..)
                    .collect()
            } else if self.is_family("edge-list") {
                let text = read_file(&self.wiring_file(), "network.file")?;
                edge_list::router_names(&text)
            } else {
                Vec::new()
            };
            self.listed = Some(found);
        }
        Ok(self.listed.as_deref().expect("just read"))
    }

    fn wiring_file(&self) -> PathBuf {
        let file = self.given["network"].get("file").and_then(Value::as_str);
        self.directory.join(file.unwrap_or_default())
    }

    fn subnet(&mut self) -> Result<&Subnet, SpecError> {
        if self.subnet.is_none() {
            let network = &self.given["network"];
            let nodes = network.get("interfaces") == Some(&"nodes".into());
            let file = SubnetFile {
                file: self.wiring_file(),
                interfaces: match nodes {
                    true => Interfaces::Nodes,
                    false => Interfaces::Joined,
                },
            };
            self.subnet = Some(file.subnet()?);
        }
        Ok(self.subnet.as_ref().expect("just read"))
    }
}

/// Adds numbers to a list, which need not be there.
fn append(table: &mut Object, key: &str, numbers: Vec<u32>) {
    let list = table.entry(key).or_insert(Value::Null);
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    if let Value::Array(list) = list {
        list.extend(numbers.into_iter().map(Value::from));
    }
}

/// The name of a switch in its description, as `leaf-1` in `MF0;leaf-1:MQM8700/U1`.
fn short(description: &str) -> &str {
    let named = description.rsplit(';').next().unwrap_or(description);
    named.split(':').next().unwrap_or(named).trim()
}

/// The first of some names.
fn example<'n>(mut names: impl Iterator<Item = &'n String>) -> String {
    names.next().cloned().unwrap_or_default()
}
