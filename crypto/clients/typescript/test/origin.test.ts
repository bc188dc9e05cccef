/** A record says where it comes from. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { origin } from "../bench/origin.js";

test("a record names machine, load, revision and whether the tree was changed", () => {
  const { host, build } = origin("a machine");
  assert.equal(host["label"], "a machine");
  assert.equal(origin(undefined).host["label"], null);
  for (const name of ["logical_cpus", "memory_kib", "load_average_1m"]) {
    const value = host[name];
    assert(typeof value === "number" && value >= 0, `${name}: ${value}`);
  }
  for (const name of ["kernel", "architecture"]) assert.notEqual(host[name] ?? "", "", name);
  // A copy without its history has neither.
  const { revision, dirty } = build;
  assert(revision === null ? dirty === null : /^[0-9a-f]{40}$/.test(String(revision)) && typeof dirty === "boolean");
  for (const name of ["node", "noble_post_quantum", "noble_hashes"]) assert.match(String(build[name]), /^v?\d+\.\d+/);
});
