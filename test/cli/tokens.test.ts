import { afterEach, beforeEach, expect, test } from "vitest";
import { type Bench, openBench } from "./support/command.ts";
import { json } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const token = (id: string, state = "active") => ({
  ...{ id, name: "ci", scopes: ["tokens:write"], limits: {}, state, rule: null, createdBy: "admin" },
  ...{ createdAt: "2026-11-21T08:30:00.000Z", expiresAt: null, rotatedAt: null, oldSecretUntil: null },
  ...{ lastUsedOn: null, revokedAt: null, revokedBy: null },
});
const children = { tokens: [{ id: "leafleafle", name: "leaf" }], trustRules: ["deploy"] };
const list = (...items: object[]) =>
  bench.plane.on("GET", /^\/v1\/tokens$/, (_seen, res) => json(res, 200, { items, next: null }));
const revoke = (childrenEnded: boolean) =>
  bench.plane.on("DELETE", /^\/v1\/tokens\/cicicicici$/, (_seen, res) =>
    json(res, 200, { ...token("cicicicici", "revoked"), children, childrenEnded }),
  );
const asked = () => bench.plane.seen.find(({ method }) => method === "DELETE")?.query.get("children") ?? null;

test("a revocation names what lives on, and how to end that (access.md#children)", async () => {
  list(token("cicicicici"));
  revoke(false);
  const { code, stderr } = await bench.run(["tokens", "revoke", "ci"]);
  expect([code, asked()]).toEqual([0, null]);
  expect(stderr).toContain("what it has made lives on: token leaf (leafleafle), trust rule deploy");
  expect(stderr).toContain("`drover tokens revoke cicicicici --with-children`");
});

test("--with-children ends that, also of a token that was revoked before (access.md#children)", async () => {
  list(token("cicicicici", "revoked"));
  revoke(true);
  const { code, stderr } = await bench.run(["tokens", "revoke", "ci", "--with-children"]);
  expect([code, asked()]).toEqual([0, "1"]);
  expect(stderr).toContain("and with it what it had made: token leaf (leafleafle), trust rule deploy");
});

test("without the flag, a token that has ended is not found by its name", async () => {
  list(token("cicicicici", "revoked"));
  expect((await bench.run(["tokens", "revoke", "ci"])).stderr).toContain("no valid token called `ci`");
});
