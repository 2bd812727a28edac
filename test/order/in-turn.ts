// In which order do test files run? Where the time of a run is limited, each commit has its own order: what a
// slow machine leaves out of one run has its turn in another (decisions/testing.md#in-time).
import { createHash } from "node:crypto";
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The commit that is tested; undefined: the time of this run is not limited. */
const commit = process.env.DROVER_TESTS_TURN;

/** These in an order of this commit's own. */
export function inTurn<One>(all: readonly One[], nameOf: (one: One) => string, turn = commit): One[] {
  const rankOf = (one: One) =>
    createHash("sha256")
      .update(`${turn} ${nameOf(one)}`)
      .digest("hex");
  return turn === undefined ? [...all] : all.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
}

export class InTurn extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const nameOf = ({ moduleId, project }: TestSpecification) => relative(project.config.root, moduleId);
    return inTurn(await super.sort(files), nameOf);
  }
}
