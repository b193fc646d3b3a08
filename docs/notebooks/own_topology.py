# %% [markdown]
# # Your own topology
#
# A network can come from a list of its links. Here: a ring of eight routers, and the same ring with four chords.

# %%
from pathlib import Path

import odonata

ring = [f"{router} {(router + 1) % 8}" for router in range(8)]
chords = [f"{router} {router + 4}" for router in range(4)]
Path("ring.edges").write_text("\n".join(ring) + "\n")
Path("chords.edges").write_text("\n".join(ring + chords) + "\n")


# %%
def scenario(file: str) -> odonata.Scenario:
    """An all-to-all of two nodes per router."""
    network = {"family": "edge-list", "file": file, "nodes_per_router": 2}
    job = {"nodes": 16, "motif": {"kind": "all-to-all", "message": "16 KiB", "iterations": 1}}
    return odonata.Scenario.from_dict({"network": network, "job": [job]})


odonata.topology(scenario("chords.edges"))

# %%
odonata.topology(scenario("chords.edges")).plot()

# %%
times = {
    file: odonata.run(scenario(file)).summary_dict["jobs"][0]["run_time_ps"] / 1e6
    for file in ("ring.edges", "chords.edges")
}
times  # microseconds

# %% [markdown]
# `odonata.topology(…).to_networkx()` gives a graph to analyse, and `export` a GraphML file that other tools read.
