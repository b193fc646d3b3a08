"""Functions of others that scenarios, schedules and studies call by a name, like ours.

A distribution names them as entry points, one group for each kind::

    [project.entry-points."odonata.placement"]
    corner = "my_package:corner"

Or a program registers them before it reads a scenario::

    odonata.plug_ins.register("placement", "corner", corner)

What each kind of function gets and returns is said by the classes of
:mod:`odonata.plug_ins.calls`, and in ``docs/plug-ins.md``.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from odonata.bounded import read_bytes
from odonata.errors import PlugInError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: What can be plugged in.
Kind = Literal["placement", "mapping", "pattern", "application", "order", "measure"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class PlugIn:
    """A function that is called by a name.

    Attributes:
        kind: What it is.
        name: By which scenarios call it.
        function: The function.
        origin: Where it is from, for people.
    """

    kind: Kind
    name: str
    function: Callable[..., Any]
    origin: str

    @functools.cached_property
    def source(self) -> str:
        """SHA-256 of its source: of all Python files of the package that it is in.

        Of a function without a file, such as one typed into an interpreter, of its byte code.
        """
        digest = hashlib.sha256()
        for part in _source_parts(self.function):
            digest.update(part)
        return digest.hexdigest()

    def call(self, *arguments: Any) -> Any:
        """What it returns.

        Raises:
            PlugInError: If it raises anything; the error is kept as the cause.
        """
        try:
            return self.function(*arguments)
        except PlugInError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    def items(self, given: Any, most: int, allowed: str) -> Iterator[Any]:
        """The items of a list that it gave, which it may compute only now, without end.

        Args:
            given: The list.
            most: Largest number of items.
            allowed: What the list should be, for people.

        Raises:
            PlugInError: If it is none, has more items, or the plug-in fails on the way.
        """
        listed: Any = None if isinstance(given, (str, bytes, Mapping, Set)) else given
        try:
            items = iter(listed)
        except TypeError:
            raise self.error(f"it returned {reprlib.repr(given)}; allowed: {allowed}") from None
        try:
            for number, item in enumerate(items):
                if number == most:
                    raise self.error(f"it returned more than {most:,} items; allowed: {allowed}")
                yield item
        except PlugInError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> PlugInError:
        place = _last_line(error, self.function)
        return self.error(f"it failed: {type(error).__name__}: {error}{place}")

    def error(self, message: str) -> PlugInError:
        """The error that says something of it."""
        return PlugInError(f'{self.kind} "{self.name}" ({self.origin}): {message}')


def _last_line(error: BaseException, function: Callable[..., Any]) -> str:
    """Where in the function's file an error came from."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        return ""
    trace, found = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found = f" (line {trace.tb_lineno} of {Path(str(file)).name})"
        trace = trace.tb_next
    return found


def _source_parts(function: Callable[..., Any]) -> Iterator[bytes]:
    module = inspect.getmodule(inspect.unwrap(function))
    file = getattr(module, "__file__", None)
    if module is None or file is None or not Path(file).is_file():
        code = getattr(function, "__code__", None)
        yield code.co_code + repr(code.co_consts).encode() if code else repr(function).encode()
        return
    package = module.__name__.partition(".")[0]
    top = getattr(sys.modules.get(package), "__file__", None)
    whole = "." in module.__name__ or Path(file).name == "__init__.py"
    if not whole or top is None or Path(top).name != "__init__.py":
        yield read_bytes(file)
        return
    root = Path(top).parent
    for path in sorted(root.rglob("*.py")):
        yield path.relative_to(root).as_posix().encode()
        yield read_bytes(path)


#: Plug-ins that programs registered, by kind and name.
_REGISTERED: dict[tuple[Kind, str], PlugIn] = {}


def register(kind: Kind, name: str, function: Callable[..., Any]) -> None:
    """Lets scenarios, schedules and studies call a function by a name.

    Args:
        kind: What it is.
        name: Its name; not one of ours.
        function: The function. One that is in a module, not in a program's own file, is known to
            the processes of a study too. Registered again, the later one holds.

    Raises:
        PlugInError: If there is no such kind, or the name is one of ours.
    """
    if kind not in KINDS:
        raise PlugInError(f'plug-in: found the kind "{kind}"; allowed: {", ".join(KINDS)}')
    if not callable(function):
        raise PlugInError(f'{kind} "{name}": found {function!r}; allowed: a function')
    _check_name(kind, name)
    module = getattr(function, "__module__", None) or "?"
    _REGISTERED[kind, name] = PlugIn(kind, name, function, f"registered, of {module}")


def unregister(kind: Kind, name: str) -> None:
    """Forgets what was registered; nothing happens if nothing was."""
    _REGISTERED.pop((kind, name), None)


def ours(kind: Kind) -> tuple[str, ...]:
    """Names of a kind that Odonata itself has."""
    from odonata import declared, names, table

    assert declared.modules()  # Which fills the choices.
    # Motifs as a scenario calls them: halo2d and halo3d are one for the engine.
    motifs = table.CHOICES["Motif"][1]
    of_kind: Mapping[Kind, tuple[Iterable[str], ...]] = {
        "placement": (names.PLACEMENT,),
        "mapping": (names.MAPPING,),
        "pattern": (names.PATTERN,),
        "application": (motifs, names.APPLICATION, names.MOTIF, names.PATTERN),
        "order": (names.ORDER,),
        "measure": (),
    }
    return tuple(name for listed in of_kind[kind] for name in listed)


def _check_name(kind: Kind, name: str) -> None:
    if name in ours(kind):
        raise PlugInError(f'{kind} "{name}": Odonata has one of that name; give it another')
    if not name or not all(c.isalnum() or c in "-_." for c in name):
        raise PlugInError(f'{kind} "{name}": allowed: letters, digits, "-", "_" and "."')


@functools.cache
def _entry_points(path: tuple[str, ...]) -> dict[tuple[Kind, str], list[EntryPoint]]:
    """Entry points of all kinds by kind and name, with the interpreter's search path."""
    # Most commands need no plug-in; reading what is installed takes a third of their start.
    from importlib.metadata import entry_points

    found: dict[tuple[Kind, str], list[EntryPoint]] = {}
    for kind in KINDS:
        for point in entry_points(group=f"odonata.{kind}"):
            same = found.setdefault((kind, point.name), [])
            # A distribution may be found twice along the path.
            if point.value not in [one.value for one in same]:
                same.append(point)
    return found


def known(kind: Kind) -> tuple[str, ...]:
    """Names of the plug-ins of a kind, sorted."""
    points = {name for of, name in _entry_points(tuple(sys.path)) if of == kind}
    return tuple(sorted(points | {name for of, name in _REGISTERED if of == kind}))


def is_known(kind: Kind, name: Any) -> bool:
    """Whether a plug-in of a kind has this name."""
    if not isinstance(name, str) or name in ours(kind):
        return False
    return (kind, name) in _REGISTERED or (kind, name) in _entry_points(tuple(sys.path))


#: Kinds of plug-ins that jobs name.
_OF_JOBS: tuple[Kind, ...] = ("placement", "mapping", "pattern", "application")


def names_of_jobs() -> dict[str, list[str]]:
    """Names of the plug-ins that jobs may name, by their kind."""
    return {kind: list(known(kind)) for kind in _OF_JOBS}


def find(kind: Kind, name: str) -> PlugIn:
    """The plug-in of a name.

    Raises:
        PlugInError: If there is none, several distributions have one, or it cannot be imported.
    """
    registered = _REGISTERED.get((kind, name))
    if registered is not None:
        return registered
    points = _entry_points(tuple(sys.path)).get((kind, name), [])
    if not points:
        allowed = ", ".join((*ours(kind), *known(kind)))
        raise PlugInError(f'{kind}: found "{name}"; allowed: {allowed}')
    if len(points) > 1:
        raise PlugInError(
            f'{kind} "{name}": {" and ".join(map(_origin, points))} have one each; remove one of '
            "them"
        )
    point = points[0]
    try:
        function = point.load()
    except Exception as error:
        raise PlugInError(
            f'{kind} "{name}" ({_origin(point)}): {point.value} cannot be imported: '
            f"{type(error).__name__}: {error}"
        ) from error
    if not callable(function):
        raise PlugInError(f'{kind} "{name}" ({_origin(point)}): {point.value} is no function')
    return PlugIn(kind, name, function, _origin(point))


def _origin(point: EntryPoint) -> str:
    return point.value if point.dist is None else f"{point.dist.name} {point.dist.version}"


def registered_functions() -> tuple[tuple[Kind, str, str, str], ...]:
    """What was registered and can be found again by its module: kind, name, module, function.

    For processes that simulate for this one.
    """
    found = []
    for (kind, name), plug_in in _REGISTERED.items():
        module = getattr(plug_in.function, "__module__", "")
        qualified = getattr(plug_in.function, "__qualname__", "")
        if module not in ("", "__main__", "__mp_main__") and "<" not in qualified:
            found.append((kind, name, module, qualified))
    return tuple(found)


def register_functions(listed: tuple[tuple[Kind, str, str, str], ...]) -> None:
    """Registers what :func:`registered_functions` of another process reported.

    A module that is not here is passed over: a call that names its function gets an error.
    """
    for kind, name, module, qualified in listed:
        try:
            function: Any = importlib.import_module(module)
            for part in qualified.split("."):
                function = getattr(function, part)
        except (ImportError, AttributeError):
            continue
        register(kind, name, function)
