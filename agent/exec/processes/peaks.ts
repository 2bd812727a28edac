// How are the peaks of attempts measured, and kept while an attempt runs (tasks.md#peaks)?
import { join } from "node:path";
import { replaceFile } from "../../../disk/atomic.ts";
import type { Group } from "../../../posix/cgroup.ts";
import { readIfThere } from "../../../posix/files.ts";
import type { Peaks } from "../../../src/schema/run/peaks.ts";
import type { Instant, Millis } from "../../../src/shared/machine.ts";
import { errorText } from "../../../src/shared/words.ts";
import {
  beginPeaks,
  type Measured,
  type PeakRecord,
  peaksToReport,
  withMeasured,
} from "../../core/reports/peaks.ts";
import type { RawUsage } from "../../core/types.ts";
import { say } from "../../say.ts";
import type { AllocDirs } from "../files/alloc-dirs.ts";
import type { AttemptStore } from "./dirs.ts";
import { diskUse } from "./disk-use.ts";
import { kernelCountsOf } from "./usage.ts";

/** While a task runs, counting its files takes at most one part in this many of the time. */
const COUNTING_SHARE = 100;

interface KeeperOptions {
  store: Pick<AttemptStore, "dirsOf">;
  allocs: Pick<AllocDirs, "of">;
  now: () => Instant;
}

/**
 * The peaks of the attempts of one driver. Each is in a file in the attempt's own folder, so that the next
 * start of the agent goes on with it.
 */
export class PeakKeeper {
  readonly #options: KeeperOptions;
  readonly #records = new Map<string, PeakRecord>();
  /** The files of one attempt at a time are counted. */
  #counting = false;
  #countAt: Instant = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The main process of an attempt is about to start. */
  began(id: string): void {
    this.#records.set(id, beginPeaks(this.#options.now()));
  }

  /** Notes a sample of an attempt that runs, and counts its files if it is time for that. */
  sampled(id: string, { cpuMs, memoryBytes, peakBytes, peakIsSampled, cacheBytes }: RawUsage): void {
    const most = Math.max(memoryBytes, peakBytes ?? 0);
    const memoryIsSampled = peakBytes === undefined || peakIsSampled === true;
    this.#note(id, { cpuMs, memoryBytes: most, memoryIsSampled, cacheBytes });
    if (this.#counting || this.#options.now() < this.#countAt) return;
    this.#counting = true;
    void this.#countFiles(id).finally(() => {
      this.#counting = false;
    });
  }

  /** Notes what the kernel has counted for a cgroup, which is about to be removed. */
  beforeKill(id: string, group: Group): void {
    const { cpuMs, memoryBytes, peakBytes, cacheBytes } = kernelCountsOf(group);
    const memoryIsSampled = peakBytes === undefined;
    this.#note(id, { cpuMs, memoryBytes: peakBytes ?? memoryBytes, memoryIsSampled, cacheBytes });
  }

  /** The peaks of an attempt of which no process is left; undefined if nothing was measured. */
  async end(id: string): Promise<Peaks | undefined> {
    this.#records.set(id, this.#recordOf(id));
    await this.#countFiles(id);
    const peaks = peaksToReport(this.#recordOf(id));
    this.#records.delete(id);
    return peaks;
  }

  async #countFiles(id: string): Promise<void> {
    const { allocs, now } = this.#options;
    const { local, tmp, alloc } = allocs.of(id);
    const since = now();
    const { bytes, isLeast } = await diskUse([local, tmp, alloc]);
    const tookMs: Millis = now() - since;
    this.#countAt = now() + tookMs * COUNTING_SHARE;
    // The attempt may have ended meanwhile.
    if (!this.#records.has(id)) return;
    this.#note(id, { diskBytes: bytes, diskIsLeast: isLeast });
  }

  #note(id: string, measured: Measured): void {
    const record = withMeasured(this.#recordOf(id), measured, this.#options.now());
    this.#records.set(id, record);
    try {
      replaceFile(this.#fileOf(id), JSON.stringify(record));
    } catch (error) {
      // The peaks of this attempt are then lost if the agent ends, which harms nobody.
      say(`cannot keep the peaks of ${id}: ${errorText(error)}`);
    }
  }

  #recordOf(id: string): PeakRecord {
    const known = this.#records.get(id);
    if (known !== undefined) return known;
    try {
      // The file is the agent's own and is written whole, so its content has the right type. A crash of the
      // machine can leave it empty.
      return JSON.parse(readIfThere(this.#fileOf(id)) ?? "") as PeakRecord;
    } catch {
      return { peaks: {} };
    }
  }

  #fileOf(id: string): string {
    return join(this.#options.store.dirsOf(id).root, "peaks.json");
  }
}
