/** The attestation: a statement, its place in a sealed tree, and the seal or its name. */

import { Reader } from "./cbor.js";
import { type DeviceSignature, readDevice } from "./device.js";
import { Seal, type SealReference } from "./seal.js";
import { STATEMENT_BYTES_MAX } from "./statement.js";
import { HASH_BYTES, PATH_MAX } from "./tree.js";

/** Name and version of the attestation format. */
const ATTESTATION_FORMAT = "trefoil:attestation/1";
/** Upper bound on an encoded attestation, checked before anything is read. */
const ATTESTATION_BYTES_MAX = 32 * 1024;
/** Parts that every attestation has; the device's signature is one more. */
const PARTS = 6;

/** The seal of an attestation: with its three signatures (`full`), or by name (`compact`). */
export type Evidence =
  | { readonly form: "full"; readonly seal: Seal }
  | { readonly form: "compact"; readonly reference: SealReference };

/** A statement with the proof that a seal covers it. */
export interface Attestation {
  /** The encoded statement. */
  readonly statement: Uint8Array;
  /** Leaves of the sealed tree. */
  readonly treeSize: bigint;
  /** The statement's leaf, from 0. */
  readonly leafIndex: bigint;
  /** Inclusion path, from the leaf upwards. */
  readonly path: readonly Uint8Array[];
  readonly evidence: Evidence;
  /** What the device signed, if that was joined. */
  readonly device: DeviceSignature | undefined;
}

/** Decodes the one canonical encoding of an attestation; any other bytes are a {@link DecodeError}. */
export function decodeAttestation(bytes: Uint8Array): Attestation {
  const r = Reader.of("attestation", bytes, ATTESTATION_BYTES_MAX);
  const parts = r.map("attestation", PARTS, PARTS + 1);
  r.key("format", 0).format("format", ATTESTATION_FORMAT);
  const statement = r.key("statement", 1).bytes("statement", 1, STATEMENT_BYTES_MAX);
  const treeSize = r.key("tree_size", 2).uint("tree_size");
  const leafIndex = r.key("leaf_index", 3).uint("leaf_index");
  const length = r.key("path", 4).array("path", 0, PATH_MAX);
  const path = Array.from({ length }, () => r.bytes("path", HASH_BYTES));
  const evidence = readEvidence(r);
  const device = parts === PARTS ? undefined : readDevice(r.key("device", 7));
  r.finish("attestation");
  return { statement, treeSize, leafIndex, path, evidence, device };
}

function readEvidence(r: Reader): Evidence {
  const start = r.offset;
  const key = r.int("seal");
  if (key === 5n) return { form: "full", seal: Seal.read(r) };
  if (key !== 6n) throw r.unexpectedKey("seal", 5, key, start);
  r.array("seal_reference", 2);
  const sealNumber = r.uint("seal_reference.number");
  return { form: "compact", reference: { sealNumber, digest: r.bytes("seal_reference.digest", 32) } };
}
