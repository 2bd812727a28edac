// What does the registry answer to calls about backups (backup.md#access)? `core/registry` decides.
import type { core, ZodType } from "zod";
import type { RegistryEvent } from "../../core/registry/machine.ts";
import {
  accessBackup,
  type Known,
  type Restoring,
  restoringRule,
  restoringToken,
  type Terms,
} from "../../core/registry/restore.ts";
import {
  type AccessBackup,
  type Restored,
  type RestoreRequest,
  RuleBackup,
  TokenBackup,
} from "../../schema/access/backup.ts";
import type { Instant } from "../../shared/machine.ts";

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): Known;
  now(): Instant;
}

type Item = RestoreRequest["tokens"][number];

/** The calls of `RegistryApi` about backups. */
export class BackupCalls {
  readonly #registry: Entered;

  constructor(registry: Entered) {
    this.#registry = registry;
  }

  read(): AccessBackup {
    return accessBackup(this.#registry.enter(), this.#registry.now());
  }

  restore(request: RestoreRequest, by: string): Restored[] {
    const { tokens, trustRules, dryRun, madeAt, expectedProjects } = request;
    const parents = parentsOf(tokens);
    const expected = dryRun ? expectedProjects : [];
    const decide = (decision: (known: Known, terms: Terms) => Restoring): Restored => {
      const state = this.#registry.enter();
      const terms = { by, now: this.#registry.now(), madeAt: Date.parse(madeAt), parents, expected };
      const { answer, event } = decision(state, terms);
      if (event !== undefined && !dryRun) this.#registry.enter(event);
      return answer;
    };
    return [
      ...tokens.map((item) =>
        whole("token", item, TokenBackup, (token) =>
          decide((known, terms) => restoringToken(known, token, terms)),
        ),
      ),
      ...trustRules.map((item) =>
        whole("trust_rule", item, RuleBackup, (rule) =>
          decide((known, terms) => restoringRule(known, rule, crypto.randomUUID(), terms)),
        ),
      ),
    ];
  }
}

function parentsOf(tokens: readonly Item[]): Map<string, string | null> {
  const whole = tokens.flatMap((item) => {
    const { success, data } = TokenBackup.safeParse(item);
    return success ? [data] : [];
  });
  return new Map(whole.map(({ id, parent }) => [id, parent]));
}

/** Does something with an item that has all of its fields and no other; any other item is refused. */
function whole<Thing>(
  kind: Restored["kind"],
  item: Item,
  schema: ZodType<Thing>,
  act: (thing: Thing) => Restored,
): Restored {
  const { success, data, error } = schema.safeParse(item);
  if (success) return act(data);
  const faults = error.issues.map(faultText).join("; ");
  const { name, project } = item;
  return { kind, name, project, result: "refused", reason: `this version cannot read it: ${faults}` };
}

function faultText(issue: core.$ZodIssue): string {
  const named = issue.code === "unrecognized_keys" ? issue.keys.join(", ") : "";
  return `/${[...issue.path, ...(named === "" ? [] : [named])].join("/")} ${issue.message}`;
}
