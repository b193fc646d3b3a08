# %% [markdown]
# # Who slows whom
#
# Three jobs share a dragonfly. Each is simulated alone, with each of the others, and with all, on the same nodes and
# with equal random draws.

# %%
import odonata

scenario = odonata.Scenario.from_toml(odonata.first_scenario("dragonfly", nodes=36))
motifs = {
    "left": {"kind": "halo3d", "message": "64 KiB", "iterations": 2},
    "middle": {"kind": "all-to-all", "message": "16 KiB", "iterations": 2},
    "right": {"kind": "halo3d", "message": "64 KiB", "iterations": 2},
}
jobs = [
    {"name": name, "nodes": 8, "placement": "random-node", "motif": motif}
    for name, motif in motifs.items()
]
scenario = odonata.Scenario.from_dict({**scenario.to_dict(), "job": jobs})

# %%
found = odonata.interference(scenario, progress=True)
found

# %% [markdown]
# By how much each job (rows) is slowed down by each other one (columns):

# %%
matrix = found.matrix.to_pandas()
matrix.pivot(index="name", columns="by_name", values="slowdown").round(2)

# %% [markdown]
# And where it lost the time:

# %%
found.waits.to_pandas().head()
