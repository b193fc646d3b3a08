//! How some fields are saved.

/// Numbers whose largest value means "none": saved so that this is short.
pub mod or_absent {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// An unsigned integer.
    pub trait Number: Copy {
        /// The next one, and 0 after the largest.
        fn up(self) -> Self;
        /// The one before, and the largest before 0.
        fn down(self) -> Self;
    }

    impl Number for u32 {
        fn up(self) -> Self {
            self.wrapping_add(1)
        }
        fn down(self) -> Self {
            self.wrapping_sub(1)
        }
    }

    impl Number for u64 {
        fn up(self) -> Self {
            self.wrapping_add(1)
        }
        fn down(self) -> Self {
            self.wrapping_sub(1)
        }
    }

    /// Saves one more than `value`.
    ///
    /// # Errors
    /// Whatever `serializer` reports.
    pub fn serialize<T: Number + Serialize, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.up().serialize(serializer)
    }

    /// Reads what [`serialize`] has saved.
    ///
    /// # Errors
    /// Whatever `deserializer` reports.
    pub fn deserialize<'de, T: Number + Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        T::deserialize(deserializer).map(T::down)
    }
}

/// Maps, saved in the order of their keys.
pub mod sorted_map {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use std::hash::Hash;

    use crate::entity_map::EntityMap;

    /// Saves the entries by key.
    ///
    /// # Errors
    /// Whatever `serializer` reports.
    pub fn serialize<K: Ord + Serialize, V: Serialize, S: Serializer>(
        map: &EntityMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_unstable_by_key(|&(key, _)| key);
        entries.serialize(serializer)
    }

    /// Reads what [`serialize`] has saved.
    ///
    /// # Errors
    /// Whatever `deserializer` reports.
    pub fn deserialize<'de, K, V, D>(deserializer: D) -> Result<EntityMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Eq + Hash,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let entries = Vec::<(K, V)>::deserialize(deserializer)?;
        Ok(entries.into_iter().collect())
    }
}
