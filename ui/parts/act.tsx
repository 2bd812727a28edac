// How does a reader end, start or change something? A button asks first, and names the thing (ui.md#d19).
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Scope } from "../../src/generated/api.ts";
import { ApiError, type Call, send } from "../api/send.ts";
import { may } from "../api/session.ts";
import { curlOf } from "./as-text.ts";
import { Command } from "./copy.tsx";
import { Trouble } from "./problem.tsx";

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
  /** What happens once Drover has taken it. */
  done(response: Response): void | Promise<void>;
}

/** The buttons of the actions that the caller may use. */
export function Actions({ actions }: { actions: Action[] }) {
  return (
    <div class="actions">
      {actions
        .filter(({ scope }) => may(scope))
        .map((action) => (
          <ActionButton key={action.verb} action={action} />
        ))}
    </div>
  );
}

function ActionButton({ action }: { action: Action }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const error = useMemo(() => signal<unknown>(undefined), []);
  const isSent = useMemo(() => signal(false), []);
  const given = useMemo(() => signal<FormData | undefined>(undefined), []);
  const read = () => {
    if (form.current !== null) given.value = shownOf(form.current, action.hides ?? []);
  };
  const act = async (filled: HTMLFormElement) => {
    isSent.value = true;
    error.value = undefined;
    try {
      await action.done(await send(action.call(new FormData(filled))));
      dialog.current?.close();
    } catch (caught) {
      error.value = caught;
    } finally {
      isSent.value = false;
    }
  };
  const open = () => {
    error.value = undefined;
    read();
    dialog.current?.showModal();
  };
  const close = () => dialog.current?.close();
  const forget = () => {
    form.current?.reset();
    given.value = undefined;
  };
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    void act(event.currentTarget);
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
      <dialog ref={dialog} aria-label={action.question} onClose={forget}>
        <h2>{action.question}</h2>
        <p>{action.effect}</p>
        <form ref={form} onSubmit={submit} onInput={read}>
          {action.fields}
          <Trouble error={error.value} />
          <Faults error={error.value} />
          <div class="actions">
            <button type="button" onClick={close} autofocus={action.fields === undefined}>
              Cancel
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
    const isLacking = String(value).trim() === "" && form.querySelector(`[name="${name}"]:required`) !== null;
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
