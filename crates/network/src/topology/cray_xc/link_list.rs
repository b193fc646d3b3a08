//! The lines of a link list, parsed and checked.

use super::CrayXcError;
use std::collections::HashMap;

/// What leads out of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Colour {
    Green,
    Black,
    Blue,
    Processor,
}

impl Colour {
    const ALL: [Self; 4] = [Self::Green, Self::Black, Self::Blue, Self::Processor];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Black => "black",
            Self::Blue => "blue",
            Self::Processor => "ptile",
        }
    }
}

/// Group, row and column of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) group: u16,
    pub(super) row: u16,
    pub(super) column: u16,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.group, self.row, self.column)
    }
}

/// Extent of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    /// Numbers of the groups in the list, ascending. Some may be missing: a machine
    /// keeps its numbers when a group is taken out.
    pub(super) groups: Vec<u16>,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Grid {
    pub(super) fn routers(&self) -> usize {
        self.groups.len() * self.rows * self.columns
    }

    /// Which of the groups, from 0, a number of the list is.
    fn group(&self, number: u16) -> usize {
        self.groups.partition_point(|&group| group < number)
    }

    /// Number of the router at `place`: group by group, row by row.
    pub(super) fn number(&self, place: Place) -> usize {
        (self.group(place.group) * self.rows + usize::from(place.row)) * self.columns
            + usize::from(place.column)
    }

    /// The groups' numbers where they are not 0, 1, 2, …: "0-11, 13-15".
    pub(super) fn names(&self) -> Option<String> {
        let last = usize::from(*self.groups.last()?);
        if last + 1 == self.groups.len() {
            return None;
        }
        let runs = self.groups.chunk_by(|a, b| a + 1 == *b);
        let runs = runs.map(|run| match run {
            [one] => one.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        });
        Some(runs.collect::<Vec<_>>().join(", "))
    }
}

/// A tile as it is written: `c0-0c0s0a0l00(0:0:0)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile<'a> {
    /// Name with its number: `c0-0c0s0a0l00`.
    pub(super) name: &'a str,
    /// Name of the router: `c0-0c0s0a0`.
    router: &'a str,
    pub(super) place: Place,
}

impl<'a> Tile<'a> {
    fn parse(word: &'a str) -> Option<Self> {
        let (name, place) = word.strip_suffix(')')?.split_once('(')?;
        let (router, number) = name.rsplit_once('l')?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        if router.is_empty() || !is_number {
            return None;
        }
        let mut coordinates = place.split(':').map(str::parse);
        let mut next = || coordinates.next()?.ok();
        let place = Place {
            group: next()?,
            row: next()?,
            column: next()?,
        };
        coordinates.next().is_none().then_some(Self {
            name,
            router,
            place,
        })
    }
}

/// One line of the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) line: usize,
    pub(super) tile: Tile<'a>,
    pub(super) colour: Colour,
    /// The tile at the other end, if there is one.
    pub(super) peer: Option<Tile<'a>>,
}

impl<'a> Entry<'a> {
    fn parse(line: usize, text: &'a str) -> Result<Self, CrayXcError> {
        Self::try_parse(line, text).ok_or_else(|| CrayXcError::Syntax {
            line,
            found: text.into(),
        })
    }

    fn try_parse(line: usize, text: &'a str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let tile = Tile::parse(words.next()?)?;
        let colour = words.next()?;
        let colour = *Colour::ALL.iter().find(|c| c.name() == colour)?;
        let (arrow, end) = (words.next()?, words.next()?);
        let complete = arrow == "->" && words.next().is_none();
        let peer = match (colour, end) {
            (Colour::Processor, "processor") | (Colour::Blue, "unused") => None,
            (Colour::Processor, _) => return None,
            _ => Some(Tile::parse(end)?),
        };
        complete.then_some(Self {
            line,
            tile,
            colour,
            peer,
        })
    }

    fn check_geometry(&self) -> Result<(), CrayXcError> {
        let Some(peer) = &self.peer else {
            return Ok(());
        };
        let (from, to) = (self.tile.place, peer.place);
        let same_group = from.group == to.group;
        let (same_row, same_column) = (from.row == to.row, from.column == to.column);
        let fits = match self.colour {
            Colour::Green => same_group && same_row && !same_column,
            Colour::Black => same_group && same_column && !same_row,
            Colour::Blue => !same_group,
            Colour::Processor => true,
        };
        if fits {
            Ok(())
        } else {
            Err(CrayXcError::Geometry {
                line: self.line,
                colour: self.colour.name(),
                from: from.to_string(),
                to: to.to_string(),
            })
        }
    }
}

/// The whole list, checked line by line.
pub(super) struct LinkList<'a> {
    pub(super) entries: Vec<Entry<'a>>,
    /// Entry of each tile, by the tile's name.
    of_tile: HashMap<&'a str, usize>,
    /// Name and first line of the router at each place.
    routers: HashMap<Place, (&'a str, usize)>,
    /// Lines of the file.
    lines: usize,
}

impl<'a> LinkList<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, CrayXcError> {
        let mut list = Self {
            entries: Vec::new(),
            of_tile: HashMap::new(),
            routers: HashMap::new(),
            lines: 0,
        };
        let mut place_of_name: HashMap<&str, (Place, usize)> = HashMap::new();
        for (index, text) in text.lines().enumerate() {
            list.lines = index + 1;
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let entry = Entry::parse(index + 1, text)?;
            entry.check_geometry()?;
            let (line, tile) = (entry.line, entry.tile);
            if let Some(first) = list.of_tile.insert(tile.name, list.entries.len()) {
                return Err(CrayXcError::Duplicate {
                    line,
                    tile: tile.name.into(),
                    first: list.entries[first].line,
                });
            }
            let &mut (name, first) = list
                .routers
                .entry(tile.place)
                .or_insert((tile.router, line));
            let &mut (place, named) = place_of_name
                .entry(tile.router)
                .or_insert((tile.place, line));
            if name != tile.router || place != tile.place {
                let (known_name, known_place, first) = if name == tile.router {
                    (tile.router, place, named)
                } else {
                    (name, tile.place, first)
                };
                return Err(CrayXcError::Misplaced {
                    line,
                    router: tile.router.into(),
                    found: format!("{}({})", tile.router, tile.place),
                    known: format!("{known_name}({known_place})"),
                    first,
                });
            }
            list.entries.push(entry);
        }
        if list.entries.is_empty() {
            return Err(CrayXcError::Empty);
        }
        Ok(list)
    }

    /// Every link is listed from both ends, with one colour.
    pub(super) fn check_symmetry(&self) -> Result<(), CrayXcError> {
        for entry in &self.entries {
            let Some(peer) = &entry.peer else { continue };
            let tile = || entry.tile.name.to_owned();
            let Some(&other) = self.of_tile.get(peer.name) else {
                return Err(CrayXcError::PeerMissing {
                    line: entry.line,
                    tile: tile(),
                    peer: peer.name.into(),
                });
            };
            let other = &self.entries[other];
            let back = other.peer.map(|back| (back.name, back.place));
            let same_end = other.tile.place == peer.place;
            let leads_back = back == Some((entry.tile.name, entry.tile.place));
            if !same_end || !leads_back || other.colour != entry.colour {
                return Err(CrayXcError::Asymmetric {
                    line: entry.line,
                    tile: tile(),
                    colour: entry.colour.name(),
                    peer: format!("{}({})", peer.name, peer.place),
                    peer_line: other.line,
                    back: back.map_or_else(
                        || format!("no {} link", entry.colour.name()),
                        |(name, place)| {
                            format!("a {} link to {name}({place})", other.colour.name())
                        },
                    ),
                });
            }
        }
        Ok(())
    }

    /// Groups, rows and columns; every place within them must have a router. Groups are
    /// those that are listed.
    pub(super) fn check_grid(&self) -> Result<Grid, CrayXcError> {
        let highest = |of: fn(&Place) -> u16| self.routers.keys().map(of).max().unwrap_or(0);
        let last = Place {
            group: highest(|p| p.group),
            row: highest(|p| p.row),
            column: highest(|p| p.column),
        };
        let mut groups: Vec<u16> = self.routers.keys().map(|place| place.group).collect();
        groups.sort_unstable();
        groups.dedup();
        for &group in &groups {
            for row in 0..=last.row {
                for column in 0..=last.column {
                    let place = Place { group, row, column };
                    if !self.routers.contains_key(&place) {
                        return Err(CrayXcError::RouterMissing {
                            line: self.lines,
                            place: place.to_string(),
                            last: last.to_string(),
                        });
                    }
                }
            }
        }
        Ok(Grid {
            groups,
            rows: usize::from(last.row) + 1,
            columns: usize::from(last.column) + 1,
        })
    }

    /// Every router has as many tiles of each colour as the first.
    pub(super) fn check_tile_counts(&self) -> Result<(), CrayXcError> {
        let mut counts: HashMap<Place, [usize; 4]> = HashMap::new();
        for entry in &self.entries {
            counts.entry(entry.tile.place).or_default()[entry.colour as usize] += 1;
        }
        let first = &self.entries[0];
        let expected = counts[&first.tile.place];
        let mut in_file_order: Vec<_> = self.routers.iter().collect();
        in_file_order.sort_unstable_by_key(|(_, (_, line))| *line);
        for (place, &(router, line)) in in_file_order {
            for colour in Colour::ALL {
                let (found, expected) = (counts[place][colour as usize], expected[colour as usize]);
                if found != expected {
                    return Err(CrayXcError::TileCount {
                        line,
                        router: router.into(),
                        colour: colour.name(),
                        found,
                        expected,
                        first: first.line,
                    });
                }
            }
        }
        Ok(())
    }

    /// Every two groups are linked.
    pub(super) fn check_group_pairs(&self, grid: &Grid) -> Result<(), CrayXcError> {
        let groups = grid.groups.len();
        let mut linked = vec![false; groups * groups];
        let mut first_line = vec![usize::MAX; groups];
        for entry in &self.entries {
            let group = grid.group(entry.tile.place.group);
            first_line[group] = first_line[group].min(entry.line);
            if let Some(peer) = &entry.peer {
                linked[group * groups + grid.group(peer.place.group)] = true;
            }
        }
        for a in 0..groups {
            for b in (0..groups).filter(|&b| b != a) {
                if !linked[a * groups + b] {
                    return Err(CrayXcError::PairMissing {
                        line: first_line[a],
                        a: grid.groups[a].into(),
                        b: grid.groups[b].into(),
                    });
                }
            }
        }
        Ok(())
    }
}
