// Which keys do what? One table, which is also what `?` shows.
import { signal, useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Heads } from "./parts/lists/table.tsx";
import { go } from "./router/place.ts";

/** A key, or two one after the other, and what it does. */
interface Key {
  keys: string;
  does: string;
  act(): void;
}

const KEYS: Key[] = [
  { keys: "g n", does: "go to Now", act: () => go("/ui") },
  { keys: "g r", does: "go to Runs", act: () => go("/ui/runs") },
  { keys: "g j", does: "go to Jobs", act: () => go("/ui/jobs") },
  { keys: "g w", does: "go to Workers", act: () => go("/ui/workers") },
  { keys: "g p", does: "go to Pools", act: () => go("/ui/pools") },
  { keys: "g e", does: "go to Events", act: () => go("/ui/events") },
  { keys: "g m", does: "go to Admin, to manage tokens and more", act: () => go("/ui/admin") },
  { keys: "/", does: "filter the list", act: () => focus("input[type=search]") },
  { keys: "j", does: "next row", act: () => step(1) },
  { keys: "k", does: "row before", act: () => step(-1) },
  { keys: "l", does: "the output of the run", act: () => press('.tabs a[href*="tab=log"]') },
  { keys: "s", does: "the summary of the run or job", act: () => press('.tabs a[href*="tab=summary"]') },
  { keys: "a", does: "abort the run, after a question", act: () => press("button[data-verb=abort]") },
  { keys: "x", does: "select the row, or not any more", act: pick },
  { keys: "f", does: "next failed run: in the list, or of the list", act: nextFailed },
  { keys: "]", does: "next run of the list", act: () => press("[data-step=next]") },
  { keys: "[", does: "run of the list before", act: () => press("[data-step=before]") },
  { keys: "F", does: "follow the output", act: follow },
  { keys: "t", does: "the timeline of the run", act: timeline },
  { keys: "y", does: "copy the address of what is shown", act: copyAddress },
  { keys: "?", does: "this list", act: () => open(true) },
];

/** How long the second of two keys may take. */
const SECOND_MS = 1_000;

const isOn = signal(localStorage.getItem("keys") !== "off");
const isOpen = signal(false);

const open = (value: boolean) => {
  isOpen.value = value;
};
const focus = (selector: string) => document.querySelector<HTMLElement>(selector)?.focus();
const press = (selector: string) => document.querySelector<HTMLElement>(`main ${selector}`)?.click();

/** Moves the focus to the first link of another row; from outside the table to the first one. */
function step(by: number): void {
  const links = [...document.querySelectorAll<HTMLElement>("main tbody tr")].flatMap((row) => {
    const link = row.querySelector<HTMLElement>("a");
    return link === null ? [] : [link];
  });
  const at = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
}

/** Selects the row with the focus, or takes it out of the selection. */
function pick(): void {
  const row = document.activeElement?.closest("tr");
  row?.querySelector<HTMLElement>("input[type=checkbox]")?.click();
}

/** In a list: the focus on the next failed row. On the page of a run: the next failed run of its list. */
function nextFailed(): void {
  press("[data-step=failed]");
  const rows = [...document.querySelectorAll("main tr[data-failed]")];
  const here = document.activeElement;
  const isBehind = (row: Element) =>
    here !== null && (here.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  const next = rows.find((row) => isBehind(row) && !row.contains(here)) ?? rows[0];
  next?.querySelector<HTMLElement>("a")?.focus();
}

/** Shows the output if it is not shown, and follows it from its end on. */
function follow(): void {
  const button = document.querySelector<HTMLElement>("main [data-follow]");
  if (button !== null) button.click();
  else press('.tabs a[href*="tab=log"]');
}

/** Shows the summary, and in it the timeline, which is there in the next frame. */
function timeline(): void {
  press('.tabs a[href*="tab=summary"]');
  requestAnimationFrame(() => document.querySelector("main .timeline")?.scrollIntoView());
}

function copyAddress(): void {
  // Without a secure context there is no clipboard; the address stands in the browser's own field.
  navigator.clipboard?.writeText(location.href).catch(() => undefined);
}

/** Whether a key is typed into something, or belongs to the browser. */
function isTyped(event: KeyboardEvent): boolean {
  const { target, ctrlKey, metaKey, altKey } = event;
  if (ctrlKey || metaKey || altKey || event.defaultPrevented) return true;
  return (
    target instanceof Element &&
    target.closest("input:not([type=checkbox]), select, textarea, dialog") !== null
  );
}

/** Listens to the keys, and shows their list when it is asked for. */
export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  // Whoever sees the page may type: it listens before it is shown.
  useLayoutEffect(() => {
    let first = { typed: "", at: 0 };
    const listen = (event: KeyboardEvent) => {
      if (isTyped(event) || !isOn.peek()) return;
      // When the keys were pressed: a busy page may hear of both late.
      const at = event.timeStamp;
      const typed = `${at - first.at < SECOND_MS ? first.typed : ""}${event.key}`;
      const key = KEYS.find(({ keys }) => keys === typed);
      first = { typed: KEYS.some(({ keys }) => keys.startsWith(`${typed} `)) ? `${typed} ` : "", at };
      if (key === undefined) return;
      event.preventDefault();
      key.act();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  useSignalEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
  });
  return (
    <>
      <button type="button" class="small" onClick={() => open(true)} aria-label="Keys">
        ?
      </button>
      <dialog ref={dialog} aria-label="Keys" onClose={() => open(false)}>
        <h2>Keys</h2>
        <label>
          <input type="checkbox" checked={isOn.value} onChange={toggle} /> Keys of one letter are on
        </label>
        <table>
          <Heads of={["Key", "What it does"]} />
          <tbody>
            {KEYS.map(({ keys, does }) => (
              <tr key={keys}>
                <td>
                  <kbd>{keys}</kbd>
                </td>
                <td>{does}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  );
}

function toggle(): void {
  isOn.value = !isOn.peek();
  localStorage.setItem("keys", isOn.peek() ? "on" : "off");
}
