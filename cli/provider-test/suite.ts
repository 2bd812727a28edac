// How is a provider tested from start to end?
import { type Judged, judge, type Measures, measure } from "./checks.ts";
import { type Subject, type TestEnvironment, TestSession } from "./session.ts";

/** The result of a test. */
export interface Report {
  findings: Judged[];
  measures: Measures;
  /** The ids of the test's machines that remain; undefined if it is unknown whether any machine remains. */
  left: string[] | undefined;
}

/**
 * Tests a provider against its contract: makes the calls, and judges the answers. All machines of the test
 * are destroyed, even if the test fails or is interrupted.
 */
export async function testProvider(subject: Subject, environment: TestEnvironment): Promise<Report> {
  const session = new TestSession(subject, environment);
  let left: string[] | undefined;
  try {
    if (await session.readOnly()) await session.machineLife();
  } finally {
    left = await session.cleanUp();
  }
  return { findings: judge(session.transcript), measures: measure(session.transcript), left };
}
