"""The files that go beside slurm.conf and into cron, with a site's names in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from odonata.errors import ClusterError
from odonata.output import rewrite

SHIPPED = Path(__file__).parent / "on_slurm"


def job_submit_lua(heartbeat: Path, partitions: Sequence[str], stale_s: int) -> str:
    """The text of ``job_submit.lua`` for a site.

    Raises:
        ClusterError: If a name cannot be written in it.
    """
    text = (SHIPPED / "job_submit.lua").read_text(encoding="utf-8")
    for name in (*partitions, str(heartbeat)):
        if not re.fullmatch(r"[\w./+@ -]+", name):
            raise ClusterError(f"found {name!r:.60}; allowed: letters, digits and ./_+@- in names")
    table = ", ".join(f'["{name}"] = true' for name in partitions)
    text = text.replace("{ main = true }", f"{{ {table} }}")
    text = text.replace('"/var/lib/odonata/heartbeat"', f'"{heartbeat}"')
    return text.replace("local seconds = 120", f"local seconds = {stale_s}")


def write_slurm_files(
    directory: Path, heartbeat: Path, partitions: Sequence[str], stale_s: int
) -> list[Path]:
    """Writes both files, in the place of earlier ones; returns their paths.

    Raises:
        ClusterError: If a name cannot be written in them.
        OSError: If they cannot be written.
    """
    lua = job_submit_lua(heartbeat, partitions, stale_s)
    directory.mkdir(parents=True, exist_ok=True)
    script = directory / "leave-waiting-jobs.sh"
    rewrite(script, (SHIPPED / script.name).read_bytes(), permissions=0o755)
    rewrite(directory / "job_submit.lua", lua, permissions=0o644)
    return [directory / "job_submit.lua", script]
