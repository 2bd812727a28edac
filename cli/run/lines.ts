// How a stream of bytes becomes lines, for output that is shown with the name of its task.

/** Longer lines are broken at this length, since a task may write without any line ends. */
const LONGEST_LINE = 64 * 1024;

/** Yields each line as soon as the line is complete. The last line need not end with a newline. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of bytes) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.map(withoutReturn);
    if (rest.length < LONGEST_LINE) continue;
    yield rest;
    rest = "";
  }
  rest += decoder.decode();
  if (rest !== "") yield withoutReturn(rest);
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
