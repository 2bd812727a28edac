// How does a reader choose which entries are shown?
import { AUDIT_ACTIONS, AUDIT_FAMILIES } from "../../../src/shared/access/audit-actions.ts";
import { go, withQuery } from "../../router/place.ts";
import type { Filter } from "./filter.ts";

const TEXTS = [
  { name: "q", label: "Text", of: "text", hint: "on this page" },
  { name: "actor", label: "Who", of: "actor", hint: "token:ci, admin" },
  { name: "target", label: "Item", of: "target", hint: "its id" },
  { name: "run", label: "Run", of: "run", hint: "what concerns it" },
  { name: "since", label: "Since", of: "since", hint: "1h or 2026-11-27 16:00" },
  { name: "until", label: "Until", of: "until", hint: "the same, in UTC" },
] as const;

/** The filters above the list. Each change is an address of its own. */
export function Filters({ filter }: { filter: Filter }) {
  const choose = (changes: Record<string, string>) => go(withQuery({ ...changes, cursor: undefined }));
  return (
    <search>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          choose(Object.fromEntries(TEXTS.map(({ name }) => [name, String(given.get(name) ?? "").trim()])));
        }}
      >
        {TEXTS.map(({ name, label, of, hint }) => (
          <label key={name}>
            {label}{" "}
            <input key={filter[of]} name={name} type="search" defaultValue={filter[of]} placeholder={hint} />
          </label>
        ))}
        <button type="submit">Filter</button>
        <label>
          What{" "}
          <select value={filter.action} onChange={(event) => choose({ action: event.currentTarget.value })}>
            <option value="">everything</option>
            {AUDIT_FAMILIES.map((family) => (
              <optgroup key={family} label={family}>
                <option value={family}>{family}: all</option>
                {AUDIT_ACTIONS.filter((action) => action.startsWith(`${family}.`)).map((action) => (
                  <option key={action}>{action}</option>
                ))}
              </optgroup>
            ))}
          </select>
        </label>
      </form>
    </search>
  );
}
