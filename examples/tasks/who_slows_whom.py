"""Three jobs on one network: who slows whom?"""

import odonata

scenario = odonata.Scenario.from_toml(odonata.first_scenario("dragonfly", nodes=36))
halo = {"kind": "halo3d", "message": "64 KiB", "iterations": 2}
shuffle = {"kind": "all-to-all", "message": "16 KiB", "iterations": 2}
motifs = {"left": halo, "middle": shuffle, "right": halo}
jobs = [{"name": name, "nodes": 8, "motif": motif} for name, motif in motifs.items()]
jobs = [{**job, "placement": "random-node"} for job in jobs]
found = odonata.interference(odonata.Scenario.from_dict({**scenario.to_dict(), "job": jobs}))
print(found.matrix.to_pandas()[["name", "by_name", "slowdown"]])
