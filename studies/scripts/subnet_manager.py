"""OpenSM's routings of a dragonfly and a fat tree: behind pages/study-subnet-manager.md.

    .venv/bin/python studies/scripts/subnet_manager.py DIRECTORY    # as root; half an hour

Needs the Debian packages opensm, ibsim-utils and infiniband-diags. Keeps what OpenSM wrote in the
directory, and goes on there if it was stopped. Writes data/subnet_manager.csv.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from odonata import Scenario, run
from odonata.errors import SimulationError
from odonata_studies.rows import write_rows

ROOT = Path(__file__).resolve().parents[2]
ODONATA = Path(sys.executable).with_name("odonata")
NETWORKS: dict[str, tuple[dict[str, Any], int, int]] = {
    # Wiring, nodes, and the shift under which minimal routes meet on the fewest links.
    "dragonfly": ({"family": "dragonfly", "p": 4, "a": 8, "h": 4}, 1056, 32),
    "fat-tree": ({"family": "fat-tree", "radix": 16}, 1024, 8),
}
#: OpenSM's engines. `ftree` refuses a dragonfly, and `updn` works on one of 1,056 nodes for
#: minutes.
ENGINES = {"dragonfly": ["minhop", "dfsssp", "lash"], "fat-tree": ["minhop", "updn", "ftree"]}
#: Engines whose service levels matter.
WITH_LEVELS = ("dfsssp", "lash")
OURS = ("minimal", "shortest-path", "up-down", "dfsssp", "ugal-l")


def routed(name: str, engine: str, directory: Path) -> dict[str, Any] | None:
    """The routing of an engine of OpenSM; nothing if it does not take the network."""
    network = NETWORKS[name][0]
    wrote = directory / f"{name}-{engine}"
    if not (wrote / "done").exists():
        wrote.mkdir(parents=True, exist_ok=True)
        for old in wrote.iterdir():
            if old.is_file() or old.is_fifo():
                old.unlink()
        scenario = wrote / "wired.toml"
        job = {"nodes": NETWORKS[name][1], "motif": {"kind": "all-to-all", "message": "64 B"}}
        scenario.write_text(Scenario.from_dict({"network": network, "job": [job]}).to_toml())
        net = wrote / "subnet.net"
        exported = [str(ODONATA), "topology", "export", str(scenario), "--format", "ibsim"]
        subprocess.run([*exported, "--out", str(net)], check=True, capture_output=True)
        script = ROOT / "tests" / "live" / "on_subnet.py"
        namespace = ["unshare", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"]
        options = ["--records"] if engine in WITH_LEVELS else []
        command = [sys.executable, str(script), str(net), engine, str(wrote), *options]
        done = subprocess.run([*namespace, *command], capture_output=True, text=True, check=False)
        log = (wrote / "osm.log").read_text(errors="replace")
        if done.returncode or f"{engine} tables configured on all switches" not in log:
            print(f"{name}: {engine} does not take it. {done.stderr[-200:]}", flush=True)
            return None
        (wrote / "done").touch()
    return {"algorithm": "forwarding-tables", "tables": str(wrote)}


def proof(network: dict[str, Any], nodes: int, directory: Path) -> dict[str, Any]:
    """What `odonata verify` finds."""
    file = directory / "verified.toml"
    job = {"nodes": nodes, "motif": {"kind": "all-to-all", "message": "64 B"}}
    file.write_text(Scenario.from_dict({"network": network, "job": [job]}).to_toml())
    command = [str(ODONATA), "verify", str(file), "--json"]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, capture_output=True, check=False).stdout
    )
    return found


def delivered(
    network: dict[str, Any], nodes: int, traffic: dict[str, Any], load: float
) -> tuple[str, float]:
    """Share that arrives of what is offered (or the deadlock's time), and routers on the way."""
    link = {"bandwidth": "10 GB/s", "latency": "50 ns"}
    names = ("terminal", "local", "global")
    if network["family"] == "fat-tree":
        names = ("terminal", "level1", "level2")
    data = {
        "network": {**network, "links": dict.fromkeys(names, link)},
        "simulation": {"duration": "60 us", "warmup": "20 us", "packet": "2 KiB"},
        "job": [{"nodes": nodes, "traffic": {**traffic, "message": "2 KiB", "load": load}}],
    }
    try:
        job = run(Scenario.from_dict(data)).to_pandas("jobs").iloc[0]
    except SimulationError as error:
        return str(error).split(":")[0], 0.0
    share = job["accepted_bytes_per_s"] / (nodes * 10e9 * load)
    return f"{share:.3f}", float(job["mean_routers_visited"])


def main() -> None:
    """Runs what is not yet there and writes the table."""
    directory = Path(sys.argv[1]).resolve()
    rows = []
    for name, (wiring, nodes, offset) in NETWORKS.items():
        routings = [(f"OpenSM {engine}", engine) for engine in ENGINES[name]]
        routings += [(algorithm, "") for algorithm in OURS]
        for label, engine in routings:
            routing = routed(name, engine, directory) if engine else {"algorithm": label}
            if label == "ugal-l":
                routing = {"algorithm": label, "queue": "port"}
            if routing is None or (label == "minimal" and name == "fat-tree"):
                continue
            network = {**wiring, "routing": routing}
            found = proof(network, nodes, directory)
            uniform, routers = delivered(network, nodes, {"pattern": "uniform-random"}, 0.6)
            shift, _ = delivered(network, nodes, {"pattern": "shift", "offset": offset}, 0.4)
            row = {
                "network": name,
                "routing": label,
                "virtual_channels": found["virtual_channels"],
                "deadlock_free": found["safe"],
                "cycle_channels": len(found["cycle"]) or "",
                "longest_route": found["longest_route"] or "",
                "mean_routers": f"{routers:.3f}" if routers else "",
                "uniform_0.6": uniform,
                "shift_0.4": shift,
            }
            print(row, flush=True)
            rows.append(row)
    write_rows(ROOT / "studies" / "data" / "subnet_manager.csv", rows)


if __name__ == "__main__":
    main()
