// How does a reader end, start or change something? A button asks first, and names the thing (ui.md#d19).
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Scope } from "../../src/generated/api.ts";
import { type Call, send } from "../api/send.ts";
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
  /** What the reader chooses before, if there is a choice. */
  choose?: ComponentChildren;
  /** Made anew for each try, so that two are two. */
  call(): Call;
  /** The same as a command. */
  drover: string;
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
  const error = useMemo(() => signal<unknown>(undefined), []);
  const isSent = useMemo(() => signal(false), []);
  const act = async () => {
    isSent.value = true;
    error.value = undefined;
    try {
      await action.done(await send(action.call()));
      dialog.current?.close();
    } catch (caught) {
      error.value = caught;
    } finally {
      isSent.value = false;
    }
  };
  const close = () => dialog.current?.close();
  return (
    <>
      <button
        type="button"
        class={action.ends ? "ends" : ""}
        data-verb={action.verb.toLowerCase()}
        onClick={() => dialog.current?.showModal()}
      >
        {action.verb}
      </button>
      <dialog ref={dialog} aria-label={action.question}>
        <h2>{action.question}</h2>
        <p>{action.effect}</p>
        {action.choose}
        <Trouble error={error.value} />
        <div class="actions">
          <button type="button" onClick={close} autofocus>
            Cancel
          </button>
          <button
            type="button"
            class={action.ends ? "ends" : "main"}
            disabled={isSent.value}
            onClick={() => void act()}
          >
            {action.verb}
          </button>
        </div>
        <h3>The same in a shell</h3>
        <Command text={action.drover} label="Copy" />
        <Command text={curlOf(action.call(), location.origin)} label="Copy" />
      </dialog>
    </>
  );
}
