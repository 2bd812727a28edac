// Who sets an object's alarm, and when? Only this file calls `setAlarm`.
import type { Instant } from "../shared/machine.ts";
import { fromPlatform, onPlatform } from "./clock.ts";
import { meter } from "./meter.ts";

/** The shortest time until an alarm: an alarm that is set in the past might not fire (platform.md#alarms). */
export const MIN_ALARM_DELAY_MS = 5;

/** An alarm that is overdue by more than this will not fire any more (platform.md#alarm-rule-4). */
const OVERDUE_MS = 5_000;

/**
 * The object's only alarm, set as rarely as possible: each setting is a written row (rule R8). If an earlier
 * alarm is armed, it stays, and the next alarm is set when it fires.
 */
export class LazyAlarm {
  readonly #storage: DurableObjectStorage;
  #armedFor: Instant | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Reads the armed alarm. Must be awaited before the object does anything else. */
  async load(): Promise<void> {
    const at = await this.#storage.getAlarm();
    this.#armedFor = at === null ? null : fromPlatform(at);
  }

  /** When the alarm fires; null: none is armed. */
  get armedFor(): Instant | null {
    return this.#armedFor;
  }

  /** Makes sure that the object wakes at `at` or earlier. */
  arm(at: Instant, now: Instant): void {
    const armed = this.#armedFor;
    if (armed !== null && armed <= at && armed > now - OVERDUE_MS) return;
    this.#armedFor = Math.max(at, now + MIN_ALARM_DELAY_MS);
    meter.rowsWritten += 1;
    meter.alarmsSet += 1;
    void this.#storage.setAlarm(onPlatform(this.#armedFor)); // not awaited: part of the commit around it
  }

  /** Notes that what the alarm was for has failed: the platform delivers it again. */
  comesAgain(now: Instant): void {
    this.#armedFor = now;
  }

  /** Notes that no alarm is armed any more: the alarm has fired, or the storage was emptied. */
  disarmed(): void {
    this.#armedFor = null;
  }
}
