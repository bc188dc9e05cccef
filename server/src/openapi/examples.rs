//! Example bodies: well formed, but of no real service.

use crate::findings::Fault;
use crate::problem::Code;
use serde_json::{Value, json};
use trefoil_api::{
    ApiKey, ApiKeyPage, ApiKeyState, AttemptPolicy, AttestationForm, AuditEntry, AuditOutcome, AuditPage,
    Authenticated, Authentication, AuthenticationBatch, Base64, BatchCounts, BudgetTrips, CacheCounts,
    ChangedOperator, ChangedPolicy, ChangedTenant, CreateApiKey, CreateOperator, CreateOperatorToken,
    CreateTenant, CreatedApiKey, CreatedOperatorToken, CreatedTenant, DayOfUse, Decision, DeletedTenant,
    DiskRoom, EndedSession, Enrolled, Enrolment, Erased, FheKeys, Filled, FleetNode, Hex, KeyHolderCounts,
    KeyHolderSeat, ListenerConnections, LiveSession, LoggedKey, LoggedRoot, LoginCounts, LoginOutcomes,
    Nonce, Operator, OperatorPage, OperatorToken, OwnTenant, Policy, PolicyPage, PolicyVersion, ProbeMode,
    ProblemCount, ProcessFigures, ProofCounts, ProofNeed, ProofSession, PublishRoot, PublishedRoot, Receipt,
    RegisterIssuerKey, RegisteredIssuerKey, Replaced, RequestTimes, ResetAttempts, ResetMalformed, Revoked,
    RevokedApiKey, Role, RootLogPage, RotationState, RotationStatus, Scope, SealCounts, ServiceStatus,
    SessionPage, SetPolicy, StageTimes, StartedRotation, Subject, SubjectPage, SubjectState, TenantDetail,
    TenantLogins, TenantPage, TenantSummary, Threshold, UsagePage, Vector,
};
use trefoil_attest::{KeySetStatus, PublicKeySet, TrustRoot, TrustedKeySet};

pub(crate) const TENANT: Hex<16> = Hex([0x11; 16]);
pub(crate) const HANDLE: Hex<32> = Hex([0x22; 32]);
pub(crate) const SESSION: Hex<32> = Hex([0x33; 32]);
pub(crate) const KEY: Hex<8> = Hex([1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);
pub(crate) const OPERATOR: Hex<8> = Hex([0x55; 8]);
pub(crate) const DIGEST: Hex<32> = Hex([0x44; 32]);
/// 2026-11-18.
const NOW: u64 = 1_795_000_000;
pub(crate) const AUDIENCE: &str = "https://shop.example";

fn face(turned: f32) -> Vector {
    Vector::new::<128>(std::array::from_fn(|i| (i as f32 * 0.7 + turned).sin()))
}

pub(crate) fn enrolment() -> Enrolment {
    Enrolment::of(vec![face(0.0), face(0.3)], "form 7")
}

pub(crate) fn enrolled() -> Enrolled {
    Enrolled { handle: HANDLE, generation: 1, agreement: Some(0.95), receipt: Some(receipt()) }
}

pub(crate) fn replaced() -> Replaced {
    Replaced { handle: HANDLE, generation: 2, replaced: 1, agreement: Some(0.95), receipt: Some(receipt()) }
}

fn receipt() -> Receipt {
    Receipt { id: DIGEST, attestation: Base64(b"CBOR, longer than this".to_vec()), seal_number: 7 }
}

pub(crate) fn erased() -> Erased {
    Erased { handle: HANDLE, generation: 1, erased_at: NOW, receipt: Some(receipt()) }
}

pub(crate) fn revoked() -> Revoked {
    Revoked { handle: HANDLE, generation: 1, revoked_at: NOW, receipt: Some(receipt()) }
}

pub(crate) fn subject() -> Subject {
    Subject {
        handle: HANDLE,
        generation: 1,
        state: SubjectState::Active,
        revoked_at: None,
        embedder: Some("facenet-128".to_owned()),
        dimension: 128,
        enrolled_at: NOW,
        consent_ref: "form 7".to_owned(),
    }
}

pub(crate) fn subjects() -> SubjectPage {
    SubjectPage { subjects: vec![subject()], next: None }
}

pub(crate) fn sessions() -> SessionPage {
    let session = LiveSession { session_id: SESSION, opened_at: NOW, expires_at: NOW + 3_300 };
    SessionPage { sessions: vec![session], next: None }
}

pub(crate) fn ended_session() -> EndedSession {
    EndedSession { session_id: SESSION, receipt: Some(receipt()) }
}

pub(crate) fn publish_root() -> PublishRoot {
    PublishRoot { statement: Base64(vec![1; 132]), signature: Base64(vec![2; 3309]) }
}

pub(crate) fn published_root() -> PublishedRoot {
    PublishedRoot { generation: 5, generation_min: 4, head: DIGEST, receipt: Some(receipt()) }
}

pub(crate) fn root_log() -> RootLogPage {
    let key = LoggedKey { ml_dsa_65: Base64(vec![3; 1952]), registered_at: NOW };
    let PublishRoot { statement, signature } = publish_root();
    let root = LoggedRoot { statement, signature, published_at: NOW };
    RootLogPage { tenant: TENANT, issuer_keys: vec![key], roots: vec![root], next: None }
}

pub(crate) fn session() -> ProofSession {
    ProofSession { session_id: SESSION, expires_at: NOW + 3_300, receipt: Some(receipt()) }
}

pub(crate) fn authentication() -> Authentication {
    Authentication {
        handle: HANDLE,
        session_id: SESSION,
        audience: AUDIENCE.to_owned(),
        nonce: Nonce::new((0..16).collect()).expect("16 bytes are a nonce"),
        issued_at: NOW,
        embedding: Some(face(0.0)),
        shares: None,
        mac: DIGEST,
        embedder: None,
        source: None,
        attestation: AttestationForm::Compact,
    }
}

pub(crate) fn batch() -> Value {
    json!(AuthenticationBatch { authentications: &[authentication()] })
}

pub(crate) fn authenticated() -> Authenticated {
    let attestation = Some(Base64(b"CBOR, longer than this".to_vec()));
    Authenticated { id: DIGEST, decision: Decision::Match, attestation, seal_number: 7 }
}

pub(crate) fn usage() -> UsagePage {
    let day = NOW - NOW % 86_400;
    let used = DayOfUse { api_key: KEY, day, matched: 60, not_matched: 10, enrolments: 8, refusals: 2 };
    UsagePage { tenant_id: TENANT, usage: vec![used], next: None }
}

pub(crate) fn status() -> ServiceStatus {
    let finding = Fault::CertificateExpires.at("tls.pem", "the certificate expires on 2026-12-01");
    ServiceStatus {
        version: "0.1.0 (commit 0123456789ab)".to_owned(),
        issuer: "https://auth.example".to_owned(),
        started_at: NOW - 3_600,
        now: NOW,
        clock_ms: 3_600_000,
        ready: true,
        attention: vec![finding.do_this("renew it")],
        logins: LoginCounts { submitted: 70, matched: 60, not_matched: 10 },
        batches: BatchCounts { sealed: 3, lanes: 70, lanes_max: 32 },
        seals: SealCounts { stored: 2, pruned: 0, archived: 0, waits: false },
        stage_bounds_s: vec![0.001, 0.002],
        stages: vec![StageTimes { stage: "match".to_owned(), count: 3, seconds: 0.004, below: vec![1, 3] }],
        request_bounds_s: vec![0.016, 0.033],
        requests: vec![RequestTimes {
            method: "POST".to_owned(),
            route: "/v1/authentications".to_owned(),
            status: 200,
            count: 70,
            seconds: 1.4,
            below: vec![10, 69],
        }],
        problems: vec![ProblemCount {
            code: Code::SessionExpired.name().to_owned(),
            route: "/v1/authentications".to_owned(),
            count: 2,
            title: "The proof session has ended".to_owned(),
            cure: Code::SessionExpired.explain().cure.to_owned(),
        }],
        caches: vec![CacheCounts {
            tenant: TENANT,
            name: "shop".to_owned(),
            disabled: false,
            entries: 8,
            capacity: 100_000,
            hits: 62,
            misses: 8,
            evictions: 0,
            admissions_won: 0,
            admissions_lost: 0,
        }],
        tenants: vec![TenantLogins {
            tenant: TENANT,
            name: "shop".to_owned(),
            model: None,
            hour: LoginOutcomes { matched: 40, not_matched: 9, locked_out: 1, turned_away: 0 },
            day: LoginOutcomes { matched: 60, not_matched: 10, locked_out: 1, turned_away: 0 },
            model_refuses: Some(0.2303),
            refuses_too_many: false,
        }],
        nodes: vec![FleetNode {
            name: "auth-1/4711".to_owned(),
            address: "192.0.2.7".to_owned(),
            since: 1_795_000_000,
            keeps_house: true,
            key_set: Some("5a0c11d7".to_owned()),
        }],
        key_holders: vec![KeyHolderSeat {
            seat: 1,
            address: "10.0.0.1:7443".to_owned(),
            away: Some("connection refused".to_owned()),
            silent: 1,
            disagreed: 0,
            lied: 0,
            accused: 0,
        }],
        key_holder: Some(KeyHolderCounts {
            attempts: 70,
            failures: 10,
            enrolments: 8,
            malformed: 0,
            frozen: vec![TENANT],
            budget_trips: 3,
            budget_trips_by_tenant: vec![BudgetTrips { tenant: TENANT, trips: 3, recent: 1 }],
            tenants: 1,
            templates: 8,
        }),
        proofs: ProofCounts { accepted: 8, refused: 0, waiting: 0 },
        queue: Filled { used: 3, limit: 4_096 },
        nonces: Filled { used: 70, limit: 7_000_000 },
        in_flight_limit: 8_192,
        templates: Filled { used: 8, limit: 20_000 },
        disk: DiskRoom { free_bytes: 1 << 38, low_water_bytes: 1 << 28 },
        connections: vec![ListenerConnections {
            listener: "public".to_owned(),
            open: 4,
            limit: 4_096,
            accepted: 9,
            refused: 0,
        }],
        certificate_until: Some(NOW + 5 * 86_400),
        signing_keys_until: Some(NOW + 31_536_000),
        log_lines_lost: 0,
        process: ProcessFigures {
            processor_seconds: Some(12.5),
            memory_bytes: Some(200 << 20),
            open_files: Some(40),
        },
    }
}

pub(crate) fn root() -> TrustRoot {
    let keys = PublicKeySet {
        ml_dsa_65: Box::new([1; 1952]),
        falcon_512: Box::new([2; 897]),
        slh_dsa_sha2_128f: [3; 32],
        not_before: NOW,
        not_after: NOW + 31_536_000,
    };
    let sets = vec![TrustedKeySet { keys, status: KeySetStatus::Active }];
    TrustRoot::new("https://auth.example", sets).expect("one key set is a trust root")
}

pub(crate) fn trust_root() -> Value {
    serde_json::from_str(&root().to_json()).expect("a trust root writes JSON")
}

pub(crate) fn fhe_keys() -> FheKeys {
    FheKeys {
        tenant: TENANT,
        probe_mode: ProbeMode::Plain,
        epochs: vec![1],
        sealing_key: Base64(vec![4; 1216]),
        sealing_key_fingerprint: DIGEST,
    }
}

fn policy() -> Policy {
    Policy {
        embedder: "facenet-128".to_owned(),
        threshold: Threshold::FmrClass(Threshold::DEFAULT_CLASS),
        audiences: vec![AUDIENCE.to_owned()],
        proof: ProofNeed::Credential,
        level_min: 0,
        attempts: AttemptPolicy::default(),
        attestation_lifetime_s: 120,
        probe: ProbeMode::Plain,
        dimension: 128,
        previous: None,
        sessions_in_memory: None,
    }
}

pub(crate) fn set_policy() -> SetPolicy {
    SetPolicy { policy: Policy { level_min: 1, ..policy() } }
}

pub(crate) fn policy_version() -> PolicyVersion {
    let SetPolicy { policy } = set_policy();
    PolicyVersion { policy_id: 1, policy_version: 2, made_at: NOW + 60, policy_digest: DIGEST, policy }
}

pub(crate) fn changed_policy() -> ChangedPolicy {
    ChangedPolicy { version: policy_version(), receipt: Some(receipt()) }
}

pub(crate) fn policies() -> PolicyPage {
    let first = PolicyVersion { policy_version: 1, made_at: NOW, policy: policy(), ..policy_version() };
    PolicyPage { policies: vec![first, policy_version()], next: None }
}

pub(crate) fn create_tenant() -> CreateTenant {
    CreateTenant { name: "shop".to_owned(), policy: policy() }
}

pub(crate) fn created_tenant() -> CreatedTenant {
    CreatedTenant { tenant_id: TENANT, policy_id: 1, receipt: Some(receipt()) }
}

pub(crate) fn tenant() -> TenantSummary {
    TenantSummary {
        tenant_id: TENANT,
        name: "shop".to_owned(),
        dimension: 128,
        created_at: NOW,
        disabled_at: None,
    }
}

pub(crate) fn disabled_tenant() -> ChangedTenant {
    let summary = TenantSummary { disabled_at: Some(NOW + 60), ..tenant() };
    ChangedTenant { summary, receipt: Some(receipt()) }
}

pub(crate) fn deleted_tenant() -> DeletedTenant {
    DeletedTenant { tenant_id: TENANT, templates: 352, deleted_at: NOW + 3_600, receipt: Some(receipt()) }
}

pub(crate) fn enabled_tenant() -> ChangedTenant {
    ChangedTenant { summary: tenant(), receipt: Some(receipt()) }
}

pub(crate) fn reset_attempts() -> ResetAttempts {
    ResetAttempts { receipt: Some(receipt()) }
}

pub(crate) fn own_tenant() -> OwnTenant {
    OwnTenant { tenant_id: TENANT, locked_out: Some(2), distinct_failures_refused: 0 }
}

pub(crate) fn reset_malformed() -> ResetMalformed {
    ResetMalformed { receipt: Some(receipt()) }
}

pub(crate) fn tenants() -> TenantPage {
    TenantPage { tenants: vec![tenant()], next: None }
}

pub(crate) fn shown_tenant() -> TenantDetail {
    TenantDetail {
        summary: tenant(),
        policy_id: 1,
        policy_version: 1,
        policy: policy(),
        root_generation: Some(5),
        distinct_failures_refused: 0,
        locked_out: Some(2),
    }
}

pub(crate) fn create_api_key() -> CreateApiKey {
    let scopes = vec![Scope::Enrol, Scope::Authenticate];
    CreateApiKey { scopes, label: Some("shop front".to_owned()), expires_at: None }
}

pub(crate) fn created_api_key() -> CreatedApiKey {
    CreatedApiKey { api_key: "trefoil_...".to_owned(), id: KEY, expires_at: None, receipt: Some(receipt()) }
}

pub(crate) fn api_key() -> ApiKey {
    ApiKey {
        id: KEY,
        label: "shop front".to_owned(),
        scopes: vec![Scope::Enrol, Scope::Authenticate],
        state: ApiKeyState::Active,
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
        last_used_at: Some(NOW + 3_600),
    }
}

pub(crate) fn revoked_api_key() -> RevokedApiKey {
    let key = ApiKey { state: ApiKeyState::Revoked, revoked_at: Some(NOW + 7_200), ..api_key() };
    RevokedApiKey { key, receipt: Some(receipt()) }
}

pub(crate) fn api_keys() -> ApiKeyPage {
    ApiKeyPage { api_keys: vec![api_key()], next: None }
}

pub(crate) fn register_issuer_key() -> RegisterIssuerKey {
    RegisterIssuerKey { ml_dsa_65: Base64(vec![3; 1952]) }
}

pub(crate) fn registered_issuer_key() -> RegisteredIssuerKey {
    RegisteredIssuerKey { key_id: DIGEST, receipt: Some(receipt()) }
}

pub(crate) fn rotation() -> RotationStatus {
    let (state, epoch) = (RotationState::Running, 2);
    RotationStatus { tenant: TENANT, state, epoch, renewed: 10, left: 90, error: None }
}

pub(crate) fn started_rotation() -> StartedRotation {
    StartedRotation { status: rotation(), receipt: Some(receipt()) }
}

pub(crate) fn create_operator() -> CreateOperator {
    CreateOperator { name: "ann".to_owned(), role: Role::Viewer, expires_at: Some(NOW + 31_536_000) }
}

pub(crate) fn create_operator_token() -> CreateOperatorToken {
    CreateOperatorToken { expires_at: Some(NOW + 31_536_000) }
}

pub(crate) fn created_operator_token() -> CreatedOperatorToken {
    CreatedOperatorToken {
        operator_id: OPERATOR,
        token: "trefoil_operator_...".to_owned(),
        number: 1,
        expires_at: Some(NOW + 31_536_000),
        receipt: Some(receipt()),
    }
}

pub(crate) fn operator() -> Operator {
    let (number, created_at, expires_at) = (1, NOW, Some(NOW + 31_536_000));
    Operator {
        operator_id: OPERATOR,
        name: "ann".to_owned(),
        role: Role::Viewer,
        created_at: Some(NOW),
        revoked_at: None,
        tokens: vec![OperatorToken { number, created_at, expires_at, revoked_at: None }],
    }
}

pub(crate) fn operators() -> OperatorPage {
    OperatorPage { operators: vec![operator()], next: None }
}

pub(crate) fn changed_operator() -> ChangedOperator {
    let mut operator = operator();
    operator.tokens.iter_mut().for_each(|token| token.revoked_at = Some(NOW + 60));
    ChangedOperator { operator, receipt: Some(receipt()) }
}

pub(crate) fn revoked_operator() -> ChangedOperator {
    let operator = Operator { revoked_at: Some(NOW + 60), ..operator() };
    ChangedOperator { operator, receipt: Some(receipt()) }
}

pub(crate) fn audit() -> AuditPage {
    let entry = AuditEntry {
        number: 7,
        at: NOW,
        operator_id: Some(OPERATOR),
        operator_name: Some("ann".to_owned()),
        tenant: Some(TENANT),
        action: "policy_changed".to_owned(),
        outcome: AuditOutcome::Done,
        object: Some("version 2".to_owned()),
        receipt: Some(receipt()),
    };
    AuditPage { entries: vec![entry], next: None }
}
