# %% [markdown]
# # A trace
#
# What an application sent can be replayed on any network. The package brings a small GOAL schedule of 16 ranks;
# DUMPI, OTF2, liballprof and others are read the same way.

# %%
import odonata

trace = odonata.example("trace", "scratch")
result = odonata.replay(trace, progress=True)
result

# %% [markdown]
# How much of the run time is computing? Without it, the communication alone remains.

# %%
alone = odonata.replay(trace, compute_scale=0)
[one.summary_dict["jobs"][0]["run_time_ps"] / 1e6 for one in (result, alone)]  # microseconds

# %%
result.plot.ranks()

# %%
network = odonata.Scenario.from_toml(odonata.first_scenario("torus", nodes=27))
odonata.replay(trace, network=network).plot.link_load()
