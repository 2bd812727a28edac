import { describe, expect, test } from "vitest";
import { registryMachine } from "../../../src/core/registry/machine.ts";
import {
  IDLE_SESSION_MS,
  MAX_SESSIONS,
  MAX_SESSIONS_OF_OWNER,
  offeredTo,
  sessionEndsAt,
  sessionGrantOf,
  sessionViews,
} from "../../../src/core/registry/sessions.ts";
import { LONGEST_SESSION_MS, SESSION_CODE_MS } from "../../../src/shared/limits.ts";
import { registryOf } from "../support/registry.ts";

const T0 = 1_700_000_000_000;
const HOUR = 3_600_000;
const DIGEST = "sha-256=:secret-of-the-session:";
const TOKEN_SECRET = "sha-256=:secret-of-the-token:";

type Event = Parameters<typeof registryMachine.apply>[1];

/** A registry with a token, and what happens to it. */
function registry() {
  let state = registryOf(null);
  const at = (now: number, event: Event = { type: "tick" }) => {
    state = registryMachine.apply(state, event, now);
    return state;
  };
  const token = {
    id: "tokentoken",
    name: "ci",
    project: "default",
    payer: "tokentoken",
    scopes: ["runs:read" as const],
    limits: {},
    digest: TOKEN_SECRET,
    createdAt: T0,
    createdBy: "admin",
    parent: null,
    expiresAt: null,
  };
  at(T0, { type: "token_created", token });
  return {
    at,
    grant: (now: number, id = "s") => sessionGrantOf(at(now).sessions, state, id, now),
    views: (now: number) => sessionViews(at(now).sessions, state, null),
    endsAt: () => sessionEndsAt(state.sessions),
    written: () => state.sessions.flush(),
  };
}

const OWNER = { token: "tokentoken", secret: TOKEN_SECRET };
const started = (id = "s", owner: { token: string | null; secret: string } = OWNER): Event => ({
  type: "session_started",
  id,
  owner,
  digest: DIGEST,
});
const used: Event = { type: "session_used", id: "s", digest: DIGEST };

describe("a session (sessions.md#life)", () => {
  test("has the grant of its owner's token", () => {
    const one = registry();
    one.at(T0, started());
    expect(one.grant(T0)).toMatchObject({
      digest: DIGEST,
      token: { id: "tokentoken", scopes: ["runs:read"] },
    });
    expect(one.views(T0)).toMatchObject([{ id: "s", token: "tokentoken", name: "ci" }]);
  });

  test("of the break-glass secret has no token", () => {
    const one = registry();
    one.at(T0, started("s", { token: null, secret: "digest of the secret" }));
    expect(one.grant(T0)).toMatchObject({ token: null, owner: { secret: "digest of the secret" } });
    expect(one.views(T0)).toMatchObject([{ token: null, name: "admin" }]);
  });

  test("ends 12 hours after its last use", () => {
    const one = registry();
    one.at(T0, started());
    one.at(T0 + 2 * HOUR, used);
    expect(one.endsAt()).toBe(T0 + 2 * HOUR + IDLE_SESSION_MS);
    expect(one.grant(T0 + 2 * HOUR + IDLE_SESSION_MS - 1)).not.toBeNull();
    expect(one.grant(T0 + 2 * HOUR + IDLE_SESSION_MS)).toBeNull();
    expect(one.endsAt()).toBeUndefined();
  });

  test("that is over does not begin again by a late use", () => {
    const one = registry();
    one.at(T0, started());
    one.at(T0 + IDLE_SESSION_MS, used);
    expect(one.grant(T0 + IDLE_SESSION_MS)).toBeNull();
  });

  test("ends after 7 days, however much it is used", () => {
    const one = registry();
    one.at(T0, started());
    for (let at = T0; at < T0 + LONGEST_SESSION_MS; at += HOUR) one.at(at, used);
    expect(one.grant(T0 + LONGEST_SESSION_MS - 1)).not.toBeNull();
    expect(one.grant(T0 + LONGEST_SESSION_MS)).toBeNull();
  });

  test("is written once an hour at most, however much it is used", () => {
    const one = registry();
    one.at(T0, started());
    one.written();
    for (let minute = 1; minute <= 59; minute += 1) one.at(T0 + minute * 60_000, used);
    expect(one.written()).toBe(0);
    one.at(T0 + HOUR, used);
    expect(one.written()).toBe(1);
  });

  test("is not kept alive by another secret", () => {
    const one = registry();
    one.at(T0, started());
    one.at(T0 + 2 * HOUR, { ...used, digest: "another" });
    expect(one.endsAt()).toBe(T0 + IDLE_SESSION_MS);
  });

  const ENDS: [string, Event[]][] = [
    ["it is ended", [{ type: "session_ended", id: "s", by: "admin" }]],
    ["its token is revoked", [{ type: "token_revoked", id: "tokentoken", by: "admin", withChildren: false }]],
    [
      "its token is rotated at once",
      [{ type: "token_rotated", id: "tokentoken", digest: "d", overlapMs: 0, by: "ann" }],
    ],
  ];
  test.each(ENDS)("ends if %s", (_, events) => {
    const one = registry();
    one.at(T0, started());
    for (const event of events) one.at(T0 + 1, event);
    expect(one.grant(T0 + 1)).toBeNull();
    expect(one.views(T0 + 1)).toEqual([]);
  });

  test("ends with the secret that started it, at the end of a rotation's overlap", () => {
    const one = registry();
    one.at(T0, started());
    one.at(T0, { type: "token_rotated", id: "tokentoken", digest: "d", overlapMs: HOUR, by: "ann" });
    expect(one.grant(T0 + HOUR - 1)).not.toBeNull();
    expect(one.grant(T0 + HOUR)).toBeNull();
  });
});

describe("a code (sessions.md#codes)", () => {
  const offered: Event = { type: "session_offered", id: "s", owner: OWNER, digest: "code" };
  const owner = (one: ReturnType<typeof registry>, now: number, digest = "code") =>
    offeredTo(one.at(now).sessions, "s", digest, now);

  test("names its owner for a minute", () => {
    const one = registry();
    one.at(T0, offered);
    expect(owner(one, T0 + SESSION_CODE_MS - 1)).toEqual(OWNER);
    expect(owner(one, T0 + SESSION_CODE_MS)).toBeUndefined();
  });

  test("is no session, and is not listed as one", () => {
    const one = registry();
    one.at(T0, offered);
    expect(one.grant(T0)).toBeNull();
    expect(one.views(T0)).toEqual([]);
  });

  test("starts one session, which has another secret", () => {
    const one = registry();
    one.at(T0, offered);
    one.at(T0, started());
    expect(owner(one, T0)).toBeUndefined();
    expect(owner(one, T0, DIGEST)).toBeUndefined();
    expect(one.grant(T0)).toMatchObject({ digest: DIGEST });
  });

  test("with another secret is no code", () => {
    const one = registry();
    one.at(T0, offered);
    expect(owner(one, T0, "guessed")).toBeUndefined();
  });
});

test("an owner has at most 20 sessions and codes: another one ends the oldest (sessions.md#life)", () => {
  const one = registry();
  for (let index = 0; index <= MAX_SESSIONS_OF_OWNER; index += 1) one.at(T0 + index, started(`s${index}`));
  const ids = one.views(T0 + HOUR).map(({ id }) => id);
  expect(ids).toHaveLength(MAX_SESSIONS_OF_OWNER);
  expect(ids).not.toContain("s0");
});

describe("when there are 1,000 sessions and codes (sessions.md#life)", () => {
  /** A registry in which each of these tokens has as many sessions as said, the earlier ones the older. */
  function full(
    owners: readonly { token: string | null; project?: string; sessions: number }[],
    codes: 0 | 1 = 0,
  ) {
    const one = registry();
    let now = T0;
    for (const { token, project = "default", sessions } of owners) {
      const secret = `sha-256=:${token}:`;
      if (token !== null) {
        const row = { id: token, name: token, project, payer: token, digest: secret, createdAt: T0 };
        const more = { scopes: ["runs:read" as const], limits: {}, createdBy: "admin" };
        one.at(T0, { type: "token_created", token: { ...row, ...more, parent: null, expiresAt: null } });
      }
      for (let index = 0; index < sessions; index += 1) {
        now += 1;
        one.at(now, started(`${token}-${index}`, { token, secret }));
      }
    }
    const at = (event: Event) => {
      now += 1;
      one.at(now, event);
    };
    if (codes === 1) at({ type: "session_offered", id: "code", owner: OWNER, digest: "code" });
    const active = () => one.views(now).map(({ id }) => id);
    expect(active()).toHaveLength(MAX_SESSIONS - codes);
    const before = active();
    /** Starts one session more. Returns those that it ends. */
    const ends = (token: string | null, secret = `sha-256=:${token}:`) => {
      at(started("new", { token, secret }));
      const after = active();
      expect(after).toContain("new");
      expect(after).toHaveLength(MAX_SESSIONS);
      return before.filter((id) => !after.includes(id));
    };
    return { at, active, ends };
  }
  const many = (count: number, sessions: number, prefix = "t", project = "default") =>
    Array.from({ length: count }, (_, n) => ({ token: `${prefix}${n}`.padEnd(10, "x"), project, sessions }));

  test("whose owners have 20 each, the admin and a token without a session get one", () => {
    expect(full(many(50, 20)).ends(null)).toEqual(["t0xxxxxxxx-0"]);
    expect(full(many(50, 20)).ends("tokentoken", TOKEN_SECRET)).toEqual(["t0xxxxxxxx-0"]);
  });

  test("an owner with 20 replaces its own oldest one", () => {
    expect(full(many(50, 20)).ends("t7xxxxxxxx")).toEqual(["t7xxxxxxxx-0"]);
  });

  test("room is made at the owner who has the most", () => {
    const owners = [...many(97, 10, "a"), ...many(1, 18, "b"), ...many(1, 12, "c")];
    expect(full(owners).ends(null)).toEqual(["b0xxxxxxxx-0"]);
  });

  test("room is made in the project that has the most, also if each token has a single one there", () => {
    const owners = [
      { token: null, sessions: 20 },
      ...many(19, 20, "b", "team"),
      ...many(600, 1, "a", "evil"),
    ];
    expect(full(owners).ends("tokentoken", TOKEN_SECRET)).toEqual(["a0xxxxxxxx-0"]);
  });

  test("a code that starts its session ends no other one", () => {
    const { at, active } = full([...many(49, 20), ...many(1, 19, "u")], 1);
    const before = active();
    at(started("code"));
    expect(active().toSorted()).toEqual(["code", ...before].toSorted());
  });
});
