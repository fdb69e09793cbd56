/**
 * Canonical CBOR (RFC 8949 §4.2.1): the one byte form of what is signed and stored (D5).
 *
 * Values are whole numbers of any size, bytes, text, booleans, null, arrays and maps. The
 * shortest head always; lengths definite; whole numbers beyond 64 bits as tags 2 and 3; a
 * map's keys in the order of their bytes, each once. `decode` accepts exactly what `encode`
 * returns. Whole numbers are read as `bigint`, and may be given as safe `number`s, too.
 */

import { compare, concat, utf8 } from "./bytes.ts";

export type Key = bigint | number | string | Uint8Array;
export type Value = bigint | number | string | Uint8Array | boolean | null | Value[] | ValueMap;
/** Pairs of key and value. Keys are compared by their bytes, which a `Map` would not do. */
export type ValueMap = ReadonlyMap<Key, Value>;

/** Bytes that are not the canonical form of any value. */
export class MalformedCbor extends Error {
  override name = "MalformedCbor";
}

const DEPTH_MAX = 64;
const KEY_BOUND = 2n ** 60n;
const WORD_BOUND = 2n ** 64n;
const INT = 0;
const NEGATIVE = 1;
const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const TAG = 6;
const FALSE = 0xf4;
const TRUE = 0xf5;
const NULL = 0xf6;

/** The canonical bytes of a value; throws a `TypeError` where it has none. */
export function encode(value: Value): Uint8Array {
  const parts: Uint8Array[] = [];
  write(value, parts, DEPTH_MAX);
  return concat(...parts);
}

function write(value: Value, parts: Uint8Array[], depthLeft: number): void {
  if (value === null) parts.push(Uint8Array.of(NULL));
  else if (typeof value === "boolean") parts.push(Uint8Array.of(value ? TRUE : FALSE));
  else if (typeof value === "bigint" || typeof value === "number") parts.push(integer(value));
  else if (typeof value === "string") {
    const text = utf8(value);
    parts.push(head(TEXT, BigInt(text.length)), text);
  } else if (value instanceof Uint8Array) {
    parts.push(head(BYTES, BigInt(value.length)), value);
  } else {
    if (depthLeft <= 0) throw new TypeError("nested too deeply");
    writeContainer(value, parts, depthLeft - 1);
  }
}

function writeContainer(value: Value[] | ValueMap, parts: Uint8Array[], depthLeft: number): void {
  if (Array.isArray(value)) {
    parts.push(head(ARRAY, BigInt(value.length)));
    for (const item of value) write(item, parts, depthLeft);
    return;
  }
  if (!(value instanceof Map)) throw new TypeError(`${typeof value} has no form`);
  const pairs = Array.from(value, ([key, item]) => [encodeKey(key), item] as const);
  pairs.sort(([a], [b]) => compare(a, b));
  parts.push(head(MAP, BigInt(pairs.length)));
  let before: Uint8Array | undefined;
  for (const [key, item] of pairs) {
    if (before && compare(before, key) === 0) throw new TypeError("a key twice");
    parts.push(key);
    write(item, parts, depthLeft);
    before = key;
  }
}

function encodeKey(key: Key): Uint8Array {
  if (typeof key === "bigint" || typeof key === "number") {
    const whole = BigInt(key);
    if (whole <= -KEY_BOUND || whole >= KEY_BOUND) {
      throw new TypeError("a whole number of 2**60 or more as a key");
    }
  } else if (typeof key !== "string" && !(key instanceof Uint8Array)) {
    throw new TypeError(`a key of type ${typeof key}`);
  }
  return encode(key);
}

function integer(value: bigint | number): Uint8Array {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new TypeError(`${value} is no safe whole number: use a bigint`);
  }
  const whole = BigInt(value);
  const major = whole < 0n ? NEGATIVE : INT;
  const argument = whole < 0n ? -1n - whole : whole;
  if (argument < WORD_BOUND) return head(major, argument);
  const digits = bytesOf(argument);
  return concat(Uint8Array.of((TAG << 5) | (2 + major)), head(BYTES, BigInt(digits.length)), digits);
}

function bytesOf(value: bigint): Uint8Array {
  const digits = value.toString(16);
  const even = digits.length % 2 ? `0${digits}` : digits;
  return Uint8Array.from(even.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function head(major: number, argument: bigint): Uint8Array {
  const first = major << 5;
  if (argument < 24n) return Uint8Array.of(first | Number(argument));
  const size = [0, 1, 2, 3].find((power) => argument < 1n << BigInt(8 << power))!;
  const bytes = new Uint8Array(1 + (1 << size));
  bytes[0] = first | (24 + size);
  for (let at = bytes.length - 1, rest = argument; at > 0; at--, rest >>= 8n) {
    bytes[at] = Number(rest & 0xffn);
  }
  return bytes;
}

/** The value whose canonical form is `data`, all of it; throws `MalformedCbor` otherwise. */
export function decode(data: Uint8Array): Value {
  const reader = new Reader(data);
  const value = reader.value(DEPTH_MAX);
  if (reader.at !== data.length) throw new MalformedCbor("bytes left over");
  return value;
}

class Reader {
  at = 0;
  readonly data: Uint8Array;

  constructor(data: Uint8Array) {
    this.data = data;
  }

  value(depthLeft: number): Value {
    const first = this.take(1)[0]!;
    const major = first >> 5;
    if (major === 7) return simple(first);
    if (major === TAG) return this.bignum(first);
    const argument = this.argument(first & 31);
    if (major === INT) return argument;
    if (major === NEGATIVE) return -1n - argument;
    if (argument > BigInt(this.data.length - this.at)) throw new MalformedCbor("ends early");
    const count = Number(argument);
    if (major === BYTES) return this.take(count).slice();
    if (major === TEXT) return this.text(count);
    if (depthLeft <= 0) throw new MalformedCbor("nested too deeply");
    if (major === MAP) return this.map(count, depthLeft - 1);
    return Array.from({ length: count }, () => this.value(depthLeft - 1));
  }

  private map(count: number, depthLeft: number): ValueMap {
    const values = new Map<Key, Value>();
    let before = new Uint8Array();
    for (let left = count; left > 0; left--) {
      const start = this.at;
      const key = this.value(0);
      if (!isKey(key)) throw new MalformedCbor("a key that is not text, bytes or a small number");
      const encoded = this.data.subarray(start, this.at);
      if (compare(encoded, before) <= 0) throw new MalformedCbor("keys out of order, or one twice");
      before = encoded as Uint8Array<ArrayBuffer>;
      values.set(key, this.value(depthLeft));
    }
    return values;
  }

  private bignum(first: number): bigint {
    const tag = first & 31;
    if (tag !== 2 && tag !== 3) throw new MalformedCbor("a tag other than 2 and 3");
    const digits = this.value(0);
    if (!(digits instanceof Uint8Array) || digits.length < 9 || !digits[0]) {
      throw new MalformedCbor("a bignum that is not bytes, or longer than it need be");
    }
    const value = digits.reduce((whole, byte) => (whole << 8n) | BigInt(byte), 0n);
    return tag === 2 ? value : -1n - value;
  }

  private argument(info: number): bigint {
    if (info < 24) return BigInt(info);
    if (info >= 28) throw new MalformedCbor("an indefinite length or a reserved head");
    const size = info - 24;
    const value = this.take(1 << size).reduce((whole, byte) => (whole << 8n) | BigInt(byte), 0n);
    const least = size === 0 ? 24n : 1n << BigInt(8 << (size - 1));
    if (value < least) throw new MalformedCbor("a head longer than it need be");
    return value;
  }

  private text(count: number): string {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.take(count));
    } catch {
      throw new MalformedCbor("text that is not UTF-8");
    }
  }

  private take(count: number): Uint8Array {
    if (count > this.data.length - this.at) throw new MalformedCbor("ends early");
    this.at += count;
    return this.data.subarray(this.at - count, this.at);
  }
}

function isKey(value: Value): value is Key {
  if (typeof value === "bigint") return value > -KEY_BOUND && value < KEY_BOUND;
  return typeof value === "string" || value instanceof Uint8Array;
}

function simple(first: number): boolean | null {
  if (first === FALSE || first === TRUE) return first === TRUE;
  if (first === NULL) return null;
  throw new MalformedCbor("a float, undefined or unknown simple value");
}
