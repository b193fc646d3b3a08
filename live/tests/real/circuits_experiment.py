"""Random circuits on Open vSwitch, with faults, while another job's frames pass.

By hand, a thousand reconfigurations on 15 bridges; prints one JSON object:

    python live/tests/real/circuits_experiment.py --count 1000 --seed 1

Each is made by a process of its own: some kill themselves at a random point (before, between and
after what they send, before and after what they write), some meet a switch that refuses an entry
or is gone. Afterwards circuits are recovered, and every table, as Open vSwitch's own tool reads
it, is compared with the journal.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from circuit_faults import Faults, KilledError, controller, free_ports, random_circuits
from emulated_switches import EmulatedSwitches
from odonata.errors import ControlError, DeviceError
from odonata_live.control import Controller, Plant
from odonata_live.control.drivers.openflow import OURS

#: The job whose frames pass all the time.
STEADY = 1
#: The bridge that is taken away now and then; no frames pass there.
MORTAL = 0


def compare(switches: EmulatedSwitches, plant: Plant) -> int:
    """Entries of all tables, which are what the journal says; raises if not."""
    with Controller(plant) as control:
        wanted = control.journal.settings(plant.switches)
        assert control.verify() == []
        assert control.journal.open_transactions() == []
    count = 0
    for bridge in range(switches.bridges):
        held = {
            (ingress - 1, egress - 1, cookie)
            for ingress, (egress, cookie) in switches.entries(bridge).items()
        }
        said = {(c.ingress, c.egress, (OURS << 48) | c.job) for c in wanted[f"s{bridge}"]}
        assert held == said, (bridge, held ^ said)
        count += len(held)
    return count


def in_a_child(plant: Plant, faults: Faults, change: Any, report: Path) -> str:
    """Lets a process of its own make a change; `done`, `killed`, or what it was refused for."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            with controller(plant, faults) as control:
                outcome = change(control)
                report.write_text(json.dumps(outcome.seconds))
            code = 0
        except KilledError:
            os.kill(os.getpid(), signal.SIGKILL)
        except (DeviceError, ControlError) as error:
            report.write_text(str(error))
            code = 2
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return "killed"
    code = os.WEXITSTATUS(status)
    assert code in (0, 2), "a change ended by what is no fault of a switch"
    return "done" if code == 0 else "refused"


def experiment(count: int, seed: int, bridges: int = 15, ports: int = 8) -> dict[str, Any]:
    """Makes so many changes; what came of them."""
    draw = random.Random(seed)
    counts = dict.fromkeys(("done", "killed", "refused", "gone", "full", "forbidden"), 0)
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="odonata-circuits-") as name:
        directory = Path(name)
        report = directory / "report"
        with EmulatedSwitches(bridges, ports) as switches:
            plant = Plant.from_file(switches.write_plant(directory))
            with Controller(plant) as control:
                steady = [(s, 0, 1) for s in plant.names]
                control.set_circuits(STEADY, plant.for_circuits(STEADY, steady))
                held = control.settings()
            pairs = [f"h{b}-0:h{b}-1" for b in range(bridges) if b != MORTAL]
            frames = subprocess.Popen(
                switches.inside(
                    [sys.executable, "-S", str(Path(__file__).with_name("frames.py")), *pairs]
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert frames.stdout is not None and frames.stdin is not None
            assert frames.stdout.readline() == "sending\n"
            running: dict[int, frozenset[tuple[str, int, int]]] = {}
            for number in range(count):
                fault = draw.choice(("", "", "", "kill", "kill", "full", "gone"))
                faults = Faults(draw.randrange(1, 150) if fault == "kill" else 0)
                job = number + 2
                if running and draw.random() < 0.45:
                    job = draw.choice(sorted(running))
                    circuits = []
                else:
                    circuits = random_circuits(draw, plant, free_ports(plant, held))
                touched = {s for s, _, _ in circuits} or {s for s, _, _ in running.get(job, ())}
                victim = draw.choice(sorted(touched)) if touched else "s1"
                bridge = int(victim[1:])
                if fault == "gone":
                    bridge = MORTAL
                    switches.remove(bridge)
                elif fault == "full":
                    switches.limit(bridge, len(held[victim]))

                def change(
                    control: Controller, job: int = job, circuits: list[Any] = circuits
                ) -> Any:
                    if job in running:
                        return control.give_back(job)
                    return control.set_circuits(job, plant.for_circuits(job, circuits))

                result = in_a_child(plant, faults, change, report)
                counts[result] += 1
                if result == "refused":
                    assert fault in ("full", "gone"), report.read_text()
                    counts[fault] += 1
                elif result == "done":
                    for stage, time_s in json.loads(report.read_text()).items():
                        seconds.setdefault(stage, []).append(time_s)
                if fault == "gone":
                    switches.add(bridge)
                elif fault == "full":
                    switches.limit(bridge, None)
                with Controller(plant) as control:
                    if fault:
                        control.recover()
                    held = control.settings()
                    assert held == control.journal.settings(plant.switches)
                    of_job: dict[int, set[tuple[str, int, int]]] = {}
                    for s, connections in held.items():
                        for c in connections:
                            if c.ingress < c.egress:
                                of_job.setdefault(c.job, set()).add((s, *c.ends))
                    assert of_job.pop(STEADY) == set(steady)
                    of_job.pop(0, None)
                    given = {(s, min(e), max(e)) for s, *e in circuits}
                    if job in running:
                        if job not in of_job:
                            del running[job]
                        assert result != "done" or job not in running
                    elif job in of_job:
                        assert of_job[job] == given
                        running[job] = frozenset(given)
                    else:
                        assert result != "done" or not given
                    assert {j: frozenset(found) for j, found in of_job.items()} == running
                    if number % 10 == 0:
                        try:
                            port = draw.randrange(2, ports)
                            own = [(draw.choice(plant.names), 1, port)]
                            control.set_circuits(10**6, plant.for_circuits(10**6, own))
                        except ControlError:
                            counts["forbidden"] += 1
                        else:
                            raise AssertionError("a running job's circuit was taken")
                if number % 10 == 9 or number == count - 1:
                    entries = compare(switches, plant)
            frames.stdin.close()
            ways = [line.split() for line in frames.stdout.read().splitlines()]
            assert frames.wait() == 0
            frames.stdout.close()
    sent, came, strays = (sum(int(way[n]) for way in ways) for n in (2, 3, 4))
    middle = {stage: round(1000 * statistics.median(of), 2) for stage, of in seconds.items()}
    most = {stage: round(1000 * max(of), 2) for stage, of in seconds.items()}
    return {
        "changes": count,
        **counts,
        "entries_at_the_end": entries,
        "frames": {"ways": len(ways), "sent": sent, "came": came, "strayed": strays},
        "median_ms": middle,
        "most_ms": most,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(json.dumps(experiment(given.count, given.seed), indent=2))
