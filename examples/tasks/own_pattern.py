"""Traffic of one's own: every rank sends 1 MiB to its mirror image, as a matrix from Python."""

from pathlib import Path

import odonata

ranks = 16
lines = ["src,dst,bytes"]
lines += [f"{rank},{ranks - 1 - rank},1048576" for rank in range(ranks)]
Path("mirror.csv").write_text("\n".join(lines) + "\n")
scenario = odonata.Scenario.from_toml(odonata.first_scenario("hyperx", nodes=ranks))
job = {"ranks": ranks, "motif": {"kind": "matrix", "file": "mirror.csv"}}
result = odonata.run(odonata.Scenario.from_dict({**scenario.to_dict(), "job": [job]}))
print(result.summary_dict["jobs"][0]["bytes_delivered"])
