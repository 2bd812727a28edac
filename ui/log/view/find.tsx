// How does somebody look for a text, and what does the search say of itself (ui.md#d7)?
import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { place } from "../../router/place.ts";
import type { LogPane } from "../pane/log-pane.ts";
import type { LogSearch } from "../pane/log-search.ts";
import { searchText } from "../search/search.ts";
import { wantedIn } from "../search/wanted.ts";
import { useFind } from "./use-find.ts";

/** The field of the search, its result, and the way from hit to hit. */
export function Find({ pane, search }: { pane: LogPane; search: LogSearch }) {
  const text = useSignal("");
  const isPattern = useSignal(false);
  const matchCase = useSignal(false);
  const find = useFind(pane, search);
  // Back and links change what is looked for.
  useSignalEffect(() => {
    const wanted = wantedIn(place.value.query);
    text.value = wanted.text;
    isPattern.value = wanted.isPattern;
    matchCase.value = wanted.matchCase;
  });
  const submit = (event: Event) => {
    event.preventDefault();
    find({ text: text.value, isPattern: isPattern.value, matchCase: matchCase.value });
  };
  return (
    <form class="log-find" aria-label="Search" onSubmit={submit}>
      <input
        type="search"
        aria-label="Search this output"
        placeholder="Search"
        value={text}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
        }}
      />
      <Switch is={isPattern} name="Regular expression" />
      <Switch is={matchCase} name="Match case" />
      <button type="submit">Search</button>
      <Result search={search} />
      {search.problem.value !== "" && <p role="alert">{search.problem}</p>}
    </form>
  );
}

function Switch({ is, name }: { is: Signal<boolean>; name: string }) {
  return (
    <label>
      <input
        type="checkbox"
        checked={is}
        onChange={({ currentTarget }) => {
          is.value = currentTarget.checked;
        }}
      />{" "}
      {name}
    </label>
  );
}

function Result({ search }: { search: LogSearch }) {
  const found = search.found.value;
  if (found === undefined) return null;
  const { attempt, state, size } = found;
  const isWhole = size !== undefined && found.search.from === 0 && found.search.to >= size;
  const isOfAll = found.search.from === 0 && state === "stopped";
  return (
    <>
      <output>
        Attempt {attempt}: {searchText(found.search, size)}
        {state === "running" && ", and the search goes on"}
        {state === "stopped" && ", and the search has stopped"}.
      </output>
      <button type="button" onClick={() => search.visit(-1)} disabled={found.search.count === 0}>
        Previous hit
      </button>
      <button type="button" onClick={() => search.visit(1)} disabled={found.search.count === 0}>
        Next hit
      </button>
      {state === "running" && (
        <button type="button" onClick={() => search.stop()}>
          Stop
        </button>
      )}
      {isOfAll && (
        <button type="button" onClick={() => void search.goOn()}>
          Go on
        </button>
      )}
      {!isWhole && !isOfAll && (state === "in memory" || state === "stopped") && (
        <button type="button" onClick={() => void search.findAll()}>
          Search all
        </button>
      )}
    </>
  );
}
