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
import { cachedBytesOf, kernelCountsOf } from "./usage.ts";

/** While a task runs, counting its files takes at most one part in this many of the time. */
const COUNTING_SHARE = 100;
/** How long one round of counting may take. At least the files of one attempt are counted. */
const ROUND_MS: Millis = 100;
/** While a task runs, its record is written at most this often: the start of any task causes samples. */
const WRITE_EVERY_MS: Millis = 5_000;

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
  /** When the record of an attempt was written to its file last. */
  readonly #writtenAt = new Map<string, Instant>();
  /** When the files of an attempt were counted last. */
  readonly #countedAt = new Map<string, Instant>();
  #counting = false;
  #nextRoundAt: Instant = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The main process of an attempt is about to start. */
  began(id: string): void {
    this.#records.set(id, beginPeaks(this.#options.now()));
  }

  /**
   * Notes samples of attempts that run, and counts their files if it is time for that. Resolves when that is
   * done; never rejects.
   */
  async sampled(samples: Record<string, RawUsage>): Promise<void> {
    for (const [id, sample] of Object.entries(samples)) this.#noteSample(id, sample);
    if (this.#counting || this.#options.now() < this.#nextRoundAt) return;
    this.#counting = true;
    try {
      await this.#countRound(Object.keys(samples));
    } finally {
      this.#counting = false;
    }
  }

  #noteSample(id: string, { cpuMs, memoryBytes, peakBytes, peakIsSampled }: RawUsage): void {
    const now = this.#options.now();
    const most = Math.max(memoryBytes, peakBytes ?? 0);
    const memoryIsSampled = peakBytes === undefined || peakIsSampled === true;
    this.#note(id, { cpuMs, memoryBytes: most, memoryIsSampled });
    if (now - (this.#writtenAt.get(id) ?? Number.NEGATIVE_INFINITY) >= WRITE_EVERY_MS) this.#write(id);
  }

  /** Notes what the kernel has counted for a cgroup, which is about to be removed. */
  beforeKill(id: string, group: Group): void {
    const { cpuMs, memoryBytes, peakBytes } = kernelCountsOf(group);
    const memoryIsSampled = peakBytes === undefined;
    const cacheBytes = cachedBytesOf(group);
    this.#note(id, { cpuMs, memoryBytes: peakBytes ?? memoryBytes, memoryIsSampled, cacheBytes });
    this.#write(id);
  }

  /** The peaks of an attempt of which no process is left; undefined if nothing was measured. */
  async end(id: string): Promise<Peaks | undefined> {
    this.#records.set(id, this.#recordOf(id));
    await this.#countFiles(id);
    const peaks = peaksToReport(this.#recordOf(id));
    this.forget(id);
    return peaks;
  }

  /** Forgets an attempt that has ended, or was never started. */
  forget(id: string): void {
    for (const known of [this.#records, this.#writtenAt, this.#countedAt]) known.delete(id);
  }

  /** Counts the files of these attempts, those first that were not counted for longest. */
  async #countRound(ids: string[]): Promise<void> {
    const { now } = this.#options;
    const since = now();
    const countedAt = (id: string) => this.#countedAt.get(id) ?? Number.NEGATIVE_INFINITY;
    for (const id of ids.toSorted((a, b) => countedAt(a) - countedAt(b))) {
      // The attempt may have ended meanwhile.
      if (this.#records.has(id)) await this.#countFiles(id);
      if (now() - since >= ROUND_MS) break;
    }
    this.#nextRoundAt = now() + (now() - since) * COUNTING_SHARE;
  }

  async #countFiles(id: string): Promise<void> {
    const { allocs, now } = this.#options;
    const { local, tmp, alloc } = allocs.of(id);
    const { bytes, isLeast } = await diskUse([local, tmp, alloc]);
    if (!this.#records.has(id)) return;
    this.#countedAt.set(id, now());
    this.#note(id, { diskBytes: bytes, diskIsLeast: isLeast });
  }

  #note(id: string, measured: Measured): void {
    const record = withMeasured(this.#recordOf(id), measured, this.#options.now());
    this.#records.set(id, record);
  }

  #write(id: string): void {
    this.#writtenAt.set(id, this.#options.now());
    try {
      replaceFile(this.#fileOf(id), JSON.stringify(this.#recordOf(id)));
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
