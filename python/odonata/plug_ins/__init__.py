"""Functions of others that scenarios, schedules and studies call by a name, like ours.

``registered.py`` finds them, ``calls.py`` calls them; ``forms.py`` has what stands for them in the
engine's form of a scenario.
"""

from odonata.plug_ins.registered import (
    KINDS,
    Kind,
    PlugIn,
    find,
    is_known,
    known,
    names_of_jobs,
    ours,
    register,
    register_functions,
    registered_functions,
    unregister,
)

__all__ = [
    "KINDS",
    "Kind",
    "PlugIn",
    "find",
    "is_known",
    "known",
    "names_of_jobs",
    "ours",
    "register",
    "register_functions",
    "registered_functions",
    "unregister",
]
