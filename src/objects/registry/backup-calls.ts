// What does the registry answer to calls about backups (backup.md#access)? `core/registry` decides.
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import { accessBackup, type Restoring, restoringRule, restoringToken } from "../../core/registry/restore.ts";
import type { AccessBackup, Restored, RestoreRequest } from "../../schema/access/backup.ts";
import type { Instant } from "../../shared/machine.ts";

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): Pick<RegistryState, "tokens" | "trust" | "projects">;
  now(): Instant;
}

/** The calls of `RegistryApi` about backups. */
export class BackupCalls {
  readonly #registry: Entered;

  constructor(registry: Entered) {
    this.#registry = registry;
  }

  read(): AccessBackup {
    return accessBackup(this.#registry.enter(), this.#registry.now());
  }

  restore({ tokens, trustRules, dryRun }: RestoreRequest, by: string): Restored[] {
    const decide = (decision: (known: ReturnType<Entered["enter"]>, now: Instant) => Restoring): Restored => {
      const { answer, event } = decision(this.#registry.enter(), this.#registry.now());
      if (event !== undefined && !dryRun) this.#registry.enter(event);
      return answer;
    };
    return [
      ...tokens.map((token) => decide((known, now) => restoringToken(known, token, by, now))),
      ...trustRules.map((rule) =>
        decide((known, now) => restoringRule(known, rule, by, { now, version: crypto.randomUUID() })),
      ),
    ];
  }
}
