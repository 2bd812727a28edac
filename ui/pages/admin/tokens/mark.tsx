// How is the state of a token shown (ui.md#d16)?
import type { Token } from "../../../../src/generated/api.ts";
import { Mark } from "../../../parts/state.tsx";

/** The states of a token, by which a list is filtered. */
export const STATES: readonly Token["state"][] = ["active", "expired", "revoked"];

/** The state of a token. */
export function TokenStateMark({ state }: Pick<Token, "state">) {
  if (state === "active") return <Mark icon="good" tone="good" word={state} />;
  return <Mark icon={state === "expired" ? "late" : "stop"} tone="plain" word={state} />;
}
