//! The requests of a rank, known by their addresses.

use std::collections::HashMap;

use crate::replay::call::Call;

/// A request, known by its address.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// Which has begun when.
    order: u64,
    /// Something has asked whether it is complete.
    asked: bool,
    persistent: bool,
    /// Whether a persistent request is under way.
    begun: bool,
}

/// The requests of a rank that are not known to be complete.
#[derive(Default)]
pub(super) struct Requests {
    open: HashMap<u64, Request>,
    next: u64,
}

impl Requests {
    /// Something else begins at an address: what was there is complete, or was let go.
    fn make_room(&mut self, address: u64, calls: &mut Vec<Call>) {
        let Some(earlier) = self.open.remove(&address) else {
            return;
        };
        if earlier.asked && earlier.begun {
            calls.push(Call::Complete([address].into()));
        }
        if earlier.persistent || !earlier.asked {
            calls.push(Call::Free(address));
        }
    }

    pub fn begin(&mut self, address: u64, persistent: bool, calls: &mut Vec<Call>) {
        self.make_room(address, calls);
        let request = Request {
            order: self.next,
            asked: false,
            persistent,
            begun: !persistent,
        };
        self.next += 1;
        self.open.insert(address, request);
    }

    pub fn start(&mut self, address: u64, calls: &mut Vec<Call>) -> Result<(), String> {
        let Some(request) = self.open.get_mut(&address).filter(|of| of.persistent) else {
            return Err(format!(
                "a request at address {address} is started, but no call has prepared it"
            ));
        };
        if request.begun {
            // A test has found it complete, or it could not be started again.
            calls.push(Call::Complete([address].into()));
        }
        (request.begun, request.asked, request.order) = (true, false, self.next);
        self.next += 1;
        calls.push(Call::Start([address].into()));
        Ok(())
    }

    /// The requests of an array that are under way.
    pub fn under_way(&self, mut addresses: Vec<u64>) -> Vec<u64> {
        addresses.retain(|address| self.open.get(address).is_some_and(|of| of.begun));
        addresses
    }

    pub fn complete(&mut self, addresses: &[u64], calls: &mut Vec<Call>) {
        for address in addresses {
            match self.open.get_mut(address) {
                Some(request) if request.persistent => request.begun = false,
                _ => {
                    self.open.remove(address);
                }
            }
        }
        if !addresses.is_empty() {
            calls.push(Call::Complete(addresses.into()));
        }
    }

    pub fn ask(&mut self, addresses: &[u64]) {
        for address in addresses {
            if let Some(request) = self.open.get_mut(address) {
                request.asked = true;
            }
        }
    }

    /// One or more of these are complete; the trace does not say which.
    pub fn complete_some(&mut self, addresses: &[u64], calls: &mut Vec<Call>) {
        let first = addresses.iter().min_by_key(|address| {
            let request = self.open.get(address);
            request.map_or(u64::MAX, |request| request.order)
        });
        if let Some(&first) = first {
            self.ask(addresses);
            self.complete(&[first], calls);
        }
    }

    /// Whether something was begun at `address` and is not known to be complete; forgets it.
    pub fn forget(&mut self, address: u64) -> bool {
        self.open.remove(&address).is_some()
    }

    /// How many are not known to be complete.
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// Addresses of those, in no order.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.open.keys().copied()
    }

    /// The rank ends: what it has asked for is complete.
    pub fn finish(&mut self, calls: &mut Vec<Call>) {
        let mut asked: Vec<(u64, u64)> = (self.open.iter())
            .filter(|(_, request)| request.begun && request.asked)
            .map(|(address, request)| (request.order, *address))
            .collect();
        asked.sort_unstable();
        let addresses: Vec<u64> = asked.into_iter().map(|(_, address)| address).collect();
        self.complete(&addresses, calls);
    }
}
