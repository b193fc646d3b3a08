# %% [markdown]
# # Comparing routings
#
# Traffic to the next group is what minimal routing fears most: all of it has to squeeze through one link. How much
# does each algorithm deliver as the load grows?

# %%
import odonata

text = odonata.first_scenario("dragonfly", nodes=20, load=0.1)
scenario = odonata.Scenario.from_toml(text).with_set(
    {
        "job.0.traffic.pattern": "adversarial",
        "simulation.duration": "30 us",
        "simulation.warmup": "10 us",
    }
)

# %%
found = odonata.sweep(
    scenario,
    {
        "network.routing": ["minimal", "valiant", "ugal-l"],
        "job.0.traffic.load": [0.1, 0.2, 0.3, 0.4],
    },
    progress=True,
)
found.to_pandas()[["routing", "load", "message_latency_mean_us", "accepted_gb_per_s"]]

# %%
found.plot("accepted_gb_per_s")

# %% [markdown]
# Minimal routing stops where the links between two groups are full; Valiant's detours, and UGAL, which takes them
# when it sees a queue, go on.
