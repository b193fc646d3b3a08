"""Out to GraphML, changed with networkx, and back: what does a broken cable cost?"""

import networkx

import odonata

scenario = odonata.Scenario.from_toml(odonata.first_scenario("torus", nodes=27))
graph = networkx.read_graphml(odonata.topology(scenario).export("torus.graphml"))
routers = [name for name, of in graph.nodes(data=True) if of["kind"] == "router"]
graph.remove_edge(*next(iter(graph.subgraph(routers).edges())))
for *_, of in graph.edges(data=True):
    of.pop("source_port", None)  # ports are numbered anew
    of.pop("target_port", None)
networkx.write_graphml(graph, "broken.graphml")
network = {"family": "graphml", "file": "broken.graphml"}
broken = odonata.Scenario.from_dict({**scenario.to_dict(), "network": network})
print([odonata.run(one).summary_dict["jobs"][0]["run_time_ps"] for one in (scenario, broken)])
