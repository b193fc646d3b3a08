"""A machine from a list of its links: a ring of eight routers with two nodes each."""

from pathlib import Path

import odonata

links = [f"{router} {(router + 1) % 8}" for router in range(8)]
Path("ring.edges").write_text("\n".join(links) + "\n")
network = {"family": "edge-list", "file": "ring.edges", "nodes_per_router": 2}
job = {"nodes": 16, "motif": {"kind": "all-to-all", "message": "16 KiB", "iterations": 1}}
result = odonata.run(odonata.Scenario.from_dict({"network": network, "job": [job]}))
print(result.most_loaded_links(3))
result.plot.topology("ring.png")
