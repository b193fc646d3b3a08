"""The modules of what users run, studies apart, for tests that look into sources."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
#: By what they are called in messages: ``odonata/output.py``.
SOURCES = {
    file.relative_to(package.parent).as_posix(): file
    for package in (_ROOT / "python" / "odonata", _ROOT / "live" / "odonata_live")
    for file in sorted(package.rglob("*.py"))
}
