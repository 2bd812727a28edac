import { join } from "node:path";
import { Beneath } from "../../archive/beneath.ts";
import { isOwnName } from "../../archive/own-paths.ts";
import { type Choice, walk } from "../../archive/walk.ts";
import { Rules } from "./rules.ts";

/**
 * The files, links and directories of a directory that are to be sent, as paths relative to it, always in
 * the same order: all but what `.gitignore` and `.droverignore` leave out. No link is followed; sockets,
 * pipes and devices are passed over.
 */
export async function* filesToSend(root: string, signal: AbortSignal): AsyncGenerator<string> {
  const top = await Beneath.open(root);
  try {
    yield* walk(top, choiceBy(root, await Rules.from(root)), signal);
  } finally {
    await top.close();
  }
}

/** What rules choose of a directory and all below it. */
function choiceBy(root: string, above: Rules): Choice {
  const open: Choice["open"] = async (path) => {
    const rules = await above.with(join(root, path));
    return (entry) => {
      const isLeftOut = isOwnName(entry.name) || rules.leavesOut(entry.name, entry.isDirectory());
      if (isLeftOut) return undefined;
      return entry.isDirectory() ? choiceBy(root, rules.into(entry.name)) : CHOSEN;
    };
  };
  return { chosen: true, open };
}

/** What is no directory has nothing in it to choose from. */
const CHOSEN: Choice = { chosen: true, open: async () => () => CHOSEN };
