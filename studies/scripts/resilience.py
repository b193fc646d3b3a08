"""What failures cost: the study behind pages/resilience.md.

    .venv/bin/python studies/scripts/resilience.py [--as-is]    # a quarter of an hour

With ``--as-is`` nothing is simulated: page and picture show the tables that are kept.
"""

import sys

from odonata_studies.kept import keep
from odonata_studies.resilience import CONNECTIVITY_FILE, SIMULATED_FILE, Resilience
from odonata_studies.resilience.drawing import draw
from odonata_studies.resilience.tables import tables

if __name__ == "__main__":
    files = {SIMULATED_FILE: "resilience.csv", CONNECTIVITY_FILE: "resilience_connectivity.csv"}
    keep("resilience", Resilience(), files, draw, tables, sys.argv[1:])
