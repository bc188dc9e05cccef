/** The order of a fleet's nodes for a subject. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { nodesInOrder } from "../src/client/nodes.js";
import { hex, TESTDATA } from "./testdata.js";

interface Case {
  readonly names: string[];
  readonly handle: string;
  readonly order: string[];
}

test("the order is that of the vectors, however the nodes are listed", () => {
  const file = new URL("../../../server/api/testdata/nodes.json", TESTDATA);
  const { cases } = JSON.parse(readFileSync(file, "utf8")) as { cases: Case[] };
  assert.ok(cases.length >= 12);
  for (const { names, handle, order } of cases) {
    assert.deepEqual(nodesInOrder(names, hex(handle)), order);
    assert.deepEqual(nodesInOrder([...names].reverse(), hex(handle)), order);
  }
});
