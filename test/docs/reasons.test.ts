import { expect, test } from "vitest";
import { RUN_REASONS } from "../../src/core/allocation/read/why.ts";
import { WAIT_CODES } from "../../src/core/pool/read/views.ts";
import { WORKER_REASONS } from "../../src/core/worker/read/reasons.ts";
import { HOLD_CAUSES } from "../../src/schema/pool.ts";
import { NEXT_CODES } from "../../src/schema/why.ts";
import { FAILURE_CODES } from "../../src/shared/errors.ts";
import { readDocument } from "./support/examples.ts";

/** The codes in the first column of the table below a heading. */
function codesBelow(heading: string): string[] {
  const [, section = ""] = readDocument("docs/operating.md").split(`\n## ${heading}\n`);
  const [table = ""] = section.split("\n## ");
  return [...table.matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, code = ""]) => code);
}

test.each<[string, readonly string[]]>([
  ["Why a run waits, or where it is", [...RUN_REASONS, ...WAIT_CODES]],
  ["What happens next", NEXT_CODES],
  ["Why a run has failed", FAILURE_CODES],
  ["Why a worker is in its state", WORKER_REASONS],
  ["Why no machine is asked for: hold-offs and the breaker", HOLD_CAUSES],
])("the operator's guide says of each code what it means and what to do: %s", (heading, codes) => {
  expect(codesBelow(heading).sort()).toEqual([...codes].sort());
});
