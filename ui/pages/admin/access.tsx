// What may a token do, and what at most? The fields, texts and flags that tokens and trust rules share.

import { GRANTABLE_SCOPES, PRESET_NAMES } from "../../../src/shared/access/scopes.ts";
import type { InputOf } from "../../api/send.ts";
import { ChoiceField, NumberField, TextField, TicksField } from "../../parts/acts/field.tsx";
import { flagsOf, numberOf, textOf, ticksOf, wordsOf } from "../../parts/acts/given.ts";

type TokenBody = InputOf<"createToken">["body"];
type Access = Pick<TokenBody, "preset" | "scopes"> & { limits: NonNullable<TokenBody["limits"]> };

/** What is filled in at first. */
interface Before {
  scopes?: readonly string[];
  limits?: NonNullable<TokenBody["limits"]>;
}

/** The fields for scopes and for the limits that tokens and trust rules have. */
export function AccessFields({ scopes = [], limits = {} }: Before) {
  return (
    <>
      <ChoiceField
        label="Preset"
        name="preset"
        of={PRESET_NAMES}
        none="none"
        hint="a bundle of scopes; those below come on top"
      />
      <TicksField label="Scopes" name="scope" of={GRANTABLE_SCOPES} ticked={scopes} />
      <TextField
        label="Pools"
        name="pool"
        value={limits.pools?.join(" ") ?? ""}
        hint="only these exist for it; empty: all"
      />
      <NumberField
        label="Highest priority"
        name="maxPriority"
        value={limits.maxPriority === undefined ? "" : String(limits.maxPriority)}
        hint="1 to 100; empty: any"
      />
      <TextField
        label="Networks"
        name="source"
        value={limits.sources?.join(" ") ?? ""}
        hint="it is accepted from these alone, such as 10.0.0.0/8; empty: from everywhere"
      />
    </>
  );
}

/** What these fields say. */
export function accessOf(given: FormData): Access {
  return {
    // The server refuses a word that it does not know, and says which words there are.
    preset: textOf(given, "preset") as Access["preset"],
    // Each box has the word of a scope.
    scopes: ticksOf(given, "scope") as Access["scopes"],
    limits: {
      pools: wordsOf(given, "pool"),
      maxPriority: numberOf(given, "maxPriority"),
      sources: wordsOf(given, "source"),
    },
  };
}

/** The same as flags of `drover`. */
export function accessFlags({ preset, scopes = [], limits }: Access): string[] {
  return [
    ...flagsOf("--preset", [preset]),
    ...flagsOf("--scope", scopes),
    ...flagsOf("--pool", limits.pools ?? []),
    ...flagsOf("--max-priority", [limits.maxPriority]),
    ...flagsOf("--source", limits.sources ?? []),
  ];
}
