// Which fields has the form of a trigger? One for each declared parameter, and those of every run.
import type { Job, JobParam } from "../../../src/generated/api.ts";
import { ChoiceField, LinesField, NumberField, TextField } from "../../parts/acts/field.tsx";
import { metaField, PAYLOAD_FIELD, RUN_FIELDS, rulesOf, shownDefault, WRITTEN } from "./values.ts";

/** The fields for the values of one run of a job. */
export function ValueFields({ job }: { job: Job }) {
  const { params = {}, meta, payload = "forbidden", payloadFile, schedule, next } = job;
  const keys = [...(meta?.required ?? []), ...(meta?.optional ?? [])];
  return (
    <>
      {Object.entries(params).map(([name, param]) => (
        <ParamField key={name} name={name} param={param} />
      ))}
      {keys.map((key) => (
        <TextField key={key} label={`meta: ${key}`} name={metaField(key)} />
      ))}
      {payload !== "forbidden" && (
        <LinesField
          label="Payload"
          name={PAYLOAD_FIELD}
          hint={`a text; the run finds it in ${payloadFile}`}
          required={payload === "required"}
        />
      )}
      <TextField
        label="Key"
        name={RUN_FIELDS.key}
        hint="at most 16 characters: the same key finds the same run again; empty: another run"
      />
      {schedule && (
        <TextField
          label="Tick"
          name={RUN_FIELDS.tick}
          hint={`runs this tick, such as ${next[0]?.at ?? "2026-11-22T01:30:00Z"}; empty: of none`}
        />
      )}
      <NumberField
        label="Priority"
        name={RUN_FIELDS.priority}
        hint={`1 to 100; empty: ${job.spec.priority ?? "that of the job"}`}
      />
    </>
  );
}

/** The longest text that is asked for in one line. */
const MOST_OF_A_LINE = 4_096;

function ParamField({ name, param }: { name: string; param: JobParam }) {
  const { type, required = false, enum: values, description, maxBytes = 0 } = param;
  const value = shownDefault(param) ?? "";
  const hint = [description, ...(values === undefined ? rulesOf(param) : [])].filter(Boolean).join("; ");
  const field = { label: name, name, value, ...(hint === "" ? {} : { hint }) };
  // A number cannot be empty: without a text it would be the default, which its field did not show.
  const hasDefault = param.default !== undefined;
  const choices = values?.map(String) ?? (type === "boolean" ? ["true", "false"] : undefined);
  if (choices !== undefined)
    return <ChoiceField {...field} of={choices} required={required} {...(hasDefault ? {} : { none: "–" })} />;
  if (type === "integer" || type === "number")
    return <NumberField {...field} required={required || hasDefault} written={WRITTEN[type]} />;
  return value.includes("\n") || maxBytes > MOST_OF_A_LINE ? (
    <LinesField {...field} required={required} />
  ) : (
    <TextField {...field} required={required} />
  );
}
