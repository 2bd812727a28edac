import { spawn } from "node:child_process";
import { once } from "node:events";

/** Another user of this machine. To act as that user, the tests need root. */
export const NOBODY = { uid: 65_534, gid: 65_534 };
export const isRoot = process.geteuid?.() === 0;

const SWAPS_AT_ONCE = 50;
const SWAP = `
  const { renameSync, symlinkSync, unlinkSync, writeSync } = require("node:fs");
  const [tree, name, victim, uid, gid] = process.argv.slice(1);
  process.chdir(tree);
  // Only now, since a checkout may be closed to that user, and the program lies in it.
  process.setgroups([]);
  process.setgid(Number(gid));
  process.setuid(Number(uid));
  process.on("SIGTERM", () => process.exit());
  const attempt = (act) => {
    try {
      act();
      return true;
    } catch {
      return false;
    }
  };
  let turns = 0;
  const swap = () => {
    // An entry that cannot be put back, because another one was created in its place, is left lying.
    const away = "away-" + (turns += 1);
    const swapped = attempt(() => renameSync(name, away)) && attempt(() => symlinkSync(victim, name));
    attempt(() => unlinkSync(name));
    attempt(() => renameSync(away, name));
    return swapped ? 1 : 0;
  };
  setInterval(() => {
    let swaps = 0;
    for (let n = 0; n < ${SWAPS_AT_ONCE}; n += 1) swaps += swap();
    if (swaps > 0) attempt(() => writeSync(1, ".".repeat(swaps)));
  }, 0);
  writeSync(2, "ready");`;

export interface Swapper {
  /** How often it has put the link there so far. */
  readonly swaps: number;
  stop(): Promise<void>;
}

/**
 * Starts a process of another user that puts a link to `victim` in place of `name` in `tree`, and takes it
 * away again, as often as it can.
 */
export async function startSwapper(tree: string, name: string, victim: string): Promise<Swapper> {
  const who = [NOBODY.uid, NOBODY.gid].map(String);
  const child = spawn(process.execPath, ["-e", SWAP, tree, name, victim, ...who], { stdio: "pipe" });
  let swaps = 0;
  child.stdout.on("data", (dots: Buffer) => {
    swaps += dots.length;
  });
  await once(child.stderr, "data");
  return {
    get swaps() {
      return swaps;
    },
    async stop() {
      const closed = once(child, "close");
      child.kill("SIGTERM");
      await closed;
    },
  };
}
