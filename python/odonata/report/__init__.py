"""What people are shown of results: on a terminal (``summaries.py``), as one file (``html``)."""
