// How is a provider tested from start to end?
import { type Judged, judge, type Measures, measure } from "./checks.ts";
import { type Subject, type TestEnvironment, TestSession } from "./session.ts";
import type { Transcript } from "./transcript.ts";

/** The result of a test. */
export interface Report {
  findings: Judged[];
  measures: Measures;
  /** The ids of the test's machines that remain; undefined if it is unknown whether any machine remains. */
  left: string[] | undefined;
}

/** A test of a provider: all calls with their answers, and what is left. The answers can be judged again. */
export interface Recorded {
  transcript: Transcript;
  /** As in `Report`. Absent: unknown. */
  left?: string[];
}

/** Judges the answers of a test, whenever it was made. */
export function reportOf({ transcript, left }: Recorded): Report {
  return { findings: judge(transcript), measures: measure(transcript), left };
}

/**
 * Tests a provider against its contract: makes the calls, and judges the answers. All machines of the test
 * are destroyed, even if the test fails or is interrupted.
 */
export async function testProvider(subject: Subject, environment: TestEnvironment): Promise<Report> {
  return reportOf(await recordTest(subject, environment));
}

/** Makes the calls of a test. All machines of the test are destroyed, whatever happens. */
export async function recordTest(subject: Subject, environment: TestEnvironment): Promise<Recorded> {
  const session = new TestSession(subject, environment);
  let left: string[] | undefined;
  try {
    if (await session.readOnly()) await session.machineLife();
  } finally {
    left = await session.cleanUp();
  }
  const { transcript } = session;
  return left === undefined ? { transcript } : { transcript, left };
}
