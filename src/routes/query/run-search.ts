// How does a list say what people look for: a prefix, a text, a time, what is theirs or has failed?
import { z } from "zod";
import type { RunSearch } from "../../objects/rpc.ts";
import { InstantInput } from "../../schema/common.ts";
import { RUN_ID_PREFIX, RUN_ID_PREFIX_TEXT } from "../../shared/attempt-id.ts";
import type { FieldError } from "../../shared/errors.ts";
import { MAX_SEARCH_CHARS } from "../../shared/limits.ts";
import type { Caller } from "../access/caller.ts";
import { invalid } from "../http/invalid.ts";
import { Flag, isOn } from "../openapi/params.ts";
import { idsOf } from "../walls/run-limits.ts";

/** The parameters of a list of runs for what people look for (api.md#finding). */
export const searchParams = {
  prefix: z
    .string()
    .regex(RUN_ID_PREFIX, RUN_ID_PREFIX_TEXT)
    .optional()
    .describe("only runs whose id begins like this"),
  mine: Flag.optional().meta({ description: "only runs that the caller has submitted" }),
  failed: Flag.optional().meta({
    description:
      "only runs that have failed, to people: `failed`, `timedout`, `unknown`, and `complete` with an exit " +
      "code other than 0",
  }),
  parked: Flag.optional().meta({
    description: "only runs that are parked: they have failed for good, and wait for somebody",
  }),
  since: InstantInput.optional().describe("only runs that were submitted at this instant or later"),
  search: z
    .string()
    .min(1)
    .max(MAX_SEARCH_CHARS)
    .optional()
    .describe(
      "only runs with this text in the command, in the id or in the value of a label; case is ignored",
    ),
};

const SearchParams = z.object(searchParams);
type SearchParams = z.output<typeof SearchParams>;

/**
 * What a list looks for; undefined: nothing. Throws `invalid_request` with ids, which select runs one by one,
 * and for `failed` or `parked` with `all`: a run that ends well would end such a wait, but not its question.
 */
export function searchFrom(
  { prefix, mine, failed, parked, since, search }: SearchParams,
  caller: Pick<Caller, "project" | "by">,
  others: { hasIds: boolean; all: boolean },
): RunSearch | undefined {
  const given = Object.entries({ prefix, mine, failed, parked, since, search }).filter(
    ([, value]) => value !== undefined,
  );
  if (given.length === 0) return undefined;
  const wrong: FieldError[] = others.hasIds
    ? given.map(([name]) => ({ pointer: `?${name}`, detail: "cannot be used together with ids" }))
    : [];
  for (const [name, flag] of Object.entries({ failed, parked }))
    if (others.all && isOn(flag)) wrong.push({ pointer: `?${name}`, detail: "cannot be used with `all`" });
  if (wrong.length > 0) throw invalid(wrong);
  return {
    prefix: prefix === undefined ? undefined : idsOf(caller, [prefix])[0],
    by: isOn(mine) ? caller.by : undefined,
    since: since === undefined ? undefined : Date.parse(since),
    text: search,
    failed: isOn(failed) || undefined,
    parked: isOn(parked) || undefined,
  };
}
