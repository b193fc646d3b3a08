"""What congestors do to a job: the study behind pages/gpcnet.md.

    .venv/bin/python studies/scripts/gpcnet.py [--as-is]    # three minutes

With ``--as-is`` nothing is simulated: page and picture show the table that is kept.
"""

import sys

from odonata_studies.gpcnet import SIMULATED_FILE, GPCNeT
from odonata_studies.gpcnet.drawing import draw
from odonata_studies.gpcnet.tables import tables
from odonata_studies.kept import keep

if __name__ == "__main__":
    keep("gpcnet", GPCNeT(), {SIMULATED_FILE: "gpcnet.csv"}, draw, tables, sys.argv[1:])
