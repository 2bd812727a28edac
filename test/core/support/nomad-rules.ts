import { count, type RuleSection } from "./rule-index.ts";

/** All of these labels have one reason. */
const all = (labels: string[]) => labels.join(", ");

const SCOPE = "out of scope (decisions.md: Consul, Vault, CSI, templates, deployments, network)";
const DERIVED =
  "nothing to order or to lose here: what is owed is derived from what is stored (decisions.md)";
const TEXTS = "every event of ours has a text of its own, and the list of types is closed (src/core)";
const NO_CAUSE = "no event (docs/design/decisions.md, events without a cause)";

const EVENTS = [
  ...["Received", "Task Setup", "Building Task Directory", "Setup Failure", "Failed Validation"],
  ...["Driver Failure", "Driver", "Started", "Terminated", "Killing", "Killed", "Restarting"],
  ...["Not Restarting", "Restart Signaled", "Signaling", "Downloading Artifacts"],
  ...["Failed Artifact Download", "Disk Resources Exceeded", "Sibling Task Failed", "Leader Task Dead"],
  ...["Main Tasks Dead", "Task hook failed", "Task hook message", "Failed Restoring Task", "Reconnected"],
  ...["Waiting for shutdown delay", "Skipping shutdown delay", "Plugin became healthy"],
  ...["Plugin became unhealthy", "Template", "Alloc Unhealthy", "Pausing", "Running", "unknown type"],
];

/**
 * What `nomad.md` §1 to §4 (without §3.6), §7.1 and §7.3 state. `row`: of the section's first table; `case`:
 * of its second, or of one made for tests; `step`: of a numbered list; `point`: of a list without numbers, or
 * a statement beside the tables, in their order.
 */
export const NOMAD_RULES: RuleSection[] = [
  {
    section: "§1.1",
    rules: [...count("row", 8), "T-Q1", "T-Q2"],
    not: { "row 8": "schedules are for its enterprise edition" },
  },
  { section: "§1.2", rules: [...count("row", 13), "point 1"], not: { "row 13": NO_CAUSE } },
  {
    section: "§1.3",
    rules: count("point", 8),
    not: {
      "point 5": "one way to add an event: it is stored with the state that it belongs to (rule R1)",
      "point 7": "events are told apart by their number",
      "point 8": "events are plain values, nothing is shared",
    },
  },
  {
    section: "§1.4",
    rules: [...EVENTS, ...count("row", 12)],
    not: {
      "Task Setup, Building Task Directory, Setup Failure, Failed Validation, Driver": NO_CAUSE,
      "Task hook failed, Task hook message, Reconnected, Skipping shutdown delay": NO_CAUSE,
      "Plugin became healthy, Plugin became unhealthy, Template, Alloc Unhealthy": SCOPE,
      "Disk Resources Exceeded": "nothing emits it in Nomad either",
      "Pausing, Running": "schedules are for its enterprise edition",
      "unknown type, row 1, row 2, row 12": TEXTS,
    },
  },
  {
    section: "§1.5",
    rules: [...count("row", 7), ...count("point", 2)],
    not: { "row 2": NO_CAUSE, "row 4, row 5, row 6, row 7": SCOPE },
  },
  {
    section: "§1.6",
    rules: count("point", 3),
    not: { "point 1": "nobody else desires a status: what is wanted from outside is the run's wish (R3)" },
  },
  {
    section: "§1.7",
    rules: [...count("step", 6), ...count("point", 6)],
    not: { "step 5": "no runner is parked: that a task is dead is stored, and its number goes on" },
  },
  { section: "§1.8", rules: [...count("step", 6), ...count("point", 2)], not: {} },
  { section: "§1.9", rules: count("point", 5), not: {} },
  {
    section: "§1.10",
    rules: count("step", 6),
    not: { [all(count("step", 6))]: DERIVED },
  },
  {
    section: "§2.1",
    rules: [...count("row", 7), ...count("case", 13)],
    not: {
      "row 7, case 13": "a run has a main task, always (src/schema/spec-rules.ts)",
    },
  },
  { section: "§2.2", rules: count("point", 2), not: { "point 2": SCOPE } },
  { section: "§2.3", rules: ["point 1"], not: { "point 1": SCOPE } },
  { section: "§2.4", rules: ["point 1"], not: { "point 1": SCOPE } },
  {
    section: "§2.5",
    rules: [...count("row", 5), ...count("point", 5)],
    not: {
      "row 1, row 2, row 3, row 4":
        "a report is news or it is not: there is no second speed (host-protocol.md)",
      "point 1": "news goes at once, the rest with the next report (host-protocol.md)",
      "point 4": "a report says what the host sees; nothing of it can be the control plane's",
      "point 5": "no log to batch for, no evaluations: an object has one writer (architecture.md §2)",
    },
  },
  {
    section: "§3.1",
    rules: count("row", 5),
    not: { "row 4": "nothing but a person restarts a task (no check_restart, out of scope)" },
  },
  { section: "§3.2", rules: [...count("row", 2), ...count("case", 5)], not: {} },
  {
    section: "§3.3",
    rules: [...count("row", 11), "window step", "jittered", "window delay", ...count("point", 11)],
    not: {
      "row 6, point 7": "cannot arise: a decision has a cause (src/core/allocation/restart.ts)",
      "point 6": "nothing but a person restarts a task (no check_restart, out of scope)",
    },
  },
  {
    section: "§3.4",
    rules: count("row", 5),
    not: { "row 5": "cannot arise: a decision has a cause (src/core/allocation/restart.ts)" },
  },
  {
    section: "§3.5",
    rules: [...count("row", 3), ...count("case", 5), ...count("point", 2)],
    not: { "row 3": "runs are `batch` or `service`: no system jobs" },
  },
  {
    section: "§4.1",
    rules: ["loop", ...count("point", 7)],
    not: { loop: "no loop runs here; each of its branches is a row of §1.2, §3.4, §4.6 or §4.8" },
  },
  {
    section: "§4.2",
    rules: [...count("step", 5), ...count("case", 3)],
    not: {
      "step 2": "a spec is validated before it is a run, and drivers have no settings",
      "case 2, case 3": "one number for memory: no `memory_max`",
    },
  },
  {
    section: "§4.3",
    rules: [...count("row", 7), ...count("point", 2)],
    not: {
      "row 2": "only sampling begins after a start, which has no hook (agent/core/usage.ts)",
      "row 3": "only services have something to do before a kill (out of scope)",
      "row 5":
        "no hook can be updated: what changes in place is in the orders (src/core/allocation/update.ts)",
      "row 4": "what follows an exit is no hook: the tree is killed, the last bytes of its logs go",
      "row 7": "hooks hold nothing that outlives the agent but what is on disk",
    },
  },
  {
    section: "§4.4",
    rules: count("row", 21),
    not: {
      "row 1, row 2":
        "users are those of the machine; which of them, the agent's own rights say (decisions.md)",
      "row 4, row 5, row 6, row 7, row 14, row 17, row 18, row 19, row 20": SCOPE,
      "row 8": "no collector: a task writes to a file (docs/design/decisions.md, holes)",
      "row 9": "no parameterized jobs",
      "row 10, row 16": SCOPE,
      "row 13": "gpus are counted, not handed out",
      "row 21": "schedules are for its enterprise edition",
    },
  },
  {
    section: "§4.5",
    rules: count("row", 14),
    not: {
      "row 1, row 4, row 9, row 11, row 12": SCOPE,
      "row 6": "sticky data: its own part of the plan (docs/design/plan.md)",
      "row 7": "cores are not reserved one by one",
      "row 8, row 13": SCOPE,
      "row 14": "no embedding: what is added is a hook of the agent",
    },
  },
  {
    section: "§4.6",
    rules: [...count("step", 8), ...count("row", 6), ...count("point", 4)],
    not: {
      "step 2": "only services have something to do before a kill (out of scope)",
      "row 6": "nobody enters a task: no exec",
    },
  },
  {
    section: "§4.7",
    rules: count("row", 7),
    not: {
      "row 1, row 3, row 4, row 5, row 6":
        "an agent that dies writes nothing; one that is told to end, kills",
    },
  },
  {
    section: "§4.8",
    rules: [...count("step", 6), ...count("row", 6)],
    not: {
      "step 2, step 3, step 4, step 6": DERIVED,
      "row 5": "what is over is not in the orders: omission ends it, and starts nothing",
      "row 1, row 3": "the journal of an attempt is its handle: there is no state without one",
    },
  },
  { section: "§4.9", rules: ["point 1"], not: {} },
  {
    section: "§4.10",
    rules: [...count("row", 13), ...count("point", 4)],
    not: {
      "row 6": "one region, no datacenters: the pool and the worker are told as `node.…`",
      "row 7, row 8, row 9, row 10, row 12, row 13": SCOPE,
    },
  },
  {
    section: "§7.1",
    rules: [...count("row", 6), ...count("point", 6), "group rules"],
    not: { "point 4": "the stage is stored with the run: nothing is derived again after a restart" },
  },
  {
    section: "§7.3",
    rules: [
      ...["defaults", "validation", ...count("row", 3), ...count("formula", 7), "fail time", "eligible"],
      ...["not eligible", "kept", "penalty", "batch"],
    ],
    not: {},
  },
];
