//! Users of a network whose traffic is spread over thousands of links, such as
//! jobs: each wants to use them at some rate, and few links can ever be full.
//!
//! A link on which all users together want less than its capacity limits nobody,
//! so the max-min fair rates are those of the links that are wanted by more.

use crate::share::{LinkId, Use};

/// A user; reused after [`Demands::remove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(pub u32);

#[derive(Clone, Debug)]
struct User {
    /// What it puts on each link at rate 1, links in ascending order.
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
    /// Links that all users together want more of than there is, as of the last
    /// settling; kept for its memory.
    over: Vec<LinkId>,
    filling: Filling,
}

impl Demands {
    /// Links of these capacities, finite and above 0, and no users.
    pub fn new(capacities: impl IntoIterator<Item = f64>) -> Self {
        let capacity: Vec<f64> = capacities.into_iter().collect();
        Self {
            wanted: vec![0.0; capacity.len()],
            over: Vec::new(),
            filling: Filling::default(),
            capacity,
            users: Vec::new(),
            free: Vec::new(),
            touched: false,
        }
    }

    /// Adds a user who wants to go at rate `wanted`, above 0, and puts on each link
    /// its share times the rate; `uses` has links in ascending order, each once.
    pub fn add(&mut self, uses: Vec<Use>, wanted: f64) -> UserId {
        debug_assert!(
            uses.is_sorted_by(|one, next| one.link < next.link),
            "links in ascending order"
        );
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

    /// Rate that a user wants; 0 of none.
    pub fn wanted(&self, user: UserId) -> f64 {
        let user = self.users[user.0 as usize].as_ref();
        user.map_or(0.0, |user| user.wanted)
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
        self.over.clear();
        let links = (0..).map(LinkId).zip(&self.wanted).zip(&self.capacity);
        let over = links.filter(|((_, wanted), capacity)| wanted > capacity);
        self.over.extend(over.map(|((link, _), _)| link));
        let users = (0..).zip(&mut self.users);
        let present = users.filter_map(|(id, user)| Some((UserId(id), user.as_mut()?)));
        if self.over.is_empty() {
            // Everybody gets what they want.
            for (id, user) in present {
                if user.rate != user.wanted {
                    user.rate = user.wanted;
                    changed.push(id);
                }
            }
            return;
        }
        self.fill();
        let users = (0..).zip(&mut self.users);
        let present = users.filter_map(|(id, user)| Some((UserId(id), user.as_mut()?)));
        for ((id, user), rate) in present.zip(&self.filling.rates) {
            if (rate - user.rate).abs() > 1e-9 * rate {
                user.rate = *rate;
                changed.push(id);
            }
        }
    }

    /// Max-min fair rates of all users over the links that they want more of than there
    /// is: the rate of all is raised together; a user that gets what it wants stops, and
    /// so does one that crosses a full link. Users are few and links many, so that going
    /// through all links at every stop is the fastest.
    fn fill(&mut self) {
        let filling = &mut self.filling;
        filling.begin(self.over.iter().map(|link| self.capacity[link.index()]));
        let present: Vec<&User> = self.users.iter().flatten().collect();
        for user in &present {
            crossed(&user.uses, &self.over, |place, share| {
                filling.cross(place, share);
            });
            filling.end_user();
        }
        let mut rising: Vec<usize> = (0..present.len()).collect();
        let mut floor = 0.0f64;
        while !rising.is_empty() {
            let (level, fullest) = filling.fullest();
            // Rounding must not let rates go down again.
            let level = level.max(floor);
            let before = rising.len();
            rising.retain(|&user| {
                let content = present[user].wanted <= level;
                if content {
                    filling.stop(user, present[user].wanted);
                }
                !content
            });
            if rising.len() < before {
                continue;
            }
            floor = level;
            rising.retain(|&user| {
                let stops = filling.crosses(user, fullest);
                if stops {
                    filling.stop(user, level);
                }
                !stops
            });
        }
    }
}

/// Filling in progress; kept for its memory.
#[derive(Clone, Debug, Default)]
struct Filling {
    /// Capacity left of every link, what rising users put on it per rate, and how
    /// many they are.
    left: Vec<f64>,
    pull: Vec<f64>,
    rising: Vec<u32>,
    /// Links that users cross, by place, ascending, with shares; user after user.
    places: Vec<u32>,
    shares: Vec<f64>,
    /// Where each user's begin, and where the last one's end.
    starts: Vec<usize>,
    /// What has been found.
    rates: Vec<f64>,
}

impl Filling {
    fn begin(&mut self, capacities: impl Iterator<Item = f64>) {
        self.left.clear();
        self.left.extend(capacities);
        self.pull.clear();
        self.pull.resize(self.left.len(), 0.0);
        self.rising.clear();
        self.rising.resize(self.left.len(), 0);
        self.places.clear();
        self.shares.clear();
        self.starts.clear();
        self.starts.push(0);
        self.rates.clear();
    }

    fn cross(&mut self, place: u32, share: f64) {
        self.places.push(place);
        self.shares.push(share);
        self.pull[place as usize] += share;
        self.rising[place as usize] += 1;
    }

    fn end_user(&mut self) {
        self.starts.push(self.places.len());
        self.rates.push(0.0);
    }

    /// The rate at which the next link is full, and that link.
    fn fullest(&self) -> (f64, u32) {
        let links = self.left.iter().zip(&self.pull).zip(&self.rising);
        let mut first = (f64::INFINITY, u32::MAX);
        for (place, ((&left, &pull), &rising)) in (0..).zip(links) {
            if rising > 0 && left < first.0 * pull {
                first = ((left / pull).max(0.0), place);
            }
        }
        first
    }

    fn crosses(&self, user: usize, place: u32) -> bool {
        let own = &self.places[self.starts[user]..self.starts[user + 1]];
        own.binary_search(&place).is_ok()
    }

    /// A user stays at a rate.
    fn stop(&mut self, user: usize, rate: f64) {
        self.rates[user] = rate;
        for at in self.starts[user]..self.starts[user + 1] {
            let (place, share) = (self.places[at] as usize, self.shares[at]);
            self.left[place] -= share * rate;
            self.pull[place] -= share;
            self.rising[place] -= 1;
        }
    }
}

/// Calls `visit(place in links, share)` for those of the links that are used; both in
/// ascending order.
fn crossed(uses: &[Use], links: &[LinkId], mut visit: impl FnMut(u32, f64)) {
    let mut rest = uses;
    for (place, &link) in (0..).zip(links) {
        // Few links among many: looked for by doubling steps, so that neither many
        // links nor many uses cost more than going through both.
        let mut step = 1;
        while step < rest.len() && rest[step].link < link {
            step *= 2;
        }
        let end = rest.len().min(step + 1);
        let skip = rest[..end].partition_point(|step| step.link < link);
        rest = &rest[skip..];
        match rest.first() {
            None => return,
            Some(step) if step.link == link => visit(place, step.share),
            Some(_) => {}
        }
    }
}
