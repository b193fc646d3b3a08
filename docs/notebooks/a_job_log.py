# %% [markdown]
# # A job log
#
# When would the jobs of a log have started under another policy? The package brings 200 jobs of a machine of 64
# nodes; logs of Slurm and of the Parallel Workloads Archive are read the same way.

# %%
import odonata

log = odonata.read_job_log(odonata.example("job-log", "scratch"))
policies = {policy: odonata.schedule(log, policy=policy) for policy in ("fcfs", "easy")}

# %%
{policy: one.summary["wait_s"]["mean"] / 3600 for policy, one in policies.items()}  # hours

# %%
policies["easy"].plot.gantt()

# %%
policies["easy"].plot.utilisation()
