"""Submits jobs so that the placement chooses their nodes, or plainly where nobody places."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from odonata_live.cluster.jobs import UNTIL_PLACED

#: What the comment of a job begins with that waits for us: it tells people why, and the watchdog
#: whose nodes are ours.
MARK = "odonata-place"
#: Options of sbatch that say something about nodes, time or order that Slurm keeps better.
_SLURMS = {
    **dict.fromkeys(("-w", "--nodelist", "-F", "--nodefile"), "it names nodes"),
    **dict.fromkeys(("-H", "--hold"), "it is held by its user"),
    **dict.fromkeys(("-b", "--begin"), "it begins at a time of its own"),
    "--reservation": "it runs in a reservation",
    "--deadline": "it has a deadline, which may be before the begin time of jobs that wait",
    "--priority": "it has a priority of its own",
}
#: Options of sbatch that take no value; every other one of a single letter does.
_FLAGS = frozenset("hHIkOQsvVW")


def is_alive(heartbeat: Path, stale_s: float, now_s: float | None = None) -> bool:
    """Whether somebody places jobs: a heartbeat no older than this many seconds."""
    now_s = time.time() if now_s is None else now_s
    try:
        beat = int(heartbeat.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return False
    return abs(now_s - beat) <= stale_s


def to_be_placed(
    arguments: Sequence[str], read: Callable[[str], str | None] = lambda path: None
) -> tuple[list[str], str | None]:
    """Arguments of sbatch for a job that waits for us.

    Args:
        arguments: Options, the script, its arguments.
        read: Tells what a script holds, if it can be read: it may have options, too.

    Returns:
        The arguments for sbatch, and why the job is left to Slurm, if it is; then they are as they
        were.
    """
    options, rest = _options(arguments)
    comment = None
    kept: list[str] = []
    script = None if not rest or any(name == "--wrap" for name, _ in options) else read(rest[0])
    for name, words in [*_directives(script or ""), *options]:
        if why := _SLURMS.get(name):
            return list(arguments), why
        if name in ("-a", "--array") and "%" in words[-1]:
            return list(arguments), "only so many tasks of its array may run at once"
        if name == ":":
            return list(arguments), "it is a heterogeneous job"
        if name == "--comment":
            comment = words[-1].partition("=")[2] if len(words) == 1 else words[-1]
    for name, words in options:
        kept += [] if name == "--comment" else words
    mark = MARK if comment is None else f"{MARK} {comment}"
    return [*kept, f"--begin={UNTIL_PLACED}", f"--comment={mark}", *rest], None


def _directives(script: str) -> list[tuple[str, list[str]]]:
    """Options of a script's ``#SBATCH`` lines, which end where its commands begin."""
    found: list[tuple[str, list[str]]] = []
    for line in script.splitlines():
        if line.startswith("#SBATCH"):
            try:
                words = shlex.split(line[len("#SBATCH") :], comments=True)
            except ValueError:
                continue
            if words and words[0] == "hetjob":
                found.append((":", words))
            found += _options(words)[0]
        elif line.strip() and not line.startswith("#"):
            break
    return found


def _options(arguments: Sequence[str]) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Options with their words, and what follows them: the script and its arguments."""
    found: list[tuple[str, list[str]]] = []
    index = 0
    while index < len(arguments):
        word = arguments[index]
        following = list(arguments[index + 1 : index + 2])
        if word == "--":
            return found, list(arguments[index:])
        if word == ":":
            found.append((":", [word]))
            index += 1
        elif word.startswith("--"):
            name = word.partition("=")[0]
            # Options that may stand without a value have it behind an equals sign.
            alone = "=" in word or name in _ALONE
            found.append((name, [word, *([] if alone else following)]))
            index += 1 if alone else 2
        elif word.startswith("-") and len(word) > 1:
            alone = len(word) > 2 or word[1] in _FLAGS
            # Flags may stand together with one another and with a last option.
            name = next((f"-{letter}" for letter in word[1:] if f"-{letter}" == "-H"), word[:2])
            if word[1] not in _FLAGS:
                name = word[:2]
            found.append((name, [word, *([] if alone else following)]))
            index += 1 if alone else 2
        else:
            break
    return found, list(arguments[index:])


_ALONE = frozenset(
    {
        *("--contiguous", "--exclusive", "--get-user-env", "--help", "--hold", "--ignore-pbs"),
        *("--kill-on-invalid-dep", "--no-kill", "--no-requeue", "--overcommit", "--oversubscribe"),
        *("--parsable", "--propagate", "--quiet", "--reboot", "--requeue", "--spread-job"),
        *("--test-only", "--usage", "--use-min-nodes", "--verbose", "--version", "--wait"),
        *("--nice", "--disable-stdout-job-summary", "--spankopts", "--segment"),
    }
)
