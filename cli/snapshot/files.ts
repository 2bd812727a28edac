// Which files of a directory are uploaded?
import { join } from "node:path";
import { Beneath } from "../../archive/beneath.ts";
import { isOwnName } from "../../archive/own-paths.ts";
import { type Choice, type Found, walk } from "../../archive/walk.ts";
import type { Patterns } from "./patterns.ts";
import { isRuleFile, rulesAbove, withOwnRules } from "./rules.ts";

/**
 * Yields the files, links and directories to upload, in a stable order. Leaves out what
 * `.gitignore` and `.droverignore` exclude. Follows no links; skips sockets, pipes and devices.
 */
export async function* filesToSend(root: string, signal: AbortSignal): AsyncGenerator<Found> {
  const top = Beneath.open(root);
  try {
    yield* walk(top, choiceBy(root, await rulesAbove(root)), signal);
  } finally {
    top.close();
  }
}

/** What the rules choose in a directory and in its subdirectories. */
function choiceBy(root: string, above: Patterns): Choice {
  const open: Choice["open"] = async (path, entries) => {
    const rules = entries.some(({ name }) => isRuleFile(name))
      ? await withOwnRules(above, join(root, path))
      : above;
    return (entry) => {
      const isLeftOut = isOwnName(entry.name) || rules.leavesOut(entry.name, entry.isDirectory());
      if (isLeftOut) return undefined;
      return entry.isDirectory() ? choiceBy(root, rules.into(entry.name)) : CHOSEN;
    };
  };
  return { chosen: true, open };
}

/** A chosen entry that is not a directory. */
const CHOSEN: Choice = { chosen: true, open: async () => () => CHOSEN };
