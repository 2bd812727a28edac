import type { Instant } from "../../src/core/machine.ts";
import type { Exit, SignalName } from "../../src/schema/run.ts";
import type { FakeScript } from "../../src/schema/task.ts";
import type { FoundAttempt } from "./journal.ts";

/** An attempt of the fake driver: all of it that must outlive the agent. */
export interface FakeAttempt {
  script: FakeScript;
  startedAt: Instant;
  /** A signal has ended it before its time. */
  ended?: { at: Instant; signal: SignalName };
}

/** When it ends, or has ended: when its time is over, unless a signal is faster. */
export function fakeEndsAt({ script, startedAt, ended }: FakeAttempt): Instant {
  return Math.min(startedAt + script.runForMs, ended?.at ?? Number.POSITIVE_INFINITY);
}

/** How it ends, as its script has it, or by the signal that came first. */
export function fakeExit({ script, ended }: FakeAttempt): Exit {
  const signal = ended?.signal ?? script.signal ?? null;
  return { code: signal === null ? script.exitCode : null, signal, oomKilled: false, message: "" };
}

/** What a signal makes of it: SIGKILL ends it, any other unless it ignores them. */
export function fakeSignaled(fake: FakeAttempt, signal: SignalName, now: Instant): FakeAttempt {
  const deaf = fake.script.ignoreSignals && signal !== "SIGKILL";
  return deaf || now >= fakeEndsAt(fake) ? fake : { ...fake, ended: { at: now, signal } };
}

/** What a later start of the agent finds: time has gone on, unless it died with the agent. */
export function foundFake(fake: FakeAttempt, now: Instant): FoundAttempt["main"] {
  const at = fakeEndsAt(fake);
  if (now >= at) return { kind: "ended", at, exit: fakeExit(fake) };
  return { kind: fake.script.dieWithAgent ? "lost" : "running" };
}
