"""A fat tree of 1,024 nodes, half as wide above its leaves."""

import odonata

scenario = odonata.Scenario.from_toml(odonata.first_scenario("fat-tree", nodes=1024))
scenario = scenario.with_set({"network.taper": [2, 1], "job.0.motif.iterations": 1})
assert odonata.verify(scenario)
result = odonata.run(scenario)
print(result.most_loaded_links(3))
result.plot.link_load("fat-tree.png")
