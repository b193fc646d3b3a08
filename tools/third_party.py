"""Licences of what is compiled into the engine, with their texts: a file for the wheel.

    python3 tools/third_party.py [TARGET]      # x86_64-unknown-linux-gnu

Which crates there are says `cargo metadata`, and their texts lie in their packages, of which cargo
has downloaded what it builds. A crate without a text of its own is named with its licence, if that
may be Apache-2.0, whose text other crates bring.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: File of the wheel; beside LICENSE, the project's own.
FILE = "THIRD-PARTY-LICENSES.txt"
_TEXT = re.compile(r"(un)?licen[cs]e|copying|notice|copyright", re.IGNORECASE)
#: Deeper in a package lie the sources of others that it brings, as METIS's.
_DEPTH = 3
_HEAD = """Odonata's engine has parts of these packages compiled into it, and of Rust's standard library
(https://www.rust-lang.org, MIT OR Apache-2.0). Texts that several share stand here once.
"""  # noqa: E501


class LicenceError(Exception):
    """A crate that must not be given away as it is."""


@dataclass(frozen=True)
class Crate:
    """A crate that is linked in.

    Attributes:
        name: With its version.
        licence: As it says, in SPDX's terms.
        where: Its sources.
        texts: Its licences, by file.
    """

    name: str
    licence: str
    where: str
    texts: dict[str, str]


def linked_crates(target: str, directory: Path = ROOT) -> list[Crate]:
    """The crates that the engine is built from for a target, by name.

    Those that only run during the build are not among them; macros, whose output is, are.

    Raises:
        LicenceError: If one has no text and may not be taken under Apache-2.0.
    """
    asked = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", target],
        cwd=directory,
        stdout=subprocess.PIPE,
        check=True,
    )
    answer = json.loads(asked.stdout)
    packages = {one["id"]: one for one in answer["packages"]}
    nodes = {one["id"]: one for one in answer["resolve"]["nodes"]}
    (engine,) = (id_ for id_, one in packages.items() if one["name"] == "odonata-python")
    reached, open_ = {engine}, [engine]
    while open_:
        for needed in nodes[open_.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in needed["dep_kinds"])
            if normal and needed["pkg"] not in reached:
                reached.add(needed["pkg"])
                open_.append(needed["pkg"])
    foreign = [packages[id_] for id_ in reached if packages[id_]["source"] is not None]
    return sorted((_crate(one) for one in foreign), key=lambda crate: crate.name)


def _crate(package: dict[str, Any]) -> Crate:
    directory = Path(package["manifest_path"]).parent
    texts = {
        str(file.relative_to(directory)): file.read_text(encoding="utf-8", errors="replace")
        for file in _texts(directory, _DEPTH)
    }
    licence = package["license"] or "?"
    crate = Crate(
        f"{package['name']} {package['version']}", licence, package["repository"] or "", texts
    )
    if not texts and "Apache-2.0" not in re.split(r"[\s/()]+|OR", licence):
        raise LicenceError(f"{crate.name} ({licence}) brings no text of its licence")
    return crate


def _texts(directory: Path, depth: int) -> Iterator[Path]:
    for file in sorted(directory.iterdir()):
        if file.is_dir():
            if depth > 1:
                yield from _texts(file, depth - 1)
        elif _TEXT.match(file.name):
            yield file


def third_party(target: str, directory: Path = ROOT) -> str:
    """The file.

    Raises:
        LicenceError: If a crate must not be given away.
    """
    crates = linked_crates(target, directory)
    users: dict[str, list[str]] = {}
    shown: dict[str, str] = {}
    for crate in crates:
        for name, text in crate.texts.items():
            words = " ".join(text.split())
            shown.setdefault(words, text.strip())
            users.setdefault(words, []).append(f"{crate.name} ({name})")
    lines = [_HEAD, *(f"{one.name}  {one.licence}  {one.where}" for one in crates)]
    for words, crates_ in users.items():
        lines += ["", "=" * 100, ", ".join(crates_), "=" * 100, "", shown[words]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    try:
        print(third_party(*sys.argv[1:2] or ["x86_64-unknown-linux-gnu"]), end="")
    except LicenceError as error:
        sys.exit(f"{error}")
