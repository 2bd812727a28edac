// Which files come first? If the time of a run is limited, others with each commit: what a slow machine
// leaves out of one run has its turn in another (decisions/testing.md#in-time).
import { createHash } from "node:crypto";
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What decides whose turn it is: the commit that is tested. Undefined: this run's time is not limited. */
const turn = process.env.DROVER_TESTS_TURN;

const rankOf = (name: string) => createHash("sha256").update(`${turn} ${name}`).digest("hex");

/** Groups of files in their order of this run. The first number is `from`. */
export function groupsInTurn<Group extends string>(
  from: number,
  groups: readonly Group[],
): Record<Group, number> {
  const inOrder = turn === undefined ? groups : groups.toSorted(byRank);
  return Object.fromEntries(inOrder.map((group, index) => [group, from + index])) as Record<Group, number>;
}

export class InTurn extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    if (turn === undefined) return await super.sort(files);
    const nameOf = ({ moduleId, project }: TestSpecification) => relative(project.config.root, moduleId);
    return files.toSorted((a, b) => byRank(nameOf(a), nameOf(b)));
  }
}

function byRank(a: string, b: string): number {
  return rankOf(a) < rankOf(b) ? -1 : 1;
}
