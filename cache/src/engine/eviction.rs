//! Which entry of a full set makes room: W-TinyLFU within a set, with the window's size as a parameter.
//!
//! A set divides its entries into *window* and *main*. A new entry enters the window and stays for a
//! while whatever its frequency, so a session that begins now is cached even beside old popular ones.
//! When the window is full, its oldest entry competes with the least valuable one of main: the one
//! that was asked for more often stays, and if that is the window's, it moves over to main. How large
//! the window should be depends on the traffic: a [`Tactic`] says so, and [`super::trials`] chooses it.
//!
//! Pure functions of what the set knows about its entries; the table holds and publishes that.

use super::sketch::MAX_COUNT;

/// Entries of a set. One byte of tag each fills half a cache line, and a five-bit rank and four bits
/// of heat make a 16-bit score. More ways come closer to a table without sets: with 16 the mean hit
/// ratio over recorded traces was 0.3 points lower.
pub(super) const WAYS: usize = 32;

/// One bit for each way.
pub(super) type Ways = u32;

/// How a set chooses: what is learnt from traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tactic {
    /// Share of a set that is window, in 256ths.
    pub(super) window: u8,
    /// Whether an entry of main that was asked for since the last round is spared before frequencies
    /// are compared.
    pub(super) spares_recent: bool,
    /// By how much more often than the least of main an entry of the window must have been asked for.
    pub(super) lead: u8,
}

/// What a set knows about its entries, apart from the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// Age order of the usable ways: 0 the newest.
    pub(super) rank: [u8; WAYS],
    /// Frequency, at most [`MAX_COUNT`].
    pub(super) heat: [u8; WAYS],
    /// Asked for since the last round.
    pub(super) recent: Ways,
    /// In main; the others are in the window.
    pub(super) main: Ways,
}

/// Who makes room, and how that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Displacement {
    /// Whose entry goes.
    pub(super) way: usize,
    /// Entries that moved from the window to main.
    pub(super) migrations: u8,
    /// Whether the oldest of the window stayed, where it competed with one of main.
    pub(super) stayed: Option<bool>,
}

/// The lowest `n` ways.
pub(super) fn lowest(n: usize) -> Ways {
    if n >= WAYS { Ways::MAX } else { (1 << n) - 1 }
}

impl Tactic {
    /// Ways of the window in a set of `usable` ways. Fractions are settled by `dither`, an even number
    /// in 0..256 for each set, so that they are right on average over the sets.
    pub(super) fn window_of(self, usable: usize, dither: u8) -> usize {
        let exact = usize::from(self.window) * usable + usize::from(dither);
        (exact >> 8).clamp(1, usable.saturating_sub(1).max(1))
    }
}

impl Standing {
    /// Nothing known, way 0 the newest.
    pub(super) const INITIAL: Self = Self {
        rank: {
            let mut rank = [0; WAYS];
            let mut way = 0;
            while way < WAYS {
                rank[way] = way as u8;
                way += 1;
            }
            rank
        },
        heat: [0; WAYS],
        recent: 0,
        main: 0,
    };

    /// Makes room in a set whose `usable` ways are all taken; says whose entry goes, and why.
    pub(super) fn displace(&mut self, usable: Ways, window: usize, tactic: Tactic) -> Displacement {
        let held = (usable & !self.main).count_ones() as usize;
        let main = self.main;
        let moved = |standing: &Self| (standing.main & !main).count_ones() as u8;
        if held > window {
            // The window shrinks: what is oldest in it moves to main, two for the one that comes.
            for _ in 0..2 {
                if let Some(oldest) = self.oldest_of_window(usable) {
                    self.main |= 1 << oldest;
                }
            }
        }
        let Some(victim) = self.least_of_main(usable, tactic) else {
            let way = self.oldest_of_window(usable).unwrap_or(0);
            return Displacement { way, migrations: moved(self), stayed: None };
        };
        if held == window {
            let Some(candidate) = self.oldest_of_window(usable) else {
                return Displacement { way: victim, migrations: moved(self), stayed: None };
            };
            if !self.outdoes(candidate, victim, tactic.lead) {
                return Displacement { way: candidate, migrations: moved(self), stayed: Some(false) };
            }
            self.end_round_if_over(usable, tactic);
            self.main |= 1 << candidate;
            self.recent &= !(1 << candidate);
            self.renew(candidate);
            return Displacement { way: victim, migrations: moved(self), stayed: Some(true) };
        }
        self.end_round_if_over(usable, tactic);
        Displacement { way: victim, migrations: moved(self), stayed: None }
    }

    /// Gives `way` to a new entry.
    pub(super) fn seat(&mut self, way: usize, heat: u8, in_main: bool) {
        self.heat[way] = heat;
        self.recent &= !(1 << way);
        self.main = self.main & !(1 << way) | Ways::from(in_main) << way;
        self.renew(way);
    }

    /// Notes a request for the entry at `way`.
    pub(super) fn warm(&mut self, way: usize) {
        self.heat[way] = warmer(self.heat[way]);
        self.recent |= 1 << way;
    }

    /// The ways whose next request changes nothing.
    pub(super) fn settled(&self) -> Ways {
        let hottest = |ways, (way, &heat): (usize, &u8)| ways | Ways::from(heat == MAX_COUNT) << way;
        self.recent & self.heat.iter().enumerate().fold(0, hottest)
    }

    /// Halves all frequencies `times` times.
    pub(super) fn age(&mut self, times: u32) {
        for heat in &mut self.heat {
            *heat >>= times.min(7);
        }
    }

    /// Makes `way` the newest; the newer ones move back by one.
    fn renew(&mut self, way: usize) {
        let from = self.rank[way];
        for rank in &mut self.rank {
            *rank += u8::from(*rank < from);
        }
        self.rank[way] = 0;
    }

    fn outdoes(&self, candidate: usize, victim: usize, lead: u8) -> bool {
        let recent = |way: usize| self.recent >> way & 1;
        (self.heat[candidate], recent(candidate)) > (self.heat[victim] + lead, recent(victim))
    }

    /// The entry of main that is worth least: of equals the oldest. Branchless, so that it is a few
    /// vector instructions: the score's bits are, from the top, not in main, spared, heat, newness, way.
    fn least_of_main(&self, usable: Ways, tactic: Tactic) -> Option<usize> {
        let out = !(usable & self.main);
        let spared = if tactic.spares_recent { self.recent } else { 0 };
        let mut least = u16::MAX;
        for way in 0..WAYS {
            let bit = |ways: Ways| (ways >> way & 1) as u16;
            let newness = WAYS as u16 - 1 - u16::from(self.rank[way]);
            let worth = bit(out) << 15 | bit(spared) << 14 | u16::from(self.heat[way]) << 10;
            least = least.min(worth | newness << 5 | way as u16);
        }
        (least >> 15 == 0).then_some(usize::from(least) % WAYS)
    }

    fn oldest_of_window(&self, usable: Ways) -> Option<usize> {
        let window = usable & !self.main;
        let mut oldest = 0;
        for way in 0..WAYS {
            let held = (window >> way & 1) as u16;
            oldest = oldest.max(held << 10 | u16::from(self.rank[way]) << 5 | way as u16);
        }
        (oldest >> 10 == 1).then_some(usize::from(oldest) % WAYS)
    }

    /// When everything in main was asked for, nothing stands out: a new round begins.
    fn end_round_if_over(&mut self, usable: Ways, tactic: Tactic) {
        if tactic.spares_recent && usable & self.main & !self.recent == 0 {
            self.recent = 0;
        }
    }
}

/// The heat of an entry after a request.
#[inline(always)]
pub(super) fn warmer(heat: u8) -> u8 {
    if heat < MAX_COUNT { heat + 1 } else { heat }
}

/// An even number in 0..256 for each set.
pub(super) fn dither(set: usize) -> u8 {
    ((set as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Tactic = Tactic { window: 64, spares_recent: false, lead: 0 };
    const ALL: Ways = Ways::MAX;
    /// Entries seated one after the other, at most.
    const SEATED: usize = if cfg!(miri) { 20 } else { 90 };

    /// A set in which ways 0 to 7, the newest, are the window.
    fn standing() -> Standing {
        Standing { main: ALL << 8, heat: [5; WAYS], ..Standing::INITIAL }
    }

    fn ranks_are_an_order(standing: &Standing) -> bool {
        let mut ranks = standing.rank;
        ranks.sort_unstable();
        ranks.iter().enumerate().all(|(i, &rank)| usize::from(rank) == i)
    }

    proptest! {
        #[test]
        fn seating_moves_one_way_to_the_front(seated in prop::collection::vec(0..WAYS, 0..SEATED)) {
            let mut standing = Standing::INITIAL;
            let mut model: Vec<usize> = (0..WAYS).collect();
            for way in seated {
                standing.seat(way, 1, true);
                model.retain(|&w| w != way);
                model.insert(0, way);
                prop_assert!(model.iter().enumerate().all(|(i, &w)| usize::from(standing.rank[w]) == i));
            }
        }

        #[test]
        fn a_usable_way_makes_room_whatever_the_standing(
            heat in prop::array::uniform32(0..=MAX_COUNT),
            recent: Ways,
            main: Ways,
            usable in 1..=WAYS,
            share: u8,
            dither: u8,
            spares_recent: bool,
        ) {
            let tactic = Tactic { window: share, spares_recent, lead: 0 };
            let window = tactic.window_of(usable, dither);
            let mut standing = Standing { heat, recent, main, ..Standing::INITIAL };
            let held = (lowest(usable) & !main).count_ones() as usize;
            let way = standing.displace(lowest(usable), window, tactic).way;
            prop_assert!(way < usable);
            standing.seat(way, 1, false);
            prop_assert!(ranks_are_an_order(&standing));
            // The window approaches its size by one with every entry that comes.
            let after = (lowest(usable) & !standing.main).count_ones() as usize;
            let expected = if held < window { held + 1 } else { held.saturating_sub(1).max(window) };
            prop_assert!(after == expected || usable == 1, "{held} -> {after}, window {window} of {usable}");
        }
    }

    #[test]
    fn the_more_frequent_stays() {
        let mut cold = standing();
        (cold.heat[20], cold.heat[7]) = (2, 3);
        assert_eq!(cold.displace(ALL, 8, PLAIN), Displacement { way: 20, migrations: 1, stayed: Some(true) });
        assert!(cold.main >> 7 & 1 == 1 && cold.rank[7] == 0, "the candidate moved to main as its newest");
        let mut equal = standing();
        (equal.heat[20], equal.heat[7]) = (2, 2);
        assert_eq!(
            equal.displace(ALL, 8, PLAIN),
            Displacement { way: 7, migrations: 0, stayed: Some(false) }
        );
        let mut asked = standing();
        (asked.heat[20], asked.heat[7], asked.recent) = (2, 2, 1 << 7);
        assert_eq!(asked.displace(ALL, 8, PLAIN).way, 20);
        let mut led = standing();
        (led.heat[20], led.heat[7]) = (2, 3);
        assert_eq!(led.displace(ALL, 8, Tactic { lead: 1, ..PLAIN }).way, 7);
    }

    #[test]
    fn among_equals_the_oldest_goes() {
        let mut standing = standing();
        standing.heat[7] = 6;
        assert_eq!(standing.displace(ALL, 8, PLAIN).way, 31);
    }

    #[test]
    fn recent_entries_are_spared_until_all_are_recent() {
        let sparing = Tactic { spares_recent: true, ..PLAIN };
        let mut some = standing();
        (some.recent, some.heat[7]) = (ALL << 9, 9);
        assert_eq!(some.displace(ALL, 8, sparing).way, 8);
        assert_ne!(some.recent, 0);
        let mut all = standing();
        (all.recent, all.heat[7]) = (ALL << 8, 9);
        assert_eq!(all.displace(ALL, 8, sparing).way, 31);
        assert_eq!(all.recent, 0, "a new round");
    }

    #[test]
    fn heat_saturates_and_ages() {
        assert_eq!((warmer(0), warmer(14), warmer(15)), (1, 15, 15));
        let mut standing = standing();
        standing.age(1);
        assert_eq!(standing.heat, [2; WAYS]);
        standing.age(u32::MAX);
        assert_eq!(standing.heat, [0; WAYS]);
    }

    #[test]
    fn fractions_of_a_window_are_right_on_average() {
        let tactic = Tactic { window: 20, ..PLAIN };
        let sum: usize = (0..=255).map(|dither| tactic.window_of(32, dither)).sum();
        assert_eq!(sum, 20 * 32, "256 sets of 2.5 ways");
        assert_eq!(tactic.window_of(1, 0), 1);
    }
}
