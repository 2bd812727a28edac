// How does a reader choose which runs are shown?
import { RUN_STATES } from "../../../src/shared/run-state.ts";
import { go, withQuery } from "../../router/place.ts";
import type { Filter } from "./filter.ts";

const TIMES = ["15m", "1h", "6h", "24h", "7d"];

/** The filters above the list. Each change is an address of its own. */
export function Filters({ filter }: { filter: Filter }) {
  const choose = (changes: Record<string, string | readonly string[] | undefined>) =>
    go(withQuery({ ...changes, cursor: undefined }));
  return (
    <search>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          choose({ q: String(given.get("q") ?? ""), label: words(given.get("label")) });
        }}
      >
        <label>
          Text{" "}
          <input
            key={filter.search}
            name="q"
            type="search"
            defaultValue={filter.search}
            placeholder="id or command"
          />
        </label>
        <label>
          Labels{" "}
          <input
            key={filter.labels.join(" ")}
            name="label"
            defaultValue={filter.labels.join(" ")}
            placeholder="name=value"
          />
        </label>
        <button type="submit">Filter</button>
        <label>
          State{" "}
          <select
            value={filter.states[0] ?? ""}
            onChange={(event) => choose({ state: event.currentTarget.value })}
          >
            <option value="">all</option>
            <option value="done">done</option>
            {RUN_STATES.map((state) => (
              <option key={state}>{state}</option>
            ))}
          </select>
        </label>
        <label>
          Since{" "}
          <select value={filter.since} onChange={(event) => choose({ since: event.currentTarget.value })}>
            <option value="">ever</option>
            {TIMES.map((time) => (
              <option key={time}>{time}</option>
            ))}
          </select>
        </label>
        <Switch name="failed" isOn={filter.failed} word="Failed" choose={choose} />
        <Switch name="mine" isOn={filter.mine} word="Mine" choose={choose} />
      </form>
    </search>
  );
}

function Switch(props: {
  name: string;
  isOn: boolean;
  word: string;
  choose: (changes: Record<string, string | undefined>) => void;
}) {
  const { name, isOn, word, choose } = props;
  const turn = () => choose({ [name]: isOn ? undefined : "1" });
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={turn} /> {word}
    </label>
  );
}

const words = (text: unknown): string[] => String(text ?? "").split(/[\s,]+/);
