import { describe, expect, test } from "vitest";
import { poolView } from "../../../src/core/pool/read/views.ts";
import type { Configured } from "../../../src/core/pool/state.ts";
import type { Instance } from "../../../src/schema/provider.ts";
import { listing, type PROVIDERS, poolAt, shown } from "../support/clouds.ts";
import { at, existing, MINUTE, owed, reloaded, T0, workerRow } from "../support/pool.ts";

// Other credentials can be those of another account, whose listings lack every machine (clouds.md#accounts).

const LATER = T0 + MINUTE;
const asked = (name: string, askedAt: number) => workerRow(name, "ready", { askedAt, instance: `i-${name}` });

/** A pool with one machine, which a listing with the credentials `old` has shown. */
function known(kind: keyof typeof PROVIDERS = "hetzner", account?: string): Configured {
  const pool = poolAt(kind, {}, [], [asked("w1", T0 - MINUTE)]);
  const named = account === undefined ? {} : { account };
  return at(pool, T0, listing([shown("w1")], { credentials: "old", ...named }));
}

/** Whether a listing at `now` proves that w1 is missing. */
function provesAbsence(
  state: Configured,
  items: Instance[],
  credentials: string,
  { account, now = LATER }: { account?: string; now?: number } = {},
): boolean {
  const named = account === undefined ? {} : { account };
  const listed = at(state, now, listing(items, { beganAt: now, credentials, ...named }));
  return owed(listed, now, "sighting").some(
    ({ body }) => body.worker === "w1" && body.instance === undefined,
  );
}

describe("that a listing lacks the pool's machine", () => {
  test.each<[string, () => boolean, boolean]>([
    ["counts with the same credentials", () => provesAbsence(known(), [], "old"), true],
    ["does not count with other ones", () => provesAbsence(known(), [], "new"), false],
    [
      "counts with other ones if it names the same account",
      () => provesAbsence(known("ec2", "123"), [], "new", { account: "123" }),
      true,
    ],
    [
      "does not count if it names another account",
      () => provesAbsence(known("ec2", "123"), [shown("x")], "new", { account: "456" }),
      false,
    ],
    [
      "does not count on EC2 if it names none, as where there is no machine",
      () => provesAbsence(known("ec2", "123"), [], "new"),
      false,
    ],
    [
      "counts on EC2 with the same credentials, if it names none",
      () => provesAbsence(known("ec2", "123"), [], "old"),
      true,
    ],
    ["counts where the configuration names the account", () => provesAbsence(known("fly"), [], "new"), true],
    [
      "counts at a service, which may be given another secret",
      () => provesAbsence(known("http"), [], "new"),
      true,
    ],
  ])("%s", (_what, counts, expected) => {
    expect(counts()).toBe(expected);
  });

  test("and the pool says what to do", () => {
    const { cloudError } = poolView(at(known(), LATER, listing([], { credentials: "new" })), LATER);
    expect(cloudError).toContain("show none of the 1 machines that this pool had before");
    expect(cloudError).toContain("put the former credentials back");
  });

  test("counts again after the former credentials came back", () => {
    const doubted = at(known(), LATER, listing([], { credentials: "new", beganAt: LATER }));
    expect(provesAbsence(doubted, [], "old", { now: LATER + MINUTE })).toBe(true);
  });
});

describe("other credentials are accepted", () => {
  const withSecond = (state: Configured, askedAt: number) => {
    state.workers.set("w2", asked("w2", askedAt), askedAt);
    return state;
  };

  test("once a listing shows a machine that was known before", () => {
    const both = withSecond(known(), T0 - MINUTE);
    expect(provesAbsence(both, [shown("w2")], "new")).toBe(true);
  });

  test("not because a listing shows a machine that was made since", () => {
    const both = withSecond(known(), T0 + 1);
    expect(provesAbsence(both, [shown("w2")], "new")).toBe(false);
  });

  test("not later either, and not after the pool was evicted", () => {
    const doubted = at(known(), LATER, listing([], { credentials: "new", beganAt: LATER }));
    const both = withSecond(reloaded(doubted), LATER + 1);
    expect(provesAbsence(existing(both), [shown("w2")], "new", { now: LATER + 2 * MINUTE })).toBe(false);
  });

  test("at once where no machine can be lost", () => {
    const empty = at(poolAt("hetzner"), T0, listing([], { credentials: "old" }));
    const rotated = at(empty, LATER, listing([], { credentials: "new" }));
    expect(poolView(rotated, LATER).cloudError).toBeNull();
    expect(rotated.record.account).toEqual({ credentials: "new" });
  });
});
