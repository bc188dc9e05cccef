/**
 * The device's signature: made with a key that never leaves the person's device, and joined to the attestation by
 * whoever has both. The service does not see it. A relying party that pins the account's key refuses what the device
 * did not sign, also from a service whose every key is stolen.
 */

import { sha3_256 } from "@noble/hashes/sha3.js";
import { ml_dsa44 } from "@noble/post-quantum/ml-dsa.js";

import { utf8, Writer } from "./cbor.js";
import type { Statement } from "./statement.js";

/** Bytes of an ML-DSA-44 public key and signature (FIPS 204 table 2). */
export const ACCOUNT_KEY_BYTES = 1312;
export const DEVICE_SIGNATURE_BYTES = 2420;

/** ML-DSA-44 in COSE (RFC 9964). */
const COSE_ALGORITHM = -48;
const FORMAT = "trefoil:device/1";

/** The part of an attestation that the device adds. */
export interface DeviceSignature {
  /** The account's public key. */
  readonly accountKey: Uint8Array;
  readonly signature: Uint8Array;
}

/** What a relying party keeps of an account's key, 32 bytes. */
export function accountKeyId(accountKey: Uint8Array): Uint8Array {
  return sha3_256.create().update(utf8("trefoil/account-key-id/1")).update(accountKey).digest();
}

/** Whether the device signed the request that this statement is about. Nothing signs one without a proof. */
export function deviceSigned(statement: Statement, { accountKey, signature }: DeviceSignature): boolean {
  const { tenant, account, audience, nonce, requestDigest, proof } = statement;
  if (proof === undefined) return false;
  const protectedHeader = new Writer().map(2).int(1).int(COSE_ALGORITHM).int(15).map(1).int(265).text(FORMAT);
  const payload = new Writer().array(6).bytes(tenant).bytes(account).text(audience).bytes(nonce).bytes(requestDigest);
  const { circuit, root, level, epoch, session } = proof;
  payload.array(5).int(circuit).bytes(root).int(level).int(epoch).bytes(session);
  const signed = new Writer().array(4).text("Signature1").bytes(protectedHeader.finish());
  return ml_dsa44.verify(signature, signed.bytes(new Uint8Array()).bytes(payload.finish()).finish(), accountKey);
}
