// What does a form ask for? Fields with a name, a hint and the name by which `given.ts` reads them.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { NUMBER } from "./given.ts";

interface FieldProps {
  label: string;
  name: string;
  hint?: string;
  value?: string;
  required?: boolean;
  autofocus?: boolean;
}

/** What must be there must not be space alone. */
const SOME_TEXT = ".*\\S.*";

/** A line of text. */
export function TextField({ label, name, hint, value = "", required = false, autofocus }: FieldProps) {
  const more = { required, autofocus, ...(required ? { pattern: SOME_TEXT } : {}) };
  return (
    <Named label={label} hint={hint}>
      {(ids) => <input {...ids} {...more} name={name} defaultValue={value} autocomplete="off" />}
    </Named>
  );
}

/**
 * A number, perhaps with a fraction. What is no number is refused at the field, and never sent. `written`: a
 * regular expression for numbers of another form.
 */
export function NumberField(props: FieldProps & { written?: string }) {
  const { label, name, hint, value = "", required = false, written = NUMBER } = props;
  const more = {
    pattern: `\\s*${written}\\s*`,
    title: written === NUMBER ? "a number, such as 2.5" : "a number",
    inputMode: written === NUMBER ? ("decimal" as const) : ("text" as const),
    required,
  };
  return (
    <Named label={label} hint={hint}>
      {(ids) => <input {...ids} {...more} name={name} defaultValue={value} autocomplete="off" />}
    </Named>
  );
}

/** Several lines of text, which no spelling service of the browser gets to see. */
export function LinesField({ label, name, hint, value = "", ...more }: FieldProps) {
  return (
    <Named label={label} hint={hint}>
      {(ids) => (
        <textarea
          {...ids}
          {...more}
          name={name}
          rows={3}
          defaultValue={value}
          autocomplete="off"
          spellcheck={false}
        />
      )}
    </Named>
  );
}

/**
 * One of a few words. The empty one, if it is offered, is "none". A form that is reset goes back to what is
 * selected by default, as it goes back to the default texts of the other fields.
 */
export function ChoiceField(props: FieldProps & { of: readonly string[]; none?: string }) {
  const { label, name, hint, value = "", required = false, of, none } = props;
  return (
    <Named label={label} hint={hint}>
      {(ids) => (
        <select {...ids} name={name} required={required}>
          {none !== undefined && <option value="">{none}</option>}
          {of.map((one) => (
            <option key={one} {...{ defaultSelected: one === value }}>
              {one}
            </option>
          ))}
        </select>
      )}
    </Named>
  );
}

/** Any of a few words, each with a box. */
export function TicksField(props: {
  label: string;
  name: string;
  of: readonly string[];
  ticked?: readonly string[];
}) {
  const { label, name, of, ticked = [] } = props;
  return (
    <fieldset class="ticks">
      <legend>{label}</legend>
      {of.map((one) => (
        <label key={one}>
          <input type="checkbox" name={name} value={one} defaultChecked={ticked.includes(one)} /> {one}
        </label>
      ))}
    </fieldset>
  );
}

interface Ids {
  id: string;
  "aria-describedby"?: string;
}

function Named(props: {
  label: string;
  hint: string | undefined;
  children: (ids: Ids) => ComponentChildren;
}) {
  const { label, hint, children } = props;
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {children(hint === undefined ? { id } : { id, "aria-describedby": `${id}-hint` })}
      {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
    </p>
  );
}
