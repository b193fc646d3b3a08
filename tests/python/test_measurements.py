"""Measured collectives, as benchmarks print them."""

import io
import json
import re
import tarfile
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from odonata.errors import MachineError
from odonata.machines.measurements import Measurement, read_measurements, to_table
from odonata.output import write_csv
from small_machine import odonata

METADATA = """timestamp,test_id,nnodes,tasks_per_node,collective_type,mpi_lib
2025_01_01___00_00_00,0,4,1,ALLREDUCE,OMPI
"""
STAMP = "2025_01_01___00_00_00"


def pico(folder, series, allocation="MPI_Rank,allocation\n0,node01.x\n1,node02.x\n"):
    """A folder of PICO's with one archive."""
    folder.mkdir()
    (folder / "metadata.csv").write_text(METADATA)
    with tarfile.open(folder / f"{STAMP}.tar.gz", "w:gz") as archive:
        for name, text in {"alloc.csv": allocation, **series}.items():
            data = text.encode()
            info = tarfile.TarInfo(f"{STAMP}/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return folder


def test_folders_of_pico_are_read(tmp_path):
    series = {
        "0/16_ring_ompi_int32.csv": "highest\n" + "\n".join(map(str, range(1, 12))),
        "0/8_default_ompi_int32.csv": "highest\n5\n7\n",
        # Fugaku's files have a summary behind the iterations.
        "0/8_ring_over_int32.csv": "highest\n5\n7\n9\nmean,std,more\n1,2,3\n",
        "0/8_ring_over_int32.err": "nothing",
        # Open MPI went on with its own choice.
        "0/4_bruck_ompi_int32.csv": "highest\n5\n7\n",
        "0/4_bruck_ompi_int32.err": "[mpi::mca-var::invalid-value-enum]\n Value : bruck",
    }
    # Some are padded with zeros.
    padded = "MPI_Rank,allocation\n0,node01.x\n\0\0\0\0  1,node02.x\n2,node03\n3,node04\n"
    folder = pico(tmp_path / "data", series, padded)
    found = {(row.name, row.bytes): row for row in read_measurements([folder])}
    refused = found.pop(("bruck_ompi", 16))
    assert refused.algorithm == "auto"
    assert set(found) == {("ring_ompi", 64), ("default_ompi", 32), ("ring_over", 32)}
    ring = found["ring_ompi", 64]
    assert (ring.median_ns, ring.p10_ns, ring.p90_ns, ring.iterations) == (6, 2, 10, 11)
    assert (ring.algorithm, ring.library, ring.ranks) == ("ring", "open-mpi", 4)
    assert ring.hosts == ("node01", "node02", "node03", "node04")
    assert found["ring_over", 32].median_ns == 7
    table = to_table(found.values())
    assert table.column("hosts")[0].as_py() == "node01 node02 node03 node04"


def test_allocations_by_rank_tell_how_many_a_node_has(tmp_path):
    allocation = "MPI_Rank,allocation\n" + "".join(f"{n},node0{n // 2 + 1}\n" for n in range(8))
    folder = pico(tmp_path / "data", {"0/16_ring_ompi_int32.csv": "highest\n5\n"}, allocation)
    (row,) = read_measurements([folder])
    assert (row.ranks, row.per_node, row.nodes) == (8, 2, 4)


@pytest.mark.parametrize(
    ("series", "found"),
    [
        (
            {"0/8_ring_over_int32.csv": "lowest\n5\n"},
            'found columns lowest; allowed: one, "highest"',
        ),
        ({"0/8_ring_over_int33.csv": "highest\n5\n"}, 'found elements of type "int33"'),
        ({"1/8_ring_over_int32.csv": "highest\n5\n"}, "no row of timestamp"),
        ({}, "holds no measurements"),
    ],
)
def test_damaged_measurements_are_refused(tmp_path, series, found):
    folder = pico(tmp_path / "data", series)
    with pytest.raises(MachineError) as error:
        read_measurements([folder])
    assert found in str(error.value)


def test_printed_benchmarks_are_read(tmp_path):
    osu = tmp_path / "osu.txt"
    osu.write_text(
        "# Number of processes: 16\n# OSU MPI Allgather Latency Test v7.3\n# Datatype: MPI_CHAR.\n"
        "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
        "8                       4.25              3.00              5.00        1000\n"
    )
    (row,) = read_measurements([osu])
    # Sizes that it prints are those of a block.
    assert (row.operation, row.bytes, row.median_ns, row.iterations) == (
        "allgather",
        128,
        4250,
        1000,
    )
    assert (row.statistic, row.ranks, row.algorithm) == ("mean", 16, "auto")
    imb = tmp_path / "imb.txt"
    imb.write_text(
        "# Benchmarking Allreduce \n# #processes = 8 \n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "            0         1000         0.05         0.06         0.05\n"
        "         1024         1000         5.50         6.50         6.00\n"
    )
    (row,) = read_measurements([imb])
    assert (row.operation, row.bytes, row.ranks, row.median_ns) == ("allreduce", 1024, 8, 6000)
    osu.write_text(osu.read_text().replace("# Number of processes: 16\n", ""))
    with pytest.raises(MachineError, match="does not say how many processes"):
        read_measurements([osu])


NCCL_TESTS = (
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  101 on      a1 device  0 [0x07] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  1 Group  0 Pid  102 on      a1 device  1 [0x46] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  2 Group  0 Pid  103 on      a2 device  0 [0x07] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  3 Group  0 Pid  104 on      a2 device  1 [0x46] NVIDIA A100-SXM4-40GB\n"
    "#                                       out-of-place                in-place\n"
    "#  size count  type redop root  time algbw busbw #wrong  time algbw busbw #wrong\n"
    "#   (B) (elements)              (us) (GB/s) (GB/s)       (us) (GB/s) (GB/s)\n"
)


def test_what_nccl_tests_prints_is_read(tmp_path):
    """Sizes are those of all blocks; a time in place where there is one; blank columns at none."""
    path = tmp_path / "all_gather_output.dat.4"
    path.write_text(
        NCCL_TESTS
        + "    64     4 float  none   -1 50.25  0.0   0.0      0   49.5   0.0   0.0    N/A\n"
        "[a1:1] 3 more processes have sent a message\n"
        "   128     8 float              51.0   0.0   0.0      0    N/A   0.0   0.0      0\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.0\n"
    )
    out, within, longer = read_measurements([tmp_path])
    assert (out.operation, out.bytes, out.name, out.median_ns) == (
        "allgather",
        64,
        "out of place",
        50_250,
    )
    assert (within.name, within.median_ns, within.iterations) == ("in place", 49_500, 20)
    assert (longer.bytes, longer.median_ns) == (128, 51_000)
    assert (out.hosts, out.ranks, out.per_node, out.library) == (("a1", "a2"), 4, 2, "nccl")
    path.write_text("# Collective test starting: sendrecv_perf\n" + path.read_text())
    with pytest.raises(MachineError, match="holds no measurements"):
        read_measurements([path])
    for damaged, found in (
        (NCCL_TESTS.replace("Rank  1", "Rank  5") + "64 4 float sum -1 5 0 0 0 5 0 0 0\n", "ranks"),
        (NCCL_TESTS.replace("Rank  2", "Rank  0") + "64 4 float sum -1 5 0 0 0 5 0 0 0\n", "twice"),
        (NCCL_TESTS + "64 4 float sum\n", "found 4 cells; allowed: 13"),
    ):
        path.write_text(damaged)
        with pytest.raises(MachineError, match=found):
            read_measurements([path])
    path.write_text(NCCL_TESTS)
    with pytest.raises(MachineError, match="does not say which collective"):
        read_measurements([path.rename(tmp_path / "run.log")])


def test_netgauge_is_read(tmp_path):
    one = tmp_path / "ng_one_one_mpi_stripe1.out"
    one.write_text("#size\trtt\n1\t1.5\n1\t2.5\n1\t9.5\n1024\t3.0\n")
    short, long = read_measurements([one])
    # A message from one to the other is a broadcast among two.
    assert (short.operation, short.algorithm, short.ranks) == ("broadcast", "linear", 2)
    assert (short.bytes, short.median_ns, short.iterations) == (1, 2_500, 3)
    assert (long.bytes, long.median_ns) == (1024, 3_000)
    several = one.rename(tmp_path / "ng_one_one_mpi_conc16.out")
    assert {row.algorithm for row in read_measurements([several])} == {None}
    calls = tmp_path / "linear_alltoall_3_16.csv"
    calls.write_text(
        "#MessageSize Rank0Time(us) Rank1Time(us) Rank2Time(us) \n16 4.0 6.0 5.0 \n16 7.0 1.0 2.0\n"
    )
    (row,) = read_measurements([calls])
    # The time is the slowest rank's; the vector has a block for every rank.
    assert (row.operation, row.bytes, row.ranks, row.median_ns) == ("alltoall", 48, 3, 6_500)
    with tarfile.open(tmp_path / "all.tar.xz", "w:xz") as archive:
        archive.add(calls, "2022/linear_alltoall_3_16.csv")
        archive.add(several, "2022/ng_one_one_mpi_stripe1.out")
    assert len(read_measurements([tmp_path / "all.tar.xz"])) == 3
    calls.write_text("16 4.0\n")
    with pytest.raises(MachineError, match="is no file of a collective of Netgauge's"):
        read_measurements([calls])


def test_the_command_writes_a_table(tmp_path):
    folder = pico(tmp_path / "data", {"0/16_ring_ompi_int32.csv": "highest\n5\n"})
    out = tmp_path / "table.csv"
    answer = json.loads(odonata("measurements", folder, "--out", out, "--json").stdout)
    assert answer["measurements"][0]["bytes"] == 64
    assert out.read_text().splitlines()[0].startswith('"source","test","collective"')
    assert "simulated" in odonata("measurements", folder).stdout
    odonata("measurements", folder, "--out", tmp_path / "table.parquet")
    schema = pq.read_schema(tmp_path / "table.parquet")
    units = {name: (schema.field(name).metadata or {}).get(b"unit") for name in schema.names}
    assert {name: unit for name, unit in units.items() if unit} == {
        "bytes": b"B",
        **dict.fromkeys(("median_ns", "p10_ns", "p90_ns"), b"ns"),
    }


FILES = {
    "osu.txt": "# OSU MPI Allgather Latency Test v7.3\n# Number of processes: 16\n"
    "# Size  Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    "8  4.25  3.00  5.00  1000\n16  4.5  3.00  5.00  1000\n\n2 nodes were used\n",
    "imb.txt": "# Benchmarking Allreduce \n# #processes = 8 \n"
    "   #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n  1024 1000 5.5 6.5 6.0\n",
    "ng_one_one_mpi_stripe1.out": "#size\trtt\n1\t1.5\n1024\t3.0\n",
    "all_reduce.log": NCCL_TESTS + "64 4 float sum -1 5.0 0 0 0 6.5 0 0 0\n",
    "linear_alltoall_3_16.csv": "#MessageSize Rank0Time(us) Rank1Time(us) Rank2Time(us) \n"
    "16 4.0 6.0 5.0 \n16 7.0 1.0 2.0\n",
}
WRONG = ["nan", "-nan", "inf", "-1", "1e-400", "1e400", "x", "", "9" * 5000, "3.5", "١", "0x10"]


@pytest.mark.parametrize("name", FILES)
def test_fields_that_are_no_numbers_are_refused_where_they_are_read(tmp_path, name):
    """Every field that is read, of every row, with every wrong word: an error of its line."""
    path = tmp_path / name
    path.write_text(FILES[name])
    whole = to_table(read_measurements([path]))
    lines = FILES[name].splitlines()
    read = {"osu.txt": (0, 1, 4), "imb.txt": (0, 1, 4), "all_reduce.log": (0, 1, 5, 9)}.get(name)
    times = {"osu.txt": (1,), "imb.txt": (4,), "all_reduce.log": (5, 9)}.get(name, ())
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or not fields[0].isdecimal() or "nodes" in line:
            continue
        for place in range(len(fields)):
            for word in WRONG:
                changed = [*fields]
                changed[place] = word
                text = [*lines]
                text[number - 1] = " ".join(changed)
                path.write_text("\n".join(text))
                is_time = place > 0 if read is None else place in times
                if read and word == "" and place > 0:
                    # Others move up, and iterations may be missing.
                    continue
                if (is_time and word in ("3.5", "1e-400")) or (read and place not in read):
                    assert to_table(read_measurements([path])).num_rows == whole.num_rows
                    continue
                if read and place == 0 and word in ("x", "١"):
                    # A line that begins with a word is none of the table where others may be.
                    continue
                with pytest.raises(MachineError) as error:
                    read_measurements([path])
                assert f"{name}: line {number}: found" in str(error.value), (place, word)
                assert len(str(error.value)) < 300


METADATA_ROW = METADATA.splitlines()[1].split(",")


@pytest.mark.parametrize("word", WRONG)
@pytest.mark.parametrize("place", [2, 3, 4])
def test_rows_of_metadata_that_make_no_sense_are_refused(tmp_path, place, word):
    folder = pico(tmp_path / "data", {"0/16_ring_ompi_int32.csv": "highest\n5\n"}, "")
    assert len(read_measurements([folder])) == 1
    changed = [*METADATA_ROW]
    changed[place] = word
    (folder / "metadata.csv").write_text(METADATA.splitlines()[0] + "\n" + ",".join(changed))
    # An unknown collective is left out.
    with pytest.raises(MachineError, match="holds no meas" if place == 4 else "metadata.csv:2: fo"):
        read_measurements([folder])
    (folder / "metadata.csv").write_text(METADATA.splitlines()[0] + "\n" + ",".join(changed[:-1]))
    with pytest.raises(MachineError, match=r"metadata.csv:2: found 5 cells; allowed: 6"):
        read_measurements([folder])


@pytest.mark.parametrize("column", ["nnodes", "tasks_per_node", "collective_type", "test_id"])
def test_columns_of_metadata_that_are_missing_are_named(tmp_path, column):
    folder = pico(tmp_path / "data", {"0/16_ring_ompi_int32.csv": "highest\n5\n"})
    (folder / "metadata.csv").write_text(METADATA.replace(column, "other"))
    with pytest.raises(MachineError, match=f"has no column {column}"):
        read_measurements([folder])


@pytest.mark.parametrize("word", [word for word in WRONG if word not in ("1e-400", "3.5")])
def test_times_of_pico_that_are_none_are_refused(tmp_path, word):
    text = f"lowest,highest\n1,5\n1,{word}\n1,7\nmean,std\n1,nan\n"
    folder = pico(tmp_path / "data", {"0/16_ring_ompi_int32.csv": text})
    with pytest.raises(MachineError, match=r"16_ring_ompi_int32.csv: line 3: found the time"):
        read_measurements([folder])
    cut = text.replace(f"\n1,{word}\n", "\n1\n")
    folder = pico(tmp_path / "cut", {"0/16_ring_ompi_int32.csv": cut})
    with pytest.raises(MachineError, match="line 3: found 1 cells; allowed: 2"):
        read_measurements([folder])
    many = {f"0/{'9' * 40}_ring_ompi_int32.csv": "highest\n5\n"}
    with pytest.raises(MachineError, match="found elements"):
        read_measurements([pico(tmp_path / "many", many)])


def test_a_table_of_measurements_is_read_back(tmp_path):
    """What `odonata measurements --out` writes, alone or in a folder, is what was written."""
    row = Measurement(
        source="run.tar.gz",
        test="3",
        operation="reduce-scatter",
        name="bine_bdw_remap_segmented_over",
        algorithm=None,
        library="point-to-point",
        bytes=4096,
        ranks=4,
        per_node=2,
        iterations=20,
        median_ns=1500.5,
        p10_ns=1400.0,
        p90_ns=1600.0,
        statistic="median",
        hosts=("a1", "a2"),
        segment=512,
    )
    rows = [
        row,
        replace(row, operation="allreduce", algorithm="bine-segmented", segment=None),
        replace(row, operation="allgather", name="ring_ompi", algorithm="auto"),
        replace(row, p10_ns=float("nan"), p90_ns=float("nan"), statistic="mean", hosts=()),
    ]
    file = tmp_path / "table.csv"
    write_csv(file, to_table(rows))
    for place in (file, tmp_path):
        assert to_table(read_measurements([place])).equals(to_table(rows))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("4096", "-1", 'found bytes "-1"'),
        ('"median","a1', '"best","a1', 'found the statistic "best"'),
        ('"reduce-scatter"', '"sum"', 'found the collective "sum"'),
        ('"a1 a2"', '"a1"', "found 4 ranks, 2 on each of 1 hosts; allowed: 2"),
        ('"median_ns"', '"median"', "has no column median_ns"),
        (',"a1 a2"', "", "found 16 cells; allowed: 17"),
    ],
)
def test_damaged_tables_of_measurements_are_refused(tmp_path, old, new, found):
    row = Measurement(
        *("made", "1", "reduce-scatter", "ring_ompi", "ring", "open-mpi", 4096, 4, 2, 20),
        *(1500.0, 1400.0, 1600.0, "median", ("a1", "a2")),
    )
    file = tmp_path / "table.csv"
    write_csv(file, to_table([row]))
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(MachineError, match=re.escape(found)):
        read_measurements([file])
