// What has come of a change that Compute Engine works on?
import { z } from "zod";
import type { ProviderFailure } from "../../core/provider-answers.ts";
import type { Asking } from "../json-api.ts";
import { failureOf } from "../meanings.ts";
import { checked, unreadable } from "../wire.ts";
import { mainError, meaningOf } from "./errors.ts";

const Operation = z.object({
  name: z.string().min(1).max(256),
  status: z.enum(["PENDING", "RUNNING", "DONE"]),
  error: z
    .object({ errors: z.array(z.object({ code: z.string(), message: z.string().catch("") })) })
    .nullish(),
});
type Operation = z.infer<typeof Operation>;

/** An operation that is done, well or not, or that goes on; `error`: the code that counts. */
export type Outcome =
  | { kind: "done" }
  | { kind: "goes on" }
  | { kind: "failed"; failure: ProviderFailure; code: string | undefined };

/** What a machine was asked for, if an operation is about one. */
interface About {
  type?: string | undefined;
  zone: string;
}

/**
 * Waits for an operation that an answer has named. Google answers a wait at once if it is done, and otherwise
 * when it is, or after two minutes; a wait that takes longer than Drover's patience shows nothing.
 */
export async function outcomeOf(
  asking: Asking,
  body: unknown,
  about: About,
): Promise<Outcome | { failure: ProviderFailure }> {
  const first = checked(Operation, body, asking.veil);
  if ("fault" in first) return { failure: unreadable("the operation", first.fault).failure };
  const { name, status } = first.data;
  if (status === "DONE") return endOf(first.data, about, asking.veil);
  const path = `/zones/${about.zone}/operations/${encodeURIComponent(name)}/wait`;
  const called = await asking.call({ method: "POST", path });
  // The operation may go on, whatever has become of the wait for it.
  if ("failure" in called) return { kind: "goes on" };
  const later = checked(Operation, called.body, asking.veil);
  if ("fault" in later) return { failure: unreadable("the operation", later.fault).failure };
  return later.data.status === "DONE" ? endOf(later.data, about, asking.veil) : { kind: "goes on" };
}

function endOf({ error }: Operation, { type, zone }: About, veil: Asking["veil"]): Outcome {
  const main = mainError(error?.errors ?? []);
  if (main === undefined) return { kind: "done" };
  const failure = failureOf("Google", main, meaningOf(main), { veil, type, zone });
  // An operation that has ended with an error has made nothing.
  return { kind: "failed", code: main.code, failure: { ...usedUp(failure), refused: true } };
}

/**
 * The failure of an operation. Google answers the same token with the same failed operation, so to try again
 * would not help: it is another machine's turn, in another zone (clouds/gce.md#create).
 */
function usedUp(failure: ProviderFailure): ProviderFailure {
  const mayPass = failure.class === "temporary" || failure.class === "rate_limit";
  return mayPass ? { ...failure, class: "capacity", scope: "zone" } : failure;
}
