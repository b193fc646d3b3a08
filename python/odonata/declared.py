"""The classes of all tables of scenarios, made from what the engine declares.

They are found where they belong: families of networks and link classes in :mod:`odonata.network`,
jobs in :mod:`odonata.load`, what jobs do in :mod:`odonata.motif`, :mod:`odonata.application` and
:mod:`odonata.traffic`, the machine in :mod:`odonata.machines.machine`, schedules of logs in
:mod:`odonata.batch.declared`; all others are here. Each module takes its own by
:func:`classes_of`. Their types are in stubs beside the modules, which ``tools/stubs.py`` writes
from the same declarations when the engine is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

from odonata import _engine
from odonata.bases import (
    ConfiguredNetwork,
    DiscoveredNetwork,
    LevelBase,
    LinkClasses,
    MotifBase,
    NetworkBase,
    TrafficBase,
)
from odonata.table import CHOICES, CLASSES, Key, Table

#: What classes of families have besides what all have.
_BASES = {"codes": ConfiguredNetwork, "ibnetdiscover": DiscoveredNetwork}
#: Where tables are that are declared by themselves.
_MODULES = {
    **dict.fromkeys(("Job", "MessageClass", "MappingTable", "PlacementTable"), "load"),
    "RankMapPlacement": "load",
    **dict.fromkeys(("TimeBorder", "RegionBorder", "MarkerBorder"), "motif"),
    **dict.fromkeys(("ComputePhase", "RepeatPhase", "PhaseFile"), "motif"),
    **dict.fromkeys(("Machine", "HostRange", "ManyRanks", "Background"), "machines.machine"),
    **dict.fromkeys(("FreshBuffers", "SizedRate", "SizedSpread", "SizedError"), "machines.machine"),
    **dict.fromkeys(("SharedNodes", "MessageCosts", "InlineMessages"), "machines.machine"),
    **dict.fromkeys(("Link", "LongLink", "NamedLink"), "network"),
    **dict.fromkeys(("Reading", "Grap", "MultifactorTable"), "batch.declared"),
    **dict.fromkeys(("Maintenance", "Reservation", "Schedule"), "batch.declared"),
    **dict.fromkeys(("NodeOutage", "NodeFailures"), "batch.declared"),
}
#: The name of the module's type of tables of several kinds.
_UNIONS = {"Motif": "Motif", "Traffic": "AnyTraffic", "ScheduleNetwork": "AnyScheduleNetwork"}
#: What classes of tables of several kinds have beside their keys, and where they are.
_KINDS = {
    "Motif": (MotifBase, "motif"),
    "Traffic": (TrafficBase, "traffic"),
    "ScheduleNetwork": (LevelBase, "batch.declared"),
}
_PARAMETERS = Key(
    key="parameters",
    text="Parameters that the plug-in is given.",
    kind={"by-name": "any"},
    default={},
)

#: What each module has.
_contents: dict[str, dict[str, Any]] = {}


def classes_of(module: str) -> dict[str, Any]:
    """The classes that belong to a module, by name."""
    return _contents[module]


def modules() -> Mapping[str, Mapping[str, Any]]:
    """The classes, and types of several, by module and name."""
    return _contents


def study_classes(bases: Mapping[str, type[Table]], base: type[Table]) -> dict[str, Any]:
    """The classes of study files, by name.

    Args:
        bases: What some have besides their keys.
        base: What all others have.
    """
    for table in _engine.study_tables():
        name = table["name"]
        _class(name, table["text"], _keys(table), "study.file", base=bases.get(name, base))
    return classes_of("odonata.study.file")


def _add(name: str, value: Any, module: str) -> None:
    _contents.setdefault(f"odonata.{module}", {})[name] = value


def _class(
    name: str,
    text: str,
    keys: list[Key],
    module: str,
    *,
    base: type[Table] = Table,
    read_as: str = "",
    **attributes: Any,
) -> type[Table]:
    # What a class has otherwise would hide the key.
    assert not [key for key in keys if hasattr(base, key.name)], name
    own = {
        "__doc__": text,
        "__module__": f"odonata.{module}",
        "__qualname__": name,
        "keys": {key.name: key for key in keys},
        "read_as": read_as or name,
        **attributes,
    }
    made = type(base)(name, (base,), own)
    CLASSES[name] = made
    _add(name, made, module)
    return made


def _keys(table: Mapping[str, Any]) -> list[Key]:
    return [Key(**facts) for facts in table["keys"]]


def _chooser(key: str, text: str, names: list[str], *, implied: bool) -> Key:
    """The key that says the kind of a table."""
    default = names[0] if implied else None
    kind = {"one-of": names}
    return Key(key=key, text=text, kind=kind, default=default, needed=not implied)


def _add_tables() -> None:
    for table in (*_engine.tables(), *_engine.schedule_tables()["tables"]):
        module = _MODULES.get(table["name"], "declared")
        _class(table["name"], table["text"], _keys(table), module)
    for kind in ("placement", "mapping"):
        name = Key(key="plug_in", text="Name of the plug-in.", kind="text", needed=True)
        text = f"A {kind} by a plug-in with parameters."
        read_as = kind.capitalize()
        _class(f"{read_as}PlugIn", text, [name, _PARAMETERS], "load", read_as=read_as)


def _add_kinds() -> None:
    levels = {"name": "ScheduleNetwork", "key": "level", "plug_in": None}
    levels["kinds"] = _engine.schedule_tables()["levels"]
    for kinds in (*_engine.kinds(), levels):
        name, key, extra = kinds["name"], kinds["key"], kinds["plug_in"]
        base, place = _KINDS[name]
        shared = {one["key"]: Key(**one) for one in extra["table"]["keys"]} if extra else {}
        classes: dict[str, type[Table]] = {}
        for kind in kinds["kinds"]:
            table, names = kind["table"], kind["names"]
            chooser = _chooser(key, kind["key_text"], names, implied=kind["implied"])
            own = {one.key: one for one in _keys(table)}
            first = {k: own[k] for k in (shared if extra else own)}
            keys = [*{**first, key: chooser, **own}.values()]
            module = "application" if "flop_rate" in own else place
            made = _class(table["name"], table["text"], keys, module, base=base, read_as=name)
            classes |= dict.fromkeys(names, made)
        plug_in = None
        if extra:
            table = extra["table"]
            called = Key(key=key, text="Name of the plug-in.", kind="text", needed=True)
            called.facts["not"] = extra["kind"]
            keys = [*shared.values(), called, _PARAMETERS]
            plug_in = _class(table["name"], table["text"], keys, place, base=base, read_as=name)
        CHOICES[name] = (key, classes, plug_in)
        every = (*dict.fromkeys(classes.values()), *((plug_in,) if plug_in else ()))
        _add(_UNIONS[name], Union[every], place)  # noqa: UP007
    made = _contents["odonata.application"]
    _add("SKELETONS", tuple(made.values()), "application")
    _contents["odonata.motif"] |= made


def _add_links() -> None:
    terminal = {"name": "terminal", "text": "Between nodes and routers.", "usual": "Link"}
    for family in _engine.families():
        table = family["links"].get("classes")
        if table is not None and table["name"] not in CLASSES:
            keys = [_link_class(link) for link in (terminal, *table["classes"])]
            _class(table["name"], table["text"], keys, "network", base=LinkClasses)


def _link_class(link: Mapping[str, Any]) -> Key:
    optional = link.get("later", False)
    kind = {"table": link["usual"]}
    return Key(key=link["name"], text=link["text"], kind=kind, default={}, optional=optional)


def _add_families() -> None:
    classes: dict[str, type[Table]] = {}
    for family in _engine.families():
        table, name = family["table"], family["name"]
        declared = family["links"].get("classes")
        if declared is not None:
            kind, text = {"table": declared["name"]}, declared["key_text"]
        else:
            of_file = family["links"]["of-file"]
            kind, text = {"tables": "NamedLink" if of_file["kinds"] else "Link"}, of_file["text"]
        keys = [
            *NetworkBase.keys.values(),
            _chooser("family", "The family.", [name], implied=True),
            *_keys(table),
            Key(key="links", text=text, kind=kind, default={}),
        ]
        classes[name] = _class(
            table["name"],
            table["text"],
            keys,
            "network",
            base=_BASES.get(name, NetworkBase),
            read_as="Network",
            link_facts=declared,
        )
    CHOICES["Network"] = ("family", classes, None)
    for name in ("Router", "Nic", "Routing", "OpticalLayer"):
        _add(name, CLASSES[name], "network")
    _add("Network", Union[(*classes.values(),)], "network")


def _every() -> None:
    _add_tables()
    _add_kinds()
    _add_links()
    _add_families()


_every()
globals().update(_contents["odonata.declared"])
