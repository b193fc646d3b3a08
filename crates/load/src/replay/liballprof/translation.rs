//! What a call of the trace did.

use odonata_traces::liballprof;

use super::collective::Collective;
use super::communicators::RankCommunicators;
use super::requests::Requests;
use super::{Library, Maker, place_of_comm};
use crate::replay::call::{Call, Message, Slot, Until};

/// Whether the time in a call is the rank's own, rather than that of messages.
pub(super) type IsLocal = bool;

/// Turns a call of the trace into what it did.
pub(super) struct Translation<'a> {
    pub library: Library,
    pub comms: &'a mut RankCommunicators,
    pub requests: &'a mut Requests,
    pub calls: &'a mut Vec<Call>,
}

impl Translation<'_> {
    pub fn translate(&mut self, call: &liballprof::Call<'_>) -> Result<IsLocal, String> {
        let function = call.function();
        match function {
            "MPI_Send" | "MPI_Ssend" | "MPI_Rsend" => {
                let message = self.send(call, 4)?;
                self.calls.push(Call::Message(message, Until::Complete));
            }
            "MPI_Bsend" => {
                let message = self.send(call, 4)?;
                self.calls.push(Call::Message(message, Until::Buffered));
            }
            "MPI_Isend" | "MPI_Issend" | "MPI_Irsend" | "MPI_Ibsend" => {
                let message = self.send(call, 4)?;
                self.begin(message, call)?;
            }
            "MPI_Recv" => {
                let message = self.receive(call, 3, 4)?;
                self.calls.push(Call::Message(message, Until::Complete));
            }
            "MPI_Irecv" => {
                let message = self.receive(call, 3, 4)?;
                self.begin(message, call)?;
            }
            "MPI_Sendrecv" => {
                let (send, receive) = (self.send(call, 4)?, self.receive(call, 8, 9)?);
                self.calls.push(Call::Exchange(send, receive));
            }
            "MPI_Sendrecv_replace" => {
                let (send, receive) = (self.send(call, 4)?, self.receive(call, 5, 6)?);
                self.calls.push(Call::Exchange(send, receive));
            }
            "MPI_Send_init" | "MPI_Ssend_init" | "MPI_Rsend_init" | "MPI_Bsend_init" => {
                let message = self.send(call, 4)?;
                self.prepare(message, call)?;
            }
            "MPI_Recv_init" => {
                let message = self.receive(call, 3, 4)?;
                self.prepare(message, call)?;
            }
            "MPI_Start" => self.requests.start(call.address(0)?, self.calls)?,
            "MPI_Startall" => self.start_all(call)?,
            "MPI_Wait" => {
                let one = self.requests.under_way(vec![call.address(0)?]);
                self.requests.complete(&one, self.calls);
            }
            "MPI_Waitall" => {
                let all = self.requests.under_way(self.array(call)?);
                self.requests.complete(&all, self.calls);
            }
            "MPI_Waitany" | "MPI_Waitsome" => {
                let some = self.requests.under_way(self.array(call)?);
                self.requests.complete_some(&some, self.calls);
            }
            "MPI_Test" => self.requests.ask(&[call.address(0)?]),
            "MPI_Testall" | "MPI_Testany" | "MPI_Testsome" => {
                let addresses = self.array(call)?;
                self.requests.ask(&addresses);
            }
            "MPI_Request_free" => {
                let address = call.address(0)?;
                if self.requests.forget(address) {
                    self.calls.push(Call::Free(address));
                }
            }
            "MPI_Cancel" => {
                return Err("MPI_Cancel; the trace does not tell what was cancelled".to_owned());
            }
            "MPI_Put" | "MPI_Get" | "MPI_Accumulate" => {
                return Err(format!(
                    "{function}; the trace does not tell whose window it goes to, so that \
                     one-sided transfers are not replayed"
                ));
            }
            "MPI_Init" | "MPI_Init_thread" | "MPI_Probe" | "MPI_Iprobe" => {}
            "MPI_Finalize" => self.requests.finish(self.calls),
            "MPI_Comm_rank" | "MPI_Comm_size" => {
                self.comms.slot(call.comm(0)?, self.calls)?;
                return Ok(true);
            }
            "MPI_Comm_free" | "MPI_Comm_disconnect" => self.comms.free(call.address(0)?),
            "MPI_Intercomm_create"
            | "MPI_Intercomm_merge"
            | "MPI_Comm_accept"
            | "MPI_Comm_connect"
            | "MPI_Comm_spawn"
            | "MPI_Comm_spawn_multiple" => {
                self.calls
                    .push(Call::NotReplayed("communicators with others"));
            }
            _ => {
                if let Some(maker) = Maker::of(function) {
                    self.comms.create(maker, call, self.calls)?;
                } else if let Some(collective) = Collective::of(function) {
                    self.collective(collective, call)?;
                } else {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn start_all(&mut self, call: &liballprof::Call<'_>) -> Result<(), String> {
        let (count, addresses) = (call.whole(0)?, self.array(call)?);
        if addresses.len() != count as usize {
            return Err(format!(
                "{count} requests are started, but calls have prepared {} of them",
                addresses.len()
            ));
        }
        for address in addresses {
            self.requests.start(address, self.calls)?;
        }
        Ok(())
    }

    fn collective(
        &mut self,
        collective: Collective<'_>,
        call: &liballprof::Call<'_>,
    ) -> Result<(), String> {
        let comm = call.comm(collective.place(call))?;
        let slot = self.comms.slot(comm, self.calls)?;
        // A communicator that is known has no more members than the job.
        let shape = collective.shape(call, comm)?;
        let request = match collective.waits {
            true => None,
            false => {
                let address = call.address(call.arguments().saturating_sub(1))?;
                self.requests.begin(address, false, self.calls);
                Some(address)
            }
        };
        self.calls.push(Call::Collective {
            comm: slot,
            shape,
            request,
        });
        Ok(())
    }

    /// Addresses of an array of requests, the first argument being their number; of more than are
    /// known only those.
    fn array(&self, call: &liballprof::Call<'_>) -> Result<Vec<u64>, String> {
        let (count, base, size) = (call.whole(0)?, call.address(1)?, self.library.request);
        let place = |address: u64| address.wrapping_sub(base);
        if count as usize <= self.requests.count() {
            let addresses = (0..u64::from(count)).map(|number| base.wrapping_add(number * size));
            return Ok(addresses.collect());
        }
        let bytes = u64::from(count) * size;
        let mut known: Vec<u64> = (self.requests.addresses())
            .filter(|&address| place(address) < bytes && place(address).is_multiple_of(size))
            .collect();
        known.sort_unstable_by_key(|&address| place(address));
        Ok(known)
    }

    fn begin(&mut self, message: Message, call: &liballprof::Call<'_>) -> Result<(), String> {
        let address = call.address(6)?;
        self.requests.begin(address, false, self.calls);
        self.calls
            .push(Call::Message(message, Until::Requested(address)));
        Ok(())
    }

    fn prepare(&mut self, message: Message, call: &liballprof::Call<'_>) -> Result<(), String> {
        let address = call.address(6)?;
        self.requests.begin(address, true, self.calls);
        self.calls.push(Call::Prepare(message, address));
        Ok(())
    }

    /// The message that a call sends, whose first arguments are buffer, count, type, destination.
    fn send(&mut self, call: &liballprof::Call<'_>, tag: usize) -> Result<Message, String> {
        let comm = self.comm_of(call)?;
        // Negative: MPI_PROC_NULL.
        let Ok(to) = u32::try_from(call.int(3)?) else {
            return Ok(Message::Nothing);
        };
        Ok(Message::Send {
            comm,
            to,
            bytes: call.bytes(1, 2)?,
            tag: call.whole(tag)?,
        })
    }

    fn receive(
        &mut self,
        call: &liballprof::Call<'_>,
        source: usize,
        tag: usize,
    ) -> Result<Message, String> {
        let comm = self.comm_of(call)?;
        let from = match call.int(source)? {
            any if any == self.library.any_source => None,
            // MPI_PROC_NULL.
            nobody if nobody < 0 => return Ok(Message::Nothing),
            source => Some(source.unsigned_abs()),
        };
        Ok(Message::Receive {
            comm,
            from,
            tag: u32::try_from(call.int(tag)?).ok(),
        })
    }

    fn comm_of(&mut self, call: &liballprof::Call<'_>) -> Result<Slot, String> {
        let place = place_of_comm(call).unwrap_or(usize::MAX);
        self.comms.slot(call.comm(place)?, self.calls)
    }
}
