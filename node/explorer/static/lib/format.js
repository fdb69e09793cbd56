// Numbers, bytes and texts of the API in the form in which people read them.
//
// Text from the chain is anybody's: what would hide or turn round other text is shown
// by its number (`visible`). Nothing here or elsewhere makes HTML of text.

const BASE_UNITS = 1_000_000_000n;
const DECIMALS = 9;

// 64-bit numbers are strings on the wire, and left out when they are zero.
export const big = (text) => BigInt(text || 0);
export const number = (text) => Number(text || 0);

export function grouped(value) {
  const text = String(value ?? 0);
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

export const counted = (count, one, many = `${one}s`) =>
  `${grouped(count)} ${number(count) === 1 ? one : many}`;

// `1.5 CBY`, exactly.
export function cby(units) {
  const amount = big(units);
  const size = amount < 0n ? -amount : amount;
  const decimals = String(size % BASE_UNITS).padStart(DECIMALS, '0').replace(/0+$/, '');
  const whole = grouped(size / BASE_UNITS);
  return `${amount < 0n ? '-' : ''}${whole}${decimals && `.${decimals}`} CBY`;
}

export const baseUnits = (units) => `${grouped(big(units))} base units`;

// Base units of `5 CBY`, or of `1000` base units; null if it is neither.
export function parseAmount(text) {
  const match = /^\s*(\d[\d_,]*)(?:\.(\d{1,9}))?\s*(cby)?\s*$/i.exec(text);
  if (!match || (match[2] && !match[3])) return null;
  const whole = BigInt(match[1].replace(/[_,]/g, ''));
  if (!match[3]) return String(whole);
  return String(whole * BASE_UNITS + BigInt((match[2] ?? '').padEnd(DECIMALS, '0')));
}

// A big number in little room: 12.3 M.
export function compact(value) {
  const size = Number(value);
  for (const [unit, letter] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k', 1e3]]) {
    if (Math.abs(size) >= unit) {
      const by = letter === 'k' ? 1e3 : unit;
      return `${(size / by).toFixed(size / by < 100 ? 1 : 0).replace(/\.0$/, '')} ${letter}`;
    }
  }
  return grouped(Number.isInteger(size) ? size : Number(size.toPrecision(4)));
}

export function percent(part, whole) {
  if (!Number(whole)) return '0 %';
  const share = (100 * Number(part)) / Number(whole);
  if (share > 0 && share < 0.05) return '< 0.1 %';
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

// --- bytes ---

export function bytesOf(base64) {
  const data = atob((base64 ?? '').replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(data, (letter) => letter.charCodeAt(0));
}

export const hexOf = (bytes) =>
  `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

export const hex = (base64) => hexOf(bytesOf(base64));

// The base64 of `0x…`, which the API wants; null if it is no hex.
export function fromHex(text) {
  const digits = text.trim().replace(/^0x/i, '');
  if (!/^([0-9a-f]{2})*$/i.test(digits)) return null;
  const letters = (digits.match(/../g) ?? []).map((pair) => String.fromCharCode(parseInt(pair, 16)));
  return btoa(letters.join(''));
}

export const short = (digits, head = 8, tail = 4) =>
  digits.length > head + tail + 5 ? `${digits.slice(0, head + 2)}…${digits.slice(-tail)}` : digits;

export const isZero = (base64) => bytesOf(base64).every((byte) => byte === 0);

// --- text ---

// Controls but for end of line and tab, marks of direction, what has no width, halves
// of letters, and letters that are for private use.
const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\p{Cs}\p{Co}]|[\u{e0000}-\u{e0fff}]/gu;

export const visible = (text) =>
  String(text ?? '').replace(HIDDEN, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);

// --- names ---

// `TIMER_STATUS_REMOVED_INSUFFICIENT_FUNDS` → `removed insufficient funds`.
export const enumText = (name, prefix) =>
  (name ?? '').replace(prefix, '').replaceAll('_', ' ').toLowerCase();

export const isFailed = (receipt) => receipt?.status === 'EXECUTION_STATUS_FAILED';

// `deployActor` → `deploy actor`.
export const spaced = (name) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

// --- time ---

export function timeText(ms) {
  const date = new Date(number(ms));
  return Number.isNaN(date.getTime()) ? grouped(ms) : date.toISOString().replace('T', ' ').replace('.000Z', ' UTC').replace('Z', ' UTC');
}

export function durationText(ms) {
  const units = [['d', 86_400_000], ['h', 3_600_000], ['min', 60_000], ['s', 1000]];
  for (const [index, [name, size]] of units.entries()) {
    if (ms < size && index < units.length - 1) continue;
    const next = units[index + 1];
    const whole = Math.floor(ms / size);
    const rest = next ? Math.floor((ms % size) / next[1]) : 0;
    if (!next) return `${Number((ms / size).toFixed(1))} s`;
    return rest ? `${grouped(whole)} ${name} ${rest} ${next[0]}` : `${grouped(whole)} ${name}`;
  }
  return '0 s';
}
