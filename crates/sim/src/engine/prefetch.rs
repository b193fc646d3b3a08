//! Asks the processor to load memory that will be needed soon.

/// Starts to load the cache line of `slice[index]`; does nothing if there is no
/// such element, or on processors where we know no instruction for it.
#[inline(always)]
pub(super) fn prefetch<T>(slice: &[T], index: usize) {
    if index < slice.len() {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let address = slice.as_ptr().wrapping_add(index);
            // SAFETY: a prefetch neither reads nor writes memory as far as the
            // program can tell and faults on no address; SSE, which it needs,
            // is part of every x86-64 processor.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn any_index_is_accepted_and_nothing_changes() {
        let data = [1u64, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            prefetch(&data, index);
        }
        prefetch::<u64>(&[], 0);
        assert_eq!(data, [1, 2, 3]);
    }
}
