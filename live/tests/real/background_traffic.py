"""A rank of a background job: sends to another rank of its job at a steady rate, until killed.

    srun --mpi=none python3 -S -E background_traffic.py MBIT SHIFT ADDRESS ADDRESS …

Rank r of n sends to rank (r + SHIFT) mod n. Blocking sockets: hardly any processor time.
"""

import os
import socket
import sys
import threading
import time

PORT = 9000


def receive(server: socket.socket) -> None:
    connection, _ = server.accept()
    while connection.recv(1 << 16):
        pass


def main(mbit: float, shift: int, addresses: list[str]) -> None:
    rank = int(os.environ["SLURM_PROCID"])
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("", PORT))
    server.listen()
    threading.Thread(target=receive, args=(server,), daemon=True).start()
    partner = addresses[(rank + shift) % len(addresses)]
    while True:
        try:
            connection = socket.create_connection((partner, PORT))
            break
        except OSError:
            time.sleep(0.1)
    piece = b"x" * 50_000
    pause = 8 * len(piece) / (mbit * 1e6)
    due = time.monotonic()
    while True:
        connection.sendall(piece)
        due = max(due + pause, time.monotonic() - 1)
        time.sleep(max(0.0, due - time.monotonic()))


main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
