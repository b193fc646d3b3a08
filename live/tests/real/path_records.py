"""Asks a subnet manager for the path records of all pairs of LIDs, as ``saquery PR`` does.

On a machine with InfiniBand ``saquery PR`` prints them all. Over ``ibsim`` it gets the beginning of
a list only, as lists come in several packets that the kernel would put together; so this asks for
one pair at a time, many at once, and prints what ``saquery`` would of what Odonata reads.

Usage: ``path_records.py LIDS OUT``, with the LIDs in a file, one a line.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

#: Management class and version of subnet administration, its method Get, and the attribute.
SUBNET_ADMINISTRATION, VERSION, GET, PATH_RECORD = 3, 2, 1, 0x35
#: Which fields of the question count: destination and source LID, number of paths.
COMPONENTS = 1 << 4 | 1 << 5 | 1 << 12
MAD_BYTES = 256
RECORD = 56
WAITING = 64


def question(number: int, source: int, destination: int) -> bytes:
    """The packet that asks for one pair."""
    header = struct.pack(
        ">BBBBHHQHHI", 1, SUBNET_ADMINISTRATION, VERSION, GET, 0, 0, number, PATH_RECORD, 0, 0
    )
    header += bytes(12) + bytes(8) + bytes(4) + struct.pack(">Q", COMPONENTS)
    record = bytearray(64)
    struct.pack_into(">HH", record, 40, destination, source)
    record[49] = 1
    return (header + bytes(record)).ljust(MAD_BYTES, b"\0")


class Administration:
    """The subnet manager's side that answers questions.

    Args:
        lid: Of the port where it is.
    """

    def __init__(self, lid: int) -> None:
        self._umad = ctypes.CDLL("libibumad.so.3")
        self._umad.umad_get_mad.restype = ctypes.c_void_p
        self._umad.umad_get_mad.argtypes = [ctypes.c_void_p]
        self._umad.umad_init()
        self._port = self._umad.umad_open_port(None, 0)
        self._agent = self._umad.umad_register(self._port, SUBNET_ADMINISTRATION, VERSION, 0, None)
        if self._port < 0 or self._agent < 0:
            raise OSError(f"no port ({self._port}) or no agent ({self._agent})")
        self._lid = lid
        self._size = self._umad.umad_size()

    def _buffer(self) -> ctypes.Array[ctypes.c_char]:
        return ctypes.create_string_buffer(self._size + MAD_BYTES)

    def ask(self, number: int, source: int, destination: int) -> None:
        """Sends a question."""
        buffer = self._buffer()
        ctypes.memmove(
            self._umad.umad_get_mad(buffer), question(number, source, destination), MAD_BYTES
        )
        self._umad.umad_set_addr(buffer, self._lid, 1, 0, 0x80010000)
        sent = self._umad.umad_send(self._port, self._agent, buffer, MAD_BYTES, 10_000, 0)
        if sent < 0:
            raise OSError(f"question {number} not sent: {sent}")

    def answer(self) -> tuple[int, int, int]:
        """An answer: its source, its destination, its service level."""
        buffer, length = self._buffer(), ctypes.c_int(MAD_BYTES)
        got = self._umad.umad_recv(self._port, buffer, ctypes.byref(length), 10_000)
        mad = bytes(buffer)[self._size :]
        status = struct.unpack_from(">H", mad, 4)[0]
        if got < 0 or status:
            raise OSError(f"no answer: {got}, status {status:#x}")
        destination, source = struct.unpack_from(">HH", mad, RECORD + 40)
        level = struct.unpack_from(">H", mad, RECORD + 52)[0] & 15
        return source, destination, level


def records(administration: Administration, lids: list[int]) -> Iterator[tuple[int, int, int]]:
    """Source, destination and service level of every pair."""
    waiting = 0
    pairs = ((source, to) for source in lids for to in lids if source != to)
    for number, (source, to) in enumerate(pairs):
        if waiting == WAITING:
            yield administration.answer()
            waiting -= 1
        administration.ask(number, source, to)
        waiting += 1
    for _ in range(waiting):
        yield administration.answer()


def main() -> None:
    """Writes the file."""
    lids = [int(line) for line in Path(sys.argv[1]).read_text().split()]
    with Path(sys.argv[2]).open("w") as out:
        for source, destination, level in records(Administration(int(sys.argv[3])), lids):
            out.write(
                f"PathRecord dump:\n\t\tdlid....................{destination}\n"
                f"\t\tslid....................{source}\n\t\tsl......................{level:#x}\n"
            )


if __name__ == "__main__":
    main()
