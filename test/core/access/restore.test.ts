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
import { grantOf } from "../../../src/core/registry/tokens.ts";
import { AccessBackup } from "../../../src/schema/access/backup.ts";
import { applied } from "../support/applied.ts";
import { registryOf } from "../support/registry.ts";

const T0 = Date.UTC(2026, 10, 24, 12);
const HOUR = 3_600_000;

/** A registry, and what tests tell it. */
class Told {
  state: RegistryState = registryOf(null);

  tell(event: RegistryEvent, now = T0): void {
    this.state = applied(registryMachine, this.state, event, now);
    for (const rows of [this.state.tokens, this.state.trust, this.state.projects]) rows.flush();
  }

  token(id: string, name: string, more: { expiresAt?: number; project?: string } = {}): void {
    const { expiresAt = null, project = "default" } = more;
    const made = { createdAt: T0, createdBy: "admin", parent: null, expiresAt, payer: id };
    const token = { id, name, project, scopes: ["runs:read" as const], limits: { pools: ["gpus"] }, ...made };
    this.tell({ type: "token_created", token: { ...token, digest: `digest of ${id}` } });
  }

  rule(name: string, claims: Record<string, string>): void {
    const of = {
      name,
      project: "default",
      version: "1",
      issuer: "https://ci.example.com",
      audience: "drover",
    };
    const made = { createdAt: T0, createdBy: "admin", parent: null, expiresAt: null, payer: `trust:${name}` };
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

  restoreAll({ tokens, trustRules }: AccessBackup, now = T0): string[] {
    return [
      ...tokens.map((one) => this.restore(restoringToken(this.state, one, "admin", now), now)),
      ...trustRules.map((one) =>
        this.restore(restoringRule(this.state, one, "admin", { now, version: "2" }), now),
      ),
    ];
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
    expect(fresh.restoreAll(old.backup(), T0 + HOUR)).toEqual(["exists", "exists"]);
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
    expect(fresh.restoreAll(made, T0 + HOUR)[1]).toBe("refused: its time is over");
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
