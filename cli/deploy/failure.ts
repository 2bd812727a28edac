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
    "The account has no workers.dev subdomain yet. Open Workers & Pages in the dashboard, and choose one.",
  ],
  [
    /\b(?:10000|9109|9106)\b|Authentication error|permission|Unauthorized|\b403\b/i,
    "The login lacks a permission. A token needs these: Workers Scripts (edit), Workers R2 Storage (edit), " +
      "Account Settings (read); and Workers Routes and DNS (edit) for a custom domain.",
  ],
  [/\b10021\b|exceeded the size limit|\b10027\b/i, "The Worker is too large for the plan of this account."],
  [
    /custom domain|\bzone(?:s|\b)[^\n]*(?:not found|could not|no )|(?:not find|no)[^\n]*\bzone\b/i,
    "The domain must be in a zone of this account.",
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
  const lines = linesOf(said.stderr);
  const known = lines.length > 0 ? lines : [...linesOf(said.failure ?? ""), ...linesOf(said.stdout)];
  // The line with the code of Cloudflare's API says more than the one that names the request.
  const first = known.find((line) => CODED.test(line)) ?? known[0] ?? `it ended with ${said.code}`;
  const more = known.filter((line) => line !== first).slice(0, MORE_LINES);
  const hints = KNOWN.filter(([pattern]) => pattern.test(textOf(said))).map(([, hint]) => hint);
  return new CliError(`wrangler could not ${what}: ${printable(first)}`, [
    ...more.map(printable),
    ...hints.slice(0, 1),
    "What was done so far stays. The same command goes on from there.",
  ]);
}

/** All that wrangler says of a failure. */
export function textOf({ failure = "", stderr }: Said): string {
  return `${failure}\n${stderr}`;
}

/** How many further lines of wrangler are shown. */
const MORE_LINES = 6;
const CODED = /\[code: \d+\]/;
/** Colors and other sequences of a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape character is what it looks for
const SEQUENCES = /\u001b\[[0-9;]*[A-Za-z]/g;
/** What wrangler says in each of its failures. */
const NOISE = /^(?:🪵|⛅|─|If you think this is a bug|Note that there is a newer version)/u;

function linesOf(text: string): string[] {
  return text
    .replaceAll(SEQUENCES, "")
    .split("\n")
    .map((line) => line.replace(/^✘ \[ERROR\]/, "").trim())
    .filter((line) => line !== "" && !NOISE.test(line));
}
