import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isOurs, NAMES } from "../../local/state/names.ts";
import { drover, endDrover, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import { signedBy, strangeSecret } from "../support/signed.ts";
import { until } from "./support/scratch.ts";

let home: string;
let up: RunningDrover | undefined;
beforeEach(() => {
  home = makeHome("again");
});
afterEach(async () => {
  await endDrover(home, up);
  up = undefined;
  rmSync(home, { recursive: true, force: true });
});

/** What only `drover up --cloud` writes. */
const OF_FAKES = "fake-clouds";

/** Each start below is one on a state directory in which everything has been written that ever is. */
async function used(): Promise<RunningDrover> {
  up = await startDrover(home);
  const { stateDir } = up;
  expect(await drover(home, ["run", "--id", "first", "--", "true"])).toMatchObject({ code: 0 });
  await until(
    "all files are there",
    () => NAMES.every((name) => name === OF_FAKES || existsSync(join(stateDir, name))) || undefined,
  );
  expect(readdirSync(stateDir).filter((name) => !isOurs(name))).toEqual([]);
  return up;
}
/** A call that nobody's secret has signed, as a worker that there never was. */
async function knock({ url }: RunningDrover, worker: string): Promise<number> {
  const headers = signedBy({ worker, secret: strangeSecret() }, "join", ["POST", joinOf(worker)], "{}");
  return (await fetch(url + joinOf(worker), { method: "POST", headers, body: "{}" })).status;
}
const joinOf = (worker: string) => `/v1/hosts/${worker}/join`;
const databases = ({ stateDir }: RunningDrover) =>
  readdirSync(join(stateDir, "objects"), { recursive: true })
    .map(String)
    .filter((name) => /CloudWorker\/[0-9a-f]+\.sqlite$/.test(name));
const first = () => up?.call("GET", "/v1/runs/first").then(({ status }) => status);

test.each([
  ["Ctrl-C", "SIGINT"],
  ["kill -9", "SIGKILL"],
] as const)(
  "X15: what refused calls under new names leave goes with the next start, after %s, and nothing else does",
  async (_, signal) => {
    const before = await used();
    const kept = databases(before);
    expect(kept.length).toBeGreaterThan(0);
    for (let n = 0; n < 5; n += 1) expect(await knock(before, `nobody-${n}`)).toBe(401);
    expect(databases(before)).toHaveLength(kept.length + 5);
    process.kill(-before.pid, signal);
    await before.ended;
    up = await startDrover(home);
    expect(databases(up).filter((name) => !kept.includes(name))).toHaveLength(0);
    expect(await first()).toBe(200);
  },
);

test.each([
  ["Ctrl-C", "SIGINT", 0],
  ["kill -9", "SIGKILL", "SIGKILL"],
] as const)("P11: `drover up` starts again on its state directory after %s", async (_, signal, code) => {
  const before = await used();
  process.kill(-before.pid, signal);
  expect(await before.ended).toBe(code);
  if (code === 0) {
    const gone = ["awake", "context.json", "lock"].filter((name) => existsSync(join(before.stateDir, name)));
    expect(gone).toEqual([]);
  }
  // A crash may leave any file half written.
  else for (const name of NAMES) writeFileSync(join(before.stateDir, `${name}.new`), "");
  up = await startDrover(home);
  expect(await first()).toBe(200);
  expect(await up.stop()).toBe(0);
  up = await startDrover(home, {}, [], ["--fresh"]);
  expect(await first()).toBe(404);
  expect(await up.stop()).toBe(0);
});
