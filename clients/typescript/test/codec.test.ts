/** D5: a value has one form, and a form one value, by the golden vectors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { decode, encode, formatAmount, fromHex, MalformedCbor, parseAmount, toHex } from "cowboy-devnet";

import { untagged, vectors } from "./vectors.ts";

const { values, refused } = vectors("codec");

test("each value has the bytes that the vectors say, and comes back", () => {
  for (const { value, encoding } of values) {
    assert.equal(toHex(encode(untagged(value))), encoding);
    assert.equal(toHex(encode(decode(fromHex(encoding)))), encoding);
  }
});

test("what no value has is refused", () => {
  for (const { encoding, why } of refused) {
    assert.throws(() => decode(fromHex(encoding)), MalformedCbor, why);
  }
});

test("what has no form is refused", () => {
  const deep = Array.from({ length: 65 }).reduce<any>((inner) => [inner], []);
  const nothing = [1.5, 2 ** 53, undefined, "\ud800", deep, {}, new Map([[2n ** 60n, 1n]]), Symbol()];
  for (const value of nothing) {
    assert.throws(() => encode(value as any), TypeError);
  }
});

test("numbers are read exactly", () => {
  assert.equal(decode(encode(2n ** 53n + 1n)), 2n ** 53n + 1n);
  assert.equal(decode(encode(-(2n ** 200n))), -(2n ** 200n));
});

test("amounts are read as people write them", () => {
  assert.equal(parseAmount("1.5 CBY"), 1_500_000_000n);
  assert.equal(parseAmount("1_000"), 1_000n);
  assert.equal(formatAmount(1_234_500_000_000n), "1,234.5 CBY");
  for (const text of ["1.5", "-1", "5 ETH", "", "0.1234567891 CBY", 2n ** 128n]) {
    assert.throws(() => parseAmount(text), RangeError);
  }
});
