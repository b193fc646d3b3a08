"""What the OTF2 library of the Score-P project reads from an archive, as check sums.

Prints a line per location: its number, the number of its events, and the 64-bit FNV-1a
sum of a text line per event. The test `otf2_gold.rs` of the crate odonata-traces writes the
same lines of what our own reader finds and compares the sums. Needs the library:

    pip install otf2
    python tools/otf2_reference.py ../shared/data/otf2-10ranks/traces.otf2 [--lines]
"""

import sys

import otf2


def fnv(state: int, text: str) -> int:
    """The FNV-1a sum (Fowler, Noll, Vo) `state`, continued by the bytes of `text`."""
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return state


def transfer(event: object, peer: int) -> str:
    """Peer, communicator, tag and size of a message."""
    return f"{peer} {event.communicator._ref} {event.msg_tag} {event.msg_length}"


def root(event: object) -> str:
    """The root of a collective."""
    number = event.root
    return "-" if number is None or number == 2**32 - 1 else str(number)


def line(event: object) -> str:
    """An event as text: time, kind, values."""
    kind = type(event).__name__
    match kind:
        case "Enter" | "Leave":
            rest = f"{event.region._ref}"
        case "MpiSend":
            rest = transfer(event, event.receiver)
        case "MpiRecv":
            rest = transfer(event, event.sender)
        case "MpiIsend":
            rest = f"{transfer(event, event.receiver)} {event.request_id}"
        case "MpiIrecv":
            rest = f"{transfer(event, event.sender)} {event.request_id}"
        case "MpiIsendComplete" | "MpiIrecvRequest":
            rest = f"{event.request_id}"
        case "MpiCollectiveBegin":
            rest = ""
        case "MpiCollectiveEnd":
            rest = (
                f"{event.collective_op.value} {event.communicator._ref} {root(event)} "
                f"{event.size_sent} {event.size_received}"
            )
        case _:
            raise SystemExit(f"{kind} does not occur in the archive that this is for")
    return f"{event.time} {kind} {rest}\n"


def main() -> None:
    """Prints the sums, or with `--lines` the lines."""
    sums: dict[int, list[int]] = {}
    with otf2.reader.open(sys.argv[1]) as trace:
        for location, event in trace.events:
            entry = sums.setdefault(location._ref, [0, 0xCBF29CE484222325])
            text = line(event)
            entry[0] += 1
            entry[1] = fnv(entry[1], text)
            if "--lines" in sys.argv:
                print(location._ref, text, end="")
    if "--lines" not in sys.argv:
        for location, (count, total) in sorted(sums.items()):
            print(f"({location}, {count}, 0x{total:016x}),")


if __name__ == "__main__":
    main()
