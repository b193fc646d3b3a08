"""Where results go. Nothing is ever overwritten, nothing finished is lost, nothing is half done.

One rule for every command that writes:

- A **file** must not exist yet. It is written beside its place and gets its name when it is whole.
- The **directory of a run** must not exist yet, or be empty. It is claimed before anything is
  computed, so that whatever could keep results from being written is found out first, and so that
  several commands that choose a name at the same time choose several names.
- The **directory of a study** (of a search for saturation, of an analysis of interference) goes on
  with what was simulated there. Where what it shows would come to differ from what is there, the
  files that are there are kept in `earlier-1`, `earlier-2` ….

Every file is opened to write by :func:`opened`: nothing is written through a link that somebody put
in the place of a file of ours.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import re
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from odonata.errors import OdonataError, OutputError
from odonata.terminal import clean

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Self

#: The checkpoint in the directory of an unfinished run.
CHECKPOINT_FILE = "checkpoint"
#: Says of a directory that a process has claimed it; locked as long as that lives.
CLAIM_FILE = ".claimed"
#: In a claimed directory: what is being written.
_PARTIAL = ".results.partial"
#: What a killed process may leave in a directory.
_LEFTOVERS = frozenset((CLAIM_FILE, _PARTIAL, f".{CHECKPOINT_FILE}.partial"))
#: A file that says of a directory that its results are complete is the last to appear there.
_LAST = "result.json"
#: Seconds after which something unfinished that nobody holds may be removed.
_ABANDONED_S = 60.0
#: Pictures follow from data, and may differ with the version of the library that draws them.
_PICTURES = frozenset((".png", ".svg", ".pdf"))


def reason(error: OSError) -> str:
    """Why the system refused something, in its words."""
    text = error.strerror or str(error)
    text = text[:1].lower() + text[1:]
    # Libraries put their own words around those of the system.
    system = re.search(r"\[errno \d+\] (.*)", text)
    return text if system is None else system[1]


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Says of `path` what keeps the block from writing.

    Raises:
        OutputError: If the system refuses something.
    """
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {reason(error)}") from error


@contextlib.contextmanager
def reading(directory: Path) -> Iterator[None]:
    """Says of `directory` what keeps the block from reading results there.

    Raises:
        OutputError: If a file is missing, cannot be read or holds something else.
    """
    try:
        yield
    except FileNotFoundError as error:
        name = Path(error.filename).name if error.filename else error
        raise OutputError(f"{directory}: not a result directory: {name} is missing") from error
    except OSError as error:
        raise OutputError(f"{directory}: cannot be read: {reason(error)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{directory}: cannot be read: {error}") from error


# --- Opening ------------------------------------------------------------------------------


def opened(path: Path, flags: int, permissions: int = 0o666) -> int:
    """Opens a file to write: no link is followed, and nothing but a file opened.

    Args:
        path: Which.
        flags: As of `os.open`.
        permissions: Of a new file, without those that the process does not give.

    Raises:
        OSError: If it is a link or no file, or the system refuses it.
    """
    try:
        # A pipe would wait for somebody who reads it.
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        number = os.open(path, flags, permissions)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, f"{path.name} is a link; remove it", str(path)) from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, f"{path.name} is no file; remove it", str(path))
    return number


def create(path: Path, mode: str = "wb", *, permissions: int | None = None) -> IO[Any]:
    """Opens a file to write that does not exist yet.

    Args:
        path: Which.
        mode: ``wb``, or ``w`` for text.
        permissions: By default those that the process gives to new files.

    Raises:
        OSError: If there is one of that name, or it cannot be made.
    """
    number = opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    if permissions is not None:
        os.fchmod(number, permissions)
    if mode == "wb":
        return os.fdopen(number, mode)
    return os.fdopen(number, mode, encoding="utf-8", newline="")


def write_file(path: Path, content: str | bytes, *, permissions: int | None = None) -> None:
    """Writes a file that does not exist yet.

    Raises:
        OSError: If there is one of that name, or it cannot be written.
    """
    with create(path, permissions=permissions) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a JSON object for people and programs, as a file that does not exist yet."""
    write_file(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_parquet(path: Path, table: pa.Table, **options: Any) -> None:
    """Writes a table as a Parquet file that does not exist yet.

    Raises:
        OSError: If there is one of that name, or it cannot be written.
    """
    import pyarrow.parquet as pq

    with create(path) as file:
        pq.write_table(table, file, **options)


def write_csv(path: Path, table: pa.Table) -> None:
    """Writes a table as a CSV file that does not exist yet.

    Raises:
        OSError: If there is one of that name, or it cannot be written.
    """
    import pyarrow.csv as pacsv

    with create(path) as file:
        pacsv.write_csv(table, file)


@contextlib.contextmanager
def rewriting(path: Path, mode: str = "wb", *, permissions: int | None = None) -> Iterator[IO[Any]]:
    """A file that takes the place of one of its name when the block ends well.

    A link of that name is replaced like a file. One process at a time may do this.

    Raises:
        OSError: If it cannot be written.
    """
    partial = path.with_name(f".{path.name}.partial")
    _remove(partial)
    try:
        with create(partial, mode, permissions=permissions) as file:
            yield file
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            _remove(partial)
        raise


def rewrite(path: Path, content: str | bytes, *, permissions: int | None = None) -> None:
    """Writes a file in the place of one of its name, as :func:`rewriting`."""
    with rewriting(path, permissions=permissions) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def _remove(path: Path) -> None:
    """Removes a file, a link, or a directory with all that is in it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path)
        else:
            path.unlink()


def subdirectory(parent: Path, name: str) -> Path:
    """A directory in another one, which is made if it is not there; no link to one.

    Raises:
        OSError: If it is something else, or cannot be made.
    """
    directory = parent / name
    with contextlib.suppress(FileExistsError):
        directory.mkdir()
    if not stat.S_ISDIR(directory.lstat().st_mode):
        raise OSError(errno.ENOTDIR, "it is no directory", str(directory))
    return directory


@contextlib.contextmanager
def lock(
    path: Path, wait_s: float, busy: str, error: type[OdonataError] = OutputError
) -> Iterator[int]:
    """Holds a lock that nobody but this process's user can hold; it is free when the block ends.

    Args:
        path: A file, which is made if it is not there.
        wait_s: How long to wait for another process.
        busy: What is said of one that does not end meanwhile.
        error: What is raised.

    Yields:
        The number of the open file. Who inherits it holds the lock, too.

    Raises:
        OdonataError: If another process or another user has it, or it cannot be made.
    """
    try:
        number = opened(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as why:
        raise error(f"{path}: cannot be opened: {reason(why)}") from why
    try:
        # Who can open a file, if only to read it, can lock it.
        if os.fstat(number).st_uid != os.geteuid():
            raise error(
                f"{path}: belongs to another user, who could hold it for ever; remove it, and "
                "choose a directory that nobody else can write"
            )
        os.fchmod(number, 0o600)
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise error(busy) from None
            time.sleep(0.02)
        yield number
    finally:
        os.close(number)


@contextlib.contextmanager
def picture(path: Path, notice: Callable[[str], object]) -> Iterator[None]:
    """Lets a picture that cannot be drawn be a warning: what it would show is safe already.

    A full disk is an error all the same, and so is a study file that asks for the impossible.

    Args:
        path: Of the picture.
        notice: Called with the reason if there is none.
    """
    try:
        yield
    except (OdonataError, OSError):
        raise
    except Exception as error:
        why = " ".join(str(error).split()) or "no reason given"
        notice(f"the picture {path} could not be drawn: {type(error).__name__}: {why}")


def warn(sentence: str) -> None:
    """Says a sentence as a warning, where nothing else was asked for."""
    warnings.warn(clean(sentence), RuntimeWarning, stacklevel=3)


# --- Files --------------------------------------------------------------------------------


def check_new_file(path: Path) -> Path:
    """Finds out before a long computation whether a file can be written without losing another.

    Raises:
        OutputError: If it exists already or its directory does not.
    """
    if path.exists() or path.is_symlink():
        raise OutputError(f"{path}: exists already; choose another name with --out, or remove it")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no directory {path.parent}")
    return path


def unused_file(stem: str, ending: str, parent: Path = Path("results")) -> Path:
    """The first of ``results/STEM-1``, ``results/STEM-2`` … that does not exist.

    Its directory is there afterwards.

    Raises:
        OutputError: If the directory can be created no more than the file.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{parent}: cannot be created: {reason(error)}. Choose a file with --out."
        ) from error
    number = 1
    while (path := parent / f"{stem}-{number}{ending}").exists():
        number += 1
    return path


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Another place with the same name, from where the file is moved when the block ends well.

    Raises:
        OutputError: If the file exists already or cannot be written. If it came to exist
            meanwhile, what was written is kept under another name, which the error tells.
    """
    check_new_file(path)
    _remove_abandoned(path)
    with (
        writing(path),
        tempfile.TemporaryDirectory(
            prefix=f".{path.name}.", suffix=".partial", dir=path.parent, ignore_cleanup_errors=True
        ) as directory,
        _locked(Path(directory)),
    ):
        partial = Path(directory) / path.name
        yield partial
        _synchronise(partial)
        if not _appear(partial, path):
            number = 2
            while not _appear(partial, path.with_name(f"{path.stem}-{number}{path.suffix}")):
                number += 1
            kept = path.with_name(f"{path.stem}-{number}{path.suffix}")
            raise OutputError(
                f"{path}: exists already, it came while this was written; what was written is in "
                f"{kept}"
            )


def _appear(partial: Path, path: Path) -> bool:
    """Gives a file its name unless another one has it."""
    try:
        os.link(partial, path)
    except FileExistsError:
        return False
    except OSError as error:
        # Some file systems have no hard links.
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        if path.exists() or path.is_symlink():
            return False
        partial.rename(path)
    return True


def _names(directory: int) -> list[str]:
    """Names of what is in an open directory."""
    return os.listdir(directory)


def _synchronise(path: str | Path, directory: int | None = None) -> None:
    """Lets a file, or all files of a directory, reach the disk.

    Args:
        path: Which.
        directory: The number of an open directory that the path begins in.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    number = os.open(path, flags, dir_fd=directory)
    try:
        if stat.S_ISDIR(os.fstat(number).st_mode):
            for name in sorted(_names(number)):
                _synchronise(name, number)
        else:
            os.fsync(number)
    finally:
        os.close(number)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Lets others see that this process lives and needs a directory, where locks are known."""
    lock = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _remove_abandoned(path: Path) -> None:
    """Removes what killed processes have left beside `path`, while they were writing it."""
    for leftover in path.parent.glob(f".{_escaped(path.name)}.*.partial"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime < _ABANDONED_S:
                continue
            lock = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if leftover.is_dir():
                    shutil.rmtree(leftover)
                else:
                    leftover.unlink()
            finally:
                os.close(lock)


def _escaped(name: str) -> str:
    """The name as a pattern that fits it alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


# --- Directories --------------------------------------------------------------------------


class Claim:
    """A directory that belongs to one process, from before it computes until it has written.

    Args:
        directory: Is created if it does not exist. May be the working directory, a symbolic link
            or a mount point: files are written in it, not it renamed.
        goes_on: Name of a file by which the directory is known to hold earlier work that this goes
            on with; without that file it must be empty.
        must_be_new: Whether an empty directory will not do either.
        option: By which a user of the command line chooses it; errors name it.

    Attributes:
        directory: Which.
        resumes: Whether it holds earlier work.

    Raises:
        OutputError: If it holds something else, another process has it, or it cannot be written.
        FileExistsError: If it must be new and is not.
    """

    def __init__(
        self,
        directory: Path,
        *,
        goes_on: str | None = None,
        must_be_new: bool = False,
        option: str = "--out",
    ) -> None:
        self.directory = directory
        self._goes_on = goes_on
        self._option = option
        self._lock: int | None = None
        self._created = False
        #: Directories above it that were made for it, the innermost first.
        self._above = [path for path in directory.parents if not path.exists()]
        #: Whether the directory holds earlier work.
        self.resumes = False
        #: Whether what was found is there; what is added then, such as pictures, shows it.
        self._found = False
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(directory)
            self._create(must_be_new)
            self._check()
            self._take()
            try:
                # Again, as nobody else can put something there from now on.
                self._check()
                self._remove_leftovers()
            except BaseException:
                self.release()
                raise
        except OSError as error:
            if must_be_new and isinstance(error, FileExistsError):
                raise
            raise OutputError(
                f"{directory}: cannot be written: {reason(error)}. "
                f"Choose a writable directory with {option}."
            ) from error

    def _create(self, must_be_new: bool) -> None:
        try:
            self.directory.mkdir()
            self._created = True
        except FileExistsError:
            if must_be_new and not self._abandoned():
                raise
            if not self.directory.is_dir():
                raise OutputError(
                    f"{self.directory}: is no directory; give one that does not exist yet"
                ) from None

    def _abandoned(self) -> bool:
        """Whether there is nothing but what a killed process has left."""
        try:
            present = {path.name for path in self.directory.iterdir()}
        except OSError:
            return False
        return CLAIM_FILE in present and present <= _LEFTOVERS

    def _check(self) -> None:
        self.resumes = self._goes_on is not None and (self.directory / self._goes_on).is_file()
        if self.resumes:
            return
        present = {path.name for path in self.directory.iterdir()}
        if CHECKPOINT_FILE in present:
            raise OutputError(
                f"{self.directory}: holds a run that is not finished. Go on with it with --resume "
                f"{self.directory}, choose another directory with {self._option}, or remove this "
                "one."
            )
        if not present <= _LEFTOVERS:
            raise OutputError(
                f"{self.directory}: already holds files, and results are never overwritten. "
                f"Choose another directory with {self._option}, or remove this one."
            )

    def _take(self) -> None:
        file = self.directory / CLAIM_FILE
        while True:
            # Who shares a directory with others may go on with what they left there.
            lock = opened(file, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                raise OutputError(
                    f"{self.directory}: another process is running there; wait for it, or choose "
                    f"another directory with {self._option}"
                ) from None
            except OSError:
                pass  # Some network file systems cannot lock; then it is up to the user.
            with contextlib.suppress(FileNotFoundError):
                if file.stat().st_ino == os.fstat(lock).st_ino:
                    self._lock = lock
                    return
            # Its owner removed it between the two calls.
            os.close(lock)

    def _remove_leftovers(self) -> None:
        for name in _LEFTOVERS - {CLAIM_FILE}:
            _remove(self.directory / name)

    @contextlib.contextmanager
    def adding(self) -> Iterator[Path]:
        """A temporary directory whose files appear in the claimed one when the block ends well.

        Files of the same names are replaced; there are some only if an earlier process was killed
        while it did this.
        """
        with self._adding() as (partial, number):
            yield partial
            self._move(number)

    @contextlib.contextmanager
    def updating(
        self,
        grown: Callable[[Path, Path], bool] | None = None,
        notice: Callable[[str], object] = warn,
    ) -> Iterator[Path]:
        """The same where files may be there from an earlier command.

        If those that would be replaced hold what the new ones do not, all that was shown there is
        moved to ``earlier-1``, ``earlier-2`` … first.

        Args:
            grown: Whether the new files (second argument: their directory) hold all that those
                there (first argument) do, so that nothing is lost. Default: whether the data are
                the same.
            notice: Called with the place that earlier files were moved to. Default: a warning.
        """
        with self._adding() as (partial, number):
            yield partial
            new = set(_names(number))
            there = any(os.path.lexists(self.directory / name) for name in new)
            if there and not (grown or _same_data)(self.directory, partial):
                count = 1
                while os.path.lexists(self.directory / f"earlier-{count}"):
                    count += 1
                earlier = self.directory / f"earlier-{count}"
                earlier.mkdir()
                for path in sorted(self.directory.iterdir()):
                    kept = path.is_file() and not path.name.startswith(".")
                    if kept and path.name != self._goes_on:
                        path.rename(earlier / path.name)
                notice(f"what {self.directory} showed before is now in {earlier}")
            self._move(number)

    @contextlib.contextmanager
    def _adding(self) -> Iterator[tuple[Path, int]]:
        try:
            with self._partial() as made:
                yield made
        except OSError as error:
            # A full disk may have room for the tables and none for the pictures of them.
            what = "its tables are whole, but what shows them " if self._found else ""
            raise OutputError(
                f"{self.directory}: {what}cannot be written: {reason(error)}"
            ) from error
        self._found = True

    @contextlib.contextmanager
    def _partial(self) -> Iterator[tuple[Path, int]]:
        """A new directory in the claimed one, and its open number."""
        partial = self.directory / _PARTIAL
        _remove(partial)
        partial.mkdir()
        number = os.open(partial, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield partial, number
        finally:
            os.close(number)
            with contextlib.suppress(OSError):
                _remove(partial)

    def _move(self, partial: int) -> None:
        """Moves what is whole to its place, what says that all is there last.

        From the directory that was made, whatever has its name by now.
        """
        names = sorted(_names(partial), key=lambda name: (name == _LAST, name))
        # Disks take many files in hardly more time than one.
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(_synchronise, names, itertools.repeat(partial)))
        directory = os.open(self.directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for name in names:
                os.replace(name, name, src_dir_fd=partial, dst_dir_fd=directory)
            with contextlib.suppress(OSError):
                os.fsync(directory)
        finally:
            os.close(directory)

    def end(self) -> None:
        """Lets others have the directory, whose run is complete: without its checkpoint."""
        with writing(self.directory):
            (self.directory / CHECKPOINT_FILE).unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Lets others have the directory; removes it if it was made for nothing."""
        if self._lock is None:
            return
        with contextlib.suppress(OSError):
            self._remove_leftovers()
        with contextlib.suppress(OSError):
            (self.directory / CLAIM_FILE).unlink(missing_ok=True)
        if self._created or self._goes_on == CHECKPOINT_FILE:
            with contextlib.suppress(OSError):
                for path in (self.directory, *self._above):
                    path.rmdir()  # Unless there is something in it.
        os.close(self._lock)
        self._lock = None

    def __enter__(self) -> Self:
        """Releases the directory at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Lets others have the directory."""
        self.release()


def claim(out: Path | None, stem: str, parent: Path = Path("results")) -> Claim:
    """Claims the directory for the results of a run.

    Args:
        out: Which. Default: the first of ``results/STEM-1``, ``results/STEM-2`` … that nothing and
            nobody has.
        stem: What it is called by default.
        parent: Where it is by default.

    Raises:
        OutputError: If it cannot be had.
    """
    if out is not None:
        return Claim(out)
    number = 1
    while True:
        directory = parent / f"{stem}-{number}"
        if not directory.exists() or (directory / CLAIM_FILE).exists():
            with contextlib.suppress(FileExistsError):
                try:
                    return Claim(directory, must_be_new=True)
                except OutputError:
                    # Another process was faster, or is still there. Anything else is an error.
                    if not directory.exists():
                        raise
        number += 1


def _same_data(old: Path, new: Path) -> bool:
    """Whether files hold the same as those of their names elsewhere, pictures apart."""
    for file in new.iterdir():
        there = old / file.name
        if file.suffix in _PICTURES:
            continue
        if not there.is_file() or there.read_bytes() != file.read_bytes():
            return False
    return True
