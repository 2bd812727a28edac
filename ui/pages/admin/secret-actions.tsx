// What can a reader do about secrets: set a value, remove one (secrets.md#api)?
import type { Secret } from "../../../src/generated/api.ts";
import { SECRET_PURPOSES } from "../../../src/shared/access/secret-use.ts";
import { callOf, type InputOf } from "../../api/send.ts";
import type { Action } from "../../parts/acts/act.tsx";
import { ChoiceField, LinesField, TextField } from "../../parts/acts/field.tsx";
import { flagsOf, textOf } from "../../parts/acts/given.ts";
import { droverOf } from "../../parts/as-text.ts";
import { go } from "../../router/place.ts";

const scope = "secrets:write";

/** Stores a value for a secret, or for a new one. The value is in the field alone, until it is sent. */
export function settingOf(secret: Secret | undefined, again: () => void): Action {
  const nameOf = (given: FormData) => secret?.name ?? textOf(given, "name") ?? "";
  // The server refuses a word that it does not know.
  const useOf = (given: FormData) => textOf(given, "use") as InputOf<"putSecret">["body"]["use"];
  return {
    verb: secret === undefined ? "Set secret" : "Set another value",
    question: secret === undefined ? "Store a secret?" : `Store another value for ${secret.name}?`,
    effect:
      "Nothing shows the value again. Attempts that start from now on get it; one that runs keeps the " +
      "value that it has. If the name is taken, the value replaces the present one.",
    ends: secret !== undefined,
    scope,
    hides: ["value"],
    fields: (
      <>
        {secret === undefined && (
          <>
            <TextField label="Name" name="name" hint="letters, digits, _ . and -" required autofocus />
            <ChoiceField label="For" name="use" of={SECRET_PURPOSES} none="as before, or run" />
          </>
        )}
        <LinesField
          label="Value"
          name="value"
          hint="as it is here, with its ends of lines; other bytes than text take the command"
          required
          autofocus={secret !== undefined}
        />
      </>
    ),
    call: (given) =>
      callOf("putSecret", {
        path: { name: nameOf(given) },
        // Space around a value can belong to it.
        body: { value: String(given.get("value") ?? ""), use: useOf(given) },
      }),
    drover: (given) => droverOf("secrets", "set", nameOf(given), "-", ...flagsOf("--use", [useOf(given)])),
    done: again,
  };
}

/** Removes a secret for good. */
export function removalOf({ name }: Secret, again: () => void): Action {
  return {
    verb: "Delete",
    question: `Delete the secret ${name} for good?`,
    effect:
      "Attempts that name it and have not started yet fail to start; pools that name it for their " +
      "provider can make no machines. Attempts that run keep the value.",
    ends: true,
    scope,
    call: () => callOf("deleteSecret", { path: { name } }),
    drover: droverOf("secrets", "rm", name),
    done() {
      go("/ui/admin/secrets");
      again();
    },
  };
}
