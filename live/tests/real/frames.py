"""Numbered frames through pairs of interfaces; run where they are, without anything installed.

    frames.py h0-0:h0-1 h1-0:h1-1 …

Sends into the first of each pair and receives from the second, both ways, until its input ends.
Never more than a few are on their way, so that none is lost for want of a buffer, however busy the
host is. Then waits for what is on its way and prints a line for each direction: how many were
sent, how many came, how many came elsewhere.
"""

import select
import socket
import struct
import sys
import time

KIND = 0x88B5  # For experiments, IEEE 802.
WINDOW = 8
PACE_S = 0.05


def main():
    pairs = [tuple(word.split(":")) for word in sys.argv[1:]]
    ways = [way for one, other in pairs for way in ((one, other), (other, one))]
    sockets = {}
    for name in {name for way in ways for name in way}:
        sockets[name] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(KIND))
        sockets[name].bind((name, KIND))
        sockets[name].setblocking(False)
    names = {stream: name for name, stream in sockets.items()}
    number = {way: n for n, way in enumerate(ways)}
    sent, came, strays = [0] * len(ways), [0] * len(ways), [0] * len(ways)

    def receive(wait_s):
        ready, _, _ = select.select([sys.stdin, *names], [], [], wait_s)
        drain([stream for stream in ready if stream is not sys.stdin], names, ways, came, strays)
        return sys.stdin not in ready

    print("sending", flush=True)
    going = True
    while going:
        for way, n in number.items():
            if sent[n] - came[n] < WINDOW:
                head = b"\x02\0\0\0\0\1\x02\0\0\0\0\2" + struct.pack("!HI", KIND, n)
                sockets[way[0]].send(head.ljust(60, b"\0"))
                sent[n] += 1
        until = time.monotonic() + PACE_S
        while going and time.monotonic() < until:
            going = receive(max(0.0, until - time.monotonic()))
    deadline = time.monotonic() + 60
    while came != sent and time.monotonic() < deadline:
        ready, _, _ = select.select(list(names), [], [], 0.1)
        if ready:
            drain(ready, names, ways, came, strays)
    for way, n in number.items():
        print(way[0], way[1], sent[n], came[n], strays[n])


def drain(ready, names, ways, came, strays):
    for stream in ready:
        while True:
            try:
                frame, address = stream.recvfrom(100)
            except BlockingIOError:
                break
            if address[2] == socket.PACKET_OUTGOING:
                continue
            (way,) = struct.unpack_from("!I", frame, 14)
            if ways[way][1] == names[stream]:
                came[way] += 1
            else:
                strays[way] += 1


if __name__ == "__main__":
    main()
