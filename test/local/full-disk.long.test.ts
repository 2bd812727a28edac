import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, type TestContext, test } from "vitest";
import {
  drover,
  endDrover,
  launchDrover,
  makeHome,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";
import { until } from "./support/scratch.ts";
import { mountDisk, NO_MOUNT, type SmallDisk } from "./support/small-disk.ts";

let home: string;
let disk: SmallDisk | undefined;
let up: RunningDrover | undefined;
beforeEach(() => {
  home = makeHome("full");
});
afterEach(async () => {
  disk?.free();
  await endDrover(home, up);
  up = undefined;
  disk?.unmount();
  disk = undefined;
  rmSync(home, { recursive: true, force: true });
});

/** A disk of this size at the state directory of a `drover up` that is to be started. */
function mounted(context: TestContext, options: string): SmallDisk {
  disk = mountDisk(join(home, ".drover"), options);
  if (disk === undefined) context.skip(NO_MOUNT);
  return disk;
}

/** What is printed of a run. */
async function stateOf(id: string): Promise<string> {
  const { stdout } = await drover(home, ["status", id, "--json"]);
  return stdout.length === 0 ? "unknown" : JSON.parse(stdout.toString()).state;
}

/** Until the disk has had room for a while, on a machine that may be busy. */
const WITHIN_MS = 600_000;

describe("P4: a full disk below the state directory does not end drover up", { timeout: WITHIN_MS }, () => {
  const again = `
    cd "$DROVER_TASK_DIR"
    fill() { dd if=/dev/zero bs=1M count=$1 >>much 2>/dev/null; }
    fill 99
    until fill 1; do sleep 0.1; done
    fill 99`;
  const fillers = [
    [
      "output fills it fails by itself, and its output is whole",
      ["dd", "if=/dev/zero", "bs=1M", "count=99"],
      1,
    ],
    ["files fill it, and then half of the reserve, fails by itself", ["sh", "-c", again], 0],
  ] as const;
  test.for(fillers)("a command whose %s (faults-below.md#full-disk)", async (filler, context) => {
    const [, command, leastMiB] = filler;
    const small = mounted(context, "size=40m,mode=700");
    up = await startDrover(home);
    const ran = await drover(home, ["run", "--id", "big", "--", ...command]);
    expect(ran.code, ran.stderr).toBe(1);
    expect(ran.stderr).not.toContain("is incomplete");
    expect(ran.stdout.length).toBeGreaterThanOrEqual(leastMiB * 1024 * 1024);
    const log = await drover(home, ["logs", "big"]);
    expect(log.stdout.length).toBe(ran.stdout.length);
    expect(up.said()).toContain(`disk full: ${small.dir}.`);
    await until("there is room again", () => up?.said().includes("has free space again") || undefined);
    expect(await drover(home, ["run", "--", "true"])).toMatchObject({ code: 0 });
    expect(await up.stop()).toBe(0);
  });

  const faults = [
    ["no bytes", "size=40m,mode=700", (small: SmallDisk) => small.fill()],
    ["no file names", "size=40m,mode=700,nr_inodes=400", (small: SmallDisk) => small.fillNames()],
  ] as const;
  test.for(faults)(
    "%s: commands are told, and runs are known and go on afterwards",
    async (fault, context) => {
      const [, options, strike] = fault;
      const small = mounted(context, options);
      const go = join(home, "go");
      up = await startDrover(home);
      const waiting = ["sh", "-c", `until [ -e ${go} ]; do sleep 0.05; done; exit 7`];
      await up.json(201, "POST", "/v1/runs", { id: "waiting", argv: waiting, dir: home });
      await until("it runs", async () => (await stateOf("waiting")) === "running" || undefined);
      strike(small);
      await until("it is said", () => up?.said().includes(`disk full: ${small.dir}`) || undefined);
      const takeReserve = () => {
        const isGone = readdirSync(join(small.dir, "reserve")).length === 0;
        // The last part may be given up after a strike: the next one takes it.
        strike(small);
        return isGone || undefined;
      };
      await until("the reserve is taken as well", takeReserve);
      const refused = await up.call("POST", "/v1/runs", { id: "late", argv: ["true"], dir: home });
      expect(refused.status).toBe(503);
      writeFileSync(go, "");
      small.free();
      await until("its end is known", async () => (await stateOf("waiting")) === "complete" || undefined);
      expect(await up.json(200, "GET", "/v1/runs/waiting")).toMatchObject({ state: "complete", exitCode: 7 });
      expect(await drover(home, ["run", "--", "true"])).toMatchObject({ code: 0 });
      expect(await up.stop()).toBe(0);
    },
  );

  test("a start where nothing can be written is refused, and says why", async (context) => {
    const small = mounted(context, "size=40m,mode=700");
    small.fill();
    const full = launchDrover(home);
    expect(await full.ended).toBe(125);
    expect(full.said()).toContain(`drover: disk full: ${small.dir}.`);
    small.free();
    small.readOnly(true);
    const closed = launchDrover(home);
    expect(await closed.ended).toBe(125);
    expect(closed.said()).toMatch(/The state directory .*\.drover cannot be created or written: .*EROFS/);
    small.readOnly(false);
    up = await startDrover(home);
    expect(await up.stop()).toBe(0);
  });
});
