"""Programs that run on the nodes of a cluster, where Odonata itself need not be installed."""
