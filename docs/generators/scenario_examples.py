"""Worked examples of ``docs/scenario.md``: TOML for each group of keys.

A key is the name of a definition of the JSON Schema, or what chooses a kind of table: ``torus`` of
families, ``halo3d`` of motifs, ``traffic shift`` of traffic. ``tests/python/test_scenario_examples.py`` reads every example as a part
of a scenario: the network or the job of `BASE` completes it.
"""

#: What completes an example that has no network, or no job.
BASE = {
    "network": '[network]\nfamily = "dragonfly"\np = 2\na = 4\nh = 2\n',
    "job": "[[job]]\nnodes = 16\n",
}

EXAMPLES = {
    # Networks.
    "dragonfly": """\
[network]
family = "dragonfly"
p = 4
a = 8
h = 4
routing = "par"
links = { global = { bandwidth = "25 GB/s", latency = "500 ns" } }
""",
    "dragonfly+": """\
[network]
family = "dragonfly+"
leaves = 4
spines = 4
p = 4
h = 4
routing = "fpar"
""",
    "reconfigurable-dragonfly": """\
[network]
family = "reconfigurable-dragonfly"
p = 2
a = 4
h = 2
g = 4
circuits = "jobs"
steering = "min-max"
""",
    "fat-tree": """\
[network]
family = "fat-tree"
radix = 36
nodes = 648
routing = { algorithm = "up-down", choice = "by-load" }
""",
    "torus": """\
[network]
family = "torus"
size = [8, 8, 4]
p = 2
routing = "minimal-adaptive"
""",
    "hyperx": """\
[network]
family = "hyperx"
size = [8, 8]
p = 8
routing = "dimwar"
""",
    "slim-fly": """\
[network]
family = "slim-fly"
q = 5
""",
    "jellyfish": """\
[network]
family = "jellyfish"
routers = 64
degree = 8
p = 8
""",
    "crossbar": """\
[network]
family = "crossbar"
nodes = 16
""",
    "cray-xc-file": """\
[network]
family = "cray-xc-file"
file = "theta.interconnect"
""",
    "codes": """\
[network]
family = "codes"
file = "dfp_8k.conf"
""",
    "ibnetdiscover": """\
[network]
family = "ibnetdiscover"
file = "dump/ibnetdiscover.txt"
routing = { algorithm = "forwarding-tables", tables = "dump" }
""",
    "edge-list": """\
[network]
family = "edge-list"
file = "my-machine.txt"
routing = "shortest-path"
""",
    "graphml": """\
[network]
family = "graphml"
file = "my-machine.graphml"
""",
    "gml": """\
[network]
family = "gml"
file = "Abilene.gml"
nodes_per_router = 4
""",
    "anynet": """\
[network]
family = "anynet"
file = "anynet_file"
""",
    "Routing": """\
[network.routing]
algorithm = "ugal-l"
candidates = 2
threshold = "20 KiB"
""",
    "OpticalLayer": """\
[network]
family = "fat-tree"
down = [4, 4, 4]
up = [4, 4]

[network.optical]
switch_ports = 4
circuits = "jobs"
""",
    "NamedLink": """\
[network]
family = "edge-list"
file = "my-machine.txt"
links = { cable = { kind = "global", bandwidth = "25 GB/s", latency = "500 ns" } }
""",
    "Router": """\
[network.router]
delay = "90 ns"
crossbar = 2
""",
    "Nic": """\
[network.nic]
injection = "fifo"
""",
    # The run.
    "Simulation": """\
[simulation]
packet = "2 KiB"
warmup = "10 us"
duration = "50 us"
""",
    "Skip": """\
[simulation]
skip = { error = "1 %" }
""",
    "Mpi": """\
[mpi]
eager_limit = "16 KiB"
send_overhead = "200 ns"
receive_overhead = "250 ns"
""",
    "HostTime": """\
[mpi]
host_times = [ { size = "1 KiB", time = "100 ns" }, { size = "1 MiB", time = "40 us" } ]
""",
    "WithinNode": """\
[mpi.within_node]
send_overhead = "100 ns"
""",
    "Noise": """\
[mpi.noise]
detour_interval = "1 ms"
detour_time = "10 us"
entry_delay = "600 ns"
""",
    "Collectives": """\
[mpi.collectives]
library = "open-mpi"
allreduce = "ring"
combine_bandwidth = "10 GB/s"
""",
    "Nccl": """\
[mpi.collectives]
library = "nccl"
nccl = { version = "2.21", gpu = "ampere", cpu = "amd", channels = 2, network_bandwidth = "48 GB/s", proto = "^ll128" }
""",
    "Failures": """\
[failures]
links = [ { groups = [2, 3] } ]
routers = "12, 20-21"
nodes = [7]
""",
    "LinkFailure": """\
[failures]
links = [
    { routers = [0, 1], at = "40 us", until = "90 us" },
    { groups = [2, 3], count = 1, bandwidth = "25 %" },
]
""",
    "Outage": """\
[failures]
in_flight = "lost"
outages = [ { routers = "12", at = "60 us", until = "90 us" }, { nodes = [7], at = "80 us" } ]
""",
    "DrawnFailures": """\
[failures]
draw = [ { part = "links", link_class = "global", share = "5 %" }, { part = "routers", count = 1 } ]
""",
    "Node": """\
[node]
ranks = 8
interfaces = 8
interface = "pxn"
wiring = "rail-optimised"
network = { kind = "switch", bandwidth = "450 GB/s", latency = "200 ns" }
""",
    "NodeNetwork": """\
[node]
ranks = 4
interfaces = 2
planes = 2
network = { kind = "mesh", bandwidth = "100 GB/s", latency = "200 ns" }
""",
    "Storage": """\
[storage]
servers = 8
write_bandwidth = "5 GB/s"
latency = "20 us"
stripe_count = 4
""",
    "ServerBuffer": """\
[storage]
servers = 4
write_bandwidth = "2 GB/s"
burst_buffer = { bandwidth = "10 GB/s", capacity = "64 GiB" }
""",
    "Record": """\
[record]
messages = "all"
rank_activity = true
""",
    "Arrivals": """\
[record]
arrivals = { interval = "10 us", groups = [3], links = ["global"] }
""",
    "Machine": """\
[machine]
name = "Ours"
hosts = [ { names = "node[001-072]", first_node = 0 } ]
call = "1 us"
""",
    # Jobs.
    "Job": """\
[[job]]
name = "stencil"
nodes = 64
ranks_per_node = 1
placement = "random-node"
motif = { kind = "halo3d", message = "64 KiB", iterations = 10 }
""",
    "MessageClass": """\
[[job.message_class]]
collective = "allreduce"
up_to = "4 KiB"
traffic_class = "urgent"
""",
    "all-to-all": 'motif = { kind = "all-to-all", message = "8 KiB", window = 4 }\n',
    "bisection": 'motif = { kind = "bisection", message = "8 KiB", order = "ascending" }\n',
    "halo2d": 'motif = { kind = "halo2d", message = "8 KiB", grid = [4, 4] }\n',
    "halo3d": 'motif = { kind = "halo3d", message = "64 KiB", iterations = 10, compute = "20 us" }\n',
    "halo4d": 'motif = { kind = "halo4d", message = "8 KiB" }\n',
    "neighbour": 'motif = { kind = "neighbour", message = "8 KiB" }\n',
    "shift": 'motif = { kind = "shift", message = "8 KiB", offset = 4 }\n',
    "group-shift": 'motif = { kind = "group-shift", message = "8 KiB", k = 1 }\n',
    "broadcast": 'motif = { kind = "broadcast", message = "1 MB", tree = "linear" }\n',
    "checkpoint": """\
motif = { kind = "checkpoint", per_rank = "2 GB", ranks_per_writer = 8, iterations = 3, compute = "60 s" }
""",
    "collective": """\
motif = { kind = "collective", operation = "allreduce", message = "1 MB", algorithm = "ring" }
""",
    "matrix": 'motif = { kind = "matrix", file = "lulesh.csv", iterations = 10 }\n',
    "trace": 'motif = { kind = "trace", file = "traces.otf2", compute_scale = 0.5 }\n',
    "TimeBorder": """\
motif = { kind = "trace", file = "traces.otf2", start = { time = "10 ms" } }
""",
    "RegionBorder": """\
motif = { kind = "trace", file = "traces.otf2", start = { region = "timestep", iteration = 2 } }
""",
    "MarkerBorder": """\
motif = { kind = "trace", file = "traces.otf2", end = { marker = "solved" } }
""",
    "halo3d-26": 'motif = { kind = "halo3d-26", cells = [50, 50, 50] }\n',
    "sweep3d": 'motif = { kind = "sweep3d", cells = [50, 50, 50], kba = 10 }\n',
    "fft": 'motif = { kind = "fft", points = [128, 128, 128] }\n',
    "lulesh": 'motif = { kind = "lulesh", size = 40, iterations = 10 }\n',
    "amg": 'motif = { kind = "amg", points = [25, 25, 25], iterations = 5 }\n',
    "milc": 'motif = { kind = "milc", sites = [8, 8, 8, 8], compute = "0 s" }\n',
    "nekbone": 'motif = { kind = "nekbone", order = 9 }\n',
    "mini-amr": 'motif = { kind = "mini-amr", levels = 2, iterations = 10 }\n',
    "hacc": 'motif = { kind = "hacc", cells = [64, 64, 64] }\n',
    "gtc": 'motif = { kind = "gtc", toroidal = 4 }\n',
    "training": 'motif = { kind = "training", layers = 32, hidden = 4096, tensor = 4 }\n',
    "Phases": """\
[[job]]
nodes = 16

[job.motif]
kind = "phases"
phases = [
  { kind = "broadcast", message = "10 MB" },
  { repeat = 20, phases = [ { kind = "halo3d", message = "64 KiB" }, { compute = "1 ms" } ] },
]
""",
    # Traffic.
    "traffic uniform-random": """\
traffic = { pattern = "uniform-random", load = 0.3, message = "4 KiB" }
""",
    "traffic adversarial": 'traffic = { pattern = "adversarial", load = 0.2, message = "4 KiB", k = 1 }\n',
    "traffic shift": 'traffic = { pattern = "shift", offset = 4, load = 0.2, message = "4 KiB" }\n',
    "traffic stencil": """\
traffic = { pattern = "stencil", to = "all", process = "periodic", load = 0.3, message = "4 kB" }
""",
    "traffic group-peers": """\
traffic = { pattern = "group-peers", to = "all", load = "130 % TGLL", interval = "1 us" }
""",
    "traffic broadcast": """\
traffic = { pattern = "broadcast", interval = "10 us", message = "64 KiB", messages = 5 }
""",
    "traffic hot-spot": """\
traffic = { pattern = "hot-spot", hot_ranks = [0, 1], fraction = 0.1, load = 0.2, message = "4 KiB" }
""",
    "traffic matrix": """\
traffic = { pattern = "matrix", file = "AMG.txt", message = "4 KiB", load = 0.2 }
""",
    # Placement and mapping.
    "PlacementTable": 'placement = { policy = "random-node", groups = "0-3" }\n',
    "RankMapPlacement": 'placement = { rank_map = "global.bin", job = 1 }\n',
    "MappingTable": 'mapping = { policy = "graph-bisection", refine = "swap" }\n',
    # Schedules.
    "ScheduleTable": """\
[schedule]
log = "KTH-SP2-1996-2.1-cln.swf"
policy = "easy"
compare = ["recorded", "conservative"]
""",
    "Reading": """\
[schedule]
log = "slurm.txt"
reading = { format = "sacct", strict = true }
""",
    "MultifactorTable": """\
[schedule]
log = "year.parquet"
order = "multifactor"
multifactor = { age = 1000, fair_share = 5000, half_life = "14 d" }
""",
    "Grap": """\
[schedule]
log = "theta_2022.swf"
nodes = 4392
grap = { groups = 12 }
""",
    "table": """\
[schedule]
log = "mira.swf"
nodes = 82944
grap = { groups = 288 }
network = { level = "table", speed_ups = "gains.csv", mpi_share = "20%..50%" }
""",
    "flow": """\
[schedule]
log = "theta_2022.swf"
network = { level = "flow", machine = "theta-machine.toml", mpi_share = "30%" }
""",
    "packet": """\
[schedule]
log = "small.swf"
network = { level = "packet", machine = "small.toml", window = "200 us" }
""",
    "Maintenance": """\
[schedule]
log = "year.parquet"

[[schedule.maintenance]]
start = "30 d"
end = "31 d"
""",
    "NodeOutage": """\
[schedule]
log = "year.parquet"

[[schedule.outage]]
nodes = "0-15"
at = "30 d"
until = "31 d"
""",
    "Hold": """\
[schedule]
log = "theta_2022.swf"
network = { level = "flow", machine = "theta-machine.toml", mpi_share = "10%..50%" }
hold = { above = "20%", at_most = "30 min" }
""",
    "NodeFailures": """\
[schedule]
log = "year.parquet"
failures = { mtbf = "900 d", repair = "6 h" }
""",
    "Reservation": """\
[schedule]
log = "year.parquet"

[[schedule.reservation]]
start = "2 d"
end = "3 d"
nodes = 128
users = ["ann"]
""",
}
