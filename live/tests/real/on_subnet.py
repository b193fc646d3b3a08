"""Routes a simulated InfiniBand subnet with OpenSM and writes down what it did.

Runs in a process namespace of its own, whose end ends ``ibsim`` and OpenSM. Written into the
directory, besides what OpenSM writes itself (``opensm-lfts.dump``, ``opensm.fdbs``,
``opensm-subnet.lst``): ``ibnetdiscover.txt``, ``dump_fts.txt``, ``path-records.txt`` and, for each
pair of hosts that is asked for, ``ibtracert-A-B.txt``.

Usage: ``on_subnet.py NET ENGINE DIRECTORY [OPTION]...`` with ``--records``, ``--fts``,
``--trace A B``, ``--opensm OPTION`` and ``--pull SWITCH PORT``: the cable is pulled once OpenSM has
routed the subnet, and everything is written when it has routed what is left; ``whole.txt`` is what
``ibnetdiscover`` printed before, ``iblinkinfo.txt`` what that program prints after.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

SIMULATED = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"


def preload() -> str:
    """The library that leads programs to ibsim, wherever the architecture has it."""
    found = sorted(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"))
    return str(found[0]) if found else SIMULATED


def environment(host: str, directory: Path) -> dict[str, str]:
    """The environment of a program on a simulated host."""
    return {
        **os.environ,
        "SIM_HOST": host,
        "LD_PRELOAD": preload(),
        "OSM_TMP_DIR": str(directory),
        "OSM_CACHE_DIR": str(directory),
    }


def wait_for(what: str, is_so: object, deadline_s: float) -> None:
    """Waits until a function says so."""
    end = time.monotonic() + deadline_s
    while not is_so():  # type: ignore[operator]
        if time.monotonic() > end:
            raise SystemExit(f"not within {deadline_s:g} s: {what}")
        time.sleep(0.05)


def main() -> None:
    """Does it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("net", type=Path)
    parser.add_argument("engine")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--records", action="store_true")
    parser.add_argument("--fts", action="store_true")
    parser.add_argument("--trace", nargs=2, action="append", default=[])
    parser.add_argument("--pull", nargs=2)
    parser.add_argument("--opensm", action="append", default=[])
    options = parser.parse_args()
    directory: Path = options.directory
    # Where programs that speak to ibsim lay out what the kernel would show of their host.
    os.chdir(directory)
    deadline_s = 400.0

    fifo = directory / "commands"
    os.mkfifo(fifo)
    commands = os.open(fifo, os.O_RDWR)
    log = directory / "ibsim.log"
    with log.open("wb") as out:
        ibsim = subprocess.Popen(
            ["ibsim", "-S", "2048", "-N", "16384", "-P", "65536", "-s", str(options.net)],
            stdin=commands,
            stdout=out,
            stderr=out,
        )
    wait_for("ibsim reads the net", lambda: b"sim>" in log.read_bytes(), deadline_s)

    def asked(*command: str) -> subprocess.CompletedProcess[str]:
        if ibsim.poll() is not None:
            raise SystemExit(f"ibsim has ended: {log.read_text(errors='replace')[-500:]}")
        return subprocess.run(
            command,
            env=environment("H-1", directory),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    log_file = str(directory / "osm.log")
    ups = 1
    begun = time.monotonic()
    with (directory / "opensm.out").open("wb") as out:
        opensm = subprocess.Popen(
            ["opensm", "-d2", "-D", "0x43", "-R", options.engine, "-f", log_file, *options.opensm],
            env=environment("H-0", directory),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )

    def is_up() -> bool:
        # The last of its log, after its files.
        if opensm.poll() is not None:
            raise SystemExit(f"opensm has ended: {(directory / 'opensm.out').read_text()[-500:]}")
        if not Path(log_file).exists():
            return False
        return Path(log_file).read_bytes().count(b"SUBNET UP") >= ups

    wait_for("opensm has routed the subnet", is_up, deadline_s)
    (directory / "seconds").write_text(f"{time.monotonic() - begun:.1f}\n")
    if options.pull:
        (directory / "whole.txt").write_text(asked("ibnetdiscover").stdout)
        switch, port = options.pull
        ups = Path(log_file).read_bytes().count(b"SUBNET UP") + 1
        os.write(commands, f'Unlink "{switch}"[{port}]\n'.encode())
        wait_for("opensm has routed what is left", is_up, deadline_s)
        (directory / "iblinkinfo.txt").write_text(asked("iblinkinfo").stdout)
    discovered = asked("ibnetdiscover").stdout
    (directory / "ibnetdiscover.txt").write_text(discovered)
    if options.fts:
        (directory / "dump_fts.txt").write_text(asked("dump_fts").stdout)
    names = re.findall(
        r'^\[\d+\]\s+"[^"]*"\[\d+\]\(\w+\)\s+# "([^"]*)" lid (\d+)', discovered, re.M
    )
    lids = {name: int(lid) for name, lid in names}
    for a, b in options.trace:
        found = asked("ibtracert", str(lids[a]), str(lids[b])).stdout
        (directory / f"ibtracert-{a}-{b}.txt").write_text(found)
    if options.records:
        listed = directory / "lids"
        listed.write_text("\n".join(str(lid) for lid in sorted(lids.values())))
        script = Path(__file__).with_name("path_records.py")
        done = asked(
            sys.executable,
            str(script),
            str(listed),
            str(directory / "path-records.txt"),
            str(lids["H-0"]),
        )
        if done.returncode:
            raise SystemExit(done.stderr)


if __name__ == "__main__":
    main()
