//! Arrays of the hot path, whose elements are not looked up at a border but named
//! by numbers that the engine itself has made.

use odonata_run::memory::{make_room, reserve};
use std::ops::{Deref, DerefMut, Index, IndexMut, Range};

/// An array that never shrinks and whose indices are trusted: `table[index]` is
/// checked where debug assertions are on (in all tests), and not in a release. The
/// checks were a tenth of the instructions of a packet-hop.
///
/// An index outside the table is undefined behaviour, so nothing that comes from
/// outside the engine may become one without a check. What there is, and where it is
/// checked:
///
/// | index | comes from | why it is inside |
/// |---|---|---|
/// | port | the wiring | [`Partition::new`] takes routers, ports and interfaces from the topology by checked look-ups, and makes one port for each |
/// | port | a routing algorithm | [`Partition::arrive`] checks port and channel of each decision, and that the port leads somewhere |
/// | FIFO of a crossbar, its input | a port and a channel as above, or a request, which is a bit of its number | [`Bounded::new`] makes one for each port and channel |
/// | port, channel | an event, a packet's way back | copies of the above: the sender of a packet leaves its own port behind, and events are sent to nothing else |
/// | slot of a packet | [`Packets`], which never shrinks | slots are passed on in events and queues and given back once |
/// | all of them | a checkpoint | `checkpoint::references` is the list of what a state refers to; nothing is put in place that is not checked there |
/// | group of an event | router and kind, both bounded in [`Event::new`] | routers are counted when a calendar is made |
///
/// [`Partition::new`]: super::partition::Partition::new
/// [`Partition::arrive`]: super::partition::Partition::arrive
/// [`Bounded::new`]: super::switch::Bounded
/// [`Packets`]: super::packets::Packets
/// [`Event::new`]: super::calendar::Event::new
#[derive(Clone, Debug)]
pub(super) struct Table<T>(Vec<T>);

impl<T> Table<T> {
    /// Adds an element, in huge pages where the kernel has some; an error of the run
    /// says `what` if there is no memory for it.
    pub fn push(&mut self, element: T, what: &'static str) {
        make_room(&mut self.0, what);
        self.0.push(element);
    }
}

impl<T: Copy> Table<T> {
    /// Makes it at least `len` long, for `what`.
    pub fn grow_to(&mut self, len: usize, fill: T, what: &'static str) {
        if self.0.len() < len {
            let (len, present) = (len.next_power_of_two(), self.0.len());
            reserve(&mut self.0, len - present, what);
            self.0.resize(len, fill);
        }
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(elements: Vec<T>) -> Self {
        Self(elements)
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Table<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(
            index < self.0.len(),
            "index {index} outside a table of {}",
            self.0.len()
        );
        // SAFETY: the index is one of those listed above, each of which is inside.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(
            index < self.0.len(),
            "index {index} outside a table of {}",
            self.0.len()
        );
        // SAFETY: the index is one of those listed above, each of which is inside.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}

/// Slices are checked.
impl<T> Index<Range<usize>> for Table<T> {
    type Output = [T];
    #[inline(always)]
    fn index(&self, range: Range<usize>) -> &[T] {
        &self.0[range]
    }
}

impl<T> IndexMut<Range<usize>> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, range: Range<usize>) -> &mut [T] {
        &mut self.0[range]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_places_as_it_grows() {
        let mut table = Table::default();
        for value in 0..1_000u64 {
            table.push(value, "a test");
        }
        table[7] = 70;
        table.grow_to(1_500, 1, "a test");
        assert_eq!(table.len(), 2_048);
        table.grow_to(3, 2, "a test");
        assert_eq!((table[7], table[999], table[1_000]), (70, 999, 1));
        assert_eq!(table[0..3], [0, 1, 2]);
    }

    /// Every test of the engine relies on this.
    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "index 3 outside a table of 3")]
    fn tests_check_indices() {
        let table = Table::from(vec![1, 2, 3]);
        let _ = table[3];
    }
}
