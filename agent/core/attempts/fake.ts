// How does an attempt of the fake driver behave, as a function of time?
import type { Exit, SignalName } from "../../../src/schema/run/run.ts";
import type { FakeScript } from "../../../src/schema/run/task.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import type { FoundAttempt } from "../journal.ts";

/** An attempt of the fake driver, as stored in a file that outlives the agent. */
export interface FakeAttempt {
  script: FakeScript;
  startedAt: Instant;
  /** A signal has ended the attempt early. */
  ended?: { at: Instant; signal: SignalName };
  /** The attempt has died with its agent, so its exit status is lost. */
  lost?: true;
}

/** When the attempt ends or has ended: after the time in its script, or earlier if a signal ends it. */
export function fakeEndsAt({ script, startedAt, ended }: FakeAttempt): Instant {
  return Math.min(startedAt + script.runForMs, ended?.at ?? Number.POSITIVE_INFINITY);
}

/** The exit of the attempt: as its script says, or by the signal that ended it early. */
export function fakeExit({ script, ended }: FakeAttempt): Exit {
  const signal = ended?.signal ?? script.signal ?? null;
  const oomKilled = ended === undefined && script.oomKilled === true;
  return { code: signal === null ? script.exitCode : null, signal, oomKilled, message: "" };
}

/**
 * The attempt after a signal. SIGKILL ends it; any other signal ends it unless the script ignores signals.
 */
export function fakeSignaled(fake: FakeAttempt, signal: SignalName, now: Instant): FakeAttempt {
  const deaf = fake.script.ignoreSignals && signal !== "SIGKILL";
  return deaf || now >= fakeEndsAt(fake) ? fake : { ...fake, ended: { at: now, signal } };
}

/** The attempt after the end of its agent: lost if it was still running and its script says so. */
export function fakeOrphaned(fake: FakeAttempt, now: Instant): FakeAttempt {
  return fake.script.dieWithAgent && now < fakeEndsAt(fake) ? { ...fake, lost: true } : fake;
}

/** What the next start of the agent finds of the attempt. */
export function foundFake(fake: FakeAttempt, now: Instant): FoundAttempt["main"] {
  if (fakeOrphaned(fake, now).lost) return { kind: "lost" };
  const at = fakeEndsAt(fake);
  return now >= at ? { kind: "ended", at, exit: fakeExit(fake) } : { kind: "running" };
}
