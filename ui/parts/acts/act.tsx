// How does a reader end, start or change something? A button asks first, and names the thing (ui.md#d19).
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Scope } from "../../../src/generated/api.ts";
import { ApiError, type Call, send } from "../../api/send.ts";
import { may } from "../../api/session.ts";
import { curlOf } from "../as-text.ts";
import { Command } from "../copy.tsx";
import { Trouble } from "../problem.tsx";
import { useSending } from "./sending.ts";

/** Something that the page can do. */
export interface Action {
  /** On the button: a verb. */
  verb: string;
  /** What is asked before: the verb and its object by name. */
  question: string;
  /** What will happen, and what stays. */
  effect: string;
  /** What ends something is red, and the button that has the focus first does nothing. */
  ends: boolean;
  scope: Scope;
  /** What the reader fills in before: fields with names, which `call` and `drover` read. */
  fields?: ComponentChildren;
  /** Names of fields whose text no command shows: the command has the name instead (ui.md#forms). */
  hides?: readonly string[];
  /** Made anew for each try, so that two are two. */
  call(given: FormData): Call;
  /** The same as a command; undefined: no command does it. */
  drover: string | undefined | ((given: FormData) => string);
  /** What happens once Drover has taken it. `ending` is aborted if nobody waits for its end any more. */
  done(response: Response, ending: AbortSignal): void | Promise<void>;
}

/** The buttons of the actions that the caller may use. */
export function Actions({ actions }: { actions: Action[] }) {
  return (
    <div class="actions">
      {actions
        .filter(({ scope }) => may(scope))
        .map((action) => (
          // A question that is open is about what it names, also when the page shows another thing.
          <ActionButton key={action.question} action={action} />
        ))}
    </div>
  );
}

function ActionButton({ action }: { action: Action }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const sending = useSending();
  const { isSent, error } = sending;
  const given = useMemo(() => signal<FormData | undefined>(undefined), []);
  const read = () => {
    if (form.current !== null) given.value = shownOf(form.current, action.hides ?? []);
  };
  const act = async (filled: FormData) => {
    const isDone = await sending.start(async (ending) => {
      const response = await send(action.call(filled));
      ending.throwIfAborted();
      await action.done(response, ending);
    });
    if (isDone) dialog.current?.close();
  };
  const open = () => {
    error.value = undefined;
    read();
    dialog.current?.showModal();
  };
  const close = () => (isSent.peek() ? sending.leave() : dialog.current?.close());
  const cancel = (event: Event) => {
    if (!isSent.peek()) return;
    event.preventDefault();
    sending.leave();
  };
  const closed = () => {
    if (isSent.peek()) {
      // A browser may close a question without asking: what becomes of the act is said here all the same.
      sending.leave();
      dialog.current?.showModal();
      return;
    }
    form.current?.reset();
    given.value = undefined;
  };
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    void act(new FormData(event.currentTarget));
  };
  return (
    <>
      <button
        type="button"
        class={action.ends ? "ends" : ""}
        data-verb={action.verb.toLowerCase()}
        onClick={open}
      >
        {action.verb}
      </button>
      <dialog ref={dialog} aria-label={action.question} onCancel={cancel} onClose={closed}>
        <h2>{action.question}</h2>
        <p>{action.effect}</p>
        <form ref={form} onSubmit={submit} onInput={read}>
          {action.fields}
          <Trouble error={error.value} />
          <Faults error={error.value} />
          {isSent.value && <p role="status">Sending…</p>}
          <div class="actions">
            <button type="button" onClick={close} autofocus={action.fields === undefined}>
              {isSent.value ? "Stop waiting" : "Cancel"}
            </button>
            <button type="submit" class={action.ends ? "ends" : "main"} disabled={isSent.value}>
              {action.verb}
            </button>
          </div>
        </form>
        <h3>The same in a shell</h3>
        {given.value && <Same action={action} given={given.value} />}
      </dialog>
    </>
  );
}

function Same({ action, given }: { action: Action; given: FormData }) {
  const { drover } = action;
  return (
    <>
      {drover !== undefined && (
        <Command text={typeof drover === "string" ? drover : drover(given)} label="Copy" />
      )}
      <Command text={curlOf(action.call(given), location.origin)} label="Copy" />
    </>
  );
}

/** What a command can show of a form: of a field that is hidden, or still lacks its text, its name. */
function shownOf(form: HTMLFormElement, hides: readonly string[]): FormData {
  const given = new FormData(form);
  for (const [name, value] of [...given]) {
    const isHidden = hides.includes(name) && value !== "";
    const isLacking =
      String(value).trim() === "" && form.querySelector(`[name="${CSS.escape(name)}"]:required`) !== null;
    if (isHidden || isLacking) given.set(name, name.toUpperCase());
  }
  return given;
}

/** The other fields that Drover refuses: the first one is in the error itself. */
function Faults({ error }: { error: unknown }) {
  const others = error instanceof ApiError ? error.errors.slice(1) : [];
  if (others.length === 0) return null;
  return (
    <ul>
      {others.map(({ pointer, detail }) => (
        <li key={pointer}>
          {pointer} {detail}
        </li>
      ))}
    </ul>
  );
}
