"""What of a subnet does not work, from what its programs print, as `[failures]` of a scenario.

The outputs are those of infiniband-diags 44.0 on two switches that ibsim simulates, with two cables
between them and two hosts each; ``tests/real/test_subnet_manager.py`` takes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import Done, call
from odonata import Scenario, _engine
from odonata.errors import ClusterError, MachineError
from odonata.simulate import ask_engine
from odonata_live.cluster.broken import LANE_GBPS, Broken, broken

NDR = Path(__file__).parents[3] / "shared" / "data" / "ibnetdiscover-ndr" / "fabric.txt"

WHOLE = """\
switchguid=0x200001(200001)
Switch	4 "S-0000000000200001"		# "leaf b" base port 0 lid 3 lmc 0
[1]	"S-0000000000200000"[1]		# "leaf a" lid 2 4xEDR
[2]	"S-0000000000200000"[2]		# "leaf a" lid 2 4xEDR
[3]	"H-0000000000100004"[1](100005) 		# "n2 HCA-1" lid 5 4xEDR
[4]	"H-0000000000100006"[1](100007) 		# "n3 HCA-1" lid 6 4xEDR

switchguid=0x200000(200000)
Switch	4 "S-0000000000200000"		# "leaf a" base port 0 lid 2 lmc 0
[1]	"S-0000000000200001"[1]		# "leaf b" lid 3 4xEDR
[2]	"S-0000000000200001"[2]		# "leaf b" lid 3 4xEDR
[3]	"H-0000000000100000"[1](100001) 		# "n0 HCA-1" lid 1 4xEDR
[4]	"H-0000000000100002"[1](100003) 		# "n1 HCA-1" lid 4 4xEDR
"""

UP = 'LinkUp)==>       3    2[  ] "leaf b" ( )'
LINKS = f"""\
CA: n0 HCA-1:
      0x0000000000100001      1    1[  ] ==( 4X          25.78125 Gbps Active/  {UP}
Switch: 0x0000000000200000 leaf a:
           2    1[  ] ==(                Down/ Polling)==>             [  ] "" ( )
           2    2[  ] ==( 1X          25.78125 Gbps Active/  {UP}
           2    3[  ] ==( 4X          25.78125 Gbps Active/  {UP}
           2    4[  ] ==( 4X          10.0 Gbps (FDR10) Active/  {UP}
"""
LINE = '0x0000000000200000 "                        leaf a"      2    2[  ] ==( 4X          14.0625'

ERRORS = """\
Errors for "n2 HCA-1"
   GUID 0x100005 port 1: [LinkDownedCounter == 3]
Errors for 0x200000 "leaf a"
   GUID 0x200000 port ALL: [SymbolErrorCounter == 250] [PortXmitWait == 7]
   GUID 0x200000 port 1: [PortXmitWait == 7]
       Link info:      2   1[  ] ==(                Down/ Polling)==>             [  ] "" ( )
   GUID 0x200000 port 2: [SymbolErrorCounter == 250]

## Summary: 6 nodes checked, 2 bad nodes found
"""

IBDIAGNET = """\
# Running version   : "IBDIAGNET 2.9.0"
START_PORTS
NodeGuid,PortGuid,PortNum,LID,LinkWidthActv,LinkWidthSup,LinkSpeedEn,LinkSpeedActv,PortPhyState,PortState
0x0000000000200000,0x0000000000200000,0,2,0,0,0,0,0,4
0x0000000000200000,0x0000000000200000,1,2,2,19,769,512,2,1
0x0000000000200000,0x0000000000200000,2,2,2,19,769,256,5,4
0x0000000000200000,0x0000000000200000,3,2,2,19,769,512,5,4
0x0000000000200000,0x0000000000200000,4,2,2,19,769,512,5,4
0x0000000000200001,0x0000000000200001,2,3,2,19,769,256,5,4
0x0000000000200001,0x0000000000200001,4,3,2,19,769,512,5,4
END_PORTS

START_PM_INFO
NodeGUID,PortGUID,PortNumber,LinkDownedCounter,SymbolErrorCounter,PortXmitWait,LinkDownedCounterExt
0x0000000000200000,0x0000000000200000,2,255,0,9,300
0x0000000000200001,0x0000000000200001,4,0,N/A,9,0
END_PM_INFO
"""

REASONS = """\
REASON               USER      TIMESTAMP           NODELIST
Not responding       root      2026-08-27T09:15:44 n[1-2],login1
"""


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., Broken]:
    """What outputs show of the subnet."""
    (tmp_path / "whole.txt").write_text(WHOLE)
    file = tmp_path / "whole.toml"
    file.write_text('[network]\nfamily = "ibnetdiscover"\nfile = "whole.txt"\n')

    def looked(*texts: str) -> Broken:
        given = [(f"output {number}", text) for number, text in enumerate(texts)]
        found = broken(Scenario.from_file(file), given)
        if found.table:
            # The engine takes it.
            network = {"family": "ibnetdiscover", "file": "whole.txt"}
            data = {"network": network, "failures": found.table}
            ask_engine(_engine.topology, Scenario.from_dict(data, directory=tmp_path))
        return found

    return looked


def without(*ends: tuple[int, int], text: str = WHOLE) -> str:
    """A discovery without ports: place of the switch in the text, and port."""
    parts = re.split(r"(?=switchguid)", text)[1:]
    for switch, port in ends:
        parts[switch] = re.sub(rf"(?m)^\[{port}\].*\n", "", parts[switch])
    return "".join(parts)


def test_a_subnet_that_is_as_it_was_is_not_broken(look: Callable[..., Broken]) -> None:
    assert look(WHOLE) == Broken({}, [], [])
    assert look("## Summary: 6 nodes checked, 0 bad nodes found\n") == Broken({}, [], [])
    assert look("REASON               USER      TIMESTAMP           NODELIST\n").table == {}


def test_a_cable_is_missing_in_a_later_discovery(look: Callable[..., Broken]) -> None:
    """One of the two cables; which one the count does not tell, and they are alike."""
    found = look(without((0, 1), (1, 1)))
    assert found.table == {"links": [{"routers": [0, 1], "count": 1}]}
    assert found.why == ["routers 0 and 1: leaf a port 1 to leaf b port 1 is dark"]


def cabled(*cables: str, switches: str = "abc") -> str:
    """A discovery of switches with such cables: ``a1-b1`` from port 1 of a to port 1 of b, and
    ``a3-n0`` to host n0."""
    ends: dict[str, dict[str, str]] = {switch: {} for switch in switches}
    for cable in cables:
        one, other = cable.split("-")
        ends[one[0]][one[1]] = other
        if other[0] in switches:
            ends[other[0]][other[1]] = one
    text = ""
    for switch, ports in ends.items():
        guid = f"20000{switch}"
        text += (
            f'switchguid=0x{guid}({guid})\nSwitch\t8 "S-{guid}"\t# "leaf {switch}" base port 0\n'
        )
        for port, (name, number) in sorted(ports.items()):
            there = f'"S-20000{name}"[{number}]\t# "leaf {name}" lid 1 4xEDR'
            if name not in switches:
                guid = f"10000{number}"
                there = f'"H-{guid:0>16}"[1]({guid})\t# "n{number} HCA-1" lid 2 4xEDR'
            text += f"[{port}]\t{there}\n"
        text += "\n"
    return text


@pytest.fixture
def cabling(tmp_path: Path) -> Callable[..., Broken]:
    """What a discovery with other cables shows of one with these."""
    (tmp_path / "whole.txt").write_text(
        cabled("a1-b1", "a2-b2", "a4-c1", "b4-c2", "a3-n0", "c3-n1")
    )
    (tmp_path / "whole.toml").write_text(
        '[network]\nfamily = "ibnetdiscover"\nfile = "whole.txt"\n'
    )

    def shown(*cables: str) -> Broken:
        whole = Scenario.from_file(tmp_path / "whole.toml")
        return broken(whole, [("now", cabled(*cables))])

    return shown


def test_cables_that_are_crossed(cabling: Callable[..., Broken]) -> None:
    """All ports have links: those of a1-b1 and b4-c2 are joined the other way."""
    found = cabling("a2-b2", "a4-c1", "a1-c2", "b1-b4", "a3-n0", "c3-n1")
    assert found.table == {
        "links": [{"routers": [0, 1], "count": 1}, {"routers": [1, 2]}],
    }
    assert found.why == [
        "routers 0 and 1: leaf a port 1 to leaf b port 1 is not there: leaf a port 1 leads to leaf "
        "c port 2, leaf b port 1 leads to leaf b port 4",
        "routers 1 and 2: leaf b port 4 to leaf c port 2 is not there: leaf b port 4 leads to leaf "
        "b port 1, leaf c port 2 leads to leaf a port 1",
    ]
    assert found.notices == [
        "now: leaf a port 1 to leaf c port 2: a link that the scenario does not have, left out",
        "now: leaf b port 1 to leaf b port 4: a link that the scenario does not have, left out",
        "for the network as it is now make a scenario of its own: odonata machine from-slurm "
        "--links now",
    ]


def test_cables_of_the_same_switches_in_other_ports_are_no_failure(
    cabling: Callable[..., Broken],
) -> None:
    """Crossed within a bundle, and one of it in a port that was free."""
    assert cabling("a1-b2", "a5-b1", "a4-c1", "b4-c2", "a3-n0", "c3-n1") == Broken({}, [], [])
    # A link more than there were between the two is said.
    more = cabling("a1-b1", "a2-b2", "a5-b5", "a4-c1", "b4-c2", "a3-n0", "c3-n1")
    assert more.table == {} and "leaf a port 5 to leaf b port 5" in more.notices[0]


def test_hosts_that_changed_places(cabling: Callable[..., Broken]) -> None:
    """On another switch they are other nodes; in another port of theirs nothing changes."""
    cables = ("a1-b1", "a2-b2", "a4-c1", "b4-c2")
    found = cabling(*cables, "a3-n1", "c3-n0")
    assert found.table == {"nodes": [0, 1]}
    assert found.why[0] == "node 0: host n0 is at leaf c port 3 now"
    assert found.notices[0] == (
        "now: leaf c port 3 to host n0 port 1: a link that the scenario does not have, left out"
    )
    assert cabling(*cables, "a6-n0", "c3-n1") == Broken({}, [], [])
    # A spare adapter in the place of the old one.
    assert cabling(*cables, "a3-n7", "c3-n1") == Broken({}, [], [])


def test_lanes_are_dark_in_a_later_discovery(look: Callable[..., Broken]) -> None:
    """One lane of four, at a speed of 13.6 instead of 25 Gb/s a lane: 13.64 %."""
    slow = re.sub(r"(\[2\].*)4xEDR", r"\g<1>1xFDR", WHOLE)
    links = look(slow).table["links"]
    assert links == [{"routers": [0, 1], "count": 1, "bandwidth": "13.6364 %"}]


def test_the_shares_of_speeds_are_those_of_the_engine(tmp_path: Path) -> None:
    for speed, lane in LANE_GBPS.items():
        (tmp_path / "whole.txt").write_text(WHOLE.replace("4xEDR", f"4x{speed}"))
        network = {"family": "ibnetdiscover", "file": "whole.txt"}
        scenario = Scenario.from_dict({"network": network}, directory=tmp_path)
        classes = ask_engine(_engine.topology, scenario)["description"]["link_classes"]
        assert classes[0]["bandwidth_bytes_per_s"] == pytest.approx(4 * lane * 1e9 / 8, rel=1e-9)


def test_a_host_and_a_switch_that_are_gone(look: Callable[..., Broken]) -> None:
    assert look(without((0, 4))).table == {"nodes": [3]}
    # Each switch still has its hosts: cut off, but not down.
    apart = without((0, 1), (0, 2), (1, 1), (1, 2))
    assert look(apart).table == {"links": [{"routers": [0, 1]}]}
    found = look(apart.split("switchguid=0x200000(")[0])
    assert found.table == {"routers": [0]}
    assert found.why == ["router 0: leaf a has no link"]


def test_links_as_iblinkinfo_prints_them(look: Callable[..., Broken]) -> None:
    found = look(LINKS)
    assert found.table["links"] == [
        {"routers": [0, 1], "count": 1},
        {"routers": [0, 1], "count": 1, "bandwidth": "25 %"},
    ]
    # A host's link has no bandwidth in the table: it is said.
    assert "nodes" not in found.table
    assert [line.split(":")[0] for line in found.notices] == ["host n1 (node 1)"]
    one_line = look(f"{LINE} Gbps Active/  {UP}\n")
    assert one_line.table["links"][0]["bandwidth"] == "54.5455 %"


def test_errors_are_said_and_dark_links_taken_from_ibqueryerrors(
    look: Callable[..., Broken],
) -> None:
    found = look(ERRORS)
    assert found.table == {"links": [{"routers": [0, 1], "count": 1}]}
    assert [line.split(";")[0] for line in found.notices] == [
        "leaf a port 2: SymbolErrorCounter 250",
        "n2 HCA-1 port 1: LinkDownedCounter 3",
    ]


def test_ports_of_ibdiagnet(look: Callable[..., Broken]) -> None:
    """A port is down, both ends of another are at FDR, and n2's has no active link."""
    found = look(IBDIAGNET)
    assert found.table == {
        "links": [
            {"routers": [0, 1], "count": 1},
            {"routers": [0, 1], "count": 1, "bandwidth": "54.5455 %"},
        ],
        "nodes": [2],
    }
    assert [line.split(";")[0] for line in found.notices] == [
        "leaf a port 2: LinkDownedCounter 300"
    ]


@pytest.mark.parametrize(
    "text",
    [
        REASONS,
        "Wed Aug 27 09:20:00 2026\n"
        "REASON               USER         TIMESTAMP           STATE  NODELIST\n"
        "bad cable, see 4711  root(0)      2026-08-27T09:15:44 drain* n[1-2],login1\n",
        "NodeName=n1 CPUTot=4 State=DOWN* Partitions=main\n"
        "NodeName=n2 CPUTot=4 State=IDLE+DRAIN Partitions=main Reason=cable\n"
        "NodeName=n0 CPUTot=4 State=IDLE Partitions=main\n"
        "NodeName=login1 CPUTot=4 State=DOWN Partitions=main\n",
        "n1 down*\nn2 drained\nn0 idle\nlogin1 down\n",
    ],
)
def test_nodes_that_slurm_takes_out(look: Callable[..., Broken], text: str) -> None:
    found = look(text)
    assert found.table == {"nodes": [1, 2]}
    assert "login1" in found.notices[0]


def test_a_node_is_out_once(look: Callable[..., Broken]) -> None:
    """Gone in the network and in Slurm, and with its switch."""
    assert look(without((0, 3)), REASONS).table == {"nodes": [1, 2]}
    alone = without((0, 1), (0, 2)).split("switchguid=0x200000(")[0]
    assert look(alone, REASONS).table == {"routers": [0], "nodes": [2]}


def test_hosts_of_a_machine_need_no_subnet(tmp_path: Path) -> None:
    network = {"family": "fat-tree", "radix": 4}
    machine = {"name": "m", "hosts": [{"names": "n[0-15]", "first_node": 0}]}
    data: dict[str, Any] = {"network": network, "machine": machine}
    scenario = Scenario.from_dict(data, directory=tmp_path)
    assert broken(scenario, [("sinfo", REASONS)]).table == {"nodes": [1, 2]}
    with pytest.raises(ClusterError, match='family = "ibnetdiscover"'):
        broken(scenario, [("iblinkinfo", LINKS)])
    del data["machine"]
    with pytest.raises(MachineError, match=r"machine\.hosts"):
        broken(Scenario.from_dict(data, directory=tmp_path), [("sinfo", REASONS)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found ''; allowed: the output of ibnetdiscover"),
        ("hello\n", "line 1: found 'hello'; allowed"),
        (LINKS.replace("200000", "300000").replace("100001", "4"), "outputs of the same subnet"),
        (LINKS.replace("25.78125", "25.8"), "found 25.8 Gbps a lane"),
        (LINKS.replace("1[  ] ==(   ", "x[  ] ==(   "), "line 4: found '2    x"),
        ("\n".join(LINKS.splitlines()[3:]), "line 1: a link of no switch"),
        (IBDIAGNET.replace("END_PORTS", ""), "no whole table PORTS"),
        (IBDIAGNET.replace(",512,5,4", ",512,5"), "line 7: found 9 columns; allowed: 10"),
        (IBDIAGNET.replace(",PortState\n", ",State\n"), "line 4: no column PortState"),
        (IBDIAGNET.replace("0,0,4\n", "0,0,up\n"), "line 4: found 'up' as PortState"),
        (re.sub(r"4\n", "1\n", IBDIAGNET), "no active port"),
        (WHOLE.replace("[1]", "[9]", 1), "no port 9"),
        (without((0, 1)), "does not lead back"),
        (REASONS.replace("root      2026-08-27T09:15:44", ""), "line 2: found 'Not responding"),
        (REASONS.replace("n[1-2],login1", "n[1-"), "line 2"),
        (REASONS.replace("n[1-2],", ""), "host login1 is no node of the scenario"),
    ],
)
def test_what_cannot_be_read_is_said(look: Callable[..., Broken], text: str, said: str) -> None:
    with pytest.raises(ClusterError, match=re.escape(said)):
        look(text)


def test_the_command_writes_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "whole.txt").write_text(WHOLE)
    (tmp_path / "links.txt").write_text(LINKS)
    whole = '[network]\nfamily = "ibnetdiscover"\nfile = "whole.txt"\n'
    (tmp_path / "whole.toml").write_text(whole)

    def failures(*arguments: str) -> Done:
        return call("cluster", "failures", *arguments, directory=tmp_path)

    printed = failures("whole.toml", "links.txt").stdout
    assert printed.startswith("# routers 0 and 1: leaf a port 1 to leaf b port 1 is dark\n")
    assert failures("whole.toml", "links.txt", "--out", "now.toml").returncode == 0
    assert (tmp_path / "now.toml").read_text() == f"{whole}\n{printed}"
    described = call("topology", "describe", "now.toml", directory=tmp_path).stdout
    assert "without 1 link, 1 slower link" in described
    # What is broken is told of the whole, and paths in a scenario lead from where it is.
    again = failures("now.toml", "links.txt")
    assert again.returncode and "has [failures] already" in again.stderr
    (tmp_path / "other").mkdir()
    told = failures("whole.toml", "links.txt", "--out", "other/now.toml")
    assert told.returncode and "allowed: a file in the directory of" in " ".join(
        told.stderr.split()
    )


@pytest.mark.skipif(not NDR.exists(), reason="needs ibnetdiscover-ndr of the shared data")
def test_a_real_subnet(tmp_path: Path) -> None:
    """191 nodes on 40 switches: a spine of them is taken away, and a cable elsewhere."""
    text = NDR.read_text()
    scenario = Scenario.from_dict(
        {"network": {"family": "ibnetdiscover", "file": str(NDR)}}, directory=tmp_path
    )
    assert broken(scenario, [("as it was", text)]).table == {}
    spine, leaf, other = "2c5eab0300c26380", "2c5eab0300b87b40", "2c5eab0300c26280"
    now = re.sub(rf'(?m)^.*"S-{spine}"\[.*\n', "", text)
    now = re.sub(rf"switchguid=0x{spine}[^\n]*\nSwitch[^\n]*\n(\[[^\n]*\n)*", "", now)
    now = re.sub(rf'(?m)^\[35\]\s+"S-{other}"\[32\].*\n', "", now, count=1)
    now = re.sub(rf'(?m)^\[32\]\s+"S-{leaf}"\[35\].*\n', "", now, count=1)
    found = broken(scenario, [("now", now)])
    assert found.table == {"routers": [29], "links": [{"routers": [4, 26], "count": 1}]}
    assert "IBSPINE-03" in found.why[0] and "IBLEAF-04-04" in found.why[1]
