import { describe, expect, test } from "vitest";
import {
  type RegistryEvent,
  type RegistryState,
  registryMachine,
} from "../../../src/core/registry/machine.ts";
import { ENDED_TOKEN_KEPT_MS, grantOf, tokenViews } from "../../../src/core/registry/tokens.ts";
import { applied } from "../support/applied.ts";
import { registryOf } from "../support/registry.ts";

const DAY = 24 * 3_600_000;
const T0 = Date.UTC(2026, 10, 24, 12);

const created = (over: object = {}): RegistryEvent => ({
  type: "token_created",
  token: {
    id: "abcdefghij",
    name: "ci",
    project: "default",
    payer: "abcdefghij",
    scopes: ["runs:read"],
    limits: {},
    digest: "first",
    createdAt: T0,
    createdBy: "admin",
    parent: null,
    expiresAt: null,
    ...over,
  },
});
const rotated = (digest: string, overlapMs: number): RegistryEvent => ({
  type: "token_rotated",
  id: "abcdefghij",
  digest,
  overlapMs,
  by: "admin",
});
const revoked: RegistryEvent = {
  type: "token_revoked",
  id: "abcdefghij",
  by: "token:boss",
  withChildren: false,
};
const used: RegistryEvent = { type: "token_used", id: "abcdefghij", digest: "first" };

/** A registry after these events, each with its time. */
function registryAfter(...events: [RegistryEvent, number][]): RegistryState {
  return events.reduce((state, [event, now]) => {
    const next = applied(registryMachine, state, event, now);
    next.tokens.flush();
    return next;
  }, registryOf(null));
}
const digests = ({ tokens }: RegistryState, now: number) =>
  grantOf(tokens, "abcdefghij", now)?.digests.map(({ digest }) => digest);

describe("a token (access.md#tokens)", () => {
  test("is valid from its creation on", () => {
    expect(digests(registryAfter([created(), T0]), T0)).toEqual(["first"]);
    expect(digests(registryAfter([created(), T0]), T0 + 3_650 * DAY)).toEqual(["first"]);
  });

  test("has both secrets during an overlap, and then the new one alone (access.md#rotation)", () => {
    const state = registryAfter([created(), T0], [rotated("second", 1_000), T0 + 10]);
    expect(digests(state, T0 + 1_009)).toEqual(["second", "first"]);
    expect(digests(state, T0 + 1_010)).toEqual(["second"]);
  });

  test("has one secret after a rotation without overlap, and never three (access.md#rotation)", () => {
    expect(digests(registryAfter([created(), T0], [rotated("second", 0), T0]), T0)).toEqual(["second"]);
    const twice = registryAfter([created(), T0], [rotated("second", DAY), T0], [rotated("third", DAY), T0]);
    expect(digests(twice, T0)).toEqual(["third", "second"]);
  });

  test("has no old secret beyond its own end (access.md#rotation)", () => {
    const state = registryAfter([created({ expiresAt: T0 + 100 }), T0], [rotated("second", DAY), T0]);
    const grant = grantOf(state.tokens, "abcdefghij", T0 + 99);
    expect(grant?.digests.map(({ until }) => until)).toEqual([T0 + 100, T0 + 100]);
  });

  test("is not valid once it is revoked, and stays so", () => {
    const state = registryAfter(
      [created(), T0],
      [revoked, T0 + 5],
      [rotated("second", DAY), T0 + 6],
      [used, T0 + 7],
    );
    expect(digests(state, T0 + 7)).toBeUndefined();
    expect(tokenViews(state, null, T0 + 7)).toMatchObject([
      { state: "revoked", revokedBy: "token:boss", revokedAt: "2026-11-24T12:00:00.005Z", lastUsedOn: null },
    ]);
  });

  test("ends by its time, though nobody looks", () => {
    const state = registryAfter([created({ expiresAt: T0 + DAY }), T0]);
    expect(digests(state, T0 + DAY - 1)).toEqual(["first"]);
    expect(digests(state, T0 + DAY)).toBeUndefined();
    expect(registryMachine.wakeAt(state)).toBe(T0 + DAY);
    const ended = applied(registryMachine, state, { type: "tick" }, T0 + DAY + 5);
    ended.tokens.flush();
    expect(registryMachine.wakeAt(ended)).toBeUndefined();
    expect(tokenViews(ended, null, T0 + DAY + 5)).toMatchObject([{ state: "expired" }]);
  });

  test("is listed for 90 days after its end", () => {
    const two = (at: number) =>
      registryAfter(
        [created({ expiresAt: T0 + DAY }), T0],
        [{ type: "tick" }, T0 + DAY],
        [created({ id: "0000000000", name: "other", expiresAt: at }), T0 + 2 * DAY],
        [{ type: "tick" }, at],
      );
    const names = (at: number) => {
      return tokenViews(two(at), null, at).map(({ name }) => name);
    };
    expect(names(T0 + DAY + ENDED_TOKEN_KEPT_MS - 1)).toEqual(["other", "ci"]);
    expect(names(T0 + DAY + ENDED_TOKEN_KEPT_MS)).toEqual(["other"]);
  });

  test("notes the day of its latest use, one row a day (access.md#last-use)", () => {
    const state = registryAfter([created(), T0], [used, T0 + 1]);
    expect(tokenViews(state, null, T0 + 1)).toMatchObject([{ lastUsedOn: "2026-11-24" }]);
    const again = applied(registryMachine, state, used, T0 + 2);
    expect(again.tokens.flush()).toBe(0);
    const next = applied(registryMachine, again, used, T0 + DAY);
    expect(next.tokens.flush()).toBe(1);
    expect(tokenViews(next, null, T0 + DAY)).toMatchObject([{ lastUsedOn: "2026-11-25" }]);
  });

  test("is not used by whoever knows its id alone (access.md#last-use)", () => {
    const state = registryAfter([created(), T0], [{ ...used, digest: "guessed" }, T0 + 1]);
    expect(tokenViews(state, null, T0 + 1)).toMatchObject([{ lastUsedOn: null }]);
  });

  test("that was revoked is forgotten after 90 days, though no other ever expires", () => {
    const later = T0 + ENDED_TOKEN_KEPT_MS + 1;
    const state = registryAfter(
      [created(), T0],
      [revoked, T0],
      [created({ id: "0000000000", name: "b" }), later],
    );
    expect(tokenViews(state, null, later).map(({ name }) => name)).toEqual(["b"]);
  });

  test("that does not exist changes nothing", () => {
    for (const event of [revoked, used, rotated("x", 0)])
      expect(digests(registryAfter([event, T0]), T0)).toBeUndefined();
  });
});
