//! Many short first-in-first-out queues in one place.

use super::packets::NIL;
use odonata_run::memory::{beyond, make_room};

/// A queue in a [`Queues`]: its first and last element there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queue {
    head: u32,
    tail: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            head: NIL,
            tail: NIL,
        }
    }
}

impl Queue {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

/// The elements of all queues, linked. An empty queue takes no memory here.
#[derive(Clone, Debug)]
pub(super) struct Queues<T> {
    /// Elements with the index of the next one in their queue, or of the next
    /// free place.
    elements: Vec<(T, u32)>,
    free: u32,
}

/// Who asks for memory.
pub(super) const WAITING: &str = "messages that wait at their nodes";

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self {
            elements: Vec::new(),
            free: NIL,
        }
    }
}

impl<T: Copy> Queues<T> {
    fn place(&mut self, element: T, next: u32) -> u32 {
        if self.free == NIL {
            self.grow();
            self.elements.push((element, next));
            (self.elements.len() - 1) as u32
        } else {
            let place = self.free;
            self.free = self.elements[place as usize].1;
            self.elements[place as usize] = (element, next);
            place
        }
    }

    /// Bytes that they hold.
    pub fn bytes(&self) -> usize {
        self.elements.capacity() * size_of::<(T, u32)>()
    }

    /// Makes room for one more place.
    fn grow(&mut self) {
        if self.elements.len() == NIL as usize {
            let reason = format!("a thread has at most {NIL} of them at once");
            beyond(WAITING, reason);
        }
        make_room(&mut self.elements, WAITING);
    }

    pub fn push_back(&mut self, queue: &mut Queue, element: T) {
        let place = self.place(element, NIL);
        if queue.is_empty() {
            queue.head = place;
        } else {
            self.elements[queue.tail as usize].1 = place;
        }
        queue.tail = place;
    }

    pub fn push_front(&mut self, queue: &mut Queue, element: T) {
        let place = self.place(element, queue.head);
        if queue.is_empty() {
            queue.tail = place;
        }
        queue.head = place;
    }

    /// Puts an element before the first of a queue that comes `later`, or at its end.
    pub fn insert_before(&mut self, queue: &mut Queue, element: T, later: impl Fn(&T) -> bool) {
        let (mut before, mut next) = (NIL, queue.head);
        while next != NIL && !later(&self.elements[next as usize].0) {
            (before, next) = (next, self.elements[next as usize].1);
        }
        match (before, next) {
            (NIL, _) => self.push_front(queue, element),
            (_, NIL) => self.push_back(queue, element),
            (before, next) => {
                let place = self.place(element, next);
                self.elements[before as usize].1 = place;
            }
        }
    }

    pub fn pop_front(&mut self, queue: &mut Queue) -> Option<T> {
        if queue.is_empty() {
            return None;
        }
        let place = queue.head;
        let (element, next) = self.elements[place as usize];
        self.elements[place as usize].1 = self.free;
        self.free = place;
        queue.head = next;
        Some(element)
    }

    /// Takes the first element out of a queue that fits.
    pub fn take_first(&mut self, queue: &mut Queue, mut fits: impl FnMut(&T) -> bool) -> Option<T> {
        let (mut before, mut place) = (NIL, queue.head);
        while place != NIL {
            let (element, next) = &self.elements[place as usize];
            let next = *next;
            if !fits(element) {
                (before, place) = (place, next);
                continue;
            }
            let element = *element;
            match before {
                NIL => queue.head = next,
                before => self.elements[before as usize].1 = next,
            }
            if queue.tail == place {
                queue.tail = before;
            }
            self.elements[place as usize].1 = self.free;
            self.free = place;
            return Some(element);
        }
        None
    }

    /// The elements of a queue, first to last.
    pub fn iter(&self, queue: &Queue) -> impl Iterator<Item = &T> {
        let mut place = queue.head;
        std::iter::from_fn(move || {
            let (element, next) = self.elements.get(place as usize)?;
            place = *next;
            Some(element)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Several queues behave as a `VecDeque` each, whatever is done in
        /// which order, and places are used again.
        #[test]
        fn queues_keep_their_order(
            steps in prop::collection::vec((0usize..5, 0u8..5), 0..300),
        ) {
            let mut queues = Queues::default();
            let mut places = [Queue::default(); 5];
            let mut expected: [VecDeque<usize>; 5] = Default::default();
            let mut most = 0;
            for (number, &(queue, action)) in steps.iter().enumerate() {
                let (place, list) = (&mut places[queue], &mut expected[queue]);
                match action {
                    0 => {
                        queues.push_back(place, number);
                        list.push_back(number);
                    }
                    1 => {
                        queues.push_front(place, number);
                        list.push_front(number);
                    }
                    2 => prop_assert_eq!(queues.pop_front(place), list.pop_front()),
                    3 => {
                        let later = |element: &usize| element % 5 > number % 5;
                        queues.insert_before(place, number, later);
                        let at = list.iter().position(later).unwrap_or(list.len());
                        list.insert(at, number);
                    }
                    _ => {
                        let third = |element: &usize| element.is_multiple_of(3);
                        let first = list.iter().position(third);
                        let expected = first.and_then(|first| list.remove(first));
                        prop_assert_eq!(queues.take_first(place, third), expected);
                    }
                }
                prop_assert_eq!(place.is_empty(), list.is_empty());
                prop_assert!(queues.iter(place).eq(list.iter()));
                most = most.max(expected.iter().map(VecDeque::len).sum::<usize>());
            }
            prop_assert_eq!(queues.elements.len(), most);
        }
    }
}
