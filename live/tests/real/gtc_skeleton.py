"""GTC without its computing: what its ranks send round a torus, by MPI.

The messages of the scenario motif `gtc` with one rank to a domain (crates/load, application/gtc):
the charge plane to the next domain, the potential twice and the field to both neighbours, one
number agreed by all, and the particles that leave to both neighbours. Ranks that wait sleep
instead of spinning, as all of them share two processors here.

    mpiexec … python gtc_skeleton.py STEPS PLANE_BYTES LEAVING_BYTES PAUSE_S

Rank 0 prints the seconds that each step took.
"""

import sys
import time

from mpi4py import MPI

POLL_S = 0.002


def wait(requests):
    while not MPI.Request.Testall(requests):
        time.sleep(POLL_S)


def main():
    steps, plane, leaving = (int(word) for word in sys.argv[1:4])
    pause_s = float(sys.argv[4])
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    out = bytearray(max(plane, leaving))
    into = [bytearray(max(plane, leaving)) for _ in range(2)]

    def exchange(count, *, both):
        requests = [world.Irecv([into[0], count, MPI.BYTE], behind, 1)]
        requests.append(world.Isend([out, count, MPI.BYTE], ahead, 1))
        if both:
            requests.append(world.Irecv([into[1], count, MPI.BYTE], ahead, 2))
            requests.append(world.Isend([out, count, MPI.BYTE], behind, 2))
        wait(requests)

    # Connections between neighbours are made before time is taken.
    exchange(1, both=True)
    wait([world.Ibarrier()])
    begin = time.monotonic()
    ends = []
    for _ in range(steps):
        exchange(plane, both=False)
        for _ in range(3):
            exchange(plane, both=True)
        if pause_s:
            time.sleep(pause_s)
        number, total = bytearray(8), bytearray(8)
        wait([world.Iallreduce([number, 1, MPI.INT64_T], [total, 1, MPI.INT64_T], MPI.SUM)])
        exchange(leaving, both=True)
        ends.append(time.monotonic() - begin)
    wait([world.Ibarrier()])
    if rank == 0:
        print("seconds", time.monotonic() - begin, *ends, flush=True)


if __name__ == "__main__":
    main()
