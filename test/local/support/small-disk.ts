import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Why a test that needs a disk of its own is skipped where this user may not mount one. */
export const NO_MOUNT = "this user may not mount a file system to fill";

/** A file system in memory, as small as a test wants it. */
export interface SmallDisk {
  dir: string;
  /** Takes all the room that is left, again and again if it is given back meanwhile. */
  fill(): void;
  /** Takes all file names that are left. */
  fillNames(): void;
  /** Gives back what `fill` and `fillNames` have taken. */
  free(): void;
  freeBytes(): number;
  readOnly(is: boolean): void;
  unmount(): void;
}

/** Mounts a small disk at `dir`; undefined where this user may not. `options` are those of tmpfs. */
export function mountDisk(dir: string, options: string): SmallDisk | undefined {
  mkdirSync(dir, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", dir], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  // Not at the top: a state directory with anything strange in it is refused.
  const ballast = join(dir, "cache", "ballast");
  let names = 0;
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  };
  return {
    dir,
    freeBytes,
    fill() {
      mkdirSync(ballast, { recursive: true });
      for (let bytes = freeBytes(); bytes > 0; bytes = freeBytes()) {
        try {
          writeFileSync(join(ballast, "bytes"), Buffer.alloc(bytes), { flag: "a" });
        } catch {
          // Another process was faster. The next round looks at what is left.
        }
      }
    },
    fillNames() {
      mkdirSync(ballast, { recursive: true });
      while (statfsSync(dir).ffree > 0) writeFileSync(join(ballast, `name-${++names}`), "");
    },
    free: () => rmSync(ballast, { recursive: true, force: true }),
    readOnly: (is) => void execFileSync("mount", ["-o", `remount,${is ? "ro" : "rw"}`, dir]),
    unmount: () => void execFileSync("umount", ["--lazy", dir]),
  };
}
