import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate as others } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ExecDriver } from "../../agent/drivers/exec.ts";
import { AllocDirs } from "../../agent/exec/files/alloc-dirs.ts";
import { SecretFiles } from "../../agent/exec/files/secret-files.ts";
import { AttemptStore } from "../../agent/exec/processes/dirs.ts";
import { Groups } from "../../agent/exec/processes/groups.ts";
import { Shims } from "../../agent/exec/shims/shims.ts";
import { removeMemoryDir } from "../../posix/memory-dir.ts";
import { isRoot, NOBODY, startSwapper } from "../attack/support/swapper.ts";
import { sized } from "../chance/length.ts";
import { task } from "./support/bench.ts";

// What the agent, which may be root, makes for the commands in a kept run, whose files that run controls
// (tasks.md#kept-2).

const ID = "build-17/main/1.1";
const SWAPS = sized(2_000, 20_000);
const VALUES = new Map([["KEY", Buffer.from("correct-horse")]]);
const OWNER = isRoot ? { ...NOBODY, group: NOBODY.gid } : undefined;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync("/tmp/drover-kept-place-");
});
afterEach(() => {
  removeMemoryDir(join(dir, "secrets"));
  rmSync(dir, { recursive: true, force: true });
});

describe("the files of its secrets (secrets.md#files)", () => {
  let files: SecretFiles;
  let place: string;
  beforeEach(() => {
    files = new SecretFiles(dir);
    files.write(ID, VALUES, OWNER);
    place = files.make(ID).dir;
  });
  const file = () => join(place, "KEY");
  const ownerOf = (path: string) => lstatSync(path).uid;

  test("stay as they are for the next command, which may come while others use them", () => {
    const { ino } = lstatSync(file());
    files.write(ID, VALUES, OWNER);
    expect([lstatSync(file()).ino, readdirSync(place)]).toEqual([ino, ["KEY"]]);
    expect(readdirSync(dirname(place))).toEqual(["files"]);
  });

  test("are written again once they are gone, for their user alone", async () => {
    await files.remove(ID);
    expect(existsSync(place)).toBe(false);
    files.write(ID, VALUES, OWNER);
    const again = files.make(ID).dir;
    expect(readFileSync(join(again, "KEY"), "utf8")).toBe("correct-horse");
    const owner = OWNER?.uid ?? process.geteuid?.();
    expect([ownerOf(again), ownerOf(join(again, "KEY"))]).toEqual([owner, owner]);
    expect([lstatSync(again).mode & 0o777, lstatSync(join(again, "KEY")).mode & 0o777]).toEqual([
      0o700, 0o400,
    ]);
  });

  test.skipIf(!isRoot)(
    `give the run no other file, whoever swaps names meanwhile, ${SWAPS} times (needs root)`,
    async () => {
      const victim = join(dir, "victim");
      mkdirSync(victim);
      const swapper = await startSwapper(place, "KEY", victim);
      try {
        while (swapper.swaps < SWAPS) {
          for (let n = 0; n < 20; n += 1) files.write(ID, VALUES, OWNER);
          expect(ownerOf(victim)).toBe(0);
          await others();
        }
      } finally {
        await swapper.stop();
      }
    },
  );
});

describe("its cgroup", () => {
  test("is made, whatever an agent that has died has noted of it", async () => {
    const parent = join(dir, "cgroup");
    mkdirSync(parent);
    const groups = new Groups(dir, [{ parent, version: 2, limits: [] }]);
    const options = { store: new AttemptStore(dir), allocs: new AllocDirs(dir), groups };
    const place = { before: [], dir: "/", env: {} };
    const driver = new ExecDriver({
      ...options,
      prestart: { ready: () => Promise.reject(new Error("nothing is started")), inside: async () => place },
      now: () => performance.now(),
      shims: new Shims({ reportsSignals: true, canServe: true }, {}),
      ended: () => undefined,
    });
    const enter = () => driver.insideKept(ID, task(["true"]), AbortSignal.timeout(60_000));
    const [first = ""] = (await enter()).entrances;
    expect(existsSync(dirname(first))).toBe(true);
    rmSync(dirname(first), { recursive: true });
    expect((await enter()).entrances).toEqual([first]);
    expect(existsSync(dirname(first))).toBe(true);
  });
});
