// Checks the signatures of Trefoil's signer with @noble/post-quantum, and makes signatures for Trefoil to check.
//
//     node interop.js OURS.json THEIRS.json
//
// OURS is a list of {family, public_key, message, signature} in hexadecimal. Every signature must verify, and must not
// with one bit flipped. THEIRS gets one signature of each family under a fresh key.

import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

import { falcon512padded } from "@noble/post-quantum/falcon.js";
import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";
import { slh_dsa_sha2_128f } from "@noble/post-quantum/slh-dsa.js";

const schemes = {
  "ml-dsa-65": ml_dsa65,
  "falcon-512-padded-r3": falcon512padded,
  "slh-dsa-sha2-128f": slh_dsa_sha2_128f,
};

const bytes = (digits) => Uint8Array.from(Buffer.from(digits, "hex"));
const hex = (data) => Buffer.from(data).toString("hex");

function check(vectors) {
  const checked = Object.fromEntries(Object.keys(schemes).map((family) => [family, 0]));
  for (const [index, vector] of vectors.entries()) {
    const scheme = schemes[vector.family];
    const [key, message, signature] = [vector.public_key, vector.message, vector.signature].map(bytes);
    if (!scheme.verify(signature, message, key)) {
      throw new Error(`vector ${index}: our ${vector.family} signature does not verify`);
    }
    signature[signature.length >> 1] ^= 1;
    if (scheme.verify(signature, message, key)) {
      throw new Error(`vector ${index}: a changed ${vector.family} signature verifies`);
    }
    checked[vector.family] += 1;
  }
  for (const [family, count] of Object.entries(checked)) {
    if (count === 0) throw new Error(`no ${family} signature among ours`);
  }
  return vectors.length;
}

function sign([family, scheme]) {
  const { publicKey, secretKey } = scheme.keygen(Uint8Array.from(randomBytes(scheme.lengths.seed)));
  const message = Uint8Array.from(Buffer.from(`signed by noble with ${family}`));
  const signature = scheme.sign(message, secretKey);
  return { family, public_key: hex(publicKey), message: hex(message), signature: hex(signature) };
}

const [ours, theirs] = process.argv.slice(2);
if (theirs === undefined) {
  console.error("usage: node interop.js OURS.json THEIRS.json");
  process.exit(2);
}
const count = check(JSON.parse(readFileSync(ours, "utf8")));
writeFileSync(theirs, JSON.stringify(Object.entries(schemes).map(sign)));
console.log(`noble: ${count} signatures of ours verify`);
