// What does a webhook receive, and where? The fields of its form, and what they say.
import type { Webhook } from "../../../../src/generated/api.ts";
import { END_TYPES, WEBHOOK_TYPES } from "../../../../src/shared/webhooks/words.ts";
import type { InputOf } from "../../../api/send.ts";
import { LinesField, TextField, TicksField } from "../../../parts/acts/field.tsx";
import { asLines, flagsOf, pairsOf, textOf, ticksOf, wordsOf } from "../../../parts/acts/given.ts";

type Endpoint = InputOf<"putWebhook">["body"];

/** The fields; of a webhook that exists, with what it has. */
export function EndpointFields({ webhook }: { webhook?: Webhook }) {
  return (
    <>
      <TextField
        label="Receiver"
        name="url"
        value={webhook?.url ?? ""}
        hint="https, port 443 or 8443, a public name"
        required
      />
      <TicksField label="Events" name="type" of={WEBHOOK_TYPES} ticked={webhook?.types ?? END_TYPES} />
      <TextField
        label="Pools"
        name="pool"
        value={webhook?.pools?.join(" ") ?? ""}
        hint="only runs of these; empty: of all"
      />
      <LinesField
        label="Labels"
        name="label"
        value={webhook === undefined ? "" : asLines(webhook.labels)}
        hint="lines name=value: only runs with these"
      />
    </>
  );
}

/** What the fields say. */
export function endpointOf(given: FormData): Endpoint {
  return {
    url: textOf(given, "url") ?? "",
    // The boxes have the words of the API.
    types: ticksOf(given, "type") as Endpoint["types"],
    pools: wordsOf(given, "pool"),
    labels: pairsOf(given, "label"),
  };
}

/** The same as words for `drover webhooks create`. */
export function endpointFlags({ url, types = [], pools = [], labels = {} }: Endpoint): string[] {
  return [
    url,
    ...(types.length === 0 ? [] : ["--types", types.join(",")]),
    ...flagsOf("--pool", pools),
    ...flagsOf(
      "--label",
      Object.entries(labels).map(([label, value]) => `${label}=${value}`),
    ),
  ];
}
