//! Memory: hints to the processor and to the kernel, which change how fast a run is
//! and never what it computes, and the arrays that grow with a run.
//!
//! An array that grows asks here. What is not to be had ends the run with an error that
//! says what asked for it: by unwinding, so that the places which push to an array, many
//! of them in the hot path, know nothing of it. What grows in a thousand small places that
//! do not ask is found by looking at what is left, a few times a second ([`shortage`]).

use std::collections::{HashMap, TryReserveError, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::error::SimError;

/// Starts to load the cache line of `slice[index]`. The index is not checked: if
/// there is no such element, or on processors where we know no instruction for
/// it, nothing comes of it.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch neither reads nor writes memory as far as the
        // program can tell and faults on no address, be it mapped or not; SSE,
        // which it needs, is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (slice, index);
}

/// The same for a line that will be written and may lie in another processor's
/// cache; also beyond the end of `slice`.
#[inline(always)]
pub fn prefetch_to_write<T>(slice: &[T], index: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index);
        // SAFETY: as for `prefetch`; processors that do not know the hint to
        // write take the instruction for one without effect.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (slice, index);
}

/// An empty vector with room for `capacity` elements, in huge pages where the
/// kernel has some, for `what`. Best before its memory is touched for the first time.
pub fn vec_in_huge_pages<T>(capacity: usize, what: &'static str) -> Vec<T> {
    let mut vec = Vec::new();
    if capacity > 0 {
        reserve(&mut vec, capacity, what);
    }
    vec
}

/// A vector of this many equal elements.
pub fn filled<T: Clone>(element: T, len: usize, what: &'static str) -> Vec<T> {
    let mut vec = vec_in_huge_pages(len, what);
    vec.resize(len, element);
    vec
}

/// What a run lacks memory for, and why: carried by the unwinding that ends it.
struct Shortage {
    what: &'static str,
    reason: String,
}

/// Ends the run as a limit of the engine's own is reached.
#[cold]
pub fn beyond(what: &'static str, reason: String) -> ! {
    resume_unwind(Box::new(Shortage { what, reason }))
}

/// Ends the run as it asks for more memory than is `left`, or than the system gives.
#[cold]
fn refuse(what: &'static str, asked: usize, left: Option<usize>) -> ! {
    let asked = Megabytes(asked);
    let reason = match left.map(Megabytes) {
        Some(left) => format!("{asked} more are needed, {left} are left"),
        None => format!("the system refuses {asked} more"),
    };
    beyond(what, reason)
}

/// Bytes of memory, printed as people name them.
#[derive(Clone, Copy, Debug)]
pub struct Megabytes(pub usize);

impl fmt::Display for Megabytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ ..1_000_000 => write!(f, "{} kB", bytes.div_ceil(1_000)),
            bytes => write!(f, "{} MB", bytes / 1_000_000),
        }
    }
}

/// Does `work` of an engine, and makes an error of it if that ends because memory is
/// short.
///
/// # Errors
/// [`SimError::Memory`], or those of `work`.
pub fn within_memory<T, E: From<SimError>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    // What the unwinding leaves half done is dropped with the run.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(payload) => match payload.downcast::<Shortage>() {
            Ok(shortage) => Err(E::from(SimError::Memory {
                what: shortage.what,
                reason: shortage.reason,
            })),
            Err(defect) => resume_unwind(defect),
        },
    }
}

/// Makes room for one more element; like [`Vec::push`], by doubling, but in huge
/// pages, and for `what`.
#[inline(always)]
pub fn make_room<T>(vec: &mut Vec<T>, what: &'static str) {
    if vec.len() == vec.capacity() {
        reserve(vec, 1, what);
    }
}

/// Smaller requests are not worth a question how much memory is left.
const LARGE: usize = 64 << 20;

/// Makes room for this many more elements, if possible for as many as there are.
#[cold]
#[inline(never)]
pub fn reserve<T>(vec: &mut Vec<T>, additional: usize, what: &'static str) {
    let bytes = |elements: usize| elements.saturating_mul(size_of::<T>());
    let mut wanted = additional.max(vec.len()).max(4);
    if bytes(wanted) >= LARGE
        && let Some(left) = left()
        && bytes(wanted) > left
    {
        wanted = additional.max(vec.len() / 8);
        if bytes(wanted) > left {
            refuse(what, bytes(wanted), Some(left));
        }
    }
    if vec.try_reserve_exact(wanted).is_err() {
        refuse(what, bytes(wanted), None);
    }
    prefer_huge_pages(vec);
}

/// A collection that grows with a run and is no vector.
pub trait GrowingCollection {
    /// Whether one more element needs more memory.
    fn is_full(&self) -> bool;
    /// Bytes that it asks for when it grows.
    fn growth_bytes(&self) -> usize;
    /// Grows by at least one element.
    fn try_grow(&mut self) -> Result<(), TryReserveError>;
}

impl<T> GrowingCollection for VecDeque<T> {
    fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }
    fn growth_bytes(&self) -> usize {
        self.len().saturating_mul(2 * size_of::<T>())
    }
    fn try_grow(&mut self) -> Result<(), TryReserveError> {
        self.try_reserve(1)
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> GrowingCollection for HashMap<K, V, S> {
    fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }
    /// Twice as many places, of which an eighth stays free, with a byte of their own each.
    fn growth_bytes(&self) -> usize {
        let places = self.capacity() / 7 * 16;
        places.saturating_mul(size_of::<(K, V)>() + 1)
    }
    fn try_grow(&mut self) -> Result<(), TryReserveError> {
        self.try_reserve(1)
    }
}

/// [`make_room`] for other collections than vectors.
#[inline(always)]
pub fn make_room_in(collection: &mut impl GrowingCollection, what: &'static str) {
    if collection.is_full() {
        grow(collection, what);
    }
}

#[cold]
#[inline(never)]
fn grow(collection: &mut impl GrowingCollection, what: &'static str) {
    let bytes = collection.growth_bytes();
    if bytes >= LARGE
        && let Some(left) = left()
        && bytes > left
    {
        refuse(what, bytes, Some(left));
    }
    if collection.try_grow().is_err() {
        refuse(what, bytes, None);
    }
}

/// With less than this left a run ends while it still can: what it takes in the time
/// between two looks fits in here.
const RESERVE: usize = 128 << 20;

/// What is left of the memory, if that is too little to go on.
pub fn shortage() -> Option<Megabytes> {
    let left = left()?;
    (left < RESERVE).then_some(Megabytes(left))
}

/// Bytes of memory that the process can still have, by what the machine, its control group
/// and the limit of its address space have left; `None` where the system does not say.
fn left() -> Option<usize> {
    // Miri runs within a machine of its own.
    if cfg!(miri) {
        return None;
    }
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let read = |file| std::fs::read_to_string(file).ok();
    const PAGE: usize = 4 << 10;
    // Pages of address space, and of those in memory.
    let own = |field| number(read("/proc/self/statm")?.split(' ').nth(field)?);
    let machine = read("/proc/meminfo").and_then(|text| {
        let kilobytes = |key| {
            let line = text.lines().find_map(|line| line.strip_prefix(key))?;
            number(line.trim_end_matches("kB"))
        };
        let swap = kilobytes("SwapFree:").unwrap_or(0);
        Some((kilobytes("MemAvailable:")? + swap).saturating_mul(1 << 10))
    });
    let space = address_space().and_then(|most| {
        let taken = own(0)?.saturating_mul(PAGE);
        Some(most.saturating_sub(taken))
    });
    let group = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let group = group.into_iter().find_map(|file| number(&read(file)?));
    let group = group.and_then(|most| Some(most.saturating_sub(own(1)?.saturating_mul(PAGE))));
    machine.into_iter().chain(group).chain(space).min()
}

/// The most address space that the process may have (`ulimit -v`); `None` without a limit.
fn address_space() -> Option<usize> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let mut limit = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: it writes the structure that it is given, which lives here, and nothing else.
        let asked = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
        let limited = asked == 0 && limit.rlim_cur != libc::RLIM_INFINITY;
        limited.then_some(limit.rlim_cur as usize)
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    None
}

/// Asks the kernel to back a large vector by huge pages, of which a processor
/// can address many more without looking up page tables. Does nothing on
/// systems other than Linux, and for vectors of less than two huge pages.
#[cold]
fn prefer_huge_pages<T>(vec: &Vec<T>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        const HUGE_PAGE: usize = 2 << 20;
        const PAGE: usize = 4 << 10;
        let bytes = vec.capacity() * size_of::<T>();
        if bytes >= 2 * HUGE_PAGE {
            let begin = vec.as_ptr().addr().next_multiple_of(PAGE);
            let end = (vec.as_ptr().addr() + bytes) & !(PAGE - 1);
            let pages = vec.as_ptr().cast::<libc::c_void>().with_addr(begin);
            // SAFETY: the range consists of whole pages (rounded inward) of an
            // allocation that `vec` owns, so it is mapped; this advice changes
            // neither contents nor protection of the pages, only how the kernel
            // backs them. It may fail, which changes nothing at all.
            let _ = unsafe { libc::madvise(pages.cast_mut(), end - begin, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = vec;
}

#[cfg(test)]
mod tests;
