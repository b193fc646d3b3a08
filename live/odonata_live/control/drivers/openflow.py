"""OpenFlow 1.3 switches as optical ones, spoken to through os-ken's messages.

A connection is a flow entry: all that comes in at one port goes out at another. Its cookie says
that it is ours and whose job it is, so that a switch itself tells who owns what. We are the master
of a switch from the first message on: what an earlier process that was killed has still on its way
is refused by the switch, as that is the master no longer.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from odonata.errors import ControlError, DeviceError
from odonata.libraries import check_installed, library
from odonata_live.control.circuits import Connection, Connections
from odonata_live.control.driver import only
from odonata_live.control.plant import Switch, ports_of_device

#: The first two bytes of our cookies; a job's number are the other six.
OURS = 0x4F43
_VERSION = 4
_HEADER = struct.Struct("!BBHI")


def _library() -> tuple[Any, Any, Any]:
    """Constants, messages and the parser of os-ken.

    Raises:
        LibraryError: If os-ken is not installed.
    """
    modules = ("ofproto_v1_3", "ofproto_v1_3_parser", "ofproto_parser")
    constants, messages, parser = (library(f"os_ken.ofproto.{one}", "OpenFlow") for one in modules)
    return constants, messages, parser


class Session:
    """A connection to one switch.

    Args:
        name: The switch's, for errors.
        stream: The connection.
        timeout_s: How long an answer may take.
    """

    def __init__(self, name: str, stream: socket.socket, timeout_s: float) -> None:
        self.name = name
        self.constants, self.messages, self._parser = _library()
        self._datapath = SimpleNamespace(ofproto=self.constants, ofproto_parser=self.messages)
        self._stream = stream
        self._timeout_s = timeout_s
        self._received = b""
        self._number = 0
        self._refused: list[str] = []
        #: Whether something was sent that no barrier has confirmed.
        self.unconfirmed = False
        self._told_of_ports = False
        #: Whether it has said that something became of a port since it was asked for them.
        self.has_news = False
        self._greet()

    def _greet(self) -> None:
        self._write(self.messages.OFPHello(self._datapath))
        greeting = self._next(time.monotonic() + self._timeout_s)
        if greeting.msg_type != self.constants.OFPT_HELLO:
            raise DeviceError(f"switch {self.name}: no greeting, found {greeting}")

    def datapath_id(self) -> int:
        """What the switch calls itself."""
        return int(self.ask(self.messages.OFPFeaturesRequest(self._datapath)).datapath_id)

    def become_master(self) -> None:
        """Takes the switch over from any other controller.

        Raises:
            DeviceError: If the switch refuses.
        """
        roles = self.constants
        role = self.messages.OFPRoleRequest
        now = self.ask(role(self._datapath, roles.OFPCR_ROLE_NOCHANGE, 0))
        # Generations go round; the next one of the last that the switch has seen is never stale.
        last = now.generation_id
        following = 0 if last == 2**64 - 1 else last + 1
        self.ask(role(self._datapath, roles.OFPCR_ROLE_MASTER, following))

    def send(self, kind: str, **fields: Any) -> None:
        """Sends a message of a kind without waiting; what is refused the next barrier tells."""
        self.unconfirmed = True
        self._write(getattr(self.messages, kind)(self._datapath, **fields))

    def ask(self, message: Any) -> Any:
        """The answer to a message.

        Raises:
            DeviceError: If the switch refuses it, or gives no answer in time.
        """
        number = self._write(message)
        deadline = time.monotonic() + self._timeout_s
        while True:
            answer = self._next(deadline)
            if answer.msg_type == self.constants.OFPT_ERROR:
                if answer.xid == number:
                    raise DeviceError(f"switch {self.name} refuses: {_error(answer)}")
            elif answer.xid == number:
                return answer

    def barrier(self) -> None:
        """Waits until the switch has done everything.

        Raises:
            DeviceError: If it refused something since the last barrier, or gives no answer.
        """
        self.ask(self.messages.OFPBarrierRequest(self._datapath))
        self.unconfirmed = False
        if self._refused:
            refused, self._refused = self._refused, []
            raise DeviceError(f"switch {self.name} refuses: {refused[0]}")

    def entries(self) -> list[Any]:
        """All flow entries of table 0."""
        constants = self.constants
        request = self.messages.OFPFlowStatsRequest(
            self._datapath,
            0,
            0,
            constants.OFPP_ANY,
            constants.OFPG_ANY,
            0,
            0,
            self.messages.OFPMatch(),
        )
        return self._parts(request)

    def port_bytes(self) -> dict[int, tuple[int, int]]:
        """Bytes that ports have received and sent."""
        request = self.messages.OFPPortStatsRequest(self._datapath, 0, self.constants.OFPP_ANY)
        return {part.port_no: (part.rx_bytes, part.tx_bytes) for part in self._parts(request)}

    def ports(self) -> dict[int, bool]:
        """The switch's ports by number, and whether the link at each is up.

        From now on the switch says at once what becomes of them (see :meth:`fileno`).
        """
        if not self._told_of_ports:
            # Open vSwitch tells who has called it only if packets may be sent there as well.
            self.send("OFPSetConfig", flags=self.constants.OFPC_FRAG_NORMAL, miss_send_len=128)
            self._told_of_ports = True
        self.has_news = False
        down, off = self.constants.OFPPS_LINK_DOWN, self.constants.OFPPC_PORT_DOWN
        found = self._parts(self.messages.OFPPortDescStatsRequest(self._datapath, 0))
        return {
            port.port_no: not (port.state & down or port.config & off)
            for port in found
            if port.port_no <= self.constants.OFPP_MAX
        }

    def fileno(self) -> int:
        """The connection's, which can be read from when the switch says something unasked."""
        return self._stream.fileno()

    def _parts(self, request: Any) -> list[Any]:
        answer = self.ask(request)
        parts = list(answer.body)
        deadline = time.monotonic() + self._timeout_s
        while answer.flags & self.constants.OFPMPF_REPLY_MORE:
            answer = self._next(deadline)
            if answer.xid == request.xid:
                parts += answer.body
        return parts

    def _write(self, message: Any) -> int:
        self._number += 1
        message.set_xid(self._number)
        message.serialize()
        try:
            self._stream.settimeout(self._timeout_s)
            self._stream.sendall(bytes(message.buf))
        except OSError as error:
            raise DeviceError(f"switch {self.name}: the connection is lost: {error}") from error
        return self._number

    def _next(self, deadline: float) -> Any:
        """The next message that is not dealt with here."""
        while True:
            while len(self._received) >= _HEADER.size:
                version, kind, length, number = _HEADER.unpack_from(self._received)
                if length < _HEADER.size:
                    raise DeviceError(f"switch {self.name}: sent what is no OpenFlow")
                if len(self._received) < length:
                    break
                raw, self._received = self._received[:length], self._received[length:]
                if kind == self.constants.OFPT_HELLO:
                    return SimpleNamespace(msg_type=kind, xid=number)
                if version != _VERSION:
                    raise DeviceError(
                        f"switch {self.name}: found OpenFlow version {version}; allowed: "
                        f"{_VERSION}, which is 1.3 (ovs-vsctl set bridge … protocols=OpenFlow13)"
                    )
                message = self._parser.msg(self._datapath, version, kind, length, number, raw)
                if message is None:
                    raise DeviceError(f"switch {self.name}: sent what is not understood")
                if kind == self.constants.OFPT_ECHO_REQUEST:
                    reply = self.messages.OFPEchoReply(self._datapath, message.data)
                    reply.set_xid(number)
                    reply.serialize()
                    self._stream.sendall(bytes(reply.buf))
                    continue
                if kind == self.constants.OFPT_PORT_STATUS:
                    self.has_news = True
                    continue
                if kind == self.constants.OFPT_ERROR:
                    self._refused.append(_error(message))
                return message
            left = deadline - time.monotonic()
            if left <= 0:
                raise DeviceError(f"switch {self.name}: no answer within {self._timeout_s:g} s")
            try:
                self._stream.settimeout(left)
                got = self._stream.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError as error:
                raise DeviceError(f"switch {self.name}: the connection is lost: {error}") from error
            if not got:
                raise DeviceError(f"switch {self.name}: closed the connection")
            self._received += got

    def close(self) -> None:
        """Ends the connection."""
        self._stream.close()


def _error(message: Any) -> str:
    return f"OpenFlow error, type {message.type}, code {message.code}"


class OpenFlow:
    """Speaks to switches whose address is known (`at`), or that call us (`listen`).

    Args:
        timeout_s: How long an answer may take, or the call of a switch.
        priority: Of our entries.
        listen: Address and port where switches call; the others are called.
    """

    keeps_jobs = True

    def __init__(self, timeout_s: float, priority: int, listen: str | None) -> None:
        self._timeout_s = timeout_s
        self._priority = priority
        self._listen = listen
        self._listener: socket.socket | None = None
        self._callers: dict[int, Session] = {}
        self._sessions: dict[str, Session] = {}

    def session(self, switch: Switch) -> Session:
        """The connection to a switch, opened where there is none.

        Raises:
            DeviceError: If it cannot be reached.
        """
        session = self._sessions.get(switch.name)
        if session is None:
            for key in switch.device:
                if key not in ("at", "datapath", "names", "ingress", "egress"):
                    raise ControlError(
                        f"switch {switch.name}: {key}: no such key; allowed: at, datapath, names, "
                        "ingress, egress"
                    )
            _library()
            if self._listen is None:
                session = self._greeted(switch)
                session.become_master()
            else:
                session = self._caller(switch)
                session.become_master()
            self._sessions[switch.name] = session
        return session

    def _greeted(self, switch: Switch) -> Session:
        """A connection on which both sides have said what they speak.

        Open vSwitch waits for a second; on a loaded host that may be too short.
        """
        deadline = time.monotonic() + self._timeout_s
        while True:
            stream = self._called(switch)
            try:
                return Session(switch.name, stream, self._timeout_s)
            except DeviceError:
                stream.close()
                if time.monotonic() > deadline:
                    raise
            except BaseException:
                stream.close()
                raise

    def _called(self, switch: Switch) -> socket.socket:
        at = switch.device.get("at")
        kind, _, address = at.partition(":") if isinstance(at, str) else ("", "", "")
        try:
            if kind == "unix":
                stream = socket.socket(socket.AF_UNIX)
                stream.settimeout(self._timeout_s)
                try:
                    stream.connect(address)
                except BaseException:
                    stream.close()
                    raise
                return stream
            if kind == "tcp":
                return socket.create_connection(_host(address), self._timeout_s)
        except OSError as error:
            raise DeviceError(f"switch {switch.name}: {at}: {error}") from error
        raise ControlError(
            f"switch {switch.name}: at: found {at!r}; allowed: unix:PATH or tcp:HOST:PORT, or "
            "`listen` in its driver"
        )

    def _caller(self, switch: Switch) -> Session:
        number = switch.device.get("datapath")
        if not isinstance(number, int) or isinstance(number, bool):
            raise ControlError(
                f"switch {switch.name}: datapath: found {number!r}; allowed: its datapath id, as "
                "it calls"
            )
        if self._listener is None:
            try:
                self._listener = socket.create_server(_host(self._listen or ""))
            except OSError as error:
                raise DeviceError(f"listen {self._listen}: {error}") from error
        deadline = time.monotonic() + self._timeout_s
        while number not in self._callers:
            left = deadline - time.monotonic()
            if left <= 0:
                raise DeviceError(
                    f"switch {switch.name}: datapath {number:#x} has not called {self._listen} "
                    f"within {self._timeout_s:g} s"
                )
            self._listener.settimeout(left)
            try:
                stream, _ = self._listener.accept()
            except TimeoutError:
                continue
            try:
                session = Session(f"of {self._listen}", stream, self._timeout_s)
                self._callers[session.datapath_id()] = session
            except DeviceError:
                stream.close()
                continue
        session = self._callers.pop(number)
        session.name = switch.name
        return session

    def is_open(self, name: str) -> bool:
        """Whether there is a connection to a switch."""
        return name in self._sessions

    def lose(self, switch: Switch) -> None:
        """Forgets a connection, whatever is on its way in it."""
        session = self._sessions.pop(switch.name, None)
        if session is not None:
            session.close()

    def read(self, switch: Switch) -> Connections:
        """As the interface says."""
        number_in = _numbers(switch, "ingress")
        number_out = _numbers(switch, "egress")
        try:
            session = self.session(switch)
            if session.unconfirmed:
                session.barrier()
            entries = session.entries()
        except DeviceError:
            self.lose(switch)
            raise
        found = []
        for entry in entries:
            ours = entry.cookie >> 48 == OURS
            if not ours and entry.priority < self._priority:
                continue
            match = dict(entry.match.items())
            outputs = [
                action.port
                for instruction in entry.instructions
                for action in getattr(instruction, "actions", ())
            ]
            if not ours or list(match) != ["in_port"] or len(outputs) != 1:
                raise DeviceError(
                    f"switch {switch.name}: holds an entry that is no circuit (priority "
                    f"{entry.priority}, cookie {entry.cookie:#x}); remove it"
                )
            if match["in_port"] not in number_in or outputs[0] not in number_out:
                raise DeviceError(
                    f"switch {switch.name}: port {match['in_port']} leads to {outputs[0]}; not "
                    "both are its ports"
                )
            job = entry.cookie & (2**48 - 1)
            found.append(Connection(number_in[match["in_port"]], number_out[outputs[0]], job))
        return frozenset(found)

    def make(self, switch: Switch, connections: Sequence[Connection]) -> None:
        """As the interface says. An entry of the same port is replaced in one step."""
        self._change(switch, connections, "OFPFC_ADD")

    def break_(self, switch: Switch, connections: Sequence[Connection]) -> None:
        """As the interface says."""
        self._change(switch, connections, "OFPFC_DELETE_STRICT")

    def _change(self, switch: Switch, connections: Sequence[Connection], command: str) -> None:
        number_in = {port: number for number, port in _numbers(switch, "ingress").items()}
        number_out = {port: number for number, port in _numbers(switch, "egress").items()}
        try:
            session = self.session(switch)
            constants, messages = session.constants, session.messages
            for connection in connections:
                actions = [messages.OFPActionOutput(number_out[connection.egress])]
                apply = messages.OFPInstructionActions(constants.OFPIT_APPLY_ACTIONS, actions)
                session.send(
                    "OFPFlowMod",
                    command=getattr(constants, command),
                    cookie=(OURS << 48) | connection.job,
                    priority=self._priority,
                    out_port=constants.OFPP_ANY,
                    out_group=constants.OFPG_ANY,
                    match=messages.OFPMatch(in_port=number_in[connection.ingress]),
                    instructions=[apply],
                )
        except DeviceError:
            self.lose(switch)
            raise

    def barrier(self, switch: Switch) -> None:
        """As the interface says."""
        try:
            self.session(switch).barrier()
        except DeviceError:
            self.lose(switch)
            raise

    def close(self) -> None:
        """As the interface says."""
        for session in (*self._sessions.values(), *self._callers.values()):
            session.close()
        self._sessions.clear()
        self._callers.clear()
        if self._listener is not None:
            self._listener.close()
            self._listener = None


def _numbers(switch: Switch, side: str) -> dict[int, int]:
    """Our number of each of the switch's own; those count from 1 where nothing is given."""
    given = ports_of_device(switch, side, int, first=1)
    return {number: port for port, number in enumerate(given)}


def _host(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ControlError(f'found "{address}"; allowed: HOST:PORT')
    return host.strip("[]"), int(port)


def socket_of_bridge(directory: Path, bridge: str) -> str:
    """Where Open vSwitch listens for the bridge's management, as `at` of a switch has it."""
    return f"unix:{directory / f'{bridge}.mgmt'}"


def driver(keys: Mapping[str, Any], lock: int) -> OpenFlow:
    """The driver; its keys are `timeout` (seconds), `priority`, `listen` (`HOST:PORT`)."""
    only(keys, {"timeout": (int, float), "priority": int, "listen": str})
    check_installed("openflow", "os_ken")
    priority = keys.get("priority", 20)
    if not 1 <= priority <= 65535:
        raise ControlError(f"priority: found {priority}; allowed: 1 to 65535")
    listen = keys.get("listen")
    if listen is not None:
        _host(listen)
    return OpenFlow(float(keys.get("timeout", 10.0)), priority, listen)
