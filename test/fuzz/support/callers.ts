import { grants, PRESET_NAMES, PRESETS, type Preset, type Scope } from "../../../src/shared/access/scopes.ts";
import type { Server } from "../../edge/support/server.ts";
import type { Document, Operation } from "./operations.ts";

/** Who sends a request: the holder of the Worker's own secret, or of a token with one preset. */
export type CallerName = "admin" | Preset;

/** All who send requests that need a token. */
export const CALLERS: readonly CallerName[] = ["admin", ...PRESET_NAMES];

const scopesOf = (caller: CallerName): readonly Scope[] => (caller === "admin" ? ["admin"] : PRESETS[caller]);

/** Whether a caller lacks the scope that an operation needs. */
export function lacks(caller: CallerName, { access }: Pick<Operation, "access">): boolean {
  if (access === "any_token") return false;
  return !grants(scopesOf(caller), access as Scope); // the document has scopes there
}

/** Those who may call an operation, and those who lack its scope. An open operation has one caller. */
export function callersOf(operation: Operation): { may: CallerName[]; mayNot: CallerName[] } {
  if (!operation.secured) return { may: ["admin"], mayNot: [] };
  const mayNot = CALLERS.filter((caller) => lacks(caller, operation));
  return { may: CALLERS.filter((caller) => !mayNot.includes(caller)), mayNot };
}

/**
 * The scopes of the operations that a request with this method may reach, and that the caller lacks. A
 * changed path or method can lead to another operation than the one that was meant: `DELETE /v1/runs/query`
 * is answered by `DELETE /v1/runs/{id}`.
 */
export function lackedOf({ operations }: Document, caller: CallerName, method: string): string[] {
  const reached = operations.filter((one) => one.method === method && one.secured && lacks(caller, one));
  return [...new Set(reached.map(({ access }) => access))];
}

/** The secret of each caller. */
export async function makeCallers(server: Server): Promise<Record<CallerName, string>> {
  const secrets = new Map<CallerName, string>([["admin", server.token]]);
  for (const preset of PRESET_NAMES) {
    const { token } = await server.json(201, "POST", "/v1/tokens", { name: `holder-${preset}`, preset });
    secrets.set(preset, token);
  }
  return Object.fromEntries(secrets) as Record<CallerName, string>; // each caller has one
}
