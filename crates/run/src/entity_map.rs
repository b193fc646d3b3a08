//! Hash maps for keys that are numbers of entities.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Hasher for keys that are already well mixed by multiplication (FxHash's idea).
#[derive(Clone, Copy, Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u32(&mut self, key: u32) {
        self.write_u64(u64::from(key));
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = (self.0.rotate_left(5) ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// A map by numbers of entities, or by tuples of them.
pub type EntityMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// A map by one number.
pub type KeyMap<V> = EntityMap<u64, V>;
