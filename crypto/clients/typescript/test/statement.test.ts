/** What the vectors' statement says. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Statement, verify } from "trefoil-attest";

import { toHex } from "../src/bytes.js";
import { FULL, hex, NOW, policy } from "./testdata.js";

test("every field reads as in the Rust implementation", () => {
  const expected: Statement = {
    suite: 1,
    issuer: "https://auth.example",
    tenant: hex("01".repeat(16)),
    audience: "https://shop.example",
    account: hex("02".repeat(32)),
    nonce: hex("03".repeat(32)),
    requestDigest: hex("04".repeat(32)),
    decision: "match",
    probeMode: "plain",
    policyId: 7,
    policyVersion: 3,
    fmrClass: 4,
    embedder: "facenet-128/1",
    quantiser: "s175/1",
    templateGeneration: 9,
    proof: { circuit: 3, root: hex("05".repeat(32)), level: 2, epoch: 500_000, session: hex("0a".repeat(32)) },
    batchId: hex("06".repeat(16)),
    place: 4,
    issuedAt: 1_800_000_008n,
    expiresAt: 1_800_000_128n,
  };
  const { statement, statementDigest, leafIndex, seal } = verify(FULL, policy(), NOW);
  assert.deepEqual(statement, expected);
  assert.equal(toHex(statementDigest), "927eeb643091fee710dca6ec8c70e3c11ee8f8cfe27a010942fd1c4ac7a16876");
  assert.equal(leafIndex, 4n);
  const { issuer, sealNumber, previous, logRoot, treeSize, time, suite, vaults } = seal;
  assert.deepEqual(
    { issuer, sealNumber, previous, logRoot, treeSize, time, suite, vaults },
    {
      issuer: "https://auth.example",
      sealNumber: 17n,
      previous: hex("08".repeat(32)),
      logRoot: hex("09".repeat(32)),
      treeSize: 11n,
      time: 1_800_000_009n,
      suite: 1,
      vaults: [
        { generation: 7n, restored: 0n },
        undefined,
        { generation: 2n ** 53n + 1n, restored: 300n },
      ],
    },
  );
});
