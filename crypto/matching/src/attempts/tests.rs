use super::*;

const POLICY: AttemptPolicy = AttemptPolicy {
    consecutive: 3,
    delay_s: 30,
    failures_per_day: 5,
    failures_per_generation: 8,
    attempts_per_day: 12,
    attempts_per_generation: 40,
};
/// No delay after failures in a row.
const PATIENT: AttemptPolicy = AttemptPolicy { consecutive: u32::MAX, ..POLICY };
const NOON: u64 = 1_000 * SECONDS_PER_DAY + 43_200;

fn ledger() -> Ledger {
    Ledger::restore(&AttemptRecord::default(), 0)
}

/// What is counted, without the rounding of the stored form: day, its failures and attempts, those of the generation.
fn counted(ledger: &Ledger) -> [u64; 5] {
    let (today, life) = (Today::of(ledger.today.load(Relaxed)), Life::of(ledger.life.load(Relaxed)));
    let counts = [today.failures, today.attempts, life.failures, life.attempts].map(u64::from);
    [today.day, counts[0], counts[1], counts[2], counts[3]]
}

#[test]
fn failures_in_a_row_delay_the_next_attempt() {
    let ledger = ledger();
    assert!((0..3).all(|_| ledger.charge(&POLICY, NOON)));
    assert!(!ledger.charge(&POLICY, NOON + 29) && !ledger.allows(&POLICY, NOON + 29));
    // The delay is over, but the row is not: one more failure delays again.
    assert!(ledger.allows(&POLICY, NOON + 30) && ledger.charge(&POLICY, NOON + 30));
    assert!(!ledger.charge(&POLICY, NOON + 59));
    assert!(ledger.charge(&POLICY, NOON + 60));
}

/// A day is a calendar day in UTC: at midnight its budget is there again, and then not for 24 hours.
#[test]
fn two_days_of_attempts_are_minutes_apart_at_midnight() {
    let policy = AttemptPolicy { failures_per_generation: 100, ..PATIENT };
    let (ledger, midnight) = (ledger(), NOON + SECONDS_PER_DAY / 2);
    for now in [midnight - 60, midnight] {
        assert!((0..policy.failures_per_day).all(|_| ledger.charge(&policy, now)));
        assert!(!ledger.charge(&policy, now));
    }
    assert!(!ledger.charge(&policy, midnight + SECONDS_PER_DAY - 1));
    assert!(ledger.charge(&policy, midnight + SECONDS_PER_DAY));
}

#[test]
fn a_clock_that_is_set_back_opens_no_day_again_and_a_late_match_takes_nothing_from_another_day() {
    let ledger = ledger();
    assert!((0..5).all(|_| ledger.charge(&PATIENT, NOON)));
    assert!(!ledger.charge(&PATIENT, NOON - SECONDS_PER_DAY));
    let tomorrow = NOON + SECONDS_PER_DAY;
    assert!(ledger.charge(&PATIENT, tomorrow));
    ledger.matched(NOON);
    assert_eq!(counted(&ledger), [1001, 1, 1, 5, 6]);
}

#[test]
fn a_zero_budget_allows_nothing_and_the_end_of_time_does_not_wrap() {
    let ledger = ledger();
    for none in [
        AttemptPolicy { failures_per_day: 0, ..POLICY },
        AttemptPolicy { attempts_per_day: 0, ..POLICY },
        AttemptPolicy { failures_per_generation: 0, ..POLICY },
        AttemptPolicy { attempts_per_generation: 0, ..POLICY },
    ] {
        assert!(!ledger.charge(&none, NOON));
    }
    assert_eq!(counted(&ledger)[1..], [0; 4], "what one word refuses the others take back");
    assert!(ledger.charge(&AttemptPolicy { consecutive: 0, ..POLICY }, u64::MAX - 1));
    assert_eq!(ledger.record().retry_at, TIME_MAX);
}

#[test]
fn counters_saturate_where_nothing_is_limited() {
    let full = AttemptRecord {
        consecutive: ROW_MAX,
        day: NOON / SECONDS_PER_DAY,
        day_failures: DAY_COUNT_MAX,
        day_attempts: DAY_COUNT_MAX,
        generation_failures: u32::MAX,
        generation_attempts: u32::MAX,
        ..AttemptRecord::default()
    };
    let ledger = Ledger::restore(&full, 0);
    assert!(ledger.charge(&AttemptPolicy::UNLIMITED, NOON));
    let limit = u64::from(DAY_COUNT_MAX);
    assert_eq!(counted(&ledger), [1000, limit, limit, u32::MAX.into(), u32::MAX.into()]);
    assert!(!Ledger::restore(&full, 0).charge(&POLICY, NOON));
}

/// Claim M10.
#[test]
fn attempts_are_on_record_before_they_are_made_and_a_restart_forgets_none() {
    let limits = AttemptPolicy { attempts_per_day: 200, attempts_per_generation: 2_000, ..PATIENT };
    let ledger = ledger();
    let mut stored = AttemptRecord::default();
    let mut writes = 0;
    for made in 1..=100 {
        assert!(ledger.charge(&limits, NOON));
        if ledger.needs_reservation(&limits) {
            let record = ledger.reservation();
            assert!(record.version > stored.version);
            assert_eq!((record.consecutive, record.generation_failures, record.day_failures), (0, 0, 0));
            ledger.recorded(&record);
            (stored, writes) = (record, writes + 1);
        }
        ledger.matched(NOON);
        assert!(stored.generation_attempts >= made && stored.generation_attempts < made + RESERVED_AT_A_TIME);
        let restored = Ledger::restore(&stored, 0);
        assert!(counted(&restored)[4] >= u64::from(made) && !restored.needs_reservation(&limits));
    }
    assert_eq!(writes, 7);
    let tomorrow = NOON + SECONDS_PER_DAY;
    assert!(ledger.charge(&limits, tomorrow) && ledger.needs_reservation(&limits), "a day begins on record");
    let mut stored = ledger.record();
    ledger.recorded(&stored);
    // What is reserved for the life of a template is so for the day, wherever in it the day began.
    for made in 2..=40 {
        assert!(ledger.charge(&limits, tomorrow));
        if ledger.needs_reservation(&limits) {
            stored = ledger.reservation();
            ledger.recorded(&stored);
        }
        ledger.matched(tomorrow);
        assert!(stored.day_attempts >= made, "{made}: {stored:?}");
    }
    assert!(ledger.charge(&AttemptPolicy::UNLIMITED, NOON));
    assert!(
        !ledger.needs_reservation(&AttemptPolicy::UNLIMITED),
        "what is not limited need not be on record"
    );
}

#[test]
fn what_is_stored_is_what_is_restored() {
    let record = AttemptRecord {
        consecutive: 2,
        retry_at: NOON + 5,
        day: 1000,
        day_failures: 3,
        day_attempts: 32,
        generation_failures: 7,
        generation_attempts: 160,
        version: 9,
    };
    assert_eq!(Ledger::restore(&record, 4).record(), AttemptRecord { version: 10, ..record });
}

/// Threads that charge, match and give up at the same time never exceed a budget together, and nothing is left when all is taken back.
#[test]
fn concurrent_attempts_share_one_budget() {
    for round in 0..50 {
        let ledger = ledger();
        let allowed = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let (ledger, allowed) = (&ledger, &allowed);
                scope.spawn(move || {
                    for attempt in 0..10u32 {
                        if !ledger.charge(&PATIENT, NOON) {
                            continue;
                        }
                        match (thread + attempt + round) % 3 {
                            0 => ledger.uncharge(NOON),
                            1 => {
                                ledger.matched(NOON);
                                allowed.fetch_add(1, Relaxed);
                            }
                            _ => drop(allowed.fetch_add(1, Relaxed)),
                        }
                    }
                });
            }
        });
        let [_, day_failures, day_attempts, failures, attempts] = counted(&ledger);
        assert!(
            day_failures <= 5 && day_attempts <= 12 && (failures, attempts) == (day_failures, day_attempts)
        );
        assert_eq!(attempts, u64::from(allowed.load(Relaxed)));
    }
}
