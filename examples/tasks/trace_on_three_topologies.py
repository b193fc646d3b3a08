"""A trace of an application on three topologies."""

import odonata

trace = odonata.example("trace")
times = {}
for family in ("dragonfly", "fat-tree", "torus"):
    network = odonata.Scenario.from_toml(odonata.first_scenario(family, nodes=64))
    result = odonata.replay(trace, network=network)
    times[family] = result.summary_dict["jobs"][0]["run_time_ps"] / 1e6
for family, microseconds in times.items():
    print(f"{family:<10} {microseconds:8.1f} µs")
