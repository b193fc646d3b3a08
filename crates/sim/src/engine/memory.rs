//! Hints to the processor and to the kernel about memory. They change how fast
//! a run is, never what it computes.

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
/// kernel has some. Best before its memory is touched for the first time.
pub(super) fn vec_in_huge_pages<T>(capacity: usize) -> Vec<T> {
    let vec = Vec::with_capacity(capacity);
    prefer_huge_pages(&vec);
    vec
}

/// Makes room for one more element; like [`Vec::push`], by doubling, but in
/// huge pages.
#[inline(always)]
pub(super) fn grow_in_huge_pages<T>(vec: &mut Vec<T>) {
    if vec.len() == vec.capacity() {
        vec.reserve(1);
        prefer_huge_pages(vec);
    }
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
            let mut vec = vec_in_huge_pages::<u32>(capacity);
            assert!(vec.capacity() >= capacity && vec.is_empty());
            for value in 0..capacity as u32 + 10 {
                grow_in_huge_pages(&mut vec);
                vec.push(value);
            }
            prefer_huge_pages(&vec);
            assert!(vec.iter().copied().eq(0..capacity as u32 + 10));
        }
        prefer_huge_pages::<()>(&vec![(); 10]);
    }
}
