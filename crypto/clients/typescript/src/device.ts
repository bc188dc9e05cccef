/**
 * The device's signature: made with a key that never leaves the person's device, and joined to the attestation by
 * whoever has both. The service does not see it. A relying party that pins the account's key refuses what the device
 * did not sign, also from a service whose every key is stolen.
 */

import { sha3_256 } from "@noble/hashes/sha3.js";
import { ml_dsa44 } from "@noble/post-quantum/ml-dsa.js";

import { type Reader, utf8, Writer } from "./cbor.js";
import type { Statement } from "./statement.js";

/** Bytes of an ML-DSA-44 public key and signature (FIPS 204 table 2). */
const PUBLIC_KEY_BYTES = 1312;
const SIGNATURE_BYTES = 2420;

/** ML-DSA-44 in COSE (RFC 9964). */
const COSE_ALGORITHM = -48;
const DEVICE_FORMAT = "trefoil:device/1";

/** The part of an attestation that the device adds. */
export interface DeviceSignature {
  /** The account's ML-DSA-44 key. */
  readonly publicKey: Uint8Array;
  readonly signature: Uint8Array;
}

/** What a relying party keeps of an account's key, 32 bytes. */
export function accountKeyOf({ publicKey }: DeviceSignature): Uint8Array {
  return sha3_256.create().update(utf8("trefoil/account-key-id/1")).update(publicKey).digest();
}

/** Whether the device signed the request that this statement is about. Nothing signs one without a proof. */
export function deviceSigned(statement: Statement, device: DeviceSignature): boolean {
  const { tenant, account, audience, nonce, requestDigest, proof } = statement;
  if (proof === undefined) return false;
  const payload = new Writer().array(6).bytes(tenant).bytes(account).text(audience).bytes(nonce).bytes(requestDigest);
  const { circuit, root, level, epoch, session } = proof;
  payload.array(5).int(circuit).bytes(root).int(level).int(epoch).bytes(session);
  return signedByAccountKey(device, DEVICE_FORMAT, payload);
}

/** Whether an account key signed this, under the name of a format: the `Sig_structure` of COSE_Sign1 (RFC 9052 section 4.4). */
export function signedByAccountKey({ publicKey, signature }: DeviceSignature, format: string, payload: Writer): boolean {
  const header = new Writer().map(2).int(1).int(COSE_ALGORITHM).int(15).map(1).int(265).text(format);
  const signed = new Writer().array(4).text("Signature1").bytes(header.finish()).bytes(new Uint8Array());
  return ml_dsa44.verify(signature, signed.bytes(payload.finish()).finish(), publicKey);
}

/** Reads a key and a signature by it. */
export function readDevice(r: Reader): DeviceSignature {
  r.array("device", 2);
  return {
    publicKey: r.bytes("device.public_key", PUBLIC_KEY_BYTES),
    signature: r.bytes("device.signature", SIGNATURE_BYTES),
  };
}
