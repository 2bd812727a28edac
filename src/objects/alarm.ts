import { MIN_ALARM_DELAY_MS } from "../shared/limits.ts";
import type { Instant } from "../shared/machine.ts";
import { fromPlatform, onPlatform } from "./clock.ts";
import { meter } from "./meter.ts";

/** An armed alarm that is this late will not fire any more (platform.md#alarm-rule-4). */
const OVERDUE_MS = 5_000;

/**
 * The object's one alarm, set as rarely as can be: each setting is a row (rule R8). A later deadline waits
 * for the early firing, which arms again. The only place that calls `setAlarm`.
 */
export class LazyAlarm {
  readonly #storage: DurableObjectStorage;
  #armedFor: Instant | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Reads what is armed. To be awaited before anything else happens in the object. */
  async load(): Promise<void> {
    const at = await this.#storage.getAlarm();
    this.#armedFor = at === null ? null : fromPlatform(at);
  }

  /** When it fires; null if none is armed. */
  get armedFor(): Instant | null {
    return this.#armedFor;
  }

  /** The alarm has fired: none is armed now. */
  fired(): void {
    this.#armedFor = null;
  }

  /** Sees to it that the object is woken at `at`, or before. */
  arm(at: Instant, now: Instant): void {
    const armed = this.#armedFor;
    if (armed !== null && armed <= at && armed > now - OVERDUE_MS) return;
    this.#armedFor = Math.max(at, now + MIN_ALARM_DELAY_MS);
    meter.rowsWritten += 1;
    void this.#storage.setAlarm(onPlatform(this.#armedFor)); // not awaited: part of the commit around it
  }

  /** The storage, and with it the alarm, has been emptied. */
  emptied(): void {
    this.#armedFor = null;
  }
}
