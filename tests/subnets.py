"""InfiniBand's files, written and real, for tests of Odonata and of its live side."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "shared" / "data"


def has(path: Path) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not path.exists(), reason=f"needs {path}")


def subnet() -> str:
    """As ibnetdiscover prints it: two adapters in n0, a warning, an aggregation node."""
    lines = ["ibwarn: [4711] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1,7)"]
    for leaf in (0, 1):
        lines += [f"switchguid=0x{leaf + 1}", f'Switch 8 "S-{leaf + 1:016x}" # "s{leaf}"']
        hosts = [f"n{4 * leaf + place} mlx5_0" for place in range(4)]
        if leaf == 0:
            hosts += ["n0 mlx5_1", "Mellanox Technologies Aggregation Node"]
        lines += [
            f'[{port}] "H-{16 * leaf + port + 256:016x}"[1] # "{host}" lid 1 4xNDR'
            for port, host in enumerate(hosts, 1)
        ]
        lines.append(f'[8] "S-{3:016x}"[{leaf + 1}] # "top" lid 1 4xNDR')
    lines += ["switchguid=0x3", f'Switch 8 "S-{3:016x}" # "top"']
    lines += [f'[{leaf + 1}] "S-{leaf + 1:016x}"[8] # "s{leaf}" lid 1 4xNDR' for leaf in (0, 1)]
    return "\n".join(lines) + "\n"
