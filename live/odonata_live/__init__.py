"""The live side: clusters in use, and circuits of real switches.

Odonata finds its commands by entry points ``odonata.commands``, so that ``odonata cluster`` and
``odonata control`` run them:

* :mod:`odonata_live.cluster`: what Slurm reports, probes of the network, placement of jobs;
* :mod:`odonata_live.control`: optical switches set as transactions, and routes that follow;
* :mod:`odonata_live.cli`: the commands.
"""
