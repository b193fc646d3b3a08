# %% [markdown]
# # A first run
#
# A scenario says what is wired, how packets are routed, and which jobs send what. This one comes with the package:
# two stencils on a dragonfly of 72 nodes.

# %%
import odonata

scenario = odonata.Scenario.from_file(odonata.example("two-stencils", "scratch"))
scenario = scenario.with_set({"job.*.motif.iterations": 2})
print(scenario.to_toml())

# %% [markdown]
# Before it runs: can packets wait for each other for ever? The proof follows all routes.

# %%
odonata.verify(scenario).verdict

# %%
result = odonata.run(scenario, progress=True)
result

# %% [markdown]
# Every picture is a matplotlib figure, every table an Arrow table.

# %%
result.plot.latency()

# %%
result.plot.topology()

# %%
result.to_pandas("links").sort_values("utilisation", ascending=False).head()
