// Bytes of actors in words, the same as traces and the command line tell them: as a
// text, as a value of the actor language, or in hexadecimal.
//
// What an actor stores is canonical CBOR: one form for each value. Bytes in any other
// form are no value, and are shown as they are.

import {bytesOf, hexOf, visible} from './format.js';

const STORAGE_PREFIX = 'storage:';
const DEPTH_MAX = 64;
const [INT, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE] = [0, 1, 2, 3, 4, 5, 6, 7];
const SIMPLES = new Map([[20, false], [21, true], [22, null]]);

class Malformed extends Error {}

function need(condition) {
  if (!condition) throw new Malformed();
}

// A text that can be read as it stands: no controls, no marks of direction, no spaces
// but the one of the keyboard.
const isPrintable = (text) => /^(?:[^\p{C}\p{Z}]| )*$/u.test(text);

function utf8(bytes) {
  return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
}

// The text that bytes are; "" if they are none that can be read.
function readable(bytes) {
  try {
    const text = utf8(bytes);
    return isPrintable(text) ? text : '';
  } catch {
    return '';
  }
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  take(length) {
    need(this.at + length <= this.bytes.length);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  // Major type and argument of a head, which must be the shortest that says it.
  head() {
    const [first] = this.take(1);
    const info = first & 31;
    if (info < 24) return [first >> 5, BigInt(info)];
    need(info < 28);
    const width = 1 << (info - 24);
    let argument = 0n;
    for (const byte of this.take(width)) argument = argument * 256n + BigInt(byte);
    need(argument >= [24n, 256n, 65536n, 4294967296n][info - 24]);
    return [first >> 5, argument];
  }

  value(depth) {
    need(depth <= DEPTH_MAX);
    const [major, argument] = this.head();
    if (major === INT) return argument;
    if (major === NEGATIVE) return -1n - argument;
    if (major === TAG) return this.bigInteger(argument);
    if (major === SIMPLE) {
      need(SIMPLES.has(Number(argument)));
      return SIMPLES.get(Number(argument));
    }
    need(argument <= BigInt(this.bytes.length));
    const length = Number(argument);
    if (major === BYTES) return this.take(length).slice();
    if (major === TEXT) return this.text(length);
    if (major === ARRAY) return Array.from({length}, () => this.value(depth + 1));
    return this.map(length, depth + 1);
  }

  text(length) {
    try {
      return utf8(this.take(length));
    } catch {
      throw new Malformed();
    }
  }

  bigInteger(tag) {
    need(tag === 2n || tag === 3n);
    const [major, length] = this.head();
    need(major === BYTES && length > 8n);
    const bytes = this.take(Number(length));
    need(bytes[0] !== 0);
    let size = 0n;
    for (const byte of bytes) size = size * 256n + BigInt(byte);
    return tag === 2n ? size : -1n - size;
  }

  map(length, depth) {
    const pairs = new Map();
    let last = null;
    for (let count = 0; count < length; count += 1) {
      const begin = this.at;
      const key = this.value(depth);
      const encoded = this.bytes.subarray(begin, this.at);
      need(['bigint', 'string'].includes(typeof key) || key instanceof Uint8Array);
      need(last === null || isBefore(last, encoded));
      last = encoded;
      pairs.set(key, this.value(depth));
    }
    return pairs;
  }
}

function isBefore(first, second) {
  for (let at = 0; at < Math.min(first.length, second.length); at += 1) {
    if (first[at] !== second[at]) return first[at] < second[at];
  }
  return first.length < second.length;
}

// The value of canonical CBOR; undefined if the bytes are none.
export function decoded(bytes) {
  const reader = new Reader(bytes);
  try {
    const value = reader.value(0);
    return reader.at === bytes.length ? value : undefined;
  } catch (error) {
    if (error instanceof Malformed || error instanceof RangeError) return undefined;
    throw error;
  }
}

const quoted = (text) => `'${visible(text)}'`;

// A value in the words of the actor language.
export function written(value) {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'string') return quoted(value);
  if (value instanceof Uint8Array) return hexOf(value);
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  if (value instanceof Map) {
    const pairs = [...value].map(([key, one]) => `${written(key)}: ${written(one)}`);
    return `{${pairs.join(', ')}}`;
  }
  return String(value);
}

// Bytes in base64, in words. What can be a text or a value is a text, unless it is known
// to be stored.
export function valueText(base64, {isStored = false} = {}) {
  const bytes = bytesOf(base64);
  if (!bytes.length) return '(empty)';
  const text = readable(bytes);
  const value = text && !isStored ? undefined : decoded(bytes);
  if (value !== undefined) return written(value);
  return text ? quoted(text) : hexOf(bytes);
}

export const storedText = (base64) =>
  base64 === undefined ? '(none)' : valueText(base64, {isStored: true});

// A key of an actor's state: as `self.storage` names it, or as it is.
export function keyText(base64) {
  const bytes = bytesOf(base64);
  const prefix = STORAGE_PREFIX.length;
  if (String.fromCharCode(...bytes.subarray(0, prefix)) === STORAGE_PREFIX) {
    try {
      return `self.storage[${quoted(utf8(bytes.subarray(prefix)))}]`;
    } catch {
      // No text: the key as it is.
    }
  }
  return `state ${valueText(base64)}`;
}
