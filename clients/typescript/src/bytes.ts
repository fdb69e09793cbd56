/** Bytes as people write them, and how they are compared. */

/** Lower-case hexadecimal digits, without `0x`. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes of hexadecimal digits, with or without `0x`; throws a `RangeError` on anything else. */
export function fromHex(text: string): Uint8Array {
  const digits = text.startsWith("0x") ? text.slice(2) : text;
  if (digits.length % 2 || !/^[0-9a-f]*$/i.test(digits)) {
    throw new RangeError(`${JSON.stringify(text)} is not hexadecimal`);
  }
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function concat(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Negative, zero or positive, as `a` comes before, is or comes after `b`. */
export function compare(a: Uint8Array, b: Uint8Array): number {
  const common = Math.min(a.length, b.length);
  for (let index = 0; index < common; index++) {
    const difference = a[index]! - b[index]!;
    if (difference) return difference;
  }
  return a.length - b.length;
}

export const isEqual = (a: Uint8Array, b: Uint8Array): boolean => compare(a, b) === 0;

/** UTF-8; throws a `TypeError` where the text has a lone surrogate. */
export function utf8(text: string): Uint8Array {
  if (/\p{Surrogate}/u.test(text)) throw new TypeError("text with a lone surrogate");
  return new TextEncoder().encode(text);
}
