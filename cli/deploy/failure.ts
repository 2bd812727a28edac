// What does a failure of wrangler mean, and what can a person do about it?
import { CliError } from "../errors.ts";
import { printable } from "../terminal/text.ts";

/** Codes and words of Cloudflare's API by which its failures are known, with what to do. */
const KNOWN: [pattern: RegExp, hint: string][] = [
  [
    /\b10042\b|enable R2/i,
    "R2 is not enabled in this account. Enable it in the dashboard, or deploy without it: --no-bucket",
  ],
  [
    /\b10063\b|register a workers\.dev subdomain/i,
    "The account has no workers.dev subdomain yet. Open Workers & Pages in the dashboard once, and choose one.",
  ],
  [
    /\b(?:10000|9109|9106)\b|Authentication error|permission|Unauthorized|\b403\b/i,
    "The login lacks a permission. A token needs these: Workers Scripts (edit), Workers R2 Storage (edit), " +
      "Account Settings (read); and Workers Routes and DNS (edit) for a custom domain.",
  ],
  [/\b10021\b|exceeded the size limit|\b10027\b/i, "The Worker is too large for the plan of this account."],
  [
    /zone|custom domain/i,
    "The domain must be in a zone of this account, and no DNS record of that name may exist.",
  ],
];

/** What wrangler has said and done. `failure`: its own text for why it has failed. */
export interface Said {
  code: number;
  stdout: string;
  stderr: string;
  failure: string | undefined;
}

/** The error for a call of wrangler that failed. `what`: what it was to do, such as `create the bucket`. */
export function wranglerFailed(what: string, said: Said): CliError {
  const text =
    said.failure ?? lastLines(said.stderr) ?? lastLines(said.stdout) ?? `it ended with ${said.code}`;
  const [first = "", ...more] = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const hints = KNOWN.filter(([pattern]) => pattern.test(text)).map(([, hint]) => hint);
  return new CliError(`wrangler could not ${what}: ${printable(first)}`, [
    ...more.map(printable),
    ...hints.slice(0, 1),
    "What was done so far stays. The same command goes on from there.",
  ]);
}

/** How many lines of an output say why it failed. */
const LINES = 6;
/** Colors and other sequences of a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape character is what it looks for
const SEQUENCES = /\u001b\[[0-9;]*[A-Za-z]/g;

function lastLines(text: string): string | undefined {
  const lines = text
    .replaceAll(SEQUENCES, "")
    .split("\n")
    .map((line) => line.trim());
  const filled = lines.filter((line) => line !== "" && !line.startsWith("🪵"));
  return filled.length === 0 ? undefined : filled.slice(-LINES).join("\n");
}
