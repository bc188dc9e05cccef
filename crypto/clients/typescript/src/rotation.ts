/** From one version of a trust root to the next: who must sign, and what may change. */

import { equal, toHex } from "./bytes.js";
import { Writer } from "./cbor.js";
import { FAMILIES, type Family } from "./family.js";
import { TREFOIL_CLAIM } from "./statement.js";
import { type Cosignature, type KeySet, TRUST_ROOT_FORMAT, TrustRoot } from "./trust-root.js";

/** Stable names for programs, the same in every verifier of these formats. */
export const UPDATE_ERROR_CODES = [
  "issuer",
  "rollback",
  "fork",
  "skipped",
  "other-previous",
  "vanished",
  "resurrected",
  "not-cosigned-by-old",
  "not-cosigned-by-new",
  "never-active",
  "unexpected-cosigner",
  "signature",
] as const;

export type UpdateErrorCode = (typeof UPDATE_ERROR_CODES)[number];

/** A trust root that is not the next version of the pinned one. */
export class UpdateError extends Error {
  override readonly name = "UpdateError";
  readonly code: UpdateErrorCode;

  constructor(code: UpdateErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

// COSE header labels: alg and kid (RFC 9052), CWT claims (RFC 9597).
const ALG = 1;
const KID = 4;
const CWT_CLAIMS = 15;
/** The one suite there is. */
const SUITE = 1;

/**
 * Checks that `next` is the next version of `pinned`, or `pinned` itself; the caller then pins `next`. Refuses with an
 * {@link UpdateError}. Several versions are accepted one after the other. After a theft of all three active keys the
 * signatures say nothing: the new trust root must then be handed over as the first one was.
 */
export function acceptTrustRoot(pinned: TrustRoot, next: TrustRoot): void {
  if (!(pinned instanceof TrustRoot) || !(next instanceof TrustRoot)) {
    throw new TypeError("both versions must be a TrustRoot");
  }
  refuseIf(next.issuer !== pinned.issuer, "issuer", `a trust root of ${next.issuer}, another issuer; do not accept`);
  const [old, found] = [pinned.version, next.version];
  refuseIf(found < old, "rollback", `version ${found} is older than the pinned version ${old}; keep the pinned one`);
  if (found === old) {
    const message = `another version ${old} than the pinned one: the issuer has two; ask it which is right`;
    refuseIf(!equal(next.digest(), pinned.digest()), "fork", message);
    return;
  }
  refuseIf(
    found - old > 1n,
    "skipped",
    `version ${found} cannot be reached from here; accept version ${old + 1n} first`,
  );
  refuseIf(
    !equal(next.previous, pinned.digest()),
    "other-previous",
    "made from another version before than the pinned one; do not accept",
  );
  for (const set of pinned.keySets) checkStatus(set, next.keySet(set.id));
  for (const { id, status } of next.keySets) {
    const joins = status.state !== "active" && pinned.keySet(id) === undefined;
    const message = `key set ${toHex(id)} is listed for the first time and is not active; do not accept`;
    refuseIf(joins, "never-active", message);
  }
  checkCosignatures(pinned, next);
}

function refuseIf(refused: boolean, code: UpdateErrorCode, message: string): void {
  if (refused) throw new UpdateError(code, message);
}

/** No key set is trusted more than before, and only retired ones disappear. */
function checkStatus({ id, status: old }: KeySet, next: KeySet | undefined): void {
  const named = `key set ${toHex(id)}`;
  if (next === undefined) {
    refuseIf(old.state !== "retired", "vanished", `active or revoked ${named} is not listed any more; do not accept`);
    return;
  }
  if (old.state === "active" || next.status.state === "revoked") return;
  const shorter = old.state === "retired" && next.status.state === "retired" && next.status.since <= old.since;
  refuseIf(!shorter, "resurrected", `${named} was retired or revoked and is trusted more again; do not accept`);
}

function checkCosignatures(pinned: TrustRoot, next: TrustRoot): void {
  const seen = new Set<string>();
  let byOld = false;
  for (const cosignature of next.cosignatures) {
    const id = toHex(cosignature.keySetId);
    const old = active(pinned, cosignature.keySetId);
    const keys = old ?? active(next, cosignature.keySetId);
    byOld ||= old !== undefined;
    if (keys === undefined || seen.has(id)) {
      const message = `key set ${id} has cosigned twice or has no part in the change; do not accept`;
      throw new UpdateError("unexpected-cosigner", message);
    }
    seen.add(id);
    checkSignatures(next, cosignature, keys);
  }
  const message = "no key set that is active in the pinned version has cosigned; do not accept";
  refuseIf(!byOld, "not-cosigned-by-old", message);
  for (const { id, status } of next.keySets) {
    const missing = status.state === "active" && active(pinned, id) === undefined && !seen.has(toHex(id));
    const message = `key set ${toHex(id)} becomes active and has not cosigned; do not accept`;
    refuseIf(missing, "not-cosigned-by-new", message);
  }
}

/** All three families sign, or the key set has not signed. */
function checkSignatures(root: TrustRoot, { keySetId, signatures }: Cosignature, keys: KeySet): void {
  for (const family of FAMILIES) {
    const verifies = family.verifies(
      keys.publicKeys[family.id],
      toBeSigned(root, keySetId, family),
      signatures[family.id],
    );
    const named = `the ${family.name} cosignature of key set ${toHex(keySetId)}`;
    refuseIf(!verifies, "signature", `${named} does not verify; do not accept`);
  }
}

/** The `Sig_structure` of COSE_Sign1 (RFC 9052 section 4.4) over the digest; its claims name the format. */
function toBeSigned(root: TrustRoot, keySetId: Uint8Array, family: Family): Uint8Array {
  const w = new Writer().map(3);
  w.int(ALG).int(family.coseAlgorithm);
  w.int(KID).bytes(keySetId);
  w.int(CWT_CLAIMS).map(3);
  w.int(1).text(root.issuer);
  w.int(265).text(TRUST_ROOT_FORMAT);
  w.int(TREFOIL_CLAIM).map(3);
  w.int(1).int(SUITE);
  w.int(2).uint(root.version);
  w.int(3).bytes(root.previous);
  const signed = new Writer().array(4).text("Signature1").bytes(w.finish());
  return signed.bytes(new Uint8Array()).bytes(root.digest()).finish();
}

function active(root: TrustRoot, id: Uint8Array): KeySet | undefined {
  const set = root.keySet(id);
  return set?.status.state === "active" ? set : undefined;
}
