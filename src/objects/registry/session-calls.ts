// What does the registry answer to calls about browser sessions (sessions.md)? `core/registry` decides.
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import {
  offeredTo,
  type SessionGrant,
  type SessionOwner,
  sessionGrantOf,
  sessionViews,
} from "../../core/registry/sessions.ts";
import type { Session } from "../../schema/access/session.ts";
import { DroverError } from "../../shared/errors.ts";
import type { Instant } from "../../shared/machine.ts";

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): Pick<RegistryState, "sessions" | "tokens" | "exchanged">;
  now(): Instant;
}

/** The calls of `RegistryApi` about browser sessions. */
export class SessionCalls {
  readonly #registry: Entered;

  constructor(registry: Entered) {
    this.#registry = registry;
  }

  offer(id: string, owner: SessionOwner, digest: string): void {
    this.#registry.enter({ type: "session_offered", id, owner, digest });
  }

  /** Starts the session whose code this is. A code starts one session. */
  redeem(id: string, code: string, digest: string): void {
    const owner = offeredTo(this.#registry.enter().sessions, id, code, this.#registry.now());
    if (owner === undefined) {
      const text = "this code has started a session already, or is older than a minute; get another one";
      throw new DroverError("unauthorized", text);
    }
    this.#registry.enter({ type: "session_started", id, owner, digest });
  }

  start(id: string, owner: SessionOwner, digest: string): void {
    this.#registry.enter({ type: "session_started", id, owner, digest });
  }

  grant(id: string, digest: string): SessionGrant | null {
    const state = this.#registry.enter({ type: "session_used", id, digest });
    return sessionGrantOf(state.sessions, state, id, this.#registry.now());
  }

  list(project: string | null): Session[] {
    const state = this.#registry.enter();
    return sessionViews(state.sessions, state, project);
  }

  end(id: string, by: string): void {
    this.#registry.enter({ type: "session_ended", id, by });
  }
}
