"""Three routing algorithms at five loads, on a dragonfly of one's own."""

import odonata

scenario = odonata.Scenario.from_toml(odonata.first_scenario("dragonfly", nodes=20, load=0.1))
scenario = scenario.with_set({"simulation.duration": "20 us", "simulation.warmup": "5 us"})
found = odonata.sweep(
    scenario,
    {
        "network.routing": ["minimal", "valiant", "ugal-l"],
        "job.0.traffic.load": [0.1, 0.3, 0.5, 0.7, 0.9],
    },
)
found.plot("message_latency_mean_us", "routings-and-loads.png")
