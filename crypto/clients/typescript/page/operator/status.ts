/** The part of `GET /v1/status` that the page shows; the service's description has all of it. */

export interface Finding {
  readonly level: "ok" | "warning" | "broken";
  readonly code: string;
  readonly place: string;
  readonly what: string;
  readonly remedy: string;
}

/** Durations since the start: how many, their sum, and how many are below each bound. */
export interface Durations {
  readonly count: number;
  readonly seconds: number;
  readonly below: readonly number[];
}

export interface RequestTimes extends Durations {
  readonly method: string;
  readonly route: string;
  readonly status: number;
}

export interface ProblemCount {
  readonly code: string;
  readonly route: string;
  readonly count: number;
  readonly title: string;
  readonly cure: string;
}

export interface CacheCounts {
  readonly tenant: string;
  readonly name: string;
  readonly disabled: boolean;
  readonly entries: number;
  readonly capacity: number;
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
  readonly admissions_won: number;
  readonly admissions_lost: number;
}

/** Logins by their end. */
export interface LoginOutcomes {
  readonly matched: number;
  readonly not_matched: number;
  readonly locked_out: number;
  readonly turned_away: number;
}

/** How the logins of a tenant ended lately; of a tenant with two models, those with one of them. */
export interface TenantLogins {
  readonly tenant: string;
  readonly model: string | null;
  readonly hour: LoginOutcomes;
  readonly day: LoginOutcomes;
  readonly model_refuses: number | null;
}

export interface KeyHolderSeat {
  readonly seat: number;
  readonly address: string;
  readonly away: string | null;
  readonly silent: number;
  readonly disagreed: number;
  readonly lied: number;
  readonly accused: number;
}

/** Attempts on a tenant's subjects that were refused because a budget was spent. */
export interface BudgetTrips {
  readonly tenant: string;
  readonly trips: number;
  readonly recent: number;
}

export interface KeyHolderCounts {
  readonly attempts: number;
  readonly failures: number;
  readonly enrolments: number;
  readonly malformed: number;
  readonly frozen: readonly string[];
  readonly budget_trips: number;
  readonly budget_trips_by_tenant: readonly BudgetTrips[];
  readonly tenants: number;
  readonly templates: number;
}

export interface Filled {
  readonly used: number;
  readonly limit: number;
}

/** Counts are since `started_at`. */
export interface Status {
  readonly version: string;
  readonly issuer: string;
  readonly started_at: number;
  readonly now: number;
  readonly clock_ms: number;
  readonly ready: boolean;
  readonly attention: readonly Finding[];
  readonly logins: { readonly submitted: number; readonly matched: number; readonly not_matched: number };
  readonly batches: { readonly sealed: number; readonly lanes: number; readonly lanes_max: number };
  readonly seals: { readonly stored: number; readonly pruned: number; readonly archived: number; readonly waits: boolean };
  readonly stage_bounds_s: readonly number[];
  readonly stages: readonly ({ readonly stage: string } & Durations)[];
  readonly request_bounds_s: readonly number[];
  readonly requests: readonly RequestTimes[];
  readonly problems: readonly ProblemCount[];
  readonly caches: readonly CacheCounts[];
  readonly tenants: readonly TenantLogins[];
  readonly key_holders: readonly KeyHolderSeat[];
  readonly key_holder: KeyHolderCounts | null;
  readonly proofs: { readonly accepted: number; readonly refused: number; readonly waiting: number };
  readonly queue: Filled;
  readonly nonces: Filled;
  readonly in_flight_limit: number;
  readonly templates: Filled;
  readonly disk: { readonly free_bytes: number; readonly low_water_bytes: number };
  readonly connections: readonly ({ readonly listener: string; readonly open: number; readonly limit: number; readonly refused: number })[];
  readonly certificate_until: number | null;
  readonly signing_keys_until: number | null;
  readonly log_lines_lost: number;
  readonly process: {
    readonly processor_seconds: number | null;
    readonly memory_bytes: number | null;
    readonly open_files: number | null;
  };
}
