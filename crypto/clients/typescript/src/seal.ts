/** The seal: one tree root signed by all three families, as COSE receipts (RFC 9942) without their inclusion proof. */

import { sha3_256 } from "@noble/hashes/sha3.js";

import { equal } from "./bytes.js";
import { Reader, Writer } from "./cbor.js";
import { type Family, ML_DSA_65, type PerFamily, perFamily } from "./family.js";
import { NAME_BYTES_MAX, readSuite, type Suite, TREFOIL_CLAIM } from "./statement.js";
import { EMPTY_ROOT, HASH_BYTES } from "./tree.js";

/** Name and version of the seal format; inside the signed bytes it separates them from everything else. */
const SEAL_FORMAT = "trefoil:seal/3";
/** Upper bound on an encoded seal, checked before anything is read. */
const SEAL_BYTES_MAX = 24 * 1024;

// COSE header labels: alg and kid (RFC 9052), CWT claims (RFC 9597), verifiable data structure (RFC 9942).
const ALG = 1;
const KID = 4;
const CWT_CLAIMS = 15;
const VDS = 395;
/** `RFC9162_SHA256` (RFC 9942). */
const VDS_RFC9162_SHA256 = 1;
/** CBOR tag of COSE_Sign1 (RFC 9052). */
const COSE_SIGN1 = 18;
/** Longest protected header; bounds the reader. */
const PROTECTED_BYTES_MAX = 672;

/** Most vaults that a seal shows: one, or one for each of three key-holders. */
const VAULTS_MAX = 3;

/** What a key-holder says of its vault. */
export interface VaultState {
  /** Counts the transactions of the vault. */
  readonly generation: bigint;
  /** How often its operator took an older copy for it, on purpose. */
  readonly restored: bigint;
  /** The head of the key-holder's job log; `undefined` where it keeps none. */
  readonly jobs: JobsHead | undefined;
}

/** A head of a key-holder's job log, which the key-holder has signed. */
export interface JobsHead {
  /** Lines of the log. */
  readonly lines: bigint;
  /** SHA3-256 of the last of them, 32 bytes. */
  readonly digest: Uint8Array;
}

/** The restoration from which a log goes on after the service lost its store. */
export interface Restoration {
  /** When the backup was restored, Unix seconds: later than every seal in the backup and than every restoration before. */
  readonly time: bigint;
  /** The number of the first seal after it. */
  readonly first: bigint;
}

/** What a seal says about its tree. All of it is signed. */
export interface SealHeader {
  /** The service that seals. */
  readonly issuer: string;
  /** Key set that signs, 32 bytes. */
  readonly keySetId: Uint8Array;
  /** Position in the issuer's chain of seals, from 0. */
  readonly sealNumber: bigint;
  /** Digest of the seal before, 32 bytes; zeros for number 0. */
  readonly previous: Uint8Array;
  /** Root of the tree over the digests of all seals before, 32 bytes: every seal is a signed head of the log. */
  readonly logRoot: Uint8Array;
  /** Leaves of the tree, at least 1. */
  readonly treeSize: bigint;
  /** Root of the tree over the statement digests, 32 bytes. */
  readonly root: Uint8Array;
  /** Time of signing, Unix seconds. */
  readonly time: bigint;
  /** The families that sign. */
  readonly suite: Suite;
  /**
   * The state of each key-holder's vault as the service saw it last, in the order of the seats; `undefined` where it never
   * saw it. Empty where no key-holder has a vault.
   */
  readonly vaults: readonly (VaultState | undefined)[];
  /** The newest restoration of this log from a backup, this seal's own if it is the first after it. */
  readonly restored: Restoration | undefined;
}

/** The name of a seal. */
export interface SealReference {
  /** Position in the issuer's chain: the last part of its URL. */
  readonly sealNumber: bigint;
  /** SHA3-256 of the seal's header, 32 bytes. */
  readonly digest: Uint8Array;
}

/** A header with its three signatures. Well formed, not verified. */
export class Seal {
  /** What is signed. */
  readonly header: SealHeader;
  /** One signature per family. */
  readonly signatures: PerFamily<Uint8Array>;

  private constructor(header: SealHeader, signatures: PerFamily<Uint8Array>) {
    this.header = Object.freeze(header);
    this.signatures = Object.freeze(signatures);
  }

  /** Decodes the one canonical encoding of a seal; any other bytes are a {@link DecodeError}. */
  static decode(bytes: Uint8Array): Seal {
    const r = Reader.of("seal", bytes, SEAL_BYTES_MAX);
    const seal = Seal.read(r);
    r.finish("seal");
    return seal;
  }

  /** @internal Reads a seal inside another structure. */
  static read(r: Reader): Seal {
    r.array("seal", 4);
    const root = r.bytes("seal.root", HASH_BYTES);
    const first = readReceipt(r, ML_DSA_65);
    const header = decodeProtected(first.protectedHeader, root);
    const signatureOf = (family: Family): Uint8Array => {
      const start = r.offset;
      const { protectedHeader, signature } = readReceipt(r, family);
      if (equal(protectedHeader, encodeProtected(header, family))) return signature;
      const explanation = "the identifier does not match the content it names";
      throw r.error("seal.protected", "wrong-identifier", explanation, start);
    };
    return new Seal(
      header,
      perFamily((family) => (family === ML_DSA_65 ? first.signature : signatureOf(family))),
    );
  }

  /** The name of this seal: what the next seal calls `previous` and a compact attestation its seal. */
  reference(): SealReference {
    const { header } = this;
    const w = new Writer().array(4).bytes(header.keySetId);
    writeClaims(w, header);
    w.int(VDS_RFC9162_SHA256).bytes(header.root);
    return { sealNumber: header.sealNumber, digest: sha3_256(w.finish()) };
  }

  /** @internal Whether the signature of `family` verifies under `publicKey`. */
  isSignedBy(family: Family, publicKey: Uint8Array): boolean {
    return family.verifies(publicKey, toBeSigned(this.header, family), this.signatures[family.id]);
  }
}

/**
 * The bytes one family signs: the `Sig_structure` of COSE_Sign1 (RFC 9052 section 4.4) with the root as its detached
 * payload.
 */
function toBeSigned(header: SealHeader, family: Family): Uint8Array {
  const w = new Writer().array(4).text("Signature1");
  return w.bytes(encodeProtected(header, family)).bytes(new Uint8Array()).bytes(header.root).finish();
}

/** The protected header of one family's COSE_Sign1. */
function encodeProtected(header: SealHeader, family: Family): Uint8Array {
  const w = new Writer().map(4);
  w.int(ALG).int(family.coseAlgorithm);
  w.int(KID).bytes(header.keySetId);
  writeClaims(w.int(CWT_CLAIMS), header);
  return w.int(VDS).int(VDS_RFC9162_SHA256).finish();
}

function writeClaims(w: Writer, header: SealHeader): void {
  w.map(4);
  w.int(1).text(header.issuer);
  w.int(6).uint(header.time);
  w.int(265).text(SEAL_FORMAT);
  w.int(TREFOIL_CLAIM).map(header.restored === undefined ? 6 : 7);
  w.int(1).int(header.suite);
  w.int(2).uint(header.sealNumber);
  w.int(3).bytes(header.previous);
  w.int(4).uint(header.treeSize);
  w.int(5).bytes(header.logRoot);
  w.int(6).array(header.vaults.length);
  for (const state of header.vaults) {
    if (state === undefined) {
      w.null();
      continue;
    }
    w.array(state.jobs === undefined ? 2 : 4).uint(state.generation).uint(state.restored);
    if (state.jobs !== undefined) w.uint(state.jobs.lines).bytes(state.jobs.digest);
  }
  if (header.restored !== undefined) w.int(7).array(2).uint(header.restored.first).uint(header.restored.time);
}

/** Reads the protected header of the first family; the root comes from beside it. */
function decodeProtected(bytes: Uint8Array, root: Uint8Array): SealHeader {
  const r = new Reader(bytes);
  r.map("seal.protected", 4);
  r.key("seal.alg", ALG).key("seal.alg", ML_DSA_65.coseAlgorithm);
  const keySetId = r.key("seal.kid", KID).bytes("seal.kid", 32);
  r.key("seal.claims", CWT_CLAIMS).map("seal.claims", 4);
  const issuer = r.key("seal.iss", 1).text("seal.iss", NAME_BYTES_MAX);
  const time = r.key("seal.iat", 6).uint("seal.iat");
  r.key("seal.eat_profile", 265).format("seal.eat_profile", SEAL_FORMAT);
  const fields = r.key("seal.trefoil", TREFOIL_CLAIM).map("seal.trefoil", 6, 7);
  const suite = readSuite(r.key("seal.suite", 1));
  const sealNumber = r.key("seal.number", 2).uint("seal.number");
  const previous = r.key("seal.previous", 3).bytes("seal.previous", 32);
  const treeSize = r.key("seal.tree_size", 4).uint("seal.tree_size");
  const logRoot = r.key("seal.log_root", 5).bytes("seal.log_root", HASH_BYTES);
  const vaults = Array.from({ length: r.key("seal.vaults", 6).array("seal.vaults", 0, VAULTS_MAX) }, () => readVault(r));
  const restored = fields === 7 ? readRestoration(r.key("seal.restored", 7)) : undefined;
  if (treeSize === 0n) throw r.outOfRange("seal.tree_size");
  if (sealNumber === 0n && previous.some((byte) => byte !== 0)) throw r.outOfRange("seal.previous");
  if (sealNumber === 0n && !equal(logRoot, EMPTY_ROOT)) throw r.outOfRange("seal.log_root");
  if (restored !== undefined && (restored.first > sealNumber || restored.time > time)) throw r.outOfRange("seal.restored");
  r.key("seal.vds", VDS).key("seal.vds", VDS_RFC9162_SHA256);
  r.finish("seal.protected");
  const states = Object.freeze(vaults);
  return { issuer, keySetId, sealNumber, previous, logRoot, treeSize, root, time, suite, vaults: states, restored };
}

function readVault(r: Reader): VaultState | undefined {
  if (r.isNull()) {
    r.null("seal.vault");
    return undefined;
  }
  const start = r.offset;
  const members = r.array("seal.vault", 2, 4);
  if (members === 3) throw r.outOfRange("seal.vault", start);
  const generation = r.uint("seal.vault.generation");
  const restored = r.uint("seal.vault.restored");
  if (members === 2) return Object.freeze({ generation, restored, jobs: undefined });
  const lines = r.uint("seal.vault.lines");
  return Object.freeze({ generation, restored, jobs: Object.freeze({ lines, digest: r.bytes("seal.vault.digest", HASH_BYTES) }) });
}

function readRestoration(r: Reader): Restoration {
  r.array("seal.restored", 2);
  const first = r.uint("seal.restored.first");
  return Object.freeze({ first, time: r.uint("seal.restored.time") });
}

function readReceipt(r: Reader, family: Family): { protectedHeader: Uint8Array; signature: Uint8Array } {
  r.tag("seal.receipt", COSE_SIGN1);
  r.array("seal.receipt", 4);
  const protectedHeader = r.bytes("seal.protected", 1, PROTECTED_BYTES_MAX);
  r.map("seal.unprotected", 0);
  r.null("seal.payload");
  return { protectedHeader, signature: r.bytes("seal.signature", family.signatureBytes) };
}
