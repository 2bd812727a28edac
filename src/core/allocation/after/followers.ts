// Which runs start after this one has ended, and what are they told (api.md#after)?
import type { Instant } from "../../../shared/machine.ts";
import { because } from "../../../shared/words.ts";
import type { Answered, Letter } from "../../inbox.ts";
import type { AwaitAnswer, AwaitEnd, RunEnd } from "../../messages.ts";
import { changed } from "../draft.ts";
import { type AllocationRecord, type AllocationState, type Existing, exists } from "../state.ts";

/** How many runs a run promises to tell of its end. Others have to ask again. */
export const MAX_FOLLOWERS = 1_000;
/** How many characters of a text about an end are passed on. */
const MAX_END_CHARS = 300;

/**
 * Notes that another run awaits the end of this one. Once it has ended, the answer says how. A run that was
 * refused and submitted again takes the place of its earlier submission.
 */
export function foldAwaitEnd(state: AllocationState, { follower }: AwaitEnd, now: Instant): AllocationState {
  return changed(state, now, (run) => {
    const { followers = [], ended } = run.record;
    if (ended) return run.set({ followers: without(followers, follower) });
    const known = followers.find((one) => one.run === follower.run);
    const isNoted =
      known === undefined ? followers.length >= MAX_FOLLOWERS : known.submittedAt >= follower.submittedAt;
    if (!isNoted) run.set({ followers: [...followers.filter((one) => one !== known), follower] });
  });
}

/** What a run that awaits this one is answered. */
export function answerAwaitEnd(state: AllocationState, { follower }: AwaitEnd): AwaitAnswer {
  if (!exists(state)) return { kind: "no_such" };
  const { record } = state;
  if (record.ended) return { kind: "run_end", end: endOf(record) };
  return { kind: "goes_on", tells: record.followers?.some((one) => isSame(one, follower)) === true };
}

/** What this run owes to those that await its end: its end, until they have answered. */
export function newsToFollowers({ record }: Existing): Letter<"allocation", "run_ended">[] {
  if (!record.ended) return [];
  return (record.followers ?? []).map(({ run, submittedAt }) => {
    const body = { run, submittedAt, of: record.id, end: endOf(record) };
    return { object: "allocation", to: run, kind: "run_ended", repeatedBy: "self", body };
  });
}

/** Notes that a run has heard of the end of this one. */
export function foldFollowerTold(
  state: AllocationState,
  { sent }: Answered<"allocation", "run_ended">,
  now: Instant,
): AllocationState {
  return changed(state, now, (run) => run.set({ followers: without(run.record.followers ?? [], sent) }));
}

type Follower = AwaitEnd["follower"];

function without(followers: readonly Follower[], told: Follower): Follower[] | undefined {
  const left = followers.filter((one) => !isSame(one, told));
  return left.length > 0 ? left : undefined;
}

function isSame(one: Follower, other: Follower): boolean {
  return one.run === other.run && one.submittedAt === other.submittedAt;
}

/** How a run has ended, as far as it matters to others: well means that its command ended with 0. */
function endOf({ outcome, stopRequest, firstCause, spec }: AllocationRecord): RunEnd {
  const { state, exitCode = null, signal = null, failure } = outcome ?? {};
  const bad = (text: string): RunEnd => ({ well: false, text: text.slice(0, MAX_END_CHARS) });
  switch (state) {
    case "complete":
      if (signal !== null) return bad(`was ended by ${signal}`);
      return (exitCode ?? 0) === 0 ? { well: true } : bad(`ended with exit code ${exitCode}`);
    case "aborted":
      return bad(because("was aborted", stopRequest?.reason ?? ""));
    case "timedout":
      return bad(`took longer than its timeout of ${spec.timeout}`);
    default:
      if (firstCause !== undefined) return { well: false, text: "did not start", cause: firstCause };
      return bad(because(state === "unknown" ? "was lost" : "failed", failure?.text ?? ""));
  }
}
