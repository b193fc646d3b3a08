"""Studies that judge publications, and Odonata itself.

They use Odonata's public interface alone. Odonata finds them by its entry points
``odonata.studies``, so that ``odonata study NAME`` runs each:

* :mod:`odonata_studies.papers`: study files, one for each publication;
* :mod:`odonata_studies.longtail`: long tails of collectives (Salimi Beni and Cosenza 2022);
* :mod:`odonata_studies.resilience`: what failures cost networks of equal cost;
* :mod:`odonata_studies.validation`: the packet engine beside theory and other simulators.
"""
