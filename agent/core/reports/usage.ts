// When is usage sampled, and what does a report say about it?
import type { Usage } from "../../../src/schema/host.ts";
import { earliest, type Instant, type Millis } from "../../../src/shared/machine.ts";
import type { HostMessage } from "../messages.ts";
import type { HostState, RawUsage, UsageState } from "../types.ts";

/**
 * How often running attempts are sampled. The first sample comes soon enough for the report of the start
 * (`START_REPORT_DELAY_MS`), since an extra report would cost something.
 */
export const SAMPLE_EVERY_MS: Millis = 10_000;
export const FIRST_SAMPLE_MS: Millis = 800;
/** Shortest time between two samples, however many attempts have just started. */
const SAMPLE_GAP_MS: Millis = 250;
/** The most attempts whose usage is reported: the usage must fit into a report beside the attempts' state. */
export const MAX_SAMPLED_ATTEMPTS = 1_000;

type RawSample = { host: RawUsage; attempts: Record<string, RawUsage> };

/** Ids of the running attempts, as many as a report has room for. */
function sampledIds({ attempts }: HostState): string[] {
  const running = Object.values(attempts).filter(({ main }) => main === "running");
  return running.slice(0, MAX_SAMPLED_ATTEMPTS).map(({ id }) => id);
}

/**
 * When the next sample is due; undefined while nothing runs, or while a sample is being taken. Each attempt
 * gets a first sample soon after its start, regardless of when the others were sampled.
 */
export function sampleDueAt(state: HostState): Instant | undefined {
  const { usage, attempts } = state;
  if (usage.sampling) return undefined;
  const latest = usage.latest?.at ?? Number.NEGATIVE_INFINITY;
  const firsts = sampledIds(state).map((id) => (attempts[id]?.startedAt ?? latest) + FIRST_SAMPLE_MS);
  const next = earliest(...firsts.map((at) => (at > latest ? at : latest + SAMPLE_EVERY_MS)));
  return next === undefined ? undefined : Math.max(next, latest + SAMPLE_GAP_MS);
}

/** The sample to take. */
export function dueSample(state: HostState): HostMessage[] {
  if (!state.usage.sampling) return [];
  return [{ to: "usage", kind: "sample", ids: sampledIds(state) }];
}

/**
 * Applies a sample. `cpus`: the CPU time used since the previous sample, divided by the time since that
 * sample.
 */
export function withSample({ latest }: UsageState, { host, attempts }: RawSample, now: Instant): UsageState {
  const forMs = latest === undefined ? 0 : now - latest.at;
  const withRate = (raw: RawUsage, before: RawUsage | undefined) => {
    const { cpuMs, memoryBytes, pids, peakBytes, peakIsSampled } = raw;
    const isKept = peakBytes !== undefined && !peakIsSampled;
    const sample = { cpuMs, memoryBytes, pids, ...(isKept ? { peakMemoryBytes: peakBytes } : {}) };
    if (before === undefined || forMs <= 0) return sample;
    // The sum can fall: if a parent does not wait for its child, the CPU time of the child is lost when it
    // ends.
    const cpus = Math.max(0, (cpuMs - before.cpuMs) / forMs);
    return { ...sample, cpus: Math.round(cpus * 1_000) / 1_000 };
  };
  const entries = Object.entries(attempts).map(([id, raw]) => [id, withRate(raw, latest?.attempts[id])]);
  return {
    sampling: false,
    latest: { at: now, host: withRate(host, latest?.host), attempts: Object.fromEntries(entries) },
  };
}

/**
 * The usage in a report: the latest sample of the attempts that still run. A full report always contains it;
 * a delta contains it only if no earlier report contained this sample (host-protocol.md#report).
 */
export function usageOf(state: HostState, full: boolean, now: Instant): Usage | undefined {
  const { latest } = state.usage;
  if (latest === undefined || (!full && latest.at === state.exchange.usageReportedAt)) return undefined;
  const entries = sampledIds(state).flatMap((id) => {
    const sample = latest.attempts[id];
    return sample === undefined ? [] : [[id, sample] as const];
  });
  if (entries.length === 0) return undefined;
  return { agoMs: Math.max(0, now - latest.at), host: latest.host, attempts: Object.fromEntries(entries) };
}
