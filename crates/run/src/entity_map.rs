//! Hash maps for keys that are numbers of entities.

use rustc_hash::FxHashMap;

/// A map by numbers of entities, or by tuples of them.
pub type EntityMap<K, V> = FxHashMap<K, V>;

/// A map by one number.
pub type KeyMap<V> = EntityMap<u64, V>;
