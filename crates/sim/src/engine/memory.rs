//! Memory: hints to the processor and to the kernel, which change how fast a run is
//! and never what it computes, and the arrays that grow with a run.
//!
//! An array that grows asks here. What is not to be had ends the run with an error that
//! says what asked for it: by unwinding, so that the places which push to an array, many
//! of them in the hot path, know nothing of it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use odonata_units::Bytes;

use crate::error::SimError;

/// Starts to load the cache line of `slice[index]`. The index is not checked: if
/// there is no such element, or on processors where we know no instruction for
/// it, nothing comes of it.
#[inline(always)]
pub(super) fn prefetch<T>(slice: &[T], index: usize) {
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
pub(super) fn prefetch_to_write<T>(slice: &[T], index: usize) {
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
pub(super) fn vec_in_huge_pages<T>(capacity: usize, what: &'static str) -> Vec<T> {
    let mut vec = Vec::new();
    if capacity > 0 {
        reserve(&mut vec, capacity, what);
    }
    vec
}

/// A vector of so many equal elements.
pub(super) fn filled<T: Clone>(element: T, len: usize, what: &'static str) -> Vec<T> {
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
pub(super) fn beyond(what: &'static str, reason: String) -> ! {
    resume_unwind(Box::new(Shortage { what, reason }))
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
pub(super) fn make_room<T>(vec: &mut Vec<T>, what: &'static str) {
    if vec.len() == vec.capacity() {
        reserve(vec, 1, what);
    }
}

/// Smaller requests are not worth a question how much memory is left.
const LARGE: usize = 64 << 20;

/// Makes room for so many more elements, if possible for as many as there are.
#[cold]
#[inline(never)]
pub(super) fn reserve<T>(vec: &mut Vec<T>, additional: usize, what: &'static str) {
    let bytes = |elements: usize| elements.saturating_mul(size_of::<T>());
    let mut wanted = additional.max(vec.len()).max(4);
    if bytes(wanted) >= LARGE
        && let Some(left) = left()
        && bytes(wanted) > left
    {
        wanted = additional.max(vec.len() / 8);
        if bytes(wanted) > left {
            let (asked, left) = (Bytes(bytes(wanted) as u64), Bytes(left as u64));
            beyond(what, format!("{asked} more are needed, {left} are left"));
        }
    }
    if vec.try_reserve_exact(wanted).is_err() {
        let asked = Bytes(bytes(wanted) as u64);
        beyond(what, format!("the system refuses {asked} more"));
    }
    prefer_huge_pages(vec);
}

/// Bytes of memory that the machine, or the control group that the process runs in, has
/// left; `None` where the system does not say.
fn left() -> Option<usize> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let read = |file| std::fs::read_to_string(file).ok();
    let machine = read("/proc/meminfo").and_then(|text| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
        Some(number(line.trim_end_matches("kB"))?.saturating_mul(1 << 10))
    });
    let group = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let group = group.into_iter().find_map(|file| number(&read(file)?));
    let group = group.and_then(|most| {
        const PAGE: usize = 4 << 10;
        let pages = read("/proc/self/statm")?;
        let resident = number(pages.split(' ').nth(1)?)?;
        Some(most.saturating_sub(resident.saturating_mul(PAGE)))
    });
    machine.into_iter().chain(group).min()
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
mod tests {
    use super::*;

    #[test]
    fn any_index_is_accepted_and_nothing_changes() {
        let data = [1u64, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            prefetch(&data, index);
        }
        prefetch::<u64>(&[], 0);
        assert_eq!(data, [1, 2, 3]);
    }

    /// Small and large, with contents and without, elements of no size.
    #[test]
    fn huge_pages_keep_contents() {
        for capacity in [0, 1, 1_000, 3 << 20] {
            let mut vec = vec_in_huge_pages::<u32>(capacity, "a test");
            assert!(vec.capacity() >= capacity && vec.is_empty());
            for value in 0..capacity as u32 + 10 {
                make_room(&mut vec, "a test");
                vec.push(value);
            }
            prefer_huge_pages(&vec);
            assert!(vec.iter().copied().eq(0..capacity as u32 + 10));
        }
        prefer_huge_pages::<()>(&vec![(); 10]);
    }

    /// More than any machine has, and more than a vector can hold.
    #[test]
    fn what_is_not_there_is_an_error_that_says_who_asked() {
        for len in [1 << 50, usize::MAX] {
            let refused =
                within_memory(|| Ok::<_, SimError>(filled(0u64, len, "the test's vector")));
            let error = refused.expect_err("so much memory").to_string();
            assert!(
                error.contains("not enough memory for the test's vector"),
                "{error}"
            );
        }
        let small = within_memory(|| Ok::<_, SimError>(filled(0u64, 3, "the test's vector")));
        assert_eq!(small.expect("three numbers"), [0; 3]);
    }

    /// Not every machine says so; one that does has more than nothing, and less than 2^50 B.
    #[test]
    fn what_is_left_is_a_number_of_bytes() {
        assert!(left().is_none_or(|bytes| (1 << 20..1 << 50).contains(&bytes)));
    }
}
