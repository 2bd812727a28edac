// How is a price shown that may be unknown?
import { money } from "../../src/shared/cloud/money.ts";

/** What something costs per hour; a price that is not known is not a price of 0. */
export function perHour(amount: number | null | undefined): string {
  return amount === null || amount === undefined ? "unknown" : `${money(amount)}/h`;
}
