/** Amounts: base units as `bigint`, and as people write them. One CBY is 10^9 base units. */

export type Amount = bigint | number | string;

const AMOUNT = /^(\d[\d_,]*)(?:\.(\d{1,9}))?\s*(cby)?$/i;
const DECIMALS = 9;
const BOUND = 2n ** 128n;

/** Base units of `5 CBY`, `0.25 CBY`, `1000`, a whole number; throws a `RangeError` otherwise. */
export function parseAmount(amount: Amount): bigint {
  const units = typeof amount === "string" ? parse(amount) : BigInt(amount);
  if (units < 0n || units >= BOUND) throw new RangeError(`${amount} is not below 2^128, from 0`);
  return units;
}

function parse(text: string): bigint {
  const [, whole, decimals, unit] = AMOUNT.exec(text.trim()) ?? [];
  if (whole === undefined || (decimals !== undefined && unit === undefined)) {
    throw new RangeError(`${JSON.stringify(text)} is no amount: write 5 CBY, 0.25 CBY, or base units`);
  }
  const units = BigInt(whole.replace(/[_,]/g, ""));
  if (unit === undefined) return units;
  return units * 10n ** BigInt(DECIMALS) + BigInt((decimals ?? "").padEnd(DECIMALS, "0"));
}

/** `1.5 CBY`, exactly. */
export function formatAmount(units: bigint): string {
  const sign = units < 0n ? "-" : "";
  const digits = (units < 0n ? -units : units).toString().padStart(DECIMALS + 1, "0");
  const whole = digits.slice(0, -DECIMALS).replace(/\B(?=(\d{3})+$)/g, ",");
  const decimals = digits.slice(-DECIMALS).replace(/0+$/, "");
  return `${sign}${whole}${decimals && `.${decimals}`} CBY`;
}
