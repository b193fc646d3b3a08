"""The heartbeat: a file that says when somebody last placed, and how long nobody did before.

Its first line is Unix seconds, or 0 where nobody places on purpose; job_submit.lua,
`odonata cluster submit` and the watchdog read no more than that. The lines after it are for the
next daemon: when the last cycle ended (or began, if it has not ended), and from when to when
nobody looked::

    ended 1700000000.250
    silent 1699999000.125 1699999012.500
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from odonata.output import rewrite

#: How far back silences count.
WINDOW_S = 3600.0


class Pulse:
    """When somebody placed, across processes that are killed.

    A *silence* is a time in which jobs were held and nobody looked at them: from the beginning of a
    cycle that its process did not survive to that of the next one, or from the end of a cycle, if
    that is longer than cycles usually are apart. One that Slurm did not answer has ended, too,
    though it renews nothing: then Slurm would have started nobody without us, either.

    Attributes:
        path: The file.
        usual_s: Longest time from a cycle to the next that is no silence.
    """

    def __init__(self, path: Path, usual_s: float) -> None:
        self.path, self.usual_s = path, usual_s
        self._first = "0"
        #: Whether the last cycle has ended, and when it did, or began.
        self._last: tuple[bool, float] | None = None
        self._silences: list[tuple[float, float]] = []
        text = ""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = path.read_text(encoding="ascii")
        if text and (first := text.splitlines()[0].strip()).isdigit():
            self._first = first
        for words in map(str.split, text.splitlines()):
            with contextlib.suppress(ValueError, IndexError):
                if words[0] in ("ended", "began") and len(words) == 2:
                    self._last = words[0] == "ended", float(words[1])
                elif words[0] == "silent" and len(words) == 3:
                    self._silences.append((float(words[1]), float(words[2])))

    def silent_s(self, now_s: float) -> float:
        """Seconds of the last hour that were silent, up to now, when no cycle is under way."""
        silences = [*self._silences, *self._since_last(now_s)]
        begin = now_s - WINDOW_S
        return sum(max(0.0, min(b, now_s) - max(a, begin)) for a, b in silences)

    def begin(self, now_s: float) -> None:
        """A cycle begins. Where nobody has placed yet, nothing is written.

        Raises:
            OSError: If the file cannot be written.
        """
        if self.path.exists():
            self._silences += self._since_last(now_s)
            self._write(now_s, self._first, ended=False)

    def beat(self, now_s: float) -> None:
        """The cycle has gone well; however long it took, nobody was silent.

        Raises:
            OSError: If the file cannot be written.
        """
        self._write(now_s, str(int(now_s)), ended=True)

    def no_answer(self, now_s: float) -> None:
        """The cycle has ended, as Slurm did not answer.

        Raises:
            OSError: If the file cannot be written.
        """
        if self.path.exists():
            self._write(now_s, self._first, ended=True)

    def rest(self, now_s: float) -> None:
        """Nobody will place until the next beat, and nobody is to be held.

        Raises:
            OSError: If the file cannot be written.
        """
        self._silences += self._since_last(now_s)
        self._write(now_s, "0", ended=True)

    def _since_last(self, now_s: float) -> list[tuple[float, float]]:
        if self._last is None:
            return []
        ended, last = self._last
        # A clock that was set back proves nothing.
        if now_s - last <= (self.usual_s if ended else 0.0):
            return []
        return [(last, now_s)]

    def _write(self, now_s: float, first: str, *, ended: bool) -> None:
        self._silences = [one for one in self._silences if one[1] > now_s - WINDOW_S]
        self._first = first
        self._last = (ended, now_s) if first != "0" else None
        lines = [first]
        if self._last is not None:
            lines.append(f"{'ended' if ended else 'began'} {now_s:.3f}")
        lines += [f"silent {a:.3f} {b:.3f}" for a, b in self._silences]
        rewrite(self.path, "\n".join(lines) + "\n", permissions=0o644)
