import { beforeEach, describe, expect, test } from "vitest";
import {
  type RegistryEvent,
  type RegistryState,
  registryMachine,
} from "../../../src/core/registry/machine.ts";
import {
  accessBackup,
  type Restoring,
  restoringRule,
  restoringToken,
} from "../../../src/core/registry/restore.ts";
import { ENDED_TOKEN_KEPT_MS, grantOf } from "../../../src/core/registry/tokens.ts";
import { AccessBackup } from "../../../src/schema/access/backup.ts";
import type { PoolConfig } from "../../../src/schema/pool.ts";
import { applied } from "../support/applied.ts";
import { registryOf } from "../support/registry.ts";

const T0 = Date.UTC(2026, 10, 24, 12);
const HOUR = 3_600_000;

type Restorable = Pick<AccessBackup, "tokens" | "trustRules">;

interface When {
  now?: number;
  madeAt?: number;
  expected?: string[];
}

/** A registry, and what tests tell it. */
class Told {
  state: RegistryState = registryOf(null);

  tell(event: RegistryEvent, now = T0): void {
    this.state = applied(registryMachine, this.state, event, now);
    for (const rows of [this.state.tokens, this.state.trust, this.state.projects]) rows.flush();
  }

  token(
    id: string,
    name: string,
    more: { expiresAt?: number; project?: string; parent?: string } = {},
  ): void {
    const { expiresAt = null, project = "default", parent = null } = more;
    const made = { createdAt: T0, createdBy: "admin", parent, expiresAt, payer: id };
    const token = { id, name, project, scopes: ["runs:read" as const], limits: { pools: ["gpus"] }, ...made };
    this.tell({ type: "token_created", token: { ...token, digest: `digest of ${id}` } });
  }

  rule(name: string, claims: Record<string, string>, parent: string | null = null): void {
    const of = {
      name,
      project: "default",
      version: "1",
      issuer: "https://ci.example.com",
      audience: "drover",
    };
    const made = { createdAt: T0, createdBy: "admin", parent, expiresAt: null, payer: `trust:${name}` };
    const may = { claims, scopes: ["runs:read" as const], limits: {}, labels: {}, lifetimeMs: HOUR };
    this.tell({ type: "trust_put", rule: { ...of, ...made, ...may } });
  }

  backup(now = T0): AccessBackup {
    return accessBackup(this.state, now);
  }

  /** Decides, and does it. */
  restore({ answer, event }: Restoring, now = T0): string {
    if (event !== undefined) this.tell(event, now);
    return answer.reason === null ? answer.result : `${answer.result}: ${answer.reason}`;
  }

  restoreAll(
    { tokens, trustRules }: Restorable,
    { now = T0, madeAt = now, expected = [] }: When = {},
  ): string[] {
    const parents = new Map(tokens.map(({ id, parent }) => [id, parent]));
    const terms = { by: "admin", now, madeAt, parents, expected };
    return [
      ...tokens.map((one) => this.restore(restoringToken(this.state, one, terms), now)),
      ...trustRules.map((one) => this.restore(restoringRule(this.state, one, "2", terms), now)),
    ];
  }

  revoke(id: string, { withChildren = false, now = T0 } = {}): void {
    this.tell({ type: "token_revoked", id, by: "admin", withChildren }, now);
  }
}

let old: Told;
let fresh: Told;
beforeEach(() => {
  [old, fresh] = [new Told(), new Told()];
  old.token("aaaaaaaaaa", "ci");
  old.rule("github", { sub: "repo" });
});

describe("tokens and trust rules come back as they were (backup.md#access)", () => {
  test("with the same id, digest, limits and end, so that the same token is valid", () => {
    old.token("bbbbbbbbbb", "laptop", { expiresAt: T0 + HOUR });
    const made = old.backup();
    expect(fresh.restoreAll(made)).toEqual(["created", "created", "created"]);
    expect(fresh.backup()).toEqual(made);
    expect(grantOf(fresh.state.tokens, "aaaaaaaaaa", T0)).toEqual(
      grantOf(old.state.tokens, "aaaaaaaaaa", T0),
    );
    expect(grantOf(fresh.state.tokens, "bbbbbbbbbb", T0 + HOUR)).toBeNull();
  });

  test("is what the schema accepts, so that every backup can be sent", () => {
    old.tell({ type: "token_rotated", id: "aaaaaaaaaa", digest: "d2", overlapMs: HOUR, by: "admin" });
    const made = old.backup();
    expect(made.tokens).toMatchObject([{ digest: "d2", old: { digest: "digest of aaaaaaaaaa" } }]);
    expect(AccessBackup.parse(made)).toEqual(made);
  });

  test("a second time changes nothing", () => {
    fresh.restoreAll(old.backup());
    const before = JSON.stringify(fresh.backup());
    expect(fresh.restoreAll(old.backup(), { now: T0 + HOUR })).toEqual(["exists", "exists"]);
    expect(JSON.stringify(fresh.backup())).toBe(before);
  });
});

describe("what does not come back (backup.md#access)", () => {
  const refusals: [why: string, before: (at: Told) => void, answer: string][] = [
    [
      "a token that was revoked since",
      (at) => {
        at.token("aaaaaaaaaa", "ci");
        at.tell({ type: "token_revoked", id: "aaaaaaaaaa", by: "admin", withChildren: false });
      },
      "refused: it is revoked here, and a backup does not undo that",
    ],
    [
      "a token whose name another one has",
      (at) => at.token("cccccccccc", "ci"),
      'refused: there is a token "ci" already; rotate or revoke it, or choose another name',
    ],
    ["a token that nobody has changed", (at) => at.token("aaaaaaaaaa", "ci"), "exists"],
  ];
  test.each(refusals)("%s", (_why, before, answer) => {
    before(fresh);
    const [token] = fresh.restoreAll({ ...old.backup(), trustRules: [] });
    expect(token).toBe(answer);
  });

  test("a token whose time is over, and one of a project that is not there", () => {
    old.token("bbbbbbbbbb", "short", { expiresAt: T0 + HOUR });
    const made = old.backup();
    expect(fresh.restoreAll(made, { now: T0 + HOUR })[1]).toBe("refused: its time is over");
    const elsewhere = made.tokens.map((one) => ({ ...one, project: "ml" }));
    const other = new Told();
    expect(other.restoreAll({ tokens: elsewhere, trustRules: [] })[0]).toContain('there is no project "ml"');
  });

  test("a rule in place of another rule of its name", () => {
    fresh.rule("github", { sub: "another" });
    expect(fresh.restoreAll({ ...old.backup(), tokens: [] })).toEqual([
      "refused: there is another rule of this name",
    ]);
    expect(fresh.backup().trustRules).toMatchObject([{ claims: { sub: "another" } }]);
  });

  test("tokens that have ended are in no backup", () => {
    old.tell({ type: "token_revoked", id: "aaaaaaaaaa", by: "admin", withChildren: false });
    expect(old.backup().tokens).toEqual([]);
  });
});

describe("what has ended here stays so (backup.md#ended)", () => {
  test("a rule that was removed does not come back, and one made again in its place stays", () => {
    const made = old.backup();
    old.tell({ type: "trust_removed", rule: { name: "github", project: "default" }, by: "admin" });
    const refused = "refused: it is removed here, and a backup does not undo that";
    expect(old.restoreAll(made)).toEqual(["exists", refused]);
    expect(old.backup().trustRules).toEqual([]);
    old.rule("github", { sub: "repo" });
    expect(old.restoreAll(made)).toEqual(["exists", "exists"]);
  });

  test("nor one that ended with the token that made it (access.md#children)", () => {
    old.rule("mine", { sub: "x" }, "aaaaaaaaaa");
    const made = old.backup();
    old.revoke("aaaaaaaaaa", { withChildren: true });
    expect(old.restoreAll(made).slice(2)).toEqual([
      "refused: it is removed here, and a backup does not undo that",
    ]);
  });

  test("what an ended token has made, also by others in between, does not come back", () => {
    old.token("bbbbbbbbbb", "child", { parent: "aaaaaaaaaa" });
    old.token("cccccccccc", "grandchild", { parent: "bbbbbbbbbb" });
    old.rule("theirs", { sub: "x" }, "cccccccccc");
    fresh.token("aaaaaaaaaa", "ci");
    fresh.revoke("aaaaaaaaaa");
    const why = "refused: the token ci (aaaaaaaaaa), by which it was made, is revoked here";
    const [ci, child, grandchild, github, theirs] = fresh.restoreAll(old.backup());
    expect([child, grandchild, theirs]).toEqual([why, why, why]);
    expect(ci).toContain("it is revoked here");
    expect(github).toBe("created");
  });

  test("a backup from before what is still remembered gives no token and no rule", () => {
    const made = old.backup();
    old.revoke("aaaaaaaaaa");
    old.tell({ type: "trust_removed", rule: { name: "github", project: "default" }, by: "admin" });
    const later = T0 + ENDED_TOKEN_KEPT_MS + HOUR;
    old.tell({ type: "token_created", token: tokenAt("dddddddddd", later) }, later);
    for (const rows of [old.state.tokens, old.state.trust]) expect([...rows.ended(9)]).toEqual([]);
    const refused = expect.stringContaining("refused: the backup is too old: what ended here before ");
    expect(old.restoreAll(made, { now: later, madeAt: T0 })).toEqual([refused, refused]);
    // What is valid now stays so, and another backup has nothing to hide.
    expect(old.restoreAll(old.backup(later), { now: later, madeAt: later })).toEqual(["exists"]);
    expect(fresh.restoreAll(made, { now: later, madeAt: T0 })).toEqual(["created", "created"]);
  });

  function tokenAt(id: string, createdAt: number) {
    const made = { createdAt, createdBy: "admin", parent: null, expiresAt: null, payer: id };
    return { id, name: id, project: "default", scopes: [], limits: {}, ...made, digest: `digest of ${id}` };
  }
});

test("a rehearsal counts projects as there that would have been made before (backup.md#restore)", () => {
  const elsewhere = old.backup().tokens.map((one) => ({ ...one, project: "ml" }));
  const wanted = { tokens: elsewhere, trustRules: [] };
  expect(fresh.restoreAll(wanted, { expected: ["other"] })[0]).toContain('there is no project "ml"');
  const over = { now: T0 + HOUR, expected: ["ml"] };
  const short = elsewhere.map((one) => ({ ...one, expiresAt: new Date(T0).toISOString() }));
  expect(fresh.restoreAll({ ...wanted, tokens: short }, over)).toEqual(["refused: its time is over"]);
  expect(fresh.restoreAll(wanted, { expected: ["ml"] })).toEqual(["created"]);
});

test("a backup says whose secret a pool names (backup.md#secrets)", () => {
  const provider = {
    kind: "http" as const,
    url: "https://m.example",
    secret: { secret: "cloud", project: "ml" },
  };
  const wanted = { provider } as PoolConfig; // a backup asks only where its credentials are
  const entry = { revision: 1, seed: "s", wanted, accepted: null };
  const state = { ...fresh.state, record: { pools: { gpus: entry } } };
  expect(accessBackup(state, T0).poolSecrets).toEqual([{ pool: "gpus", secret: "cloud", project: "ml" }]);
});
