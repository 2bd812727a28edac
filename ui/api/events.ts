// How is a stream of server-sent events read, so that it can go on after the last one?
import { UnreachableError } from "./send.ts";

/** One event of a stream. */
export interface StreamEvent {
  id: string;
  event: string;
  data: string;
}

/** The events in the lines of a stream, as the HTML standard reads them. Comments keep it alive. */
export async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  let now = blank();
  for await (const line of linesOf(response)) {
    if (line === "") {
      if (now.data !== "") yield { ...now, data: now.data.slice(0, -1) };
      now = { ...blank(), id: now.id };
      continue;
    }
    const [, field, value = ""] = /^(\w*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === "id") now.id = value;
    if (field === "event") now.event = value;
    if (field === "data") now.data += `${value}\n`;
  }
}

const blank = (): StreamEvent => ({ id: "", event: "message", data: "" });

async function* linesOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield line.replace(/\r$/, "");
    }
  } catch (error) {
    throw new UnreachableError(response.url, error);
  } finally {
    reader?.cancel().catch(() => {});
  }
}
