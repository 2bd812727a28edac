import { type Judged, judge, type Measures, measure } from "./checks.ts";
import { type Means, type Subject, Talk } from "./talk.ts";

/** What a provider turned out to be. */
export interface Report {
  findings: Judged[];
  measures: Measures;
  /** Machines of this test that live on, as far as can be seen; undefined: it could not be seen. */
  left: string[] | undefined;
}

/**
 * Holds a provider to its contract: makes the calls, and judges the answers. Whatever was made is ended,
 * also if the test is told to end, or fails.
 */
export async function testProvider(subject: Subject, means: Means): Promise<Report> {
  const talk = new Talk(subject, means);
  let left: string[] | undefined;
  try {
    if (await talk.look()) await talk.live();
  } finally {
    left = await talk.end();
  }
  return { findings: judge(talk.transcript), measures: measure(talk.transcript), left };
}
