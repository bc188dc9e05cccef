/** The reader: one encoding per value, nothing else. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { DecodeError, type Problem } from "trefoil-attest";

import { Reader, Writer } from "../src/cbor.js";
import { hex } from "./testdata.js";

function problem(read: () => unknown): Problem {
  try {
    read();
  } catch (error) {
    assert(error instanceof DecodeError, String(error));
    return error.problem;
  }
  return assert.fail("accepted");
}

const reader = (digits: string): Reader => new Reader(hex(digits));

test("heads are shortest and longer ones are refused", () => {
  // RFC 8949 appendix A.
  const table: readonly (readonly [bigint, string])[] = [
    [0n, "00"],
    [23n, "17"],
    [24n, "1818"],
    [255n, "18ff"],
    [256n, "190100"],
    [65535n, "19ffff"],
    [65536n, "1a00010000"],
    [1_000_000n, "1a000f4240"],
    [4_294_967_295n, "1affffffff"],
    [4_294_967_296n, "1b0000000100000000"],
    [1_000_000_000_000n, "1b000000e8d4a51000"],
    [18_446_744_073_709_551_615n, "1bffffffffffffffff"],
  ];
  for (const [value, digits] of table) {
    assert.deepEqual(new Writer().uint(value).finish(), hex(digits));
    assert.equal(reader(digits).uint("x"), value);
    for (let end = 0; end < digits.length; end += 2) {
      assert.equal(problem(() => reader(digits.slice(0, end)).uint("x")), "truncated");
    }
  }
  for (const long of ["1817", "1900ff", "1a0000ffff", "1b00000000ffffffff", "1c", "1d", "1e", "1f"]) {
    assert.equal(problem(() => reader(long).uint("x")), "not-canonical", long);
  }
});

test("negative integers follow appendix A", () => {
  const table: readonly (readonly [number, string])[] = [
    [-1, "20"],
    [-49, "3830"],
    [-1000, "3903e7"],
    [-65537, "3a00010000"],
  ];
  for (const [value, digits] of table) {
    assert.deepEqual(new Writer().int(value).finish(), hex(digits));
    assert.equal(reader(digits).int("x"), BigInt(value));
  }
  assert.equal(reader("3b7fffffffffffffff").int("x"), -(1n << 63n));
  assert.equal(problem(() => reader("3b8000000000000000").int("x")), "out-of-range");
  assert.equal(problem(() => reader("1b8000000000000000").int("x")), "out-of-range");
});

test("indefinite lengths and lying lengths are refused", () => {
  assert.equal(problem(() => reader("5f").bytes("x", 0, 9)), "not-canonical");
  assert.equal(problem(() => reader("9f").array("x", 0, 9)), "not-canonical");
  assert.equal(problem(() => reader("bf").map("x", 0)), "not-canonical");
  assert.equal(problem(() => reader("430102").bytes("x", 0, 9)), "truncated");
  assert.equal(problem(() => reader("5bffffffffffffffff").bytes("x", 0, 9)), "wrong-length");
  assert.equal(problem(() => reader("9bffffffffffffffff").array("x", 0, 9)), "wrong-length");
  assert.equal(problem(() => reader("7bffffffffffffffff").text("x", 9)), "wrong-length");
});

test("text is UTF-8 without controls, and no byte of it is dropped", () => {
  for (const bad of ["61ff", "610a", "62c29b", "617f", "62c080", "63eda080", "64f4908080"]) {
    assert.equal(problem(() => reader(bad).text("x", 8)), "invalid-text", bad);
  }
  assert.equal(problem(() => reader("60").text("x", 8)), "wrong-length");
  assert.equal(reader("63efbbbf").text("x", 8), "\ufeff");
  assert.equal(reader("62c3bc").text("x", 8), "\u00fc");
});

test("keys, tags, null, numbers and ends are exact", () => {
  assert.equal(problem(() => reader("02").key("x", 1)), "unexpected-key");
  assert.equal(problem(() => reader("40").key("x", 1)), "wrong-type");
  assert.equal(problem(() => reader("d1").tag("x", 18)), "out-of-range");
  assert.equal(problem(() => reader("f7").null("x")), "wrong-type");
  assert.equal(problem(() => reader("190100").number("x", 255)), "out-of-range");
  assert.equal(reader("18ff").number("x", 255), 255);
  assert.equal(problem(() => reader("00").finish("x")), "trailing-bytes");
  assert.equal(problem(() => Reader.of("x", new Uint8Array(3), 2)), "wrong-length");
  assert.throws(() => Reader.of("x", "aGk" as unknown as Uint8Array, 9), TypeError);
});
