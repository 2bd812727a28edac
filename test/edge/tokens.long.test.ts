import { afterAll, beforeAll, expect, test } from "vitest";
import { drover, endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

// Tokens as people use them: by the command, at a local Drover, which proves itself by each of them.

const home = makeHome("tokens");
const elsewhere = makeHome("tokens-elsewhere");
let up: RunningDrover;
beforeAll(async () => {
  up = await startDrover(home);
});
afterAll(() => endDrover(home, up));

/** The command in a directory that knows no Drover, with this token. */
const as = async (token: string, ...args: string[]) => {
  const ended = await drover(elsewhere, args, { DROVER_URL: up.url, DROVER_TOKEN: token });
  return { ...ended, stdout: ended.stdout.toString() };
};
const create = async (...flags: string[]): Promise<string> => {
  const { code, stdout, stderr } = await drover(home, ["tokens", "create", ...flags]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.toString().trim();
};

test("a submitter runs a command, and may not touch machines (access.md#presets)", async () => {
  const token = await create("--name", "dev", "--preset", "submitter");
  expect(token).toMatch(/^drv_[0-9A-Za-z]{48}$/);
  const ran = await as(token, "run", "--", "sh", "-c", "echo out; exit 3");
  expect(ran).toMatchObject({ code: 3, stdout: "out\n" });
  const refused = await as(token, "drain", "w-1");
  expect(refused.code).toBe(125);
  expect(refused.stderr).toContain("workers:write");
});

test("who aborts a run is named by the name of the token (access.md#actors)", async () => {
  const token = await create("--name", "stopper", "--preset", "operator");
  const started = await as(token, "run", "--detach", "--", "sleep", "600");
  const id = started.stdout.trim();
  expect((await as(token, "abort", id)).code).toBe(0);
  const { abort } = await up.json(200, "GET", `/v1/runs/${id}`);
  expect(abort.by).toBe("token:stopper");
});

test("a team's token sees its own runs only (access.md#limits)", async () => {
  const token = await create("--name", "team-x", "--preset", "submitter", "--label", "team=x");
  const theirs = (await drover(home, ["run", "--detach", "--", "true"])).stdout.toString().trim();
  const own = (await as(token, "run", "--detach", "--", "true")).stdout.trim();
  const listed = (await as(token, "ps", "--all", "--json")).stdout;
  expect(JSON.parse(listed).map(({ id }: { id: string }) => id)).toEqual([own]);
  const status = await as(token, "status", theirs);
  expect(status.code).toBe(125);
  expect(status.stderr).toContain(`there is no run "${theirs}"`);
});

test("a rotated token proves the Drover by either secret, and a revoked one opens nothing", async () => {
  const old = await create("--name", "rotates", "--preset", "viewer");
  const fresh = (await drover(home, ["tokens", "rotate", "rotates"])).stdout.toString().trim();
  expect(fresh.slice(0, 14)).toBe(old.slice(0, 14));
  for (const token of [old, fresh]) expect((await as(token, "ps")).code).toBe(0);
  const { stderr, code } = await drover(home, ["tokens", "revoke", "rotates"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "drover: the token rotates is revoked\n" });
  for (const token of [old, fresh]) expect((await as(token, "ps")).code).toBe(125);
  const listed = (await drover(home, ["tokens", "list", "--all"])).stdout.toString();
  expect(listed).toMatch(/rotates +\S+ +revoked/);
});

test("a token with a typing error is called that, and is told apart from a wrong one", async () => {
  const token = await create("--name", "typo", "--preset", "viewer");
  const typo = `${token.slice(0, 30)}${token[30] === "a" ? "b" : "a"}${token.slice(31)}`;
  const said = await as(typo, "ps");
  expect(said).toMatchObject({ code: 125, stdout: "" });
  expect(said.stderr).toContain("DROVER_TOKEN has a typing error");
  const answer = await fetch(`${up.url}/v1/runs`, { headers: { authorization: `Bearer ${typo}` } });
  expect(answer.status).toBe(401);
  expect(((await answer.json()) as { detail: string }).detail).toContain("typing error");
});
