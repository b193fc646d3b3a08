"""Comments are sentences with a subject: none begins with "Of", "Those", "And" or the like.

Such a beginning has its subject in the name of what it documents, or nowhere, so that it has to be
read twice. docs/architecture.md lists the words that were replaced by the field's own.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Where sources of the product lie, by the form of their doc comments.
PLACES = {
    "rs": (r"^\s*//[/!] ", ["crates"]),
    "py": (r'^\s*(?:r?"""|#: )', ["python", "live", "studies", "tests", "tools"]),
}


def found(text: str, mark: str) -> list[str]:
    """The doc comments of a file that begin without a subject."""
    return re.findall(
        rf"{mark}(?:Of|Those|That of|As of|And|So (?:that|many|long))\b.*", text, flags=re.M
    )


def test_no_comment_begins_without_a_subject() -> None:
    seen = {}
    for ending, (mark, folders) in PLACES.items():
        for folder in folders:
            for file in sorted((ROOT / folder).rglob(f"*.{ending}")):
                name = file.relative_to(ROOT).as_posix()
                if "/target/" not in name:
                    lines = found(file.read_text(encoding="utf-8"), mark)
                    seen.update({f"{name}: {line.strip()}": 1 for line in lines})
    assert sorted(seen) == []


def test_such_a_comment_would_be_found() -> None:
    assert found("    /// Of a job.\n/// Offers.\n", PLACES["rs"][0]) == ["    /// Of a job."]
    assert len(found('    """Those of a job."""\n#: As of today\n', PLACES["py"][0])) == 2
