import { count, type RuleSection } from "./rule-index.ts";

const EPOCHS = "no time stamps are compared: reports are numbered (decisions.md, race rule)";
const ONE_WRITER = "one object has one writer, and its intent is stored before the call (architecture.md §2)";

/**
 * What `arvados.md` §1.4, §1.7 to §1.13, §2.2 to §2.7 state, as `decisions.md` has decided. `T`: the
 * transition table. `row`: of the section's first table; `case`: of its second; `step`: of a numbered list or
 * a sequence; `point`: of a list, or a statement, in their order.
 */
export const ARVADOS_RULES: RuleSection[] = [
  { section: "§1.4", rules: Array.from({ length: 20 }, (_, i) => `T${i + 1}`), not: {} },
  { section: "§1.7", rules: [...count("row", 6), "point 1"], not: {} },
  {
    section: "§1.8",
    rules: count("point", 5),
    not: { "point 5": "each run has a clock of its own here (decisions.md, broken and stale)" },
  },
  { section: "§1.9", rules: count("step", 6), not: { "step 6": EPOCHS } },
  {
    section: "§1.10",
    rules: count("point", 7),
    not: { "point 2": ONE_WRITER, "point 7": "a start that fails is reported (host-protocol.md, Report)" },
  },
  { section: "§1.11", rules: [...count("row", 5), ...count("case", 3), ...count("point", 5)], not: {} },
  {
    section: "§1.12",
    rules: count("point", 3),
    not: { "point 3": "the whole tree is killed, and nothing hides behind it (decisions.md, kill)" },
  },
  { section: "§1.13", rules: [...count("row", 4), "point 1"], not: {} },
  {
    section: "§2.2",
    rules: [...count("step", 4), ...count("point", 2)],
    not: { "step 1": "the agent is built into the control plane: there is nothing to read that could fail" },
  },
  { section: "§2.3", rules: ["point 1"], not: { "point 1": "no pool-wide pause (decisions.md, D8)" } },
  { section: "§2.4", rules: count("point", 4), not: {} },
  { section: "§2.5", rules: count("point", 3), not: {} },
  {
    section: "§2.6",
    rules: count("point", 5),
    not: { "point 5": "only the idle clock proposes a stop: no hold-off is looked at (core/worker/life.ts)" },
  },
  {
    section: "§2.7",
    rules: [...count("step", 4), "point 1", ...count("row", 4)],
    not: { "step 4": "workers are stored: nothing waits for a first listing (architecture.md §2)" },
  },
];
