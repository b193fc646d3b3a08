//! DUMPI traces as calls.
//!
//! What each function's arguments mean: the MPI standard; how they are stored:
//! sst-dumpi, `dumpi/common/constants.h` and `dumpiio.c`.

mod arguments;
mod parts;
mod repeated;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use odonata_traces::dumpi::{
    self, COMM_SELF, COMM_WORLD, Datatypes, DumpiJob, DumpiReader, Function, RankReader, SentBytes,
    Status, Trailer,
};
use odonata_traces::{Position, TraceError};
use odonata_units::RankId;

use super::partners::Partners;

use self::arguments::Arguments;
use self::repeated::{Repeated, check_lockstep};
use super::call::{
    Call, Calls, Direction, GroupMade, GroupNumber, Message, Origin, Outcome, Place, Record,
    RequestNumber, Slot, Source, Span, Until, Visit,
};
use super::format::{Counter, Start, TraceFormat};
use super::{Kind, Options};

/// `MPI_COMM_NULL`, `MPI_GROUP_NULL`, `MPI_REQUEST_NULL`; 0 stands for an error.
const NULL: u16 = 1;
/// `MPI_GROUP_EMPTY`.
const GROUP_EMPTY: u16 = 2;

/// A DUMPI job: the traces of all ranks, or of one that stands for all.
pub(crate) struct DumpiSource {
    job: DumpiJob,
    repeated: Option<Repeated>,
}

impl DumpiSource {
    /// All ranks of the job that a `.meta` file describes.
    pub fn open(meta: &Path) -> Result<Self, TraceError> {
        Ok(Self {
            job: DumpiJob::open(meta)?,
            repeated: None,
        })
    }

    /// One rank's trace for `ranks` ranks; `None`: as many as the trace says.
    pub fn repeat(
        trace: &Path,
        ranks: Option<u32>,
        partners: Partners,
    ) -> Result<Self, TraceError> {
        let (repeated, ranks) = Repeated::of(trace, ranks, partners)?;
        let mut source = Self {
            job: DumpiJob::repeated(trace, ranks)?,
            repeated: Some(repeated.clone()),
        };
        let repeated = repeated.with_plans(source.open_rank(0, false)?)?;
        source.repeated = Some(repeated.clone());
        check_lockstep(&source, &repeated)?;
        Ok(source)
    }

    fn open_rank(&self, rank: u32, outcomes: bool) -> Result<DumpiCalls, TraceError> {
        let reader = self.job.rank(RankId(rank))?;
        let file = self.job.path(RankId(rank)).display().to_string();
        let mut comms = HashMap::new();
        comms.insert(COMM_WORLD, Comm::Slot(Slot::WORLD));
        comms.insert(COMM_SELF, Comm::Slot(Slot::MYSELF));
        let counts = &reader.trailer().counts;
        let called = |function: Function| {
            let count = counts.get(usize::from(function.number()));
            count.is_none_or(|count| count.called > 0)
        };
        let cancels = called(Function::Cancel);
        let others = [
            Function::Grequest_start,
            Function::File_iread,
            Function::File_iwrite,
            Function::File_iread_at,
            Function::File_iwrite_at,
            Function::File_iread_shared,
            Function::File_iwrite_shared,
        ];
        let incomplete = counts.is_empty()
            || counts.iter().any(|count| count.ignored > 0)
            || others.into_iter().any(called);
        Ok(DumpiCalls {
            types: Datatypes::new(&reader.trailer().datatype_sizes),
            reader,
            file,
            outcomes,
            cancels,
            incomplete,
            follows_unknown: self.repeated.is_some(),
            comms,
            next_slot: 2,
            groups: HashMap::new(),
            next_group: 0,
            windows: HashMap::new(),
        })
    }
}

impl Source for DumpiSource {
    fn ranks(&self) -> u32 {
        self.job.ranks()
    }

    fn calls(&self, rank: u32, outcomes: bool) -> Result<Box<dyn Calls + '_>, TraceError> {
        let calls = self.open_rank(rank, outcomes)?;
        Ok(match &self.repeated {
            None => Box::new(calls),
            Some(repeated) => Box::new(repeated.seen_by(rank, calls)),
        })
    }

    /// The first entry of any rank into a call.
    fn start(&self) -> Result<i64, TraceError> {
        let mut start = None;
        for rank in 0..self.job.ranks() {
            let mut reader = self.job.rank(RankId(rank))?;
            while let Some(call) = reader.next_call()? {
                if let Some(wall) = call.wall {
                    let entered = picoseconds(wall.start);
                    start = Some(start.map_or(entered, |start: i64| start.min(entered)));
                    break;
                }
            }
            if self.repeated.is_some() {
                break;
            }
        }
        Ok(start.unwrap_or(0))
    }

    fn visits(
        &self,
        rank: u32,
        function: &str,
        each: &mut dyn FnMut(Visit),
    ) -> Result<(), TraceError> {
        let mut reader = self.job.rank(RankId(rank))?;
        // Functions that were traced by address have a name in the trailer.
        let addresses = &reader.trailer().addresses;
        let named = addresses.iter().filter(|(_, name)| label(name) == function);
        let addresses: HashSet<i64> = named.map(|(address, _)| *address as i64).collect();
        let (mut depth, mut entered) = (0u32, None);
        while let Some(call) = reader.next_call()? {
            let place = |moment: fn(dumpi::Span) -> dumpi::Clock| Place {
                at: call.offset,
                time: call.wall.map(|wall| picoseconds(moment(wall))),
            };
            match call.function {
                Function::Function_enter | Function::Function_exit => {
                    let address = call
                        .arguments
                        .iter()
                        .find_map(|argument| match argument.value {
                            dumpi::Value::Long(address) => Some(address),
                            _ => None,
                        });
                    if !address.is_some_and(|address| addresses.contains(&address)) {
                        continue;
                    }
                    if call.function == Function::Function_enter {
                        if depth == 0 {
                            entered = Some(place(|wall| wall.start));
                        }
                        depth = depth.saturating_add(1);
                    } else {
                        depth = depth.saturating_sub(1);
                        if depth == 0
                            && let Some(entered) = entered.take()
                        {
                            let left = place(|wall| wall.stop);
                            each(Visit { entered, left });
                        }
                    }
                }
                of if of.name() == function => each(Visit {
                    entered: place(|wall| wall.start),
                    left: place(|wall| wall.stop),
                }),
                _ => {}
            }
        }
        if let Some(entered) = entered {
            each(Visit {
                entered,
                left: Place::END,
            });
        }
        Ok(())
    }

    fn functions(&self) -> Result<Vec<String>, TraceError> {
        let reader = self.job.rank(RankId(0))?;
        let addresses = &reader.trailer().addresses;
        let names = addresses.iter().map(|(_, name)| label(name).into_owned());
        Ok(names.collect())
    }
}

/// The name of a function that was traced by address.
fn label(name: &[u8]) -> Cow<'_, str> {
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name)
}

fn picoseconds(clock: dumpi::Clock) -> i64 {
    // At most 2^31 s, which do not fit as picoseconds; the time stamps of a trace lie
    // within 2^16 s of each other.
    clock.total_nanoseconds().wrapping_mul(1_000)
}

/// What a communicator's number stands for.
#[derive(Clone, Copy, Debug)]
enum Comm {
    Slot(Slot),
    /// One that is not followed, and what made it.
    NotFollowed(&'static str),
}

/// The calls of one rank.
struct DumpiCalls {
    reader: RankReader,
    file: String,
    outcomes: bool,
    cancels: bool,
    incomplete: bool,
    /// Takes communicators of unknown origin for copies of the world.
    follows_unknown: bool,
    types: Datatypes,
    comms: HashMap<u16, Comm>,
    next_slot: u32,
    groups: HashMap<u16, GroupNumber>,
    next_group: u32,
    windows: HashMap<u16, Comm>,
}

impl Calls for DumpiCalls {
    fn next(&mut self, calls: &mut Vec<Call>) -> Result<Option<Record>, TraceError> {
        let Some(call) = self.reader.next_call()? else {
            return Ok(None);
        };
        self.types.note(&call);
        let local = self
            .translate(&call, calls)
            .map_err(|reason| self.error_at(call.offset, reason))?;
        Ok(Some(Record {
            at: call.offset,
            span: call.wall.map(|wall| Span {
                entered: picoseconds(wall.start),
                left: picoseconds(wall.stop),
            }),
            local,
        }))
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn cancels(&self) -> bool {
        self.cancels
    }

    fn is_incomplete(&self) -> bool {
        self.incomplete
    }
}

/// Whether the time in a call is the rank's own, rather than that of messages.
type IsLocal = bool;

impl DumpiCalls {
    /// Writes what a call did to `calls`.
    fn translate(&mut self, call: &dumpi::Call, calls: &mut Vec<Call>) -> Result<IsLocal, String> {
        use Function as F;
        let of = Arguments(call);
        match call.function {
            F::Send | F::Ssend | F::Rsend => {
                calls.push(Call::Message(self.send(of)?, Until::Complete));
            }
            F::Bsend => calls.push(Call::Message(self.send(of)?, Until::Buffered)),
            F::Isend | F::Ibsend | F::Issend | F::Irsend => {
                calls.push(Call::Message(self.send(of)?, until(of)?));
            }
            F::Recv => {
                let message = self.received(of, "source", "tag", call.statuses().first())?;
                calls.push(Call::Message(message, Until::Complete));
            }
            F::Irecv => {
                let message = self.receive(of, "source", "tag")?;
                calls.push(Call::Message(message, until(of)?));
            }
            F::Sendrecv | F::Sendrecv_replace => {
                let (count, datatype) = match call.function {
                    F::Sendrecv => ("sendcount", "sendtype"),
                    _ => ("count", "datatype"),
                };
                let send = self.send_as(of, count, datatype, "sendtag")?;
                let status = call.statuses().first();
                let receive = self.received(of, "source", "recvtag", status)?;
                calls.push(Call::Exchange(send, receive));
            }
            F::Send_init | F::Bsend_init | F::Ssend_init | F::Rsend_init => {
                let message = self.send(of)?;
                calls.push(Call::Prepare(message, request(of.int("request")?)?));
            }
            F::Recv_init => {
                let message = self.receive(of, "source", "tag")?;
                calls.push(Call::Prepare(message, request(of.int("request")?)?));
            }
            F::Start => calls.push(Call::Start([request(of.int("request")?)?].into())),
            F::Startall => calls.push(Call::Start(known(of.ints("requests")?))),
            F::Request_free => calls.push(Call::Free(request(of.int("request")?)?)),
            F::Cancel => calls.push(Call::Cancel(request(of.int("request")?)?)),
            F::Wait => self.complete(&[of.int("request")?], call.statuses(), calls),
            F::Waitall => self.complete(of.ints("requests")?, call.statuses(), calls),
            F::Test | F::Testall if of.int("flag")? == 0 => {}
            F::Test => self.complete(&[of.int("request")?], call.statuses(), calls),
            F::Testall => self.complete(of.ints("requests")?, call.statuses(), calls),
            F::Testany if of.int("flag")? == 0 => {}
            F::Waitany | F::Testany => {
                // No index (MPI_UNDEFINED): all requests were inactive.
                let requests = of.ints("requests")?;
                if let Ok(index) = usize::try_from(of.int("index")?) {
                    let request = *requests.get(index).ok_or_else(|| {
                        format!(
                            "request {index} of {} is said to be complete",
                            requests.len()
                        )
                    })?;
                    self.complete(&[request], call.statuses(), calls);
                }
            }
            F::Waitsome | F::Testsome => {
                let requests = of.ints("requests")?;
                let chosen = of.ints("indices")?.iter().map(|&index| {
                    usize::try_from(index)
                        .ok()
                        .and_then(|index| requests.get(index).copied())
                        .ok_or_else(|| {
                            format!(
                                "request {index} of {} is said to be complete",
                                requests.len()
                            )
                        })
                });
                let chosen = chosen.collect::<Result<Vec<i32>, String>>()?;
                self.complete(&chosen, call.statuses(), calls);
            }
            // A receive follows that waits for the message; a test that found
            // nothing is not repeated.
            F::Probe | F::Iprobe | F::Request_get_status | F::Win_test => {}
            F::Init | F::Init_thread | F::Finalize => {}
            F::Comm_rank => self.claim(of, true, calls)?,
            F::Comm_size => self.claim(of, false, calls)?,
            _ => {
                return match self.collective(call, calls)? {
                    true => Ok(false),
                    false => self.made(call, calls),
                };
            }
        }
        Ok(matches!(call.function, F::Comm_rank | F::Comm_size))
    }

    /// Collectives and one-sided transfers; whether the call is one of them.
    fn collective(&mut self, call: &dumpi::Call, calls: &mut Vec<Call>) -> Result<bool, String> {
        use Function as F;
        let of = Arguments(call);
        if let Some(shape) = of.shape(&self.types)? {
            let comm = self.slot(of.handle("comm")?)?;
            calls.push(Call::Collective {
                comm,
                shape,
                request: None,
            });
            return Ok(true);
        }
        let barrier = |comm| Call::Collective {
            comm,
            shape: super::call::Shape::Barrier,
            request: None,
        };
        match call.function {
            F::Put | F::Get | F::Accumulate => {
                let window = of.handle("win")?;
                let comm = self.window(window)?;
                let bytes = of.bytes(&self.types, "origincount", "origintype")?;
                // A transfer to nobody does nothing.
                if let Ok(member) = u32::try_from(of.int("targetrank")?) {
                    calls.push(Call::Transfer {
                        direction: match call.function {
                            F::Get => Direction::Get,
                            _ => Direction::Put,
                        },
                        comm,
                        member,
                        bytes,
                        window: window.into(),
                    });
                }
            }
            F::Win_create => {
                let comm = of.handle("comm")?;
                let slot = self.slot(comm)?;
                self.windows.insert(of.handle("win")?, Comm::Slot(slot));
                calls.push(barrier(slot));
            }
            F::Win_fence | F::Win_free => {
                let window = of.handle("win")?;
                let comm = self.window(window)?;
                calls.push(Call::CompleteTransfers(Some(window.into())));
                calls.push(barrier(comm));
                if call.function == F::Win_free {
                    self.windows.remove(&window);
                }
            }
            F::Win_unlock | F::Win_complete => {
                let window = of.handle("win")?;
                self.window(window)?;
                calls.push(Call::CompleteTransfers(Some(window.into())));
            }
            F::Win_lock | F::Win_post | F::Win_start | F::Win_wait => {
                self.window(of.handle("win")?)?;
                if call.function != F::Win_lock {
                    calls.push(Call::NotReplayed(call.function.name()));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Communicators and groups that come and go; everything else is local.
    fn made(&mut self, call: &dumpi::Call, calls: &mut Vec<Call>) -> Result<IsLocal, String> {
        use Function as F;
        let of = Arguments(call);
        match call.function {
            F::Comm_dup => self.create(of, Origin::Duplicate, calls)?,
            F::Comm_split => {
                let color = of.int("color")?;
                let how = Origin::Split {
                    color: Some(color).filter(|&color| color >= 0),
                    key: of.int("key")?,
                };
                self.create(of, how, calls)?;
            }
            F::Comm_create => {
                let how = Origin::OfGroup(self.group(of.handle("group")?, calls)?);
                self.create(of, how, calls)?;
            }
            F::Cart_create => {
                let extents = of.wholes("dims")?;
                self.create(of, Origin::Grid { extents }, calls)?;
            }
            F::Cart_sub => {
                let kept = of.ints("remain_dims")?.iter().map(|&kept| kept != 0);
                let kept = kept.collect();
                self.create(of, Origin::SubGrid { kept }, calls)?;
            }
            F::Graph_create => {
                let nodes = of.whole("nodes")?;
                self.create(of, Origin::Graph { nodes }, calls)?;
            }
            F::Comm_free | F::Comm_disconnect => {
                let comm = of.handle("comm")?;
                if comm != COMM_WORLD && comm != COMM_SELF {
                    self.comms.remove(&comm);
                }
            }
            F::Intercomm_create
            | F::Comm_accept
            | F::Comm_connect
            | F::Comm_spawn
            | F::Comm_spawn_multiple
            | F::Intercomm_merge => {
                let name = call.function.name();
                self.comms
                    .insert(of.handle("newcomm")?, Comm::NotFollowed(name));
                calls.push(Call::NotReplayed(name));
            }
            F::Comm_get_parent => {
                let name = call.function.name();
                self.comms
                    .insert(of.handle("parent")?, Comm::NotFollowed(name));
            }
            F::Comm_join => {
                let name = call.function.name();
                self.comms
                    .insert(of.handle("comm")?, Comm::NotFollowed(name));
            }
            _ => return self.groups(of, calls).map(|()| true),
        }
        Ok(false)
    }

    fn groups(&mut self, of: Arguments<'_>, calls: &mut Vec<Call>) -> Result<(), String> {
        use Function as F;
        let mut two = |calls: &mut Vec<Call>| {
            let first = self.group(of.handle("group1")?, calls)?;
            Ok::<_, String>((first, self.group(of.handle("group2")?, calls)?))
        };
        let (made, new) = match of.0.function {
            F::Comm_group => match self.comms.get(&of.handle("comm")?) {
                Some(Comm::Slot(slot)) => (GroupMade::Of(*slot), "group"),
                // Its group may never be used.
                _ => return Ok(()),
            },
            F::Group_union => {
                let (first, second) = two(calls)?;
                (GroupMade::Union(first, second), "newgroup")
            }
            F::Group_intersection => {
                let (first, second) = two(calls)?;
                (GroupMade::Intersection(first, second), "newgroup")
            }
            F::Group_difference => {
                let (first, second) = two(calls)?;
                (GroupMade::Difference(first, second), "newgroup")
            }
            F::Group_incl | F::Group_excl => {
                let group = self.group(of.handle("group")?, calls)?;
                let ranks = of.wholes("ranks")?;
                let made = match of.0.function {
                    F::Group_incl => GroupMade::Included(group, ranks),
                    _ => GroupMade::Excluded(group, ranks),
                };
                (made, "newgroup")
            }
            F::Group_range_incl | F::Group_range_excl => {
                let group = self.group(of.handle("group")?, calls)?;
                let ranges = of.ranges()?;
                let made = match of.0.function {
                    F::Group_range_incl => GroupMade::IncludedRanges(group, ranges),
                    _ => GroupMade::ExcludedRanges(group, ranges),
                };
                (made, "newgroup")
            }
            F::Group_free => {
                self.groups.remove(&of.handle("group")?);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let number = self.new_group(made, calls);
        self.groups.insert(of.handle(new)?, number);
        Ok(())
    }

    fn new_group(&mut self, made: GroupMade, calls: &mut Vec<Call>) -> GroupNumber {
        let number = GroupNumber(self.next_group);
        self.next_group += 1;
        calls.push(Call::Group(made));
        number
    }

    fn group(&mut self, handle: u16, calls: &mut Vec<Call>) -> Result<GroupNumber, String> {
        match self.groups.get(&handle) {
            Some(&group) => Ok(group),
            None if handle == GROUP_EMPTY => Ok(self.new_group(GroupMade::Empty, calls)),
            None => Err(format!(
                "group {handle}, of which no call before tells what it consists of"
            )),
        }
    }

    fn create(
        &mut self,
        of: Arguments<'_>,
        how: Origin,
        calls: &mut Vec<Call>,
    ) -> Result<(), String> {
        let parent = self.slot(of.handle("oldcomm")?)?;
        let handle = of.handle("newcomm")?;
        let new = (handle > NULL).then_some(Slot(self.next_slot));
        if let Some(slot) = new {
            self.next_slot += 1;
            self.comms.insert(handle, Comm::Slot(slot));
        }
        calls.push(Call::Create { parent, new, how });
        Ok(())
    }

    fn claim(
        &mut self,
        of: Arguments<'_>,
        rank: bool,
        calls: &mut Vec<Call>,
    ) -> Result<(), String> {
        // May be asked of communicators that are not followed.
        if let Some(Comm::Slot(comm)) = self.comms.get(&of.handle("comm")?).copied() {
            calls.push(Call::Claim {
                comm,
                rank: rank.then(|| of.whole("rank")).transpose()?,
                size: (!rank).then(|| of.whole("size")).transpose()?,
            });
        }
        Ok(())
    }

    fn slot(&mut self, comm: u16) -> Result<Slot, String> {
        match self.comms.get(&comm) {
            Some(Comm::Slot(slot)) => Ok(*slot),
            Some(Comm::NotFollowed(maker)) => Err(format!(
                "communicator {comm}, which {maker} made; communicators between two groups and \
                 with processes outside of the job are not replayed"
            )),
            None if self.follows_unknown && comm > COMM_SELF => {
                self.comms.insert(comm, Comm::Slot(Slot::WORLD));
                Ok(Slot::WORLD)
            }
            None => Err(format!(
                "communicator {comm}, of which no call before tells who its members are"
            )),
        }
    }

    fn window(&self, window: u16) -> Result<Slot, String> {
        match self.windows.get(&window) {
            Some(Comm::Slot(slot)) => Ok(*slot),
            _ => Err(format!("window {window}, which no call before has made")),
        }
    }

    fn send(&mut self, of: Arguments<'_>) -> Result<Message, String> {
        self.send_as(of, "count", "datatype", "tag")
    }

    fn send_as(
        &mut self,
        of: Arguments<'_>,
        count: &str,
        datatype: &str,
        tag: &str,
    ) -> Result<Message, String> {
        let comm = self.slot(of.handle("comm")?)?;
        // Negative: MPI_PROC_NULL, whatever its value in the MPI that was traced.
        let Ok(to) = u32::try_from(of.int("dest")?) else {
            return Ok(Message::Nothing);
        };
        Ok(Message::Send {
            comm,
            to,
            bytes: of.bytes(&self.types, count, datatype)?,
            tag: of.whole(tag)?,
        })
    }

    fn receive(&mut self, of: Arguments<'_>, source: &str, tag: &str) -> Result<Message, String> {
        let comm = self.slot(of.handle("comm")?)?;
        let from = match of.int(source)? {
            -1 => None,
            // MPI_PROC_NULL.
            source if source < 0 => return Ok(Message::Nothing),
            source => Some(source.unsigned_abs()),
        };
        Ok(Message::Receive {
            comm,
            from,
            tag: u32::try_from(of.int(tag)?).ok(),
        })
    }

    /// A receive that is complete when its call returns: what it received stands in
    /// for what it would have taken.
    fn received(
        &mut self,
        of: Arguments<'_>,
        source: &str,
        tag: &str,
        status: Option<&Status>,
    ) -> Result<Message, String> {
        let message = self.receive(of, source, tag)?;
        Ok(match status {
            Some(status) => message.turned_out(&outcome(status)),
            None => message,
        })
    }

    fn complete(&self, requests: &[i32], statuses: &[Status], calls: &mut Vec<Call>) {
        if self.outcomes {
            let both = requests.iter().zip(statuses);
            let both = both.filter_map(|(&number, status)| Some((request(number).ok()?, status)));
            calls.extend(both.map(|(request, status)| Call::Outcome(request, outcome(status))));
        }
        let requests = known(requests);
        if !requests.is_empty() {
            calls.push(Call::Complete(requests));
        }
    }
}

fn outcome(status: &Status) -> Outcome {
    match status.cancelled {
        0 => Outcome::Message {
            comm: None,
            from: u32::try_from(status.source).ok(),
            tag: u32::try_from(status.tag).ok(),
        },
        _ => Outcome::Cancelled,
    }
}

/// Requests but for those that are `MPI_REQUEST_NULL`.
fn known(requests: &[i32]) -> Box<[RequestNumber]> {
    let requests = requests.iter().filter_map(|&number| request(number).ok());
    requests.collect()
}

fn request(number: i32) -> Result<RequestNumber, String> {
    match RequestNumber::try_from(number) {
        Ok(request) if request > u64::from(NULL) => Ok(request),
        _ => Err(format!("request {number}; requests have numbers from 2 on")),
    }
}

fn until(of: Arguments<'_>) -> Result<Until, String> {
    Ok(Until::Requested(request(of.int("request")?)?))
}

/// The trace of a rank.
pub(in crate::replay) struct DumpiRank;

impl TraceFormat for DumpiRank {
    const IS_MPI: bool = true;

    fn recognises(start: &Start<'_>) -> bool {
        start.bytes.starts_with(b"\xff\xaa\xddDUMPI")
    }

    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
        let mut reader = DumpiReader::open(path)?;
        count_header(counter, reader.header());
        let trailer = reader.trailer().clone();
        let unknown = count_calls(counter, &trailer, || reader.next_call())?;
        count_unknown(counter, unknown);
        Ok(())
    }

    fn open(path: &Path, options: Options) -> Result<Kind, TraceError> {
        let Some(partners) = options.repeat_rank else {
            let reason = "is the trace of one rank; open the description of its job (.meta), or let it stand \
                          for all ranks (repeat_rank)";
            let file = path.display().to_string();
            return Err(TraceError::new(&file, Position::Whole, reason));
        };
        Kind::mpi(DumpiSource::repeat(path, options.ranks, partners)?, options)
    }
}

/// The description of a job.
pub(in crate::replay) struct DumpiJobFile;

impl TraceFormat for DumpiJobFile {
    const IS_MPI: bool = true;

    fn recognises(start: &Start<'_>) -> bool {
        let keys = ["fileprefix=", "numprocs="];
        (start.lines()).any(|line| keys.iter().any(|key| line.starts_with(key)))
    }

    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
        let job = DumpiJob::open(path)?;
        counter.summary.ranks = u64::from(job.ranks());
        counter.fact("trace files", format!("{}-*.bin", job.meta().prefix));
        let mut unknown = 0;
        for rank in (0..job.ranks()).map(RankId) {
            let mut reader = job.rank(rank)?;
            if rank.0 == 0 {
                count_header(counter, reader.header());
            }
            let trailer = reader.trailer().clone();
            unknown += count_calls(counter, &trailer, || reader.next_call())?;
        }
        count_unknown(counter, unknown);
        Ok(())
    }

    fn open(path: &Path, options: Options) -> Result<Kind, TraceError> {
        Kind::mpi(DumpiSource::open(path)?, options)
    }

    fn other_files(path: &Path) -> Vec<PathBuf> {
        DumpiJob::open(path).map_or_else(
            |_| Vec::new(),
            |job| {
                (0..job.ranks())
                    .map(|rank| job.path(RankId(rank)))
                    .collect()
            },
        )
    }
}

fn count_header(counter: &mut Counter, header: &dumpi::Header) {
    let [major, minor, patch] = header.version;
    counter.fact("version", format!("{major}.{minor}.{patch}"));
    counter.fact("start", dumpi::text::date(header.start_time));
    counter.fact("host", String::from_utf8_lossy(&header.host));
}

/// Counts the calls of a rank; how many of them send what has no known size.
fn count_calls(
    counter: &mut Counter,
    trailer: &Trailer,
    mut next: impl FnMut() -> Result<Option<dumpi::Call>, TraceError>,
) -> Result<u64, TraceError> {
    let mut sent = SentBytes::new(&trailer.datatype_sizes);
    let mut unknown = 0;
    while let Some(call) = next()? {
        let bytes = sent.of(&call);
        unknown += u64::from(bytes.is_none());
        counter.add(call.function.name(), bytes.unwrap_or(0), || {
            let mut text = Vec::new();
            // Writing into memory does not fail.
            let _ = dumpi::text::write_call(&call, trailer, &mut text);
            String::from_utf8_lossy(&text).trim_end().to_owned()
        });
    }
    Ok(unknown)
}

fn count_unknown(counter: &mut Counter, calls: u64) {
    if calls > 0 {
        let said = format!("bytes of {calls} calls whose datatype has no known size");
        counter.fact("not counted", said);
    }
}
