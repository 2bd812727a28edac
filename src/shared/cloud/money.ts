// How is an amount of money written?

/**
 * An amount in the currency of the configured prices: at least two decimals, and enough for two significant
 * digits.
 */
export function money(amount: number): string {
  const digits = amount > 0 && amount < 1 ? Math.min(9, 1 - Math.floor(Math.log10(amount))) : 2;
  return amount.toFixed(Math.max(2, digits));
}
