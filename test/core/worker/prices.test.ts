import { expect, test } from "vitest";
import { MAX_PRICES } from "../../../src/core/worker/life/sighting.ts";
import type { WorkerEvent } from "../../../src/core/worker/machine.ts";
import { statusOf } from "../../../src/core/worker/read/status.ts";
import { upsertOf } from "../../../src/core/worker/read/summary.ts";
import { Instance } from "../../../src/schema/provider.ts";
import { at, CONSISTENCY, INSTANCE, intent, MINUTE, ready, reloaded, T0 } from "../support/worker.ts";

/** The provider's listing that begins then says this price; undefined: none. */
const listed = (beganAt: number, price: number | undefined): WorkerEvent => ({
  type: "sighting",
  body: {
    worker: "default-s-1",
    provider: intent().provider,
    beganAt,
    instance: { ...INSTANCE, state: "running", price },
    consistencyMs: CONSISTENCY,
  },
});
const says = (...prices: (number | undefined)[]) =>
  at(ready(), T0 + MINUTE, ...prices.map((price, n) => listed(T0 + n, price)));

test("each change of a price is remembered, and the latest is told (pool.md#prices)", () => {
  const state = reloaded(says(0.1, 0.1, 0.3, undefined, 0.2));
  const prices = [
    { price: 0.1, since: T0 },
    { price: 0.3, since: T0 + 2 },
    { price: 0.2, since: T0 + 4 },
  ];
  expect(state.record.prices).toEqual(prices);
  expect(upsertOf(state, T0 + MINUTE).listedPrice).toEqual(prices.at(-1));
  const shown = statusOf(state, T0 + MINUTE);
  expect(shown.price).toBe(0.2);
  expect(shown.prices).toEqual(
    prices.map(({ price, since }) => ({ price, since: new Date(since).toISOString() })),
  );
});

test("a price that stays is no news, and none is none", () => {
  const told = says(0.1);
  expect(at(told, T0 + MINUTE, listed(T0 + 9, 0.1)).record).toBe(told.record);
  expect(says(undefined).record.prices).toEqual([]);
  expect(told.record.version).toBe(ready().record.version + 1);
});

test("an older listing than the latest price changes nothing", () => {
  const told = says(0.1);
  expect(at(told, T0 + MINUTE, listed(T0 - 1, 0.5)).record.prices).toEqual(told.record.prices);
});

test.each([MAX_PRICES, MAX_PRICES + 1])("of %i changes at most the latest so many are kept", (count) => {
  const { prices = [] } = says(...Array.from({ length: count }, (_, n) => n)).record;
  expect([prices.length, prices.at(-1)?.price]).toEqual([MAX_PRICES, count - 1]);
});

test.each([[-1], ["much"], [Number.NaN], [null]])("a price of %j loses no machine: it is none", (price) => {
  expect(Instance.parse({ ...INSTANCE, price })).toMatchObject({ id: INSTANCE.id, price: undefined });
});
