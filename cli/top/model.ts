// What do keys and news mean to `drover top`?
import { idsOf } from "./picture.ts";
import type { Look } from "./pool-watch.ts";

/** All that is on the screen. */
export interface Model {
  look: Look;
  /** The run or the worker that is chosen. */
  chosen?: string | undefined;
  /** Why it is in its state, once that is asked for; without lines until there is an answer. */
  detail?: { id: string; lines: readonly string[] } | undefined;
  /** Why there is no newer look. */
  trouble?: string | undefined;
  /** The answer to a key that shows nothing else. */
  notice?: string | undefined;
}

/** What happens while it is shown. `key`: the name of a key, as Node has it. */
export type Input =
  | { type: "key"; key: string }
  | { type: "left"; exitCode: number }
  | { type: "look"; look: Look }
  | { type: "detail"; id: string; lines: readonly string[] }
  | { type: "trouble"; text: string }
  | { type: "notice"; text: string }
  | { type: "resize" };

/** What is to be done besides drawing. */
export type Effect =
  | { do: "end"; exitCode: number }
  | { do: "show other pool"; than: string }
  | { do: "explain"; id: string };

/** A model, and what else is to be done. */
export interface Step {
  model: Model;
  effect?: Effect;
}

/** What is on the screen after an input, and what else is to be done (cli.md#top). */
export function next(model: Model, input: Input): Step {
  switch (input.type) {
    case "key":
      return pressed({ ...model, notice: undefined }, input.key);
    case "left":
      return { model, effect: { do: "end", exitCode: input.exitCode } };
    case "look":
      return { model: looked(model, input.look) };
    case "detail": {
      const { id, lines } = input;
      return { model: model.detail?.id === id ? { ...model, detail: { id, lines } } : model };
    }
    case "trouble":
      return { model: { ...model, trouble: input.text } };
    case "notice":
      return { model: { ...model, notice: input.text } };
    case "resize":
      return { model };
  }
}

function pressed(model: Model, key: string): Step {
  switch (key) {
    case "q":
      return { model, effect: { do: "end", exitCode: 0 } };
    case "p":
      return { model, effect: { do: "show other pool", than: model.look.pool.name } };
    case "j":
    case "down":
      return { model: moved(model, 1) };
    case "k":
    case "up":
      return { model: moved(model, -1) };
    case "escape":
      return { model: { ...model, detail: undefined } };
    case "return":
    case "enter":
      return explained(model);
    default:
      return { model };
  }
}

/** Enter shows why, and Enter again goes back. If nothing is chosen, it chooses the first. */
function explained(model: Model): Step {
  if (model.detail !== undefined) return { model: { ...model, detail: undefined } };
  const id = model.chosen ?? idsOf(model.look)[0];
  if (id === undefined) return { model };
  return { model: { ...model, chosen: id, detail: { id, lines: [] } }, effect: { do: "explain", id } };
}

/** The choice moves by one, and stops at the ends. */
function moved(model: Model, by: number): Model {
  if (model.detail !== undefined) return model;
  const ids = idsOf(model.look);
  const at = model.chosen === undefined ? -1 : ids.indexOf(model.chosen);
  const to = at < 0 ? 0 : Math.min(ids.length - 1, Math.max(0, at + by));
  return { ...model, chosen: ids[to] };
}

/**
 * News. The choice stays on the same run or worker; if that is gone, on what has taken its place. Of another
 * pool nothing is chosen.
 */
function looked(model: Model, look: Look): Model {
  const { chosen, detail } = model;
  if (look.pool.name !== model.look.pool.name) return { look };
  if (chosen === undefined) return { look };
  const ids = idsOf(look);
  if (ids.includes(chosen)) return { look, chosen, detail };
  const at = Math.min(idsOf(model.look).indexOf(chosen), ids.length - 1);
  return { look, chosen: ids[at], detail };
}
