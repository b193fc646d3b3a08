"""A job log under three policies of the scheduler."""

import odonata

log = odonata.read_job_log(odonata.example("job-log"))
for policy in ("fcfs", "easy", "conservative"):
    schedule = odonata.schedule(log, policy=policy)
    hours = schedule.summary["wait_s"]["mean"] / 3600
    print(f"{policy:<12} mean wait {hours:.2f} h, busy {schedule.summary['utilisation']:.1%}")
    schedule.plot.gantt(path=f"{policy}.png")
