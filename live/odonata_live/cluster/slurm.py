"""Slurm's commands, asked with a limit to the time that they may take."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from odonata.errors import ClusterError

#: How long a command may take by default: a loaded controller answers within seconds.
TIMEOUT_S = 30.0


def ask(
    command: Sequence[str],
    timeout_s: float = TIMEOUT_S,
    *,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What a command of Slurm prints.

    Args:
        command: The command; no shell sees it.
        timeout_s: How long it may take.
        environment: Variables that it gets beside our own.

    Raises:
        ClusterError: If there is no such command, it fails, or does not answer in time; says which
            and what to do.
    """
    name = command[0]
    try:
        done = subprocess.run(
            list(command),
            capture_output=True,
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            env=None if environment is None else {**os.environ, **environment},
        )
    except FileNotFoundError:
        raise ClusterError(
            f"{name}: not found. Run this where Slurm's commands are on PATH (a login node), or "
            "give what they print in files, by the options that --help lists"
        ) from None
    except PermissionError as error:
        raise ClusterError(f"{name}: may not be run here: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ClusterError(
            f"{name}: no answer within {timeout_s:g} s. Is slurmctld up and not overloaded "
            "(`sdiag`)? Try again later, or with a longer --timeout"
        ) from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace")
        raise ClusterError(f"{name}: failed with code {done.returncode}: {said.strip()[:500]}")
    return done.stdout.decode(errors="replace")
