/**
 * Offline verification: untrusted bytes and a policy give {@link Verified} or one {@link VerifyError}.
 *
 * Cheapest checks first: size and decoding, the policy, the tree, the key set, then the three signatures from the
 * fastest to the slowest. Every check is required; the order only decides which error a bad attestation gets.
 */

import { type Attestation, decodeAttestation } from "./attestation.js";
import { equal, toHex } from "./bytes.js";
import { DecodeError } from "./decode-error.js";
import { accountKeyOf, type DeviceSignature, deviceSigned } from "./device.js";
import { FALCON_512, type Family, ML_DSA_65, SLH_DSA_SHA2_128F } from "./family.js";
import { DANGEROUS_ANY_NONCE, Policy } from "./policy.js";
import { Seal, type SealHeader } from "./seal.js";
import { decodeStatement, type Statement, statementDigest, type Suite } from "./statement.js";
import { utc } from "./time.js";
import { verifyInclusion } from "./tree.js";
import { type KeySet, TrustRoot } from "./trust-root.js";
import { VerifyError, type VerifyErrorCode } from "./verify-error.js";

/** Measured order of verification time in this runtime, about 0.4, 1 and 4 ms. */
const CHEAPEST_FIRST: readonly Family[] = [FALCON_512, ML_DSA_65, SLH_DSA_SHA2_128F];

type Parts = readonly [Statement, Uint8Array, bigint, SealHeader, Uint8Array | undefined];

let newVerified: (...parts: Parts) => Verified;

/** An attestation for which every check passed. Only {@link verify} and {@link verifyWithSeal} make one. */
export class Verified {
  /** What was attested. */
  readonly statement: Statement;
  /** SHA3-256 of the statement: its entry in the tree. */
  readonly statementDigest: Uint8Array;
  /** The statement's leaf. */
  readonly leafIndex: bigint;
  /** The seal that covers it. */
  readonly seal: SealHeader;
  /**
   * The id of the key with which the device signed this login, to keep with the account; absent where no signature was joined. It is the
   * account's key only if the policy demanded it: else the service could have put any key here.
   */
  readonly accountKey: Uint8Array | undefined;

  private constructor(...parts: Parts) {
    [this.statement, this.statementDigest, this.leafIndex, this.seal, this.accountKey] = parts;
    Object.freeze(this);
  }

  static {
    newVerified = (...parts) => new Verified(...parts);
  }
}

/** Verifies a full attestation against `policy` at `now` (Unix seconds); refuses with a {@link VerifyError}. */
export function verify(bytes: Uint8Array, policy: Policy, now: number): Verified {
  checkArguments(policy, now);
  return verifyAttestation(bytes, undefined, policy, now);
}

/**
 * Verifies a compact attestation with the seal that it names (or a full one, whose seal must then be the same);
 * refuses with a {@link VerifyError}.
 */
export function verifyWithSeal(bytes: Uint8Array, seal: Seal, policy: Policy, now: number): Verified {
  checkArguments(policy, now);
  checkSeal(seal);
  return verifyAttestation(bytes, seal, policy, now);
}

/**
 * Verifies the three signatures of a seal, its issuer, and that its key set was allowed to sign at its time; refuses
 * with a {@link VerifyError}.
 */
export function verifySeal(seal: Seal, trustRoot: TrustRoot): void {
  checkSeal(seal);
  if (!(trustRoot instanceof TrustRoot)) throw new TypeError("trustRoot must be a TrustRoot");
  const { header } = seal;
  if (header.issuer !== trustRoot.issuer) throw otherIssuer(header.issuer);
  const { publicKeys } = signingKeys(header, trustRoot);
  for (const family of CHEAPEST_FIRST) {
    if (!seal.isSignedBy(family, publicKeys[family.id])) throw VerifyError.signature(family);
  }
}

/** Mistakes of the caller, not of the attestation. */
function checkArguments(policy: Policy, now: number): void {
  if (!(policy instanceof Policy)) throw new TypeError("policy must be a Policy");
  checkNow(now);
}

export function checkSeal(seal: Seal): void {
  if (!(seal instanceof Seal)) throw new TypeError("seal must be a Seal; make one with Seal.decode");
}

export function checkNow(now: number): void {
  if (!Number.isSafeInteger(now) || now < 0) throw new RangeError("now must be whole Unix seconds");
}

export function decoded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw error instanceof DecodeError ? VerifyError.undecodable(error) : error;
  }
}

/** The seal that an attestation or receipt carries, or the one passed, which must be the one that it names. */
export function sealOf({ evidence }: Attestation, passed: Seal | undefined, what: "attestation" | "receipt"): Seal {
  if (passed === undefined) {
    if (evidence.form === "full") return evidence.seal;
    const { sealNumber } = evidence.reference;
    const message = `compact ${what}; fetch seal ${sealNumber} from the issuer and pass it too`;
    throw new VerifyError("seal-needed", message, { seal: evidence.reference });
  }
  const named = evidence.form === "full" ? evidence.seal.reference() : evidence.reference;
  const other = passed.reference();
  if (named.sealNumber === other.sealNumber && equal(named.digest, other.digest)) return passed;
  const message = `the seal passed is not the one named; fetch seal ${named.sealNumber} from the issuer`;
  throw new VerifyError("other-seal", message, { seal: named });
}

/** The digest of what an attestation or receipt states, which is in the tree under this seal; the seal's signatures hold. */
export function sealedDigest(
  { statement, leafIndex, treeSize, path }: Attestation,
  what: "attestation" | "receipt",
  suite: Suite,
  seal: Seal,
  trustRoot: TrustRoot,
): Uint8Array {
  const { header } = seal;
  const stated = what === "receipt" ? "change" : "statement";
  refuseIf(header.suite !== suite, "suite-mismatch", `${stated} and seal name different suites; do not accept`);
  refuseIf(
    header.treeSize !== treeSize,
    "tree-size-mismatch",
    `${what} and seal name different tree sizes; do not accept`,
  );
  const digest = statementDigest(statement);
  refuseIf(
    !verifyInclusion(digest, leafIndex, treeSize, path, header.root),
    "not-in-tree",
    `the ${stated} is not in the sealed tree; do not accept`,
  );
  verifySeal(seal, trustRoot);
  return digest;
}

export function refuseIf(refused: boolean, code: VerifyErrorCode, message: string): void {
  if (refused) throw new VerifyError(code, message);
}

function verifyAttestation(bytes: Uint8Array, passed: Seal | undefined, policy: Policy, now: number): Verified {
  const attestation = decoded(() => decodeAttestation(bytes));
  const seal = sealOf(attestation, passed, "attestation");
  const statement = decoded(() => decodeStatement(attestation.statement));
  const { header } = seal;
  checkAddressee(statement, policy);
  checkRequirements(statement, policy);
  checkTime(statement, header, policy.clockSkew, BigInt(now));
  const key = checkDevice(statement, attestation.device, policy.accountKey);
  const digest = sealedDigest(attestation, "attestation", statement.suite, seal, policy.trustRoot);
  return newVerified(statement, digest, attestation.leafIndex, header, key);
}

export function otherIssuer(found: string): VerifyError {
  return new VerifyError("issuer", `issued by ${found}, not by the trust root's issuer; do not accept`);
}

/** Who stated it, for whom, about whom. */
function checkAddressee(statement: Statement, policy: Policy): void {
  const { issuer, audience } = statement;
  const { nonce, tenant, account, requestDigest } = policy;
  if (issuer !== policy.trustRoot.issuer) throw otherIssuer(issuer);
  refuseIf(
    audience !== policy.audience,
    "audience",
    `made for ${audience}, not for this relying party; do not accept`,
  );
  refuseIf(
    nonce !== DANGEROUS_ANY_NONCE && !equal(nonce, statement.nonce),
    "nonce",
    "the nonce is not the one issued; treat as a replay",
  );
  refuseIf(
    tenant !== undefined && !equal(tenant, statement.tenant),
    "tenant",
    "another tenant than required; do not accept",
  );
  refuseIf(
    account !== undefined && !equal(account, statement.account),
    "account",
    "another account than required; do not accept",
  );
  refuseIf(
    requestDigest !== undefined && !equal(requestDigest, statement.requestDigest),
    "request-digest",
    "made for another request; do not accept",
  );
}

/** What was decided, and how. */
function checkRequirements(statement: Statement, policy: Policy): void {
  const { decision, probeMode, proof, policyId, policyVersion: version, fmrClass } = statement;
  const { proofLevel, policyVersion } = policy;
  refuseIf(
    policy.decision !== undefined && policy.decision !== decision,
    "decision",
    `the decision is ${decision}; nobody was authenticated`,
  );
  refuseIf(
    policy.probeMode !== undefined && policy.probeMode !== probeMode,
    "probe-mode",
    `probe mode ${probeMode} is not the required one`,
  );
  refuseIf(
    proofLevel !== undefined && proof === undefined,
    "no-proof",
    "no credential proof: the tenant's application alone vouched for the request; do not accept, unless your policy " +
      "says that this is enough",
  );
  refuseIf(
    proofLevel !== undefined && proof !== undefined && proof.level < proofLevel,
    "proof-level",
    "the credential proof is below the required level; ask for a step-up",
  );
  refuseIf(
    policyVersion !== undefined && (policyId !== policyVersion.id || version < policyVersion.version),
    "policy-version",
    "made under another policy or an older version; authenticate again",
  );
  refuseIf(
    fmrClass < policy.fmrClass,
    "fmr-class",
    `false-match class ${fmrClass} is weaker than required`,
  );
}

/** The device signed this login, with the pinned key if one is. */
function checkDevice(
  statement: Statement,
  device: DeviceSignature | undefined,
  pinned: Uint8Array | undefined,
): Uint8Array | undefined {
  if (pinned !== undefined && statement.proof === undefined) {
    throw new VerifyError("no-proof", "no credential proof, and so nothing of the account's device; do not accept");
  }
  if (device === undefined) {
    const message = "the account's device did not sign this login; do not accept, a stolen service can say it too";
    refuseIf(pinned !== undefined, "no-device-signature", message);
    return undefined;
  }
  const id = accountKeyOf(device);
  refuseIf(
    pinned !== undefined && !equal(pinned, id),
    "account-key",
    "signed with another key than the account's; do not accept",
  );
  refuseIf(
    !deviceSigned(statement, device),
    "device-signature",
    "the device's signature is not of this login; do not accept",
  );
  return id;
}

/** The statement holds now, and the seal was made after it and not in the future. */
function checkTime(statement: Statement, header: SealHeader, skew: bigint, now: bigint): void {
  const { issuedAt, expiresAt } = statement;
  const latest = now + skew;
  refuseIf(issuedAt > latest, "not-yet-valid", `issued at ${utc(issuedAt)}, in the future; check the clocks`);
  refuseIf(now >= expiresAt + skew, "expired", `expired at ${utc(expiresAt)}; authenticate again`);
  refuseIf(
    header.time > latest || header.time + skew < issuedAt,
    "seal-time",
    `sealed at ${utc(header.time)}, before its statement or in the future`,
  );
}

/** The key set that the header names, if it was allowed to sign then. */
function signingKeys(header: SealHeader, trustRoot: TrustRoot): KeySet {
  const { keySetId, time } = header;
  const named = `key set ${toHex(keySetId)}`;
  const keys = trustRoot.keySet(keySetId);
  if (keys === undefined) {
    const message = `${named} is not in the trust root; update it from the issuer`;
    throw new VerifyError("unknown-key-set", message);
  }
  const { status, notBefore, notAfter } = keys;
  if (status.state !== "active") {
    const { state, since } = status;
    refuseIf(
      state === "revoked",
      "revoked-key-set",
      `${named} is revoked since ${utc(since)}; do not accept`,
    );
    refuseIf(
      time >= since,
      "retired-key-set",
      `${named} was retired at ${utc(since)}, before this seal; do not accept`,
    );
  }
  refuseIf(
    time < notBefore || time >= notAfter,
    "key-set-validity",
    `sealed at ${utc(time)}, outside the validity of ${named}`,
  );
  return keys;
}
