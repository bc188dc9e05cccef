/** The three signature families of suite 1: names, identifiers, sizes, verification. */

import { falcon512padded } from "@noble/post-quantum/falcon.js";
import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";
import { slh_dsa_sha2_128f } from "@noble/post-quantum/slh-dsa.js";

/** The identifier of a family in JSON, error codes and logs. */
export type FamilyId = "ml-dsa-65" | "falcon-512-padded-r3" | "slh-dsa-sha2-128f";

/** A signature family with its exact parameter set and encoding. All three sign every seal. */
export interface Family {
  readonly id: FamilyId;
  /** The name shown to people, with the document that defines it. */
  readonly name: string;
  /** COSE algorithm: registered for ML-DSA-65 (RFC 9964), private use for the others. */
  readonly coseAlgorithm: number;
  readonly publicKeyBytes: number;
  /** Every family has exactly one length here. */
  readonly signatureBytes: number;
  /** Whether the signature verifies. Wrong lengths and undecodable keys or signatures are `false`. */
  readonly verifies: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;
}

/** What the library offers for one parameter set. */
interface Detached {
  verify(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean;
}

function family(
  id: FamilyId,
  name: string,
  coseAlgorithm: number,
  [publicKeyBytes, signatureBytes]: readonly [number, number],
  scheme: Detached,
): Family {
  // The library throws for a public key of another length; lengths are checked here, so it never does.
  const verifies = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean =>
    publicKey.length === publicKeyBytes &&
    signature.length === signatureBytes &&
    scheme.verify(signature, message, publicKey);
  return Object.freeze({ id, name, coseAlgorithm, publicKeyBytes, signatureBytes, verifies });
}

/** ML-DSA-65, FIPS 204 table 2, empty context. */
export const ML_DSA_65 = family("ml-dsa-65", "ML-DSA-65 (FIPS 204)", -49, [1952, 3309], ml_dsa65);
/**
 * Falcon-512 as submitted to round 3, specification 1.2 table 3.3, padded. Not FN-DSA: FIPS 206 is unpublished.
 */
export const FALCON_512 = family(
  "falcon-512-padded-r3",
  "Falcon-512 (round 3, padded)",
  -66512,
  [897, 666],
  falcon512padded,
);
/** SLH-DSA-SHA2-128f, FIPS 205 table 2, pure, empty context. */
export const SLH_DSA_SHA2_128F = family(
  "slh-dsa-sha2-128f",
  "SLH-DSA-SHA2-128f (FIPS 205)",
  -66128,
  [32, 17088],
  slh_dsa_sha2_128f,
);

/** The families in the fixed order of key sets, seals and attestations. */
export const FAMILIES: readonly Family[] = [ML_DSA_65, FALCON_512, SLH_DSA_SHA2_128F];

/** One value per family. */
export type PerFamily<T> = { readonly [id in FamilyId]: T };

/** One value per family, made in the fixed order. */
export function perFamily<T>(value: (family: Family) => T): PerFamily<T> {
  return {
    "ml-dsa-65": value(ML_DSA_65),
    "falcon-512-padded-r3": value(FALCON_512),
    "slh-dsa-sha2-128f": value(SLH_DSA_SHA2_128F),
  };
}
