//! Users of a network whose traffic is spread over thousands of links, such as
//! jobs: each wants to use them at some rate, and few links can ever be full.
//!
//! A link on which all users together want less than its capacity limits nobody,
//! so the max-min fair rates are those of the links that are wanted by more.

use crate::share::{FairShare, FlowId, LinkId, Use};

/// A user; reused after [`Demands::remove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(pub u32);

#[derive(Clone, Debug)]
struct User {
    /// What it puts on each link at rate 1.
    uses: Vec<Use>,
    /// Rate that it wants.
    wanted: f64,
    /// Rate that it gets.
    rate: f64,
}

/// Links and the users who want to use them.
#[derive(Clone, Debug)]
pub struct Demands {
    capacity: Vec<f64>,
    /// What all users want of each link together.
    wanted: Vec<f64>,
    users: Vec<Option<User>>,
    free: Vec<u32>,
    touched: bool,
    /// Number of each wanted link among those that are filled.
    place: Vec<u32>,
}

impl Demands {
    /// Links of these capacities, finite and above 0, and no users.
    pub fn new(capacities: impl IntoIterator<Item = f64>) -> Self {
        let capacity: Vec<f64> = capacities.into_iter().collect();
        Self {
            wanted: vec![0.0; capacity.len()],
            place: vec![0; capacity.len()],
            capacity,
            users: Vec::new(),
            free: Vec::new(),
            touched: false,
        }
    }

    /// Adds a user who wants to go at rate `wanted`, above 0, and puts on each link
    /// its share times the rate.
    pub fn add(&mut self, uses: Vec<Use>, wanted: f64) -> UserId {
        for step in &uses {
            self.wanted[step.link.index()] += step.share * wanted;
        }
        self.touched = true;
        let user = User {
            uses,
            wanted,
            rate: 0.0,
        };
        match self.free.pop() {
            Some(id) => {
                self.users[id as usize] = Some(user);
                UserId(id)
            }
            None => {
                self.users.push(Some(user));
                UserId(self.users.len() as u32 - 1)
            }
        }
    }

    /// Takes a user away.
    pub fn remove(&mut self, user: UserId) {
        let Some(gone) = self.users[user.0 as usize].take() else {
            return;
        };
        self.touched = true;
        self.free.push(user.0);
        // Rounding stays below 10⁻¹⁰ of the capacity over millions of users, and an
        // empty network begins at zero again.
        for step in &gone.uses {
            self.wanted[step.link.index()] -= step.share * gone.wanted;
        }
        if self.users.iter().all(Option::is_none) {
            self.wanted.fill(0.0);
        }
    }

    /// Rate of a user as of the last settling; 0 before its first.
    pub fn rate(&self, user: UserId) -> f64 {
        self.users[user.0 as usize]
            .as_ref()
            .map_or(0.0, |user| user.rate)
    }

    /// What is left of a link beside its users, at the rates that they have; at
    /// least what one more with this pull would get of it.
    pub fn room(&self, link: LinkId, pull: f64) -> f64 {
        let (capacity, wanted) = (self.capacity[link.index()], self.wanted[link.index()]);
        (capacity - wanted).max(capacity * pull / (wanted + pull))
    }

    /// Brings all rates up to date; appends those users whose rate is another now.
    pub fn settle(&mut self, changed: &mut Vec<UserId>) {
        if !std::mem::take(&mut self.touched) {
            return;
        }
        let mut capacities = Vec::new();
        for (link, (&wanted, &capacity)) in self.wanted.iter().zip(&self.capacity).enumerate() {
            self.place[link] = u32::MAX;
            if wanted > capacity {
                self.place[link] = capacities.len() as u32;
                capacities.push(capacity);
            }
        }
        let first_own = capacities.len() as u32;
        // One more link for each user, which lets through what it wants.
        let present = self.users.iter().flatten();
        capacities.extend(present.clone().map(|user| user.wanted));
        let mut share = FairShare::new(capacities);
        let mut path = Vec::new();
        for (own, user) in (first_own..).zip(present) {
            path.clear();
            path.push(Use {
                link: LinkId(own),
                share: 1.0,
            });
            for step in &user.uses {
                let place = self.place[step.link.index()];
                if place != u32::MAX {
                    path.push(Use {
                        link: LinkId(place),
                        share: step.share,
                    });
                }
            }
            share.add(&path, 1.0);
        }
        share.settle(&mut Vec::new());
        let users = (0..).zip(&mut self.users);
        let present = users.filter_map(|(id, user)| Some((id, user.as_mut()?)));
        for (flow, (id, user)) in (0..).zip(present) {
            let rate = share.rate(FlowId(flow));
            if (rate - user.rate).abs() > 1e-9 * rate {
                user.rate = rate;
                changed.push(UserId(id));
            }
        }
    }
}
