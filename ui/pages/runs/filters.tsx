// How does a reader choose which runs are shown?
import { RUN_STATES } from "../../../src/shared/run-state.ts";
import { go, place, withQuery } from "../../router/place.ts";
import { type Filter, filterOf } from "./filter.ts";

const TIMES = ["15m", "1h", "6h", "24h", "7d"];

/** The filters above the list. Each change is an address of its own. */
export function Filters({ filter }: { filter: Filter }) {
  const choose = (changes: Record<string, string | readonly string[] | undefined>) =>
    go(withQuery({ ...changes, cursor: undefined, selected: undefined, all: undefined }));
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
        <Switch name="failed" isOn={filter.failed} word="Failed, for any reason" choose={choose} />
        <States chosen={filter.states} choose={choose} />
        <label>
          Since{" "}
          <select value={filter.since} onChange={(event) => choose({ since: event.currentTarget.value })}>
            <option value="">ever</option>
            {TIMES.map((time) => (
              <option key={time}>{time}</option>
            ))}
          </select>
        </label>
        <Switch name="mine" isOn={filter.mine} word="Mine" choose={choose} />
      </form>
    </search>
  );
}

/** One state or several; none is all. `done` is each state in which a run has ended. */
function States(props: {
  chosen: readonly string[];
  choose: (changes: Record<string, readonly string[]>) => void;
}) {
  const { chosen, choose } = props;
  const turn = (word: string) => {
    const { states } = filterOf(); // what was chosen just before may not be drawn yet
    choose({ state: states.includes(word) ? states.filter((one) => one !== word) : [...states, word] });
  };
  return (
    <fieldset class="states">
      <legend>State</legend>
      {["done", ...RUN_STATES].map((word) => (
        <label key={word}>
          <input type="checkbox" checked={chosen.includes(word)} onChange={() => turn(word)} /> {word}
        </label>
      ))}
    </fieldset>
  );
}

function Switch(props: {
  name: string;
  isOn: boolean;
  word: string;
  choose: (changes: Record<string, string | undefined>) => void;
}) {
  const { name, isOn, word, choose } = props;
  const turn = () => choose({ [name]: place.peek().query.has(name) ? undefined : "1" });
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={turn} /> {word}
    </label>
  );
}

const words = (text: unknown): string[] => String(text ?? "").split(/[\s,]+/);
