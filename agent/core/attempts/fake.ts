// How an attempt of the fake driver behaves, as a function of time.
import type { Exit, SignalName } from "../../../src/schema/run/run.ts";
import type { FakeScript } from "../../../src/schema/run/task.ts";
import type { Instant } from "../../../src/shared/machine.ts";
import type { FoundAttempt } from "../journal.ts";

/** An attempt of the fake driver: all of it that must outlive the agent. */
export interface FakeAttempt {
  script: FakeScript;
  startedAt: Instant;
  /** A signal has ended it before its time. */
  ended?: { at: Instant; signal: SignalName };
  /** It has died with an earlier start of the agent, and stays dead when its time is over. */
  lost?: true;
}

/** When it ends, or has ended: when its time is over, unless a signal is faster. */
export function fakeEndsAt({ script, startedAt, ended }: FakeAttempt): Instant {
  return Math.min(startedAt + script.runForMs, ended?.at ?? Number.POSITIVE_INFINITY);
}

/** How it ends, as its script has it, or by the signal that came first. */
export function fakeExit({ script, ended }: FakeAttempt): Exit {
  const signal = ended?.signal ?? script.signal ?? null;
  const oomKilled = ended === undefined && script.oomKilled === true;
  return { code: signal === null ? script.exitCode : null, signal, oomKilled, message: "" };
}

/** What a signal makes of it: SIGKILL ends it, any other unless it ignores them. */
export function fakeSignaled(fake: FakeAttempt, signal: SignalName, now: Instant): FakeAttempt {
  const deaf = fake.script.ignoreSignals && signal !== "SIGKILL";
  return deaf || now >= fakeEndsAt(fake) ? fake : { ...fake, ended: { at: now, signal } };
}

/** What the end of its agent makes of it: nothing, unless it dies with that and is not over yet. */
export function fakeOrphaned(fake: FakeAttempt, now: Instant): FakeAttempt {
  return fake.script.dieWithAgent && now < fakeEndsAt(fake) ? { ...fake, lost: true } : fake;
}

/** What a later start of the agent finds: time has gone on, unless it died with the agent. */
export function foundFake(fake: FakeAttempt, now: Instant): FoundAttempt["main"] {
  if (fakeOrphaned(fake, now).lost) return { kind: "lost" };
  const at = fakeEndsAt(fake);
  return now >= at ? { kind: "ended", at, exit: fakeExit(fake) } : { kind: "running" };
}
