// How does somebody look for a text, and what does the search say of itself (ui.md#d7)?
import { useSignal } from "@preact/signals";
import type { LogSearch } from "../pane/log-search.ts";
import { searchText } from "../search/search.ts";

/** The field of the search, its result, and the way from hit to hit. */
export function Find({ search }: { search: LogSearch }) {
  const text = useSignal("");
  const matchCase = useSignal(false);
  const submit = (event: Event) => {
    event.preventDefault();
    search.find(text.value, matchCase.value);
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
      <label>
        <input
          type="checkbox"
          checked={matchCase}
          onChange={({ currentTarget }) => {
            matchCase.value = currentTarget.checked;
          }}
        />{" "}
        Match case
      </label>
      <button type="submit">Search</button>
      <Result search={search} />
    </form>
  );
}

function Result({ search }: { search: LogSearch }) {
  const found = search.found.value;
  if (found === undefined) return null;
  const { attempt, state, size } = found;
  const isWhole = size !== undefined && found.search.from === 0 && found.search.to >= size;
  return (
    <>
      <output>
        Attempt {attempt}: {searchText(found.search, size)}
        {state === "running" && ", and the search goes on"}
        {state === "stopped" && ". The connection broke"}.
      </output>
      <button type="button" onClick={() => search.visit(-1)} disabled={found.search.count === 0}>
        Previous hit
      </button>
      <button type="button" onClick={() => search.visit(1)} disabled={found.search.count === 0}>
        Next hit
      </button>
      {!isWhole && state !== "running" && (
        <button type="button" onClick={() => void search.findAll()}>
          Search all
        </button>
      )}
    </>
  );
}
