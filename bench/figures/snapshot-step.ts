// One step of an upload or a download in a process of its own, as a command does it, with what it took.
// `snapshots.ts` calls it: <step> <directory> <archive>. Prints milliseconds, by the clock and of processors.
import { mkdirSync } from "node:fs";
import type { Found } from "../../archive/walk.ts";

const [step, directory = "", archive = ""] = process.argv.slice(2);
const { signal } = new AbortController();
const beganAt = performance.now();
const before = process.cpuUsage();
if (step === "pack") await pack();
else if (step === "unpack") await unpack();
else await look();
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ clock: performance.now() - beganAt, processor: (user + system) / 1_000 }));

async function pack(): Promise<void> {
  const [{ packBounds }, { pack: packInto }, files] = [
    await import("../../archive/bounds.ts"),
    await import("../../archive/pack.ts"),
    await filesOf(),
  ];
  await packInto({ root: directory, files }, archive, signal, packBounds(2 ** 32));
}

async function unpack(): Promise<void> {
  const { UNPACK_BOUNDS } = await import("../../archive/bounds.ts");
  const { ALL_BUT_OWN } = await import("../../archive/result.ts");
  const { unpack: unpackInto } = await import("../../archive/unpack.ts");
  mkdirSync(directory);
  await unpackInto(archive, directory, signal, UNPACK_BOUNDS, { filter: ALL_BUT_OWN });
}

/** All that a second upload of an unchanged directory does on this machine. */
async function look(): Promise<void> {
  const { stampsOf } = await import("../../cli/snapshot/stamps.ts");
  await stampsOf(directory, await filesOf(), signal);
}

async function filesOf(): Promise<Found[]> {
  const { filesToSend } = await import("../../cli/snapshot/files.ts");
  const files: Found[] = [];
  for await (const found of filesToSend(directory, signal)) files.push(found);
  return files;
}
