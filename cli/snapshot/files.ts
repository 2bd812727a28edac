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
function choiceBy(root: string, outer: Rules): Choice {
  const open: Choice["open"] = async (path) => {
    const rules = await outer.with(root, path);
    const inner = choiceBy(root, rules);
    return (entry, at) => {
      const isLeftOut = isOwnName(entry.name) || rules.leavesOut(at, entry.isDirectory());
      return isLeftOut ? undefined : inner;
    };
  };
  return { chosen: true, open };
}
