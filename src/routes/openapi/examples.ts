// Which requests does the OpenAPI document show? A test sends them and records the answers.
import requests from "./example-requests.json" with { type: "json" };

/**
 * An example request, which a test sends. The document shows the request and its answer from
 * `example-answers.json`.
 */
export interface Example {
  operation: string;
  /** Unique among the examples of its operation. */
  name: string;
  summary: string;
  /** Parts of the path, the query, and headers, by name. */
  params?: Record<string, string | number | string[]>;
  body?: unknown;
  status: number;
  /**
   * Values that differ on each Drover. Maps a parameter, or a pointer into the body, to a value in the answer
   * to an earlier example: `operation/name#pointer`.
   */
  live?: Record<string, string>;
  /** The request is repeated until it has the expected status, and this pointer exists in the answer. */
  until?: string;
  /** The answer is not shown, since it is too long. */
  unshown?: boolean;
}

/**
 * The examples, in an order in which a new Drover accepts them: later examples use what earlier examples
 * made.
 */
export const EXAMPLES: readonly Example[] = requests as readonly Example[];
